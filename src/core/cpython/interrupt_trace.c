/* The same as interrupt.c, where a pending call cannot be switched away from: 3.11.
 *
 * There the interpreter's mark "a pending call runs" is out of reach, and threads other
 * than the main one have no pending calls.  So the request arms a trace function of
 * ours in the target's thread state, and the loop calls that at the next line, call
 * or backward jump, where switching is as good as anywhere.  It takes the place of the
 * program's own trace function, if there is one, and passes everything on to it.
 *
 * Arming needs the GIL, because it writes to a _PyCFrame on the target's C stack.  On
 * the main thread a pending call does it; for the others the thread that asks attaches
 * itself for a moment, after asking the holder to drop the GIL at once.  The same helps
 * where the main thread serves no pending calls, because a tasklet was switched away from
 * inside one: then our last request still stands in the queue.
 *
 * A loop of one instruction (`while True: pass` on one line) meets no new line and jumps to
 * no earlier place, so the loop would not call us.  Where a frame stands in one, it is
 * made to tell every instruction, which it does until it is out of there.
 *
 * Ticks.  While `ticking` the trace function stays: a tick is a line, a call or a
 * backward jump within a line.
 *
 * Threads.  `ts`, `posted` and the trace function are guarded by the GIL, but for the
 * entry in the queue of pending calls, which has the queue's lock.
 *
 * Rejected: a signal, which would use one up and serve the main thread only.
 */
#include "cpython/layout.h"

#ifdef C_INTERRUPT_TRACES

const int c_interrupt_request_waits = 1;

static __thread c_interrupt *mine;

static int hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

static int in_tight_loop(const c_frame *f)
{
    _Py_CODEUNIT at = *frame_ip(f);
    return _PyOpcode_Deopt[_Py_OPCODE(at)] == JUMP_BACKWARD && _Py_OPARG(at) == 1;
}

/* No collection is begun: this may be a thread that must not run Python code. */
static void tell_tight_loop(PyThreadState *ts)
{
    c_frame *f = thread_frame(ts);
    if (f == NULL || !in_tight_loop(f))
        return;
    int collects = PyGC_Disable();
    PyFrameObject *object = PyThreadState_GetFrame(ts);
    if (object != NULL)
        object->f_trace_opcodes = 1;
    Py_XDECREF(object);
    if (collects)
        PyGC_Enable();
}

/* Whether this event is a check. */
static int is_check(c_interrupt *breaker, PyFrameObject *frame, int what)
{
    if (what == PyTrace_LINE && breaker->ticking)
        tell_tight_loop(breaker->ts);
    if (what != PyTrace_OPCODE)
        return what == PyTrace_LINE || what == PyTrace_CALL;
    if (in_tight_loop(frame->f_frame))
        return 1;
    if (breaker->traced == NULL)
        frame->f_trace_opcodes = 0;
    return 0;
}

/* With the GIL. */
static void arm(c_interrupt *breaker)
{
    PyThreadState *ts = breaker->ts;
    if (ts->c_tracefunc != hook) {
        breaker->traced = (void *)ts->c_tracefunc;
        ts->c_tracefunc = hook;
    }
    if (ts->tracing == 0)
        ts->cframe->use_tracing = 255;
    tell_tight_loop(ts);
}

static void disarm(c_interrupt *breaker)
{
    PyThreadState *ts = breaker->ts;
    if (ts->c_tracefunc == hook)
        ts->c_tracefunc = (Py_tracefunc)breaker->traced;
    breaker->traced = NULL;
}

/* The loop has entered tracing; for what we call it has not. */
static int call_untraced(c_interrupt *breaker, PyThreadState *ts)
{
    ts->tracing--;
    int code = breaker->call(breaker);
    ts->tracing++;
    ts->cframe->use_tracing = 0;
    return code;
}

