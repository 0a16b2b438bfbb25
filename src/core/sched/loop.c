/* Running event loops of asyncio per tasklet: what one runs is seen in no other.
 *
 * A tasklet in which a loop runs owns a record, t->loop.  While the tasklet runs, what the loop
 * has put into the thread state lies there, and the record holds what others see: nothing.  When it
 * stops, wherever that is (a wait in the loop's own selector, a blocking call in a coroutine, the
 * end of a time slice), the two are exchanged, and when it goes on they are exchanged again.
 *
 * Such a tasklet is always suspended hard, so that both happen in one function (switch.c) and
 * nobody else's switches need a test.  s->soft, which is 2 while it runs, sends it there.
 */
#include "sched/internal.h"

static void enter(s_sched *s, int in_loop)
{
    s->in_loop = in_loop;
    s->soft = s_soft_mode(s, s->soft);
}

int s_loop_own(s_sched *s)
{
    s_tasklet *t = s->current;
    if (t->loop == NULL)
        t->loop = c_calloc(sizeof(*t->loop));
    if (t->loop == NULL)
        return S_E_MEMORY;
    enter(s, 1);
    return S_OK;
}

void s_loop_settle(s_sched *s)
{
    s_tasklet *t = s->current;
    if (t->loop == NULL || c_event_loop_is_running())
        return;
    c_event_loop_clear(t->loop);
    PyMem_Free(t->loop);
    t->loop = NULL;
    enter(s, 0);
}

void s_loop_leave(s_sched *s, s_tasklet *me)
{
    c_event_loop_swap(s->ts, me->loop);
    enter(s, 0);
}

void s_loop_back(s_sched *s, s_tasklet *me)
{
    c_event_loop_swap(s->ts, me->loop);
    enter(s, 1);
}

void s_loop_drop(s_sched *s, s_tasklet *t)
{
    PyObject *pending = PyErr_GetRaisedException();
    c_event_loop *loop = t->loop;
    t->loop = NULL;
    if (s != NULL && s->current == t) {
        c_event_loop_swap(s->ts, loop);
        enter(s, 0);
    }
    c_event_loop_clear(loop);
    PyMem_Free(loop);
    PyErr_SetRaisedException(pending);
}
