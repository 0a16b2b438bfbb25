/* Interrupt requests where a pending call cannot be switched away from (3.11); see interrupt.c.
 *
 * On 3.11 the interpreter's mark "a pending call runs" is out of reach, and threads other than the
 * main one have no pending calls.  So a request installs a trace function of ours in the target's
 * thread state, and the eval loop calls it at the next line, call or backward jump, where switching
 * is as good as anywhere.  It takes the place of the program's own trace function, if there is one,
 * and passes every event on to it.
 *
 * Installing needs the GIL, because it writes to a _PyCFrame on the target's C stack.  On the main
 * thread a pending call does it; for the others the requesting thread attaches itself for a moment,
 * after asking the holder to drop the GIL at once.  The same is done where the main thread serves
 * no pending calls, because a tasklet was switched away from inside one: then our last request is
 * still in the queue.
 *
 * A loop of one instruction (`while True: pass` on one line) meets no new line and jumps to no
 * earlier instruction, so the eval loop would not call us.  If a frame stands in such a loop, it is
 * made to report every instruction, until it has left the loop.
 *
 * Repeating.  While `repeating` the trace function stays: a safepoint is a line, a call or a
 * backward jump within a line.
 *
 * Threads.  `ts`, `posted` and the trace function are guarded by the GIL, but for the entry in the
 * queue of pending calls, which the queue's lock guards.
 *
 * Rejected: a signal, which would use one up and serve the main thread only.
 */
#include "cpython/layout.h"

#ifdef C_INTERRUPT_TRACES

const int c_interrupt_request_waits = 1;

static __thread c_interrupt *mine;

