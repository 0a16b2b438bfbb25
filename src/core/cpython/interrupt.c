/* Interrupt requests: making the eval loop of one thread call us, from any thread, also from one
 * without a thread state.
 *
 * The eval loop looks at a word, the eval breaker, when a function begins, when it jumps backwards,
 * and when most calls of C functions return: a safepoint.  A call of ours is put into the
 * interpreter's queue of pending calls by hand, with the request as its argument, and only the
 * target thread is made to look (3.12: all threads are).  Py_AddPendingCall would reach the main
 * thread only.
 *
 * Right thread.  The queue belongs to the interpreter, so another thread may serve it.  The call
 * compares its thread state with the request's.  If they differ it only puts itself back for the
 * right thread, or, where all threads look at one flag and would put it back in turns, drops
 * itself: the requester repeats its request until it is served.  A thread that finds the request of
 * another one in front of its own serves its own at once: the other one runs meanwhile, and it may
 * be long until this thread comes by again.  A cancelled request whose call is still in the queue
 * is dropped by whoever finds it: its thread may sleep for long, and its call would take a
 * safepoint of others again and again.
 *
 * Waiting.  A request to a detached thread must reach that one when it comes back, whenever that
 * is.  Where each thread has a bit of its own, the call waits in the queue behind it.  Where all
 * look at one flag, a call that waited there would stop every thread at every safepoint: when the
 * interpreter has served the queue it computes the flag anew, from what is in the queue.  So such a
 * request is not posted but only noted, and c_interrupt_ring(), called again and again, posts it
 * when it sees that its thread has the GIL.  Many may wait: only one has the GIL, so the queue does
 * not fill.
 *
 * Lifetime.  A thread state is touched only under the queue's lock and while `ts` is set; the
 * thread itself clears `ts` under that lock (c_interrupt_close) before it ends.  Requests are never
 * freed, so a late call finds a closed one.
 *
 * Busy marks.  The interpreter lets one thread at a time serve the queue, and marks that; a tasklet
 * that is switched away from inside our call would keep the mark.  c_interrupt_switch_away clears
 * it, and makes every thread look again whose call is still in the queue, because it is unknown
 * when this thread will serve it.  c_interrupt_switch_back sets it again before the interpreter
 * continues to serve the queue, and waits (detached) while another thread serves.  After
 * LONGEST_WAIT it stops waiting: the other thread's call may itself be waiting for us.
 *
 * Repeating.  While `repeating`, the call puts itself back each time, after the calls that are
 * served at this safepoint: exactly one call per safepoint, as long as no other thread serves a
 * pending call at that moment.  The loop over the queue that we left must not serve, when it
 * resumes, what was put back meanwhile: it is made to end (pending_loop_resumed).
 *
 * The end.  When the last thread that it waits for has ended, the interpreter serves the queue
 * until it is empty, on its first thread and without a pause: a call that puts itself back, for a
 * daemon thread or for a tasklet that will never run again, would keep it busy for ever.  So the
 * first call that is served there shuts everything down.  It is recognised by the frame: it comes
 * from the frame that was current when the end began (NULL, but for an exit from within a tasklet),
 * not from the eval loop.  Until then, also while the interpreter waits for threads, everything
 * works as usual.
 *
 * Fork.  No thread without a thread state posts a request at that moment (preempt_monitor.c), so
 * the child's queue is whole.  The thread states of other threads are freed in the child before we
 * can react, and until their requests are closed nothing may be put back for them: the process is
 * not the one that opened them.  The mark of a thread that served the queue at that moment is
 * cleared; it would hide the calls that wait.
 *
 * Rejected: _PyEval_AddPendingCall, which makes every thread look; signals, which reach the main
 * thread only and use one up; a counter in sys.monitoring, which rewrites all code at each toggle.
 */
#include "cpython/layout.h"

#include "cpython/carried_thread.h"

#ifndef C_INTERRUPT_TRACES

const int c_interrupt_request_waits = 0;

#define LONGEST_WAIT 100000000
#define WAIT_STEP 50000

