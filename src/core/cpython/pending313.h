/* CPython 3.13 and later: the queue of pending calls, and the bit that makes one thread look.
 *
 * The interpreter's queue is served by whichever thread finds its own bit set.
 * `handling_thread` says who does; only one may.  While a breaker is open the queue
 * is served one call at a time (`maxloop`), which is what makes a call that puts
 * itself back be called once per check, and what ends the interpreter's loop after
 * our call has come back from a switch.
 */
#ifndef LOOMLET_PENDING313_H
#define LOOMLET_PENDING313_H

#include <internal/pycore_ceval_state.h>

typedef struct _pending_calls pending_queue;

/* The bit is the thread's own: nobody else looks. */
#define C_INTERRUPT_SHARED 0

static inline pending_queue *pending_of_interpreter(void)
{
    return &PyInterpreterState_Main()->ceval.pending;
}
static inline void pending_lock(pending_queue *queue)
{
    PyMutex_Lock(&queue->mutex);
}
static inline void pending_unlock(pending_queue *queue)
{
    PyMutex_Unlock(&queue->mutex);
}
/* 0, or -1 when the queue is full.  Locked. */
static inline int pending_push(pending_queue *queue, int (*call)(void *), void *arg)
{
    int at = queue->next;
    if (queue->npending >= queue->max)
        return -1;
    queue->calls[at] = (struct _pending_call){call, arg, 0};
    __atomic_fetch_add(&queue->npending, 1, __ATOMIC_SEQ_CST);
    queue->next = (at + 1) % PENDINGCALLSARRAYSIZE;
    return 0;
}
/* What is pushed next is called at the next check, not at this one. */
static inline void pending_part(pending_queue *queue)
{
    (void)queue;
}
/* The loop is left in the midst of its calls, and goes on: it ends at once anyway. */
static inline void pending_pause(pending_queue *queue)
{
    (void)queue;
}
static inline void pending_resume(pending_queue *queue)
{
    (void)queue;
}
static inline void pending_signal(PyThreadState *ts)
{
    _Py_set_eval_breaker_bit(ts, _PY_CALLS_TO_DO_BIT);
}
static inline void pending_pace(pending_queue *queue, int one_at_a_time)
{
    queue->maxloop = one_at_a_time ? 1 : MAXPENDINGCALLSLOOP;
}
static inline int pending_waits(pending_queue *queue)
{
    return __atomic_load_n(&queue->npending, __ATOMIC_SEQ_CST) > 0;
}
static inline int pending_busy(const pending_queue *queue)
{
    return queue->handling_thread != NULL;
}
/* Whether it is this thread, in another tasklet, so that waiting would be for ever. */
static inline int pending_busy_here(const pending_queue *queue, const PyThreadState *ts)
{
    return queue->handling_thread == ts;
}
static inline void pending_set_busy(pending_queue *queue, PyThreadState *ts)
{
    queue->handling_thread = ts;
}
/* Whether the check that serves the calls has more to do than that. */
static inline int check_has_more(PyThreadState *ts)
{
    uintptr_t bits = __atomic_load_n(&ts->eval_breaker, __ATOMIC_RELAXED);
    return (bits & _PY_EVAL_EVENTS_MASK & ~(uintptr_t)_PY_CALLS_TO_DO_BIT) != 0;
}
static inline int thread_collecting(PyThreadState *ts)
{
    return __atomic_load_n(&ts->interp->gc.collecting, __ATOMIC_RELAXED);
}

#endif
