/* A listener that is told of every switch, and the switch trap.
 *
 * Without a listener nothing is looked at: while there is one, no scheduler's
 * `soft` is 1, so each switch takes transfer_slow, which tells it; and `budget` is
 * used up at each pick, so that the pick after a tasklet's end, which is no
 * transfer, goes through s_next_slow, which tells it too.  A scheduler of another
 * thread hears of a new listener after the picks that it has begun to count.
 *
 * The listener runs Python code as the tasklet that is left, which is still the
 * current one (one that has ended is made to look so).  What comes next is chosen
 * already and in no queue, so nothing may switch, and it must not be taken out of a
 * queue either: it passes for running meanwhile.
 *
 * The level of switch_trap() is kept apart from `trap`, in which it counts once, so
 * that our own callbacks do not show in it.
 */
#include "sched/events.h"
#include "sched/internal.h"

static void tell(s_sched *s, s_tasklet *from, s_tasklet *to)
{
    void (*switching)(s_sched *, s_tasklet *, s_tasklet *) = s_hook.switching;
    unsigned char state = to->state;
    if (switching == NULL) /* another thread has just taken it off */
        return;
    to->state = S_RUNNING;
    s->trap++;
    s->in_callback++;
    switching(s, from, to);
    s->in_callback--;
    s->trap--;
    to->state = state;
}

void s_tell_switch(s_sched *s, s_tasklet *from, s_tasklet *to)
{
    if (!s->in_callback)
        tell(s, from, to);
}

void s_tell_departed(s_sched *s, s_tasklet *to)
{
    s_tasklet *from = s->departed, *current = s->current;
    s->departed = NULL;
    if (s_hook.switching != NULL && current == s->idler) {
        s->current = from;
        tell(s, from, to);
        s->current = current;
    }
    Py_DECREF((PyObject *)from);
}

void s_listen(void (*switching)(s_sched *s, s_tasklet *from, s_tasklet *to))
{
    int before = s_hook.switching != NULL;
    s_hook.switching = switching;
    if (before != (switching != NULL))
        s_slow_switches(switching != NULL ? 1 : -1);
}

static void thread_begins(s_sched *s)
{
    if (s_hook.switching != NULL)
        s_tell_switch(s, NULL, s->main);
}

/* No switch leads from a tasklet that has ended to the next one. */
static void departed_picked(s_sched *s, s_tasklet *next)
{
    if (s->departed != NULL)
        s_tell_departed(s, next);
}

const s_guest s_listener_guest = {.begin = thread_begins, .picked = departed_picked};

int s_switch_trap(s_sched *s, int change)
{
    int before = s->trapped;
    s->trapped += change;
    s->trap += (s->trapped != 0) - (before != 0);
    return before;
}