static int open_requests, shut_down; /* under the queue's lock */
static int waiting;                  /* how many requests wait so; read without the lock */
static PyThreadState *ending_thread; /* the thread that ends the interpreter, and its frame then */
static c_frame *ending_frame;
static c_interrupt *all_requests; /* that were ever opened */
static int process;               /* the one that opened them */

static int on_pending_call(void *arg);

/* The next frame of Python code, from `f` on. */
static c_frame *next_python_frame(c_frame *f)
{
    while (f != NULL && frame_is_entry(f))
        f = f->previous;
    return f;
}

/* Locked. */
static void post_request(pending_queue *queue, c_interrupt *request)
{
    if (!shut_down && !request->posted && pending_push(queue, on_pending_call, request) == 0)
        request->posted = 1;
    request->cancelled = 0;
    if (request->posted)
        pending_signal(request->ts);
}

/* Locked. */
static void set_waiting(c_interrupt *request, int on)
{
    __atomic_store_n(&waiting, waiting + on - request->waiting, __ATOMIC_RELAXED);
    request->waiting = on;
}

/* Calls for the main thread have a queue of their own, under the same mark. */
static int pending_calls_wait(pending_queue *queue)
{
    return pending_has_calls(queue) || pending_has_calls(&_PyRuntime.ceval.pending_mainthread);
}

/* A thread stops serving the queue before its end: the threads whose calls are still in it are made
 * to look, and `ts` for calls that are not ours. */
static void signal_waiting_threads(pending_queue *queue, PyThreadState *ts)
{
    if (pending_calls_wait(queue))
        pending_signal(ts);
    for (c_interrupt *each = all_requests; each != NULL && process == p_process_id();
         each = each->next) {
        if (each->posted && each->ts != NULL)
            pending_signal(each->ts);
    }
}

/* 1 when the request is for this thread.  A request that must be called again is put back. */
static int accept_request(pending_queue *queue, c_interrupt *request, PyThreadState *ts)
{
    pending_lock(queue);
    if (ts == ending_thread && next_python_frame(thread_frame(ts)) == ending_frame)
        shut_down = 1;
    int right = request->ts == ts && !shut_down;
    int lives = right || (request->ts != NULL && process == p_process_id());
    int goes_back = !(right || request->cancelled || C_INTERRUPT_SHARED);
    request->posted = 0;
    if (right)
        set_waiting(request, 0);
    if (lives && (request->repeating || goes_back)) {
        pending_separate(queue);
        post_request(queue, request);
    } else {
        signal_waiting_threads(queue, ts);
    }
    pending_unlock(queue);
    return right;
}

/* The thread's own request, which is behind that of another one in the queue: or NULL.  It will be
 * called once more, late. */
static c_interrupt *find_own_request(pending_queue *queue, const PyThreadState *ts)
{
    c_interrupt *own = NULL;
    pending_lock(queue);
    for (c_interrupt *each = all_requests; each != NULL && !shut_down; each = each->next) {
        if (each->ts == ts && each->posted && !each->repeating)
            own = each;
    }
    pending_unlock(queue);
    return own;
}

static B_NOINLINE int on_pending_call(void *arg)
{
    c_interrupt *request = arg;
    pending_queue *queue = pending_of_interpreter();
    PyThreadState *ts = PyThreadState_Get();
    void *at = __builtin_dwarf_cfa();
    if (!accept_request(queue, request, ts))
        request = C_INTERRUPT_SHARED ? NULL : find_own_request(queue, ts);
    if (request == NULL)
        return 0;
    request->at = at;
    int code = request->call(request);
    if (code < 0) { /* which ends the loop over the queue */
        pending_lock(queue);
        pending_loop_left(queue);
        pending_unlock(queue);
    }
    return code;
}

void c_interrupt_open(c_interrupt *request, PyThreadState *ts, int (*call)(c_interrupt *request))
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (request->ts == NULL)
        pending_set_pace(queue, ++open_requests > 0);
    if (open_requests == 1)
        process = p_process_id();
    request->ts = ts;
    request->call = call;
    if (!request->registered) {
        request->registered = 1;
        request->next = all_requests;
        all_requests = request;
    }
    pending_unlock(queue);
}

