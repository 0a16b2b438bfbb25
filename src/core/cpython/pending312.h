/* CPython 3.12: the queue of pending calls, and the flag that makes everybody look.
 *
 * There is one eval_breaker for all threads of the interpreter: whichever runs
 * looks, serves the queue, and computes the flag anew.  A store of ours that falls
 * into that computation is lost, so whoever asks must ask again.
 *
 * The interpreter's loop serves up to 32 calls at a time, but an entry without a
 * function ends it: such an entry parts a call that puts itself back from the check
 * that it was called at.
 */
#ifndef LOOMLET_PENDING312_H
#define LOOMLET_PENDING312_H

typedef struct _pending_calls pending_queue;

/* Any thread looks. */
#define C_INTERRUPT_SHARED 1

static inline pending_queue *pending_of_interpreter(void)
{
    return &PyInterpreterState_Main()->ceval.pending;
}
static inline void pending_lock(pending_queue *queue)
{
    PyThread_acquire_lock(queue->lock, WAIT_LOCK);
}
static inline void pending_unlock(pending_queue *queue)
{
    PyThread_release_lock(queue->lock);
}
/* 0, or -1 when the queue is full.  Locked. */
static inline int pending_push(pending_queue *queue, int (*call)(void *), void *arg)
{
    int at = queue->last, next = (at + 1) % NPENDINGCALLS;
    if (next == queue->first)
        return -1;
    queue->calls[at].func = call;
    queue->calls[at].arg = arg;
    queue->last = next;
    return 0;
}
/* What is pushed next is called at the next check, not at this one. */
static inline void pending_part(pending_queue *queue)
{
    int left = (queue->first - queue->last - 1 + NPENDINGCALLS) % NPENDINGCALLS;
    if (left > 1)
        pending_push(queue, NULL, NULL);
}
/* The loop is left in the midst of its calls: what parts them is not for the next one,
 * which would end there and not look again. */
static inline void pending_pause(pending_queue *queue)
{
    int to = queue->first;
    for (int at = to; at != queue->last; at = (at + 1) % NPENDINGCALLS) {
        if (queue->calls[at].func == NULL)
            continue;
        queue->calls[to] = queue->calls[at];
        to = (to + 1) % NPENDINGCALLS;
    }
    queue->last = to;
}
/* The loop goes on, and shall end at once. */
static inline void pending_resume(pending_queue *queue)
{
    int before = (queue->first - 1 + NPENDINGCALLS) % NPENDINGCALLS;
    if (queue->first == queue->last || before == queue->last)
        return;
    queue->calls[before].func = NULL;
    queue->first = before;
}
static inline void pending_signal(PyThreadState *ts)
{
    __atomic_store_n(&ts->interp->ceval.pending.calls_to_do._value, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ts->interp->ceval.eval_breaker._value, 1, __ATOMIC_SEQ_CST);
}
static inline void pending_pace(pending_queue *queue, int one_at_a_time)
{
    (void)queue, (void)one_at_a_time;
}
static inline int pending_waits(pending_queue *queue)
{
    return queue->first != queue->last;
}
static inline int pending_busy(const pending_queue *queue)
{
    return queue->busy;
}
static inline int pending_busy_here(const pending_queue *queue, const PyThreadState *ts)
{
    (void)queue, (void)ts;
    return 0;
}
static inline void pending_set_busy(pending_queue *queue, PyThreadState *ts)
{
    queue->busy = ts != NULL;
}
/* Whether the check that serves the calls has more to do than that. */
static inline int check_has_more(PyThreadState *ts)
{
    const struct _ceval_state *ceval = &ts->interp->ceval;
    return _Py_atomic_load_relaxed(&ceval->gil_drop_request) ||
           _Py_atomic_load_relaxed(&ceval->gc_scheduled) ||
           _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) || ts->async_exc != NULL;
}
static inline int thread_collecting(PyThreadState *ts)
{
    return ts->interp->gc.collecting;
}

#endif
