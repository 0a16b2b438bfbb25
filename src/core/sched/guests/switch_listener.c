/* A listener that is called at every switch, and the switch trap.
 *
 * While there is a listener, switches are announced and take the slow way (s_slow_switches), and so
 * does each pick of the run queue: no switch leads from a tasklet that has ended to the next one,
 * so that is announced at the pick.  A scheduler of another thread announces from the picks on that
 * it has begun to count.
 *
 * The listener runs Python code as the tasklet that is left, which is still the current one (one
 * that has ended is made to look so).  What comes next is chosen already and in no queue, so
 * nothing may switch, and it must not be taken out of a queue either: it passes for running
 * meanwhile.
 *
 * The level of switch_trap() is kept apart from `trap`, in which it counts once, so that our own
 * callbacks do not show in it.
 */
#include "sched/guests/switch_listener.h"

#include "sched/internal.h"

static void (*listener)(s_sched *s, s_tasklet *from, s_tasklet *to);

static void call_listener(s_sched *s, s_tasklet *from, s_tasklet *to)
{
    void (*switching)(s_sched *, s_tasklet *, s_tasklet *) = listener;
    unsigned char state = to->state;
    if (switching == NULL) /* another thread has just taken it off */
        return;
    to->state = S_RUNNING;
    s->trap++;
    s->stackless.in_callback++;
    switching(s, from, to);
    s->stackless.in_callback--;
    s->trap--;
    to->state = state;
}

static void announce_switch(s_sched *s, s_tasklet *from, s_tasklet *to)
{
    if (!s->stackless.in_callback)
        call_listener(s, from, to);
}

static void announce_thread(s_sched *s)
{
    announce_switch(s, NULL, s->main);
}

static void keep_departed(s_sched *s, s_tasklet *t)
{
    Py_XSETREF(s->stackless.departed, (s_tasklet *)Py_NewRef((PyObject *)t));
}

static void announce_departed(s_sched *s, s_tasklet *to)
{
    s_tasklet *from = s->stackless.departed, *current = s->current;
    if (from == NULL)
        return;
    s->stackless.departed = NULL;
    if (current == s->idler) {
        s->current = from;
        call_listener(s, from, to);
        s->current = current;
    }
    Py_DECREF((PyObject *)from);
}

static void forget_departed(s_sched *s)
{
    Py_CLEAR(s->stackless.departed);
}

const s_guest s_listener_guest = {.thread_begins = announce_thread,
                                  .announce = announce_switch,
                                  .departed = keep_departed,
                                  .picked = announce_departed,
                                  .thread_ended = forget_departed};

void s_listen(void (*switching)(s_sched *s, s_tasklet *from, s_tasklet *to))
{
    int before = s_announcing;
    listener = switching;
    s_announcing = switching != NULL;
    if (before != s_announcing)
        s_slow_switches(s_announcing ? 1 : -1);
}

int s_switch_trap(s_sched *s, int change)
{
    int before = s->stackless.trapped;
    s->stackless.trapped += change;
    s->trap += (s->stackless.trapped != 0) - (before != 0);
    return before;
}
