/* What CPython has had since 3.13: the instruction pointer stands at the instruction, and each
 * thread has an eval breaker of its own.
 *
 * The instruction pointer (instr_ptr) of a frame that calls stands at the CALL itself.  The thread
 * state names the running frame: nothing of it lies on the C stack.
 *
 * The queue of pending calls is served by whichever thread finds its own bit set.
 * `handling_thread` names the thread that does; only one may.  While an interrupt request is open
 * the queue is served one call at a time (`maxloop`).  That is what calls a request that puts
 * itself back once per safepoint, and what ends the interpreter's loop over the queue after our
 * call has come back from a switch.
 */
#ifndef LOOMLET_PY_SINCE313_H
#define LOOMLET_PY_SINCE313_H

#include "cpython/py_common.h"

#include <internal/pycore_ceval_state.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_opcode_utils.h>

#include "cpython/py_since312.h"

/* ---- frames and code ---- */

static inline _Py_CODEUNIT *frame_ip(const c_frame *f)
{
    return f->instr_ptr;
}
static inline void frame_set_ip(c_frame *f, _Py_CODEUNIT *ip)
{
    f->instr_ptr = ip;
}
static inline void frame_clear_pop(PyThreadState *ts, c_frame *f)
{
    _PyEval_FrameClearAndPop(ts, f);
}
static inline int generator_is_suspended(PyGenObject *gen)
{
    return FRAME_STATE_SUSPENDED(gen->gi_frame_state);
}
/* The state of a generator that has delegated to another one. */
#define C_DELEGATING FRAME_SUSPENDED_YIELD_FROM

/* The instruction pointer stands at the instruction: step over it and its cache. */
#define C_STEP_OVER(op) (1 + C_CACHES(op))
/* A frame that waits for another one stays at its instruction, and resumes after it when the other
 * one yields.  That is SEND or FOR_ITER, which are equally long; tracing may have put another
 * opcode there. */
#define C_WAIT_ADVANCE(op) 0
#define C_YIELD_ADVANCE C_STEP_OVER(SEND)
/* From the instruction pointer of a frame to the instruction that runs next. */
#define C_IP_TO_NEXT 0
/* The handlers of a thrown exception are those of the unit before the instruction pointer. */
#define C_THROW_ADVANCE 1
/* What a frame at FOR_ITER must add when the generator that it runs returns. */
#define C_RETURN_FROM_FOR_ITER(jump) (C_STEP_OVER(FOR_ITER) + (jump))
/* An iteration that ends keeps its iterator for the instruction after END_FOR. */
#define C_ITER_END_POPS 0

#define C_OP_CALL_KW CALL_KW
#define C_OP_COMPILED ENTER_EXECUTOR
#define C_OP_KW_NAMES (-1)

/* [callable, self or NULL, args...] */
#define C_CALL_TARGET(slots) slot_object((slots)[0])
#define C_CALL_FITS(slots, site) 1
/* What a method is called with, or NULL for a function. */
#define C_CALL_SELF(slots) slot_object((slots)[1])
/* The empty slot of a call of a function. */
#define C_EMPTY_SLOT(slots) (slots)[1]
/* CALL_KW has the tuple of names on the stack. */
#define C_KW_OPERANDS(oparg) ((oparg) + 3)
/* f(*args): callable, NULL, args, and what says that there are keywords. */
#define C_EX_TARGET(slots) slot_object((slots)[0])
/* A functools.partial object shows what it adds in front of the arguments. */
#define C_PARTIAL_IS_VISIBLE 1
/* LOAD_ATTR for a call of an attribute that is not a method pushes the attribute, then NULL. */
#define C_ATTRIBUTE_AFTER_NULL 0

/* ---- thread states ---- */