static int hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *ts = PyThreadState_Get();
    c_interrupt *breaker = mine;
    if (breaker == NULL || breaker->ts != ts) {
        ts->c_tracefunc = NULL;
        return 0;
    }
    if (breaker->traced != NULL) {
        int code = ((Py_tracefunc)breaker->traced)(self, frame, what, arg);
        if (code != 0)
            return code;
    }
    if (!is_check(breaker, frame, what))
        return 0;
    int wanted = breaker->posted || breaker->ticking;
    breaker->posted = 0;
    if (!breaker->ticking)
        disarm(breaker);
    return wanted ? call_untraced(breaker, ts) : 0;
}

void c_interrupt_open(c_interrupt *breaker, PyThreadState *ts, int (*call)(c_interrupt *breaker))
{
    breaker->call = call;
    breaker->on_main = c_on_main_thread();
    breaker->ts = ts;
    mine = breaker;
}

void c_interrupt_close(c_interrupt *breaker)
{
    if (breaker->ts == NULL)
        return;
    disarm(breaker);
    breaker->ticking = breaker->posted = 0;
    breaker->ts = NULL;
}

void c_interrupt_repeat(c_interrupt *breaker, int on)
{
    breaker->ticking = on;
    if (on)
        arm(breaker);
}

static int called(void *arg)
{
    c_interrupt *breaker = arg;
    if (breaker->ts == PyThreadState_Get() && breaker->posted)
        arm(breaker);
    return 0;
}

static void look(struct _ceval_state *ceval, _Py_atomic_int *why)
{
    __atomic_store_n(&why->_value, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ceval->eval_breaker._value, 1, __ATOMIC_SEQ_CST);
}

static int is_queued(const struct _pending_calls *queue, const c_interrupt *breaker)
{
    for (int at = queue->first; at != queue->last; at = (at + 1) % NPENDINGCALLS) {
        if (queue->calls[at].func == called && queue->calls[at].arg == breaker)
            return 1;
    }
    return 0;
}

/* 0 when the queue is full or the last request is still in it. */
static int ask_main(PyInterpreterState *interp, c_interrupt *breaker)
{
    struct _pending_calls *queue = &interp->ceval.pending;
    PyThread_acquire_lock(queue->lock, WAIT_LOCK);
    int at = queue->last, next = (at + 1) % NPENDINGCALLS;
    int new = next != queue->first && !is_queued(queue, breaker);
    if (new) {
        queue->calls[at].func = called;
        queue->calls[at].arg = breaker;
        queue->last = next;
    }
    PyThread_release_lock(queue->lock);
    look(&interp->ceval, &queue->calls_to_do);
    return new;
}

static void ask_other(PyInterpreterState *interp, c_interrupt *breaker)
{
    look(&interp->ceval, &interp->ceval.gil_drop_request);
    PyGILState_STATE before = PyGILState_Ensure();
    if (breaker->ts != NULL)
        arm(breaker);
    PyGILState_Release(before);
}

void c_interrupt_request(c_interrupt *breaker)
{
    PyInterpreterState *interp = PyInterpreterState_Main();
    PyThreadState *ts = __atomic_load_n(&breaker->ts, __ATOMIC_SEQ_CST);
    if (ts == NULL)
        return;
    __atomic_store_n(&breaker->posted, 1, __ATOMIC_SEQ_CST);
    if (mine == breaker)
        arm(breaker);
    else if (!breaker->on_main || !ask_main(interp, breaker))
        ask_other(interp, breaker);
}

/* No call puts itself back. */
void c_interrupt_shut_down(void)
{
}

void c_interrupt_interpreter_ending(void)
{
}

/* Its thread state is freed, and the trace function with it. */
void c_interrupt_forget(c_interrupt *breaker)
{
    breaker->traced = NULL;
    breaker->ticking = breaker->posted = 0;
    breaker->ts = NULL;
}

void c_interrupt_after_fork(void)
{
}

/* No mark is set while a trace function runs. */
void c_interrupt_switch_away(c_interrupt *breaker)
{
    (void)breaker;
}

void c_interrupt_switch_back(c_interrupt *breaker)
{
    (void)breaker;
}

#endif