static int interrupt_trace_function(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

static int in_tight_loop(const c_frame *f)
{
    _Py_CODEUNIT at = *frame_ip(f);
    return _PyOpcode_Deopt[_Py_OPCODE(at)] == JUMP_BACKWARD && _Py_OPARG(at) == 1;
}

/* No garbage collection may begin: this may be a thread that must not run Python code. */
static void trace_tight_loop(PyThreadState *ts)
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

/* Whether this event is a safepoint. */
static int is_trace_safepoint(c_interrupt *request, PyFrameObject *frame, int what)
{
    if (what == PyTrace_LINE && request->repeating)
        trace_tight_loop(request->ts);
    if (what != PyTrace_OPCODE)
        return what == PyTrace_LINE || what == PyTrace_CALL;
    if (in_tight_loop(frame->f_frame))
        return 1;
    if (request->replaced_trace == NULL)
        frame->f_trace_opcodes = 0;
    return 0;
}

/* With the GIL. */
static void arm_trace_function(c_interrupt *request)
{
    PyThreadState *ts = request->ts;
    if (ts->c_tracefunc != interrupt_trace_function) {
        request->replaced_trace = (void *)ts->c_tracefunc;
        ts->c_tracefunc = interrupt_trace_function;
    }
    if (ts->tracing == 0)
        ts->cframe->use_tracing = 255;
    trace_tight_loop(ts);
}

static void disarm_trace_function(c_interrupt *request)
{
    PyThreadState *ts = request->ts;
    if (ts->c_tracefunc == interrupt_trace_function)
        ts->c_tracefunc = (Py_tracefunc)request->replaced_trace;
    request->replaced_trace = NULL;
}

Py_tracefunc c_trace_function(PyThreadState *ts)
{
    if (ts->c_tracefunc != interrupt_trace_function)
        return ts->c_tracefunc;
    return mine != NULL && mine->ts == ts ? (Py_tracefunc)mine->replaced_trace : NULL;
}

void c_trace_set_function(PyThreadState *ts, Py_tracefunc function)
{
    if (ts->c_tracefunc != interrupt_trace_function)
        ts->c_tracefunc = function;
    else if (mine != NULL && mine->ts == ts)
        mine->replaced_trace = (void *)function;
}

void c_trace_changed(PyThreadState *ts)
{
    if (mine != NULL && mine->ts == ts && (mine->posted || mine->repeating))
        arm_trace_function(mine);
}

/* The eval loop has entered tracing; for the function that we call it has not. */
static int call_untraced(c_interrupt *request, PyThreadState *ts)
{
    ts->tracing--;
    int code = request->call(request);
    ts->tracing++;
    ts->cframe->use_tracing = 0;
    return code;
}

static int interrupt_trace_function(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *ts = PyThreadState_Get();
    c_interrupt *request = mine;
    if (request == NULL || request->ts != ts) {
        ts->c_tracefunc = NULL;
        return 0;
    }
    if (request->replaced_trace != NULL) {
        int code = ((Py_tracefunc)request->replaced_trace)(self, frame, what, arg);
        if (code != 0)
            return code;
    }
    if (!is_trace_safepoint(request, frame, what))
        return 0;
    int wanted = request->posted || request->repeating;
    request->posted = 0;
    if (!request->repeating)
        disarm_trace_function(request);
    return wanted ? call_untraced(request, ts) : 0;
}

void c_interrupt_open(c_interrupt *request, PyThreadState *ts, int (*call)(c_interrupt *request))
{
    request->call = call;
    request->is_main_thread = c_on_main_thread();
    request->ts = ts;
    mine = request;
}

/* Nobody hands a thread over here. */
void c_interrupt_forget_thread(const PyThreadState *ts)
{
    (void)ts;
}

void c_interrupt_close(c_interrupt *request)
{
    if (request->ts == NULL)
        return;
    disarm_trace_function(request);
    request->repeating = request->posted = 0;
    request->ts = NULL;
}

void c_interrupt_repeat(c_interrupt *request, int on)
{
    request->repeating = on;
    if (on)
        arm_trace_function(request);
}

static int on_main_pending_call(void *arg)
{
    c_interrupt *request = arg;
    if (request->ts == PyThreadState_Get() && request->posted)
        arm_trace_function(request);
    return 0;
}

static void set_eval_breaker(struct _ceval_state *ceval, _Py_atomic_int *why)
{
    __atomic_store_n(&why->_value, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ceval->eval_breaker._value, 1, __ATOMIC_SEQ_CST);
}

static int request_is_queued(const struct _pending_calls *queue, const c_interrupt *request)
{
    for (int at = queue->first; at != queue->last; at = (at + 1) % NPENDINGCALLS) {
        if (queue->calls[at].func == on_main_pending_call && queue->calls[at].arg == request)
            return 1;
    }
    return 0;
}

/* 0 when the queue is full or the last request is still in it. */
static int queue_main_call(PyInterpreterState *interp, c_interrupt *request)
{
    struct _pending_calls *queue = &interp->ceval.pending;
    PyThread_acquire_lock(queue->lock, WAIT_LOCK);
    int at = queue->last, next = (at + 1) % NPENDINGCALLS;
    int new = next != queue->first && !request_is_queued(queue, request);
    if (new) {
        queue->calls[at].func = on_main_pending_call;
        queue->calls[at].arg = request;
        queue->last = next;
    }
    PyThread_release_lock(queue->lock);
    set_eval_breaker(&interp->ceval, &queue->calls_to_do);
    return new;
}

static void arm_other_thread(PyInterpreterState *interp, c_interrupt *request)
{
    set_eval_breaker(&interp->ceval, &interp->ceval.gil_drop_request);
    PyGILState_STATE before = PyGILState_Ensure();
    if (request->ts != NULL)
        arm_trace_function(request);
    PyGILState_Release(before);
}

void c_interrupt_request(c_interrupt *request)
{
    PyInterpreterState *interp = PyInterpreterState_Main();
    PyThreadState *ts = __atomic_load_n(&request->ts, __ATOMIC_SEQ_CST);
    if (ts == NULL)
        return;
    __atomic_store_n(&request->posted, 1, __ATOMIC_SEQ_CST);
    if (mine == request)
        arm_trace_function(request);
    else if (!request->is_main_thread || !queue_main_call(interp, request))
        arm_other_thread(interp, request);
}

/* Nobody hands a thread over here. */
void c_interrupt_await(c_interrupt *request)
{
    (void)request;
}

void c_interrupt_cancel(c_interrupt *request)
{
    (void)request;
}

int c_interrupt_any(void)
{
    return 0;
}

void c_interrupt_ring(void)
{
}

/* No request puts itself back. */
void c_interrupt_shut_down(void)
{
}

void c_interrupt_interpreter_ending(void)
{
}

/* The thread state has been freed, and the trace function with it. */
void c_interrupt_forget(c_interrupt *request)
{
    request->replaced_trace = NULL;
    request->repeating = request->posted = 0;
    request->ts = NULL;
}

void c_interrupt_after_fork(void)
{
}

/* No mark is set while a trace function runs. */
void c_interrupt_switch_away(c_interrupt *request)
{
    (void)request;
}

void c_interrupt_switch_back(c_interrupt *request)
{
    (void)request;
}

#endif
