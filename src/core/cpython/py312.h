/* CPython 3.12: the difference.
 *
 * The instruction pointer of a frame that called C stands at the calling instruction, so stepping
 * over that one means its inline cache alone.  In a frame that waits for another frame of the same
 * activation it stands after the cache already: a callee that yields adds nothing, one that returns
 * adds return_offset.
 *
 * A hard-suspended tasklet saves the pointer to its _PyCFrame.  A soft one has none: its C stack is
 * abandoned, and the dispatcher that resumes it puts a _PyCFrame of its own (stack_base_init) under
 * everything.  Loading the state of a tasklet that has none must not write through the pointer,
 * which is then still the leaving tasklet's.
 *
 * There is one eval breaker for all threads of the interpreter: whichever runs looks, serves the
 * queue of pending calls, and computes the flag anew.  A store of ours that falls into that
 * computation is lost, so a request must be repeated until it is served.  The interpreter serves up
 * to 32 calls at a time, but an entry without a function ends its loop: such an entry parts a call
 * that puts itself back from the safepoint that it was called at.
 */
#ifndef LOOMLET_PY312_H
#define LOOMLET_PY312_H

#include "cpython/py_until312.h"

#include "cpython/py_since312.h"

#include "cpython/py_until313.h"

/* ---- frames and code ---- */

/* 3.12 exports no function for this: py312_clear.c. */
void c_frame_clear_pop(PyThreadState *ts, c_frame *f);
#define C_OWN_FRAME_CLEAR 1
static inline void frame_clear_pop(PyThreadState *ts, c_frame *f)
{
    c_frame_clear_pop(ts, f);
}
static inline int generator_is_suspended(PyGenObject *gen)
{
    return gen->gi_frame_state == FRAME_SUSPENDED;
}
/* A new frame of the data stack without slots. */
static inline void frame_init(c_frame *f, PyObject *function, PyCodeObject *code, PyObject *locals)
{
    memset(f, 0, offsetof(c_frame, localsplus));
    f->f_funcobj = Py_NewRef(function);
    f->f_code = (PyCodeObject *)Py_NewRef(code);
    f->f_locals = Py_XNewRef(locals);
    f->owner = FRAME_OWNED_BY_THREAD;
}

/* From the calling instruction to the last unit of its cache. */
#define C_STEP_OVER(op) (C_CACHES(op))
/* A frame that waits for another one stands after its cache. */
#define C_WAIT_ADVANCE(op) (C_CACHES(op))
#define C_YIELD_ADVANCE 0
/* The handlers of a thrown exception are those of the unit at prev_instr. */
#define C_THROW_ADVANCE 0
/* What a frame after FOR_ITER must add when the generator that it runs returns: END_FOR drops the
 * result and the iterator. */
#define C_RETURN_FROM_FOR_ITER(jump) (jump)
/* An iteration that ends drops its iterator. */
#define C_ITER_END_POPS 1

#define C_OP_CALL_KW                                                                               \
    (-1) /* KW_NAMES puts the names in a variable of the eval loop: a plain CALL                   \
          */
#define C_OP_COMPILED (-1)
/* Stands directly before a call with keywords. */
#define C_OP_KW_NAMES KW_NAMES

/* What a method is called with, or NULL for a function. */
#define C_CALL_SELF(slots) ((slots)[0] ? (slots)[1] : NULL)
/* The empty slot of a call of a function. */
#define C_EMPTY_SLOT(slots) (slots)[0]
#define C_KW_OPERANDS(oparg) ((oparg) + 2)
/* f(*args): NULL, callable, args [, kwargs] */
#define C_EX_TARGET(slots) slot_object((slots)[1])
/* A functools.partial object that adds arguments may hide itself: its slot in the frame is where
 * its array begins. */
#define C_PARTIAL_IS_VISIBLE 0
/* LOAD_ATTR for a call of an attribute that is not a method pushes NULL, then the attribute. */
#define C_ATTRIBUTE_AFTER_NULL 1

/* ---- thread states ---- */

/* Inside a nested deallocation: the thread counts how deep. */
static inline int thread_in_dealloc(PyThreadState *ts)
{
    return ts->trash.delete_nesting;
}
/* Objects in trash.delete_later stay with the thread: they are freed when it leaves its outermost
 * deallocation. */
static inline void thread_nesting_save(PyThreadState *ts, c_hard_state *kept)
{
    kept->tracing = ts->tracing;
    kept->event = ts->what_event;
    kept->nesting = ts->trash.delete_nesting;
    ts->tracing = 0;
    ts->what_event = -1;
    ts->trash.delete_nesting = 0;
}
static inline void thread_nesting_restore(PyThreadState *ts, c_hard_state *kept)
{
    ts->tracing = kept->tracing;
    ts->what_event = kept->event;
    ts->trash.delete_nesting = kept->nesting;
}
static inline void stack_base_enter(PyThreadState *ts, void **cell)
{
    ((_PyCFrame *)cell)->current_frame = NULL;
    B_CHECK(ts->cframe == (_PyCFrame *)cell);
}
/* The _PyCFrame of the stack that the thread leaves may not outlive it. */
static inline void thread_set_base_frame(PyThreadState *ts)
{
    ts->root_cframe.current_frame = NULL;
    ts->cframe = &ts->root_cframe;
}
/* It does not have the GIL.  Any thread. */
static inline int thread_is_detached(const PyThreadState *ts)
{
    const struct _gil_runtime_state *gil = PyInterpreterState_Main()->ceval.gil;
    return !__atomic_load_n(&gil->locked._value, __ATOMIC_RELAXED) ||
           __atomic_load_n(&gil->last_holder._value, __ATOMIC_RELAXED) != (uintptr_t)ts;
}
/* threading.local finds a thread's values in the dictionary of the thread state alone. */
static inline void thread_share_keys(PyThreadState *ts, const PyThreadState *from)
{
    (void)ts, (void)from;
}
static inline void thread_take_keys(PyThreadState *ts, PyObject **sentinel, PyObject **key)
{
    (void)ts, (void)sentinel, (void)key;
}

/* ---- pending calls ---- */

/* Any thread looks. */
#define C_INTERRUPT_SHARED 1
/* An asynchronous exception belongs to one thread. */
#define C_THROWS_ASYNC 1

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
/* What is pushed next is called at the next safepoint, not at this one. */
static inline void pending_separate(pending_queue *queue)
{
    int left = (queue->first - queue->last - 1 + NPENDINGCALLS) % NPENDINGCALLS;
    if (left > 1)
        pending_push(queue, NULL, NULL);
}
/* The loop over the queue is left before its end: the entries that part them are not for the next
 * such loop, which would end there and not look again. */
static inline void pending_loop_left(pending_queue *queue)
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
/* The loop over the queue resumes, and shall end at once. */
static inline void pending_loop_resumed(pending_queue *queue)
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
static inline void pending_set_pace(pending_queue *queue, int one_at_a_time)
{
    (void)queue, (void)one_at_a_time;
}
static inline int pending_has_calls(pending_queue *queue)
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
/* Whether the safepoint that serves the calls has more to do than that. */
static inline int safepoint_has_more(PyThreadState *ts)
{
    const struct _ceval_state *ceval = &ts->interp->ceval;
    return _Py_atomic_load_relaxed(&ceval->gil_drop_request) ||
           _Py_atomic_load_relaxed(&ceval->gc_scheduled) ||
           _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) || ts->async_exc != NULL;
}

#endif