static inline c_frame *thread_frame(PyThreadState *ts)
{
    return ts->current_frame;
}
static inline void thread_set_frame(PyThreadState *ts, c_frame *f)
{
    ts->current_frame = f;
}
static inline void thread_save_cframe(PyThreadState *ts, c_state *state)
{
    (void)ts, (void)state;
}
static inline void thread_drop_cframe(c_state *state)
{
    (void)state;
}
static inline void thread_load_frame(PyThreadState *ts, const c_state *state)
{
    ts->current_frame = state->frame;
}
static inline void thread_set_base_frame(PyThreadState *ts)
{
    (void)ts;
}
/* Any thread. */
static inline int thread_is_detached(const PyThreadState *ts)
{
    return __atomic_load_n(&ts->state, __ATOMIC_RELAXED) == _Py_THREAD_DETACHED;
}
/* By what a thread.local finds a thread's values. */
static inline void thread_share_keys(PyThreadState *ts, const PyThreadState *from)
{
    Py_XSETREF(ts->threading_local_key, Py_XNewRef(from->threading_local_key));
    Py_XSETREF(ts->threading_local_sentinel, Py_XNewRef(from->threading_local_sentinel));
}
static inline void thread_take_keys(PyThreadState *ts, PyObject **sentinel, PyObject **key)
{
    *sentinel = ts->threading_local_sentinel;
    *key = ts->threading_local_key;
    ts->threading_local_sentinel = ts->threading_local_key = NULL;
}
static inline void stack_base_init(PyThreadState *ts, void **cell)
{
    (void)ts, (void)cell;
}
static inline void stack_base_enter(PyThreadState *ts, void **cell)
{
    (void)ts, (void)cell;
}
/* The end of a thread is an event, not a lock. */
static inline void *thread_end_lock(PyThreadState *ts)
{
    (void)ts;
    return NULL;
}

/* ---- pending calls ---- */

/* The bit is the thread's own: no other thread looks. */
#define C_INTERRUPT_SHARED 0

static inline void pending_lock(pending_queue *queue)
{
    c_lock_waits_++;
    PyMutex_Lock(&queue->mutex);
    c_lock_waits_--;
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
/* What is pushed next is called at the next safepoint, not at this one: it is so anyway, with one
 * call at a time. */
static inline void pending_separate(pending_queue *queue)
{
    (void)queue;
}
/* The loop over the queue is left before its end, and resumed: it ends at once anyway. */
static inline void pending_loop_left(pending_queue *queue)
{
    (void)queue;
}
static inline void pending_loop_resumed(pending_queue *queue)
{
    (void)queue;
}
static inline void pending_signal(PyThreadState *ts)
{
    _Py_set_eval_breaker_bit(ts, _PY_CALLS_TO_DO_BIT);
}
static inline void pending_set_pace(pending_queue *queue, int one_at_a_time)
{
    queue->maxloop = one_at_a_time ? 1 : MAXPENDINGCALLSLOOP;
}
static inline int pending_has_calls(pending_queue *queue)
{
    return __atomic_load_n(&queue->npending, __ATOMIC_SEQ_CST) > 0;
}
static inline int pending_busy(const pending_queue *queue)
{
    return queue->handling_thread != NULL;
}
/* Whether this thread serves the queue, in another tasklet, so that waiting would never end. */
static inline int pending_busy_here(const pending_queue *queue, const PyThreadState *ts)
{
    return queue->handling_thread == ts;
}
static inline void pending_set_busy(pending_queue *queue, PyThreadState *ts)
{
    queue->handling_thread = ts;
}
static inline void write_thread_exception(PyObject *function)
{
    PyErr_FormatUnraisable("Exception ignored in thread started by %R", function);
}
/* The mark by which the eval loop of the main thread learns of signals. */
static inline int signal_has_mark(PyThreadState *ts)
{
    return (__atomic_load_n(&ts->eval_breaker, __ATOMIC_RELAXED) & _PY_SIGNALS_PENDING_BIT) != 0;
}
static inline void signal_clear_mark(PyThreadState *ts)
{
    _Py_unset_eval_breaker_bit(ts, _PY_SIGNALS_PENDING_BIT);
}
/* Whether the safepoint that serves the calls has more to do than that. */
static inline int safepoint_has_more(PyThreadState *ts)
{
    uintptr_t bits = __atomic_load_n(&ts->eval_breaker, __ATOMIC_RELAXED);
    return (bits & _PY_EVAL_EVENTS_MASK & ~(uintptr_t)_PY_CALLS_TO_DO_BIT) != 0;
}

#ifndef Py_GIL_DISABLED
/* Whoever has the GIL drops it at its next safepoint, and then waits until another thread has it.
 * The GIL's mutex is taken: with it, no holder ends. */
static inline void gil_ask_holder(struct _gil_runtime_state *gil)
{
    PyThreadState *holder = __atomic_load_n(&gil->last_holder, __ATOMIC_RELAXED);
    if (holder != NULL && __atomic_load_n(&gil->locked, __ATOMIC_RELAXED) > 0)
        _Py_set_eval_breaker_bit(holder, _PY_GIL_DROP_REQUEST_BIT);
}
static inline void gil_withdraw_request(PyThreadState *ts)
{
    _Py_unset_eval_breaker_bit(ts, _PY_GIL_DROP_REQUEST_BIT);
}
#endif

#endif