void c_interrupt_close(c_interrupt *request)
{
    c_interrupt_throw_cancel(request);
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (request->ts != NULL)
        pending_set_pace(queue, --open_requests > 0);
    request->ts = NULL;
    request->repeating = 0;
    set_waiting(request, 0);
    pending_unlock(queue);
}

void c_interrupt_forget_thread(const PyThreadState *ts)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    for (c_interrupt *each = all_requests; each != NULL; each = each->next) {
        if (each->ts != ts)
            continue;
        c_interrupt_throw_cancel(each);
        each->ts = NULL;
        set_waiting(each, 0);
        pending_set_pace(queue, --open_requests > 0);
    }
    pending_unlock(queue);
}

void c_interrupt_repeat(c_interrupt *request, int on)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    request->repeating = on;
    if (on && request->ts != NULL)
        post_request(queue, request);
    pending_unlock(queue);
}

void c_interrupt_request(c_interrupt *request)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (request->ts != NULL)
        post_request(queue, request);
    pending_unlock(queue);
}

void c_interrupt_await(c_interrupt *request)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (request->ts != NULL && C_INTERRUPT_SHARED)
        set_waiting(request, 1);
    else if (request->ts != NULL)
        post_request(queue, request);
    pending_unlock(queue);
}

void c_interrupt_cancel(c_interrupt *request)
{
    c_interrupt_throw_cancel(request);
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    set_waiting(request, 0);
    request->cancelled = request->posted;
    pending_unlock(queue);
}

int c_interrupt_any(void)
{
    return __atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0;
}

void c_interrupt_ring(void)
{
    pending_queue *queue = pending_of_interpreter();
    if (!c_interrupt_any())
        return;
    pending_lock(queue);
    for (c_interrupt *each = all_requests; each != NULL; each = each->next) {
        if (each->waiting && !c_thread_is_detached(each->ts))
            post_request(queue, each);
    }
    pending_unlock(queue);
}

void c_interrupt_shut_down(void)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    shut_down = 1;
    pending_unlock(queue);
}

void c_interrupt_interpreter_ending(void)
{
    PyThreadState *ts = PyThreadState_Get();
    c_frame *f = thread_frame(ts);
    while (f != NULL && !frame_is_entry(f))
        f = f->previous;
    ending_frame = next_python_frame(f);
    ending_thread = ts;
}

void c_interrupt_forget(c_interrupt *request)
{
    c_interrupt_throw_forget(request);
    c_interrupt_close(request);
}

void c_interrupt_after_fork(void)
{
    PyThreadState *ts = PyThreadState_Get();
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    process = p_process_id();
    if (!pending_busy_here(queue, ts))
        pending_set_busy(queue, NULL);
    pending_loop_left(queue);
    signal_waiting_threads(queue, ts);
    pending_unlock(queue);
}

void c_interrupt_switch_away(c_interrupt *request)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    (void)request;
    pending_set_busy(queue, NULL);
    pending_loop_left(queue);
    signal_waiting_threads(queue, PyThreadState_Get());
    pending_unlock(queue);
}

static int try_set_busy(pending_queue *queue, PyThreadState *ts)
{
    pending_lock(queue);
    int taken = !pending_busy(queue) || pending_busy_here(queue, ts);
    if (taken) {
        pending_set_busy(queue, ts);
        pending_loop_resumed(queue);
        if (pending_calls_wait(queue))
            pending_signal(ts);
    }
    pending_unlock(queue);
    return taken;
}

void c_interrupt_switch_back(c_interrupt *request)
{
    PyThreadState *ts = PyThreadState_Get();
    pending_queue *queue = pending_of_interpreter();
    int64_t until = 0;
    (void)request;
    while (!try_set_busy(queue, ts)) {
        p_parker moment;
        until = until ? until : p_now() + LONGEST_WAIT;
        if (p_now() > until)
            return;
        Py_BEGIN_ALLOW_THREADS p_park_prepare(&moment);
        p_park(&moment, p_now() + WAIT_STEP);
        Py_END_ALLOW_THREADS
    }
}

#endif
