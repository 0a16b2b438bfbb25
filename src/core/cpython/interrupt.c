/* Asking the interpreter loop of one thread to call us, without being attached.
 *
 * The loop looks at a word, the eval breaker, when a function begins, when it
 * jumps backwards, and when most calls of C functions return: a check.  A call of
 * ours is put into the interpreter's queue of pending calls by hand, with the
 * breaker as its argument, and the target thread alone is made to look (3.12: all
 * are).  Py_AddPendingCall would reach the main thread only.
 *
 * Right thread.  The queue belongs to the interpreter, so another thread may serve
 * it.  The call compares its thread state with the breaker's; where they differ it
 * does nothing but put itself back for the right one, or, where all threads look at
 * one flag and would do so in turns, forget itself: whoever asks repeats while it is
 * not served.
 *
 * Lifetime.  A thread state is touched only under the queue's lock and while `ts` is
 * set; the thread itself takes it out under that lock (c_interrupt_close) before it
 * ends.  Breakers are never freed, so a late call finds a closed one.
 *
 * Busy marks.  The interpreter lets one thread at a time serve the queue, and marks
 * that; a tasklet that is switched away from inside our call would keep the mark.
 * c_interrupt_switch_away takes it away, and makes everybody look again whose call waits, for it
 * is not known when this thread will;
 * c_interrupt_switch_back sets it again before the interpreter goes on serving, and waits
 * (detached) while another thread serves.  After LONGEST it goes on anyway: that
 * thread's call may be waiting for us.
 *
 * Ticks.  While `ticking`, the call puts itself back each time, behind what is
 * served at this check: one call per check, no more, no less, as long as no other
 * thread serves a pending call at that moment.  The loop that we left must not serve
 * what was put back meanwhile when it goes on: it is made to end (pending_resume).
 *
 * The end.  When the last thread that it waits for has ended, the interpreter serves
 * the queue till it is empty, on its first thread and without a pause: a call that puts
 * itself back, for a daemon thread or for a tasklet that will not run any more, would
 * hold that up for ever.  So the first call that is called there, from the frame that
 * was current when the end began (NULL, but for an exit from within a tasklet), and not
 * from the loop, shuts everything.  Until then, also while the interpreter waits for
 * threads, all goes on as ever.
 *
 * Fork.  Whoever asks from a thread without Python must not do so while another one
 * forks (preempt.c): the child's queue is whole.  The thread states of other threads are
 * freed in the child before any of us hears of it, and until their breakers are closed
 * nothing may be put back for them: the process is not the one that opened them.  The mark
 * of a thread that served the queue at that moment is taken away; it had hidden what waits.
 *
 * Rejected: _PyEval_AddPendingCall, which makes every thread look; signals, which
 * reach the main thread only and use one up; a counter in sys.monitoring, which
 * rewrites all code at each toggle.
 */
#include "cpython/layout.h"

#ifndef C_INTERRUPT_TRACES

const int c_interrupt_request_waits = 0;

#define LONGEST 100000000
#define MOMENT 50000

static int open_breakers, shut; /* under the queue's lock */
static PyThreadState *ending;   /* the thread that ends the interpreter, and its frame then */
static c_frame *ending_frame;
static c_interrupt *every; /* that was ever opened */
static int process;        /* whose breakers are open */

static int called(void *arg);

/* The next frame of Python code, from `f` on. */
static c_frame *python_frame(c_frame *f)
{
    while (f != NULL && frame_is_entry(f))
        f = f->previous;
    return f;
}

/* Locked. */
static void post(pending_queue *queue, c_interrupt *breaker)
{
    if (!shut && !breaker->posted && pending_push(queue, called, breaker) == 0)
        breaker->posted = 1;
    if (breaker->posted)
        pending_signal(breaker->ts);
}

/* Calls of the main thread have a queue of their own, under the same mark. */
static int calls_wait(pending_queue *queue)
{
    return pending_waits(queue) || pending_waits(&_PyRuntime.ceval.pending_mainthread);
}

/* Whoever served the queue stops in the midst of it: those whose calls are still in it look,
 * and `ts`, for calls that are not ours. */
static void look_again(pending_queue *queue, PyThreadState *ts)
{
    if (calls_wait(queue))
        pending_signal(ts);
    for (c_interrupt *each = every; each != NULL && process == p_process_id(); each = each->next) {
        if (each->posted && each->ts != NULL)
            pending_signal(each->ts);
    }
}

