/* Pinned tasklets: one per thread may have a C stack that other code keeps addresses of.
 *
 * A library that copies parts of the C stack away and back (greenlet's extension module does) has
 * addresses of the stack on which it was used first, in a state of which there is one per thread.
 * So the tasklet that uses it keeps that stack for all its life: it is always suspended hard.  And
 * as long as it lives it is the only one of the thread that may use the library: on another stack
 * the copies would overwrite the frames of whatever runs there.
 *
 * The main tasklet has the thread's own stack anyway; only the second half holds for it.
 */
#include "sched/guests/pin.h"

#include "sched/internal.h"

void s_pin_to_stack(s_sched *s)
{
    if (s->current->is_main)
        return;
    s->current->attached |= S_HAS_PIN;
    s_only_hard_for(s, s->current);
}

int s_pin(s_sched *s)
{
    s_tasklet *t = s->current;
    if (s_pin_is_taken(s))
        return 0;
    if (s->pinned == 0)
        s_pin_to_stack(s);
    s->pinned = t->id;
    return 1;
}

static void leave_pinned(s_sched *s, s_tasklet *me)
{
    (void)me;
    s_only_hard_for(s, NULL);
}

static void resume_pinned(s_sched *s, s_tasklet *me)
{
    s_only_hard_for(s, me);
}

static void drop_pinned(s_sched *s, s_tasklet *t)
{
    t->attached &= (unsigned char)~S_HAS_PIN;
    if (s == NULL)
        return;
    if (s->pinned == t->id)
        s->pinned = 0;
    if (s->current == t)
        s_only_hard_for(s, t);
}

static void forget_pinned(s_sched *s)
{
    s->pinned = 0;
}

const s_guest s_pin_guest = {.bit = S_HAS_PIN,
                             .leave = leave_pinned,
                             .resume = resume_pinned,
                             .drop = drop_pinned,
                             .thread_ended = forget_pinned};
