/* How a wait ends: a tasklet is woken with a value or an exception, by its own thread or another.
 *
 * What ends a wait has claimed the tasklet before (taken it out of the queue it waits in).  The
 * theory is in wake.c.
 */
#ifndef LOOMLET_SCHED_WAKE_H
#define LOOMLET_SCHED_WAKE_H

#include "sched/types.h"

/* Makes a claimed tasklet runnable, whichever thread owns it.  Takes the reference. */
void s_wake_slow(s_sched *s, s_tasklet *t);
static inline void s_wake(s_sched *s, s_tasklet *t)
{
    if (__builtin_expect(t->owner != s || t->timer != NULL, 0)) {
        s_wake_slow(s, t);
        return;
    }
    t->kind = NULL;
    s_ready(s, t);
}

/* What the wait of a claimed tasklet has given it: None, True or False. */
static inline void s_give(s_tasklet *t, PyObject *value)
{
    if (t->kind != NULL && t->kind->unfinished)
        ((s_rest *)t->wait.value)->woken = value;
    else
        Py_XSETREF(t->wait.value, Py_NewRef(value));
}

/* The claimed tasklets of a list, in its order, each with `value` as the result of its wait. */
void s_wake_all(s_sched *s, b_link *claimed, PyObject *value);
/* The same, but they raise the exception for `code`, about what each waits on. */
void s_fail_all(s_sched *s, b_link *claimed, int code);

/* As s_wake for a tasklet of another thread, whose thread is not woken yet: the scheduler to be
 * woken for that by s_wake_thread, attached or not; NULL when no thread can run it any more. */
s_sched *s_wake_on_owner(s_tasklet *t);

/* Wakes the thread of a scheduler whose messages are visible. */
void s_wake_poller(s_sched *to);
static inline void s_wake_thread(s_sched *to)
{
    if (__atomic_load_n(&to->polls, __ATOMIC_SEQ_CST))
        s_wake_poller(to);
    else
        p_unpark(&to->parker);
}

/* The same from an attached thread.  A thread that sleeps may be woken a moment later, when the
 * caller has released the GIL (cpython/gil_wakes.c). */
void s_wake_thread_later(s_sched *to);

/* Takes a blocked tasklet out of all queues for an error: s_wait_kind's detach_for. */
static inline int s_detach_for(s_tasklet *t, PyObject *error)
{
    return t->kind->detach_for != NULL ? t->kind->detach_for(t, error) : t->kind->detach(t);
}

/* Ends the wait of a blocked tasklet with `error` (stolen).  1 when it did, or will. */
int s_interrupt(s_sched *s, s_tasklet *t, PyObject *error);
/* The same from any thread: on another one than its owner's it is requested, and 1 is returned. */
int s_request_interrupt(s_sched *s, s_tasklet *t, PyObject *error);
/* Makes `t` raise `error` (stolen) next, whether it is ready, paused or blocked. */
void s_raise_in(s_sched *s, s_tasklet *t, PyObject *error);
/* Handlers of messages (inbox.h): the same two for a tasklet of another thread. */
void s_handle_interrupt(s_sched *s, s_tasklet *t, PyObject *error);
void s_handle_throw(s_sched *s, s_tasklet *t, PyObject *error);
/* A blocked tasklet is paused, without a result: 1, or 0 when it was not blocked.  On its own
 * thread, or one that has none. */
int s_leave_wait(s_tasklet *t);
/* Pauses the waiters of a queue that is destroyed: nothing can wake them there. */
void s_forget_waiters(b_link *queue);

/* Main leaves a resumable wait in which nothing has come yet, to run handlers of signals: 1, or 0
 * when it is in no such wait. */
int s_wake_for_signals(s_sched *s);
/* The same while the scheduler is away, if a signal has come.  1: main is in no such wait, so its
 * handlers run at home, in no tasklet, and the scheduler is to go there. */
int s_deliver_signals(s_sched *s);
/* Of main, which has left its soft wait and runs on its frames again: runs the handlers.  1: the
 * wait is over, with main's wait.value and error; 0: main waits again. */
int s_return_to_wait(s_sched *s);
/* Of the tasklet whose resumable wait has ended: 1 when it was left for handlers of signals, which
 * have run, so that the wait shall begin again; 0 when it was not; -1 with a handler's exception.
 */
int s_run_signal_handlers(s_sched *s);
static inline int s_signalled(s_sched *s)
{
    return __builtin_expect(s->signalled, 0) ? s_run_signal_handlers(s) : 0;
}

/* Gives the current tasklet's wait a deadline: 0 or S_E_MEMORY.  S_FOREVER: none. */
int s_deadline_set(s_sched *s, s_tasklet *t, int64_t when);
/* The same, but `fire` says what happens then. */
int s_deadline_with(s_sched *s, s_tasklet *t, int64_t when, void (*fire)(s_sched *, s_timer *));
void s_deadline_drop(s_sched *s, s_tasklet *t);
/* Nanoseconds that a blocked tasklet still waits, or S_FOREVER. */
int64_t s_deadline_left(s_sched *s, const s_tasklet *t);

/* Another thread has ended the wait: what the wait itself owns is freed. */
static inline void s_arrive(s_tasklet *t)
{
    if (t->kind != NULL && t->kind->arrived != NULL)
        t->kind->arrived(t);
}

/* A tasklet that another thread has claimed and given something runs on its owner. */
static inline void s_wake_arrived(s_sched *s, s_tasklet *t)
{
    const s_wait_kind *given = t->kind != NULL ? t->kind->given : NULL;
    s_arrive(t);
    s_wake(s, t);
    t->kind = given;
}

/* It was woken with what has to be undone if it is discarded before it runs. */
static inline int s_discard_must_undo(const s_tasklet *t)
{
    return t->kind != NULL && t->kind->discarded != NULL &&
           (t->wait.value == Py_True || t->wait.value == Py_False);
}

/* An exception comes before `t` has run again: what it was woken with is dropped.  A kind that
 * wants to know woke it with True, and whatever makes it ready later gives it another value or
 * kind.  What has to be undone only if the tasklet is discarded stays known: by False. */
static inline void s_refuse(s_sched *s, s_tasklet *t)
{
    const s_wait_kind *kind = t->kind;
    PyObject *value = t->wait.value;
    int keeps = s_discard_must_undo(t);
    t->wait.value = keeps ? Py_NewRef(Py_False) : NULL;
    if (value != NULL && kind != NULL && kind->refused != NULL &&
        (value == Py_True || kind->gives_items))
        kind->refused(s, t, value);
    Py_XDECREF(value);
}

#endif
