/* Running event loops of asyncio: what runs in one tasklet is seen in no other.
 *
 * A tasklet in which an event loop runs owns a record, t->event_loop.  While the tasklet runs, what
 * the event loop has put into the thread state is there, and the record holds what others see:
 * nothing.  When it stops, wherever that is (a wait in the event loop's own selector, a blocking
 * call in a coroutine, the end of a time slice), the two are swapped, and when it runs again they
 * are swapped back.
 *
 * Such a tasklet is always suspended hard, so that both are reported and no other switch needs a
 * test (s_only_hard_for).
 */
#include "sched/guests/event_loop.h"

#include "sched/internal.h"

int s_event_loop_prepare(s_sched *s)
{
    s_tasklet *t = s->current;
    if (t->event_loop == NULL)
        t->event_loop = c_calloc(sizeof(*t->event_loop));
    if (t->event_loop == NULL)
        return S_E_MEMORY;
    t->attached |= S_HAS_LOOP;
    s_only_hard_for(s, t);
    return S_OK;
}

void s_event_loop_update(s_sched *s)
{
    s_tasklet *t = s->current;
    if (t->event_loop == NULL || c_event_loop_is_running())
        return;
    c_event_loop_clear(t->event_loop);
    PyMem_Free(t->event_loop);
    t->event_loop = NULL;
    t->attached &= (unsigned char)~S_HAS_LOOP;
    s_only_hard_for(s, t);
}

static void swap_out_loop(s_sched *s, s_tasklet *me)
{
    c_event_loop_swap(s->ts, me->event_loop);
    s_only_hard_for(s, NULL);
}

static void swap_in_loop(s_sched *s, s_tasklet *me)
{
    c_event_loop_swap(s->ts, me->event_loop);
    s_only_hard_for(s, me);
}

static void drop_loop(s_sched *s, s_tasklet *t)
{
    PyObject *pending = PyErr_GetRaisedException();
    c_event_loop *loop = t->event_loop;
    t->event_loop = NULL;
    t->attached &= (unsigned char)~S_HAS_LOOP;
    if (s != NULL && s->current == t) {
        c_event_loop_swap(s->ts, loop);
        s_only_hard_for(s, t);
    }
    c_event_loop_clear(loop);
    PyMem_Free(loop);
    PyErr_SetRaisedException(pending);
}

const s_guest s_event_loop_guest = {
    .bit = S_HAS_LOOP, .leave = swap_out_loop, .resume = swap_in_loop, .drop = drop_loop};
