/* The pool: functions that block run on OS threads while their tasklets wait.
 *
 * run_blocking() makes a job of a call (blocking.c), puts it into the pool (pool.c) and stops.  A
 * thread of the pool makes the call, in a copy of the caller's context, stores in the tasklet
 * what its own call shall return or raise, and wakes it.  So the wait is soft like every other,
 * and costs a job and no thread stack of the scheduler's.
 *
 * Elastic.  A job never waits for a thread to become free: when none is idle one more is
 * started, up to a limit that is only there against runaway programs (1000); beyond it jobs
 * queue, first come, first served.  The thread that became idle last is taken first, so that its
 * caches are warm and the others can end: one that had nothing to do for a while (10 s) does.
 * There is one pool for the whole process.
 *
 * The hand-over.  The job is put into the record of one thread, which sleeps on a futex word of
 * its own: one wake-up, for that thread.  When the function has returned the tasklet is put into
 * its home's mailbox while the thread holds the GIL, the GIL is given up, and only then the home
 * is roused: once, by its own futex word or the bell of its poller, and it finds the GIL free.
 * Ringing first would wake the home twice, for the bell and for the GIL.  So a round trip is two
 * wake-ups by the system and nothing else to speak of: no lock, condition variable or queue
 * object of Python's.  Where calls follow each other both sides stay awake for a moment before
 * they sleep, and then until the GIL is free (b_spin.h), which saves the wake-ups too: a round
 * trip takes 2 to 3 us where asyncio's run_in_executor takes 190 on the same machine at the same
 * time, and 54 where nobody watches (two cores, 3.13).
 *
 * Who owns a job.  The tasklet's wait (t->on) and the pool each have a share; what the call
 * consists of is the pool's, and is dropped there before the tasklet goes on, the result being
 * all that is left.  `lock` of a job covers the claim of its tasklet; with a GIL that is the
 * lock.
 *
 * Interrupted.  The tasklet goes on at once.  The function cannot be interrupted: it runs to its
 * end and what comes out of it is dropped.  One that has not begun by then is not called.
 *
 * Deadlock.  While a function runs nobody is in one, for it may wake anybody; its thread is
 * awake like every other thread of the program, unless it waits inside loomlet itself.  Idle
 * threads of the pool wake nobody, though they have thread states: i_blocking_init hands down who
 * counts them (sched/idle.c).
 *
 * Not seen: calls that wait for calls that wait for a thread, all threads being taken by the first
 * ones, are no deadlock to the rule above.  The limit is far off for that reason.  Threads that
 * are about to end are not counted in it.
 *
 * The end.  Threads do not outlive the interpreter: at exit (i_blocking_close) no job is taken any
 * more, those that have not begun fail, idle threads end, and running functions are waited for,
 * as concurrent.futures does it; but not for ever (300 s), and Ctrl-C ends the wait.  What still
 * runs then is treated by the interpreter as a daemon thread: it stops when it next wants the
 * GIL.
 *
 * Fork.  The child's pool is empty.  Its tasklets that wait get an error, because the functions
 * run on in the parent only.  The thread that forks may be one of the pool.
 *
 * Threads.  All functions want an attached thread state and may be called on any thread.  The
 * pool's lock is held for a few stores, never while Python code may run.  The records of the
 * threads are never freed, only used again, because a wake-up may be on its way to one.
 *
 * Rejected: concurrent.futures (locks and conditions of Python's, a ceiling that jobs wait for);
 * starting a thread per call (44 us, and nothing is warm); deleting the thread state of an idle
 * thread (a function's thread-locals, connections for example, would go each time).
 */
#ifndef LOOMLET_IO_BLOCKING_H
#define LOOMLET_IO_BLOCKING_H

#include "sched/sched.h"

/* A call that somebody waits for. */
typedef struct i_job {
    b_link link;    /* in the pool's queue */
    b_link waiters; /* of s_wait, the tasklet until it is claimed; this and `function` under lock */
    c_lock lock;
    int shares; /* atomic */
    PyObject *function, *kwnames, *context;
    Py_ssize_t nargs, count; /* positional arguments; and with the named ones */
    PyObject *args[];        /* behind one that is the callee's to use */
} i_job;

/* What can be set.  Times in nanoseconds. */
typedef struct {
    int64_t threads, idle, exit;
} i_blocking_limits;

void i_blocking_init(void);

/* ---- jobs (blocking.c) ----------------------------------------------------------- */

/* Calls the function on a thread of the pool while the current tasklet waits; the arguments as in
 * a vectorcall.  A new reference, or NULL and *code as in io.h. */
PyObject *i_run_blocking(s_sched *s, PyObject *function, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames, const c_call_site *site, int *code);

/* For the pool.  Makes the call; the rest as s_wake_on_owner.  The job is gone. */
s_sched *i_job_run(i_job *job);
/* The same for one that is not to be called: who waits for it gets the error of a code. */
s_sched *i_job_fail(i_job *job, int code);
/* In the child of a fork: who waits for a job is told. */
void i_jobs_after_fork(s_sched *s);

/* ---- threads (pool.c) --------------------------------------------------------- */

/* Takes a job over: 0, or S_E_NO_THREAD, S_E_MEMORY, S_E_EXITING: nothing has happened. */
int i_pool_submit(i_job *job);
/* Sets what is not negative; the limits that were. */
i_blocking_limits i_blocking_configure(i_blocking_limits limits);
/* Threads that there are, and how many of them have nothing to do. */
int i_blocking_threads(int *idle);
/* At interpreter exit, see above: how many functions still run, or -1 with an exception set. */
int i_blocking_close(void);
void i_blocking_after_fork(s_sched *s);

#endif