/* 1 when it is for this thread.  What is to be called again is put back. */
static int accept(pending_queue *queue, c_interrupt *breaker, PyThreadState *ts)
{
    pending_lock(queue);
    if (ts == ending && python_frame(thread_frame(ts)) == ending_frame)
        shut = 1;
    int right = breaker->ts == ts && !shut;
    int lives = right || (breaker->ts != NULL && process == p_process_id());
    breaker->posted = 0;
    if (lives && (breaker->ticking || !(right || C_INTERRUPT_SHARED))) {
        pending_part(queue);
        post(queue, breaker);
    } else {
        look_again(queue, ts);
    }
    pending_unlock(queue);
    return right;
}

static B_NOINLINE int called(void *arg)
{
    c_interrupt *breaker = arg;
    pending_queue *queue = pending_of_interpreter();
    void *at = __builtin_dwarf_cfa();
    if (!accept(queue, breaker, PyThreadState_Get()))
        return 0;
    breaker->at = at;
    int code = breaker->call(breaker);
    if (code < 0) { /* which ends the loop */
        pending_lock(queue);
        pending_pause(queue);
        pending_unlock(queue);
    }
    return code;
}

void c_interrupt_open(c_interrupt *breaker, PyThreadState *ts, int (*call)(c_interrupt *breaker))
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (breaker->ts == NULL)
        pending_pace(queue, ++open_breakers > 0);
    if (open_breakers == 1)
        process = p_process_id();
    breaker->ts = ts;
    breaker->call = call;
    if (!breaker->known) {
        breaker->known = 1;
        breaker->next = every;
        every = breaker;
    }
    pending_unlock(queue);
}

void c_interrupt_close(c_interrupt *breaker)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (breaker->ts != NULL)
        pending_pace(queue, --open_breakers > 0);
    breaker->ts = NULL;
    breaker->ticking = 0;
    pending_unlock(queue);
}

void c_interrupt_repeat(c_interrupt *breaker, int on)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    breaker->ticking = on;
    if (on && breaker->ts != NULL)
        post(queue, breaker);
    pending_unlock(queue);
}

void c_interrupt_request(c_interrupt *breaker)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    if (breaker->ts != NULL)
        post(queue, breaker);
    pending_unlock(queue);
}

void c_interrupt_shut_down(void)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    shut = 1;
    pending_unlock(queue);
}

void c_interrupt_interpreter_ending(void)
{
    PyThreadState *ts = PyThreadState_Get();
    c_frame *f = thread_frame(ts);
    while (f != NULL && !frame_is_entry(f))
        f = f->previous;
    ending_frame = python_frame(f);
    ending = ts;
}

void c_interrupt_forget(c_interrupt *breaker)
{
    c_interrupt_close(breaker);
}

void c_interrupt_after_fork(void)
{
    PyThreadState *ts = PyThreadState_Get();
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    process = p_process_id();
    if (!pending_busy_here(queue, ts))
        pending_set_busy(queue, NULL);
    pending_pause(queue);
    look_again(queue, ts);
    pending_unlock(queue);
}

void c_interrupt_switch_away(c_interrupt *breaker)
{
    pending_queue *queue = pending_of_interpreter();
    pending_lock(queue);
    (void)breaker;
    pending_set_busy(queue, NULL);
    pending_pause(queue);
    look_again(queue, PyThreadState_Get());
    pending_unlock(queue);
}

static int take_mark(pending_queue *queue, PyThreadState *ts)
{
    pending_lock(queue);
    int taken = !pending_busy(queue) || pending_busy_here(queue, ts);
    if (taken) {
        pending_set_busy(queue, ts);
        pending_resume(queue);
        if (calls_wait(queue))
            pending_signal(ts);
    }
    pending_unlock(queue);
    return taken;
}

void c_interrupt_switch_back(c_interrupt *breaker)
{
    PyThreadState *ts = PyThreadState_Get();
    pending_queue *queue = pending_of_interpreter();
    int64_t until = 0;
    (void)breaker;
    while (!take_mark(queue, ts)) {
        p_parker moment;
        until = until ? until : p_now() + LONGEST;
        if (p_now() > until)
            return;
        Py_BEGIN_ALLOW_THREADS p_park_prepare(&moment);
        p_park(&moment, p_now() + MOMENT);
        Py_END_ALLOW_THREADS
    }
}

#endif
