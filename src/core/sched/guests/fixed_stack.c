/* Fixed stacks: one tasklet of a thread may have a C stack that other code keeps addresses of.
 *
 * A library that copies parts of the C stack away and back (greenlet's extension module does) has
 * addresses of the stack on which it was used first, in a state of which there is one per thread.
 * So the tasklet that uses it keeps that stack for all its life: it is always suspended hard.  And
 * as long as it lives it is the only one of the thread that may use the library: on another stack
 * the copies would overwrite the frames of whatever runs there.
 *
 * What runs on the thread's own stack, as main does mostly, has it anyway; only the second half
 * holds for it.
 */
#include "sched/guests/fixed_stack.h"

#include "sched/internal.h"

void s_set_fixed_stack(s_sched *s)
{
    if (s->current->on_thread_stack)
        return;
    s->current->attached |= S_HAS_FIXED_STACK;
    s_only_hard_for(s, s->current);
}

int s_claim_fixed_stack(s_sched *s)
{
    s_tasklet *t = s->current;
    if (s_fixed_stack_is_taken(s))
        return 0;
    if (s->fixed_stack_of == 0)
        s_set_fixed_stack(s);
    s->fixed_stack_of = t->id;
    return 1;
}

static void leave_fixed_stack(s_sched *s, s_tasklet *me)
{
    (void)me;
    s_only_hard_for(s, NULL);
}

static void resume_fixed_stack(s_sched *s, s_tasklet *me)
{
    s_only_hard_for(s, me);
}

static void drop_fixed_stack(s_sched *s, s_tasklet *t)
{
    t->attached &= (unsigned char)~S_HAS_FIXED_STACK;
    if (s == NULL)
        return;
    if (s->fixed_stack_of == t->id)
        s->fixed_stack_of = 0;
    if (s->current == t)
        s_only_hard_for(s, t);
}

void s_lose_fixed_stack(s_sched *s, s_tasklet *t)
{
    drop_fixed_stack(s, t);
}

static void forget_fixed_stack(s_sched *s)
{
    s->fixed_stack_of = 0;
}

const s_guest s_fixed_stack_guest = {.bit = S_HAS_FIXED_STACK,
                                     .leave = leave_fixed_stack,
                                     .resume = resume_fixed_stack,
                                     .drop = drop_fixed_stack,
                                     .thread_ended = forget_fixed_stack};
