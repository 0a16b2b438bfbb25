/* run_blocking(): functions that block run on OS threads while their tasklets wait.
 *
 * A call becomes a work item of the pool I_CALLS (pools.h) and its tasklet stops.  A worker makes
 * the call, in a copy of the caller's context, stores in the tasklet what its own call shall
 * return or raise, and wakes it.  So the wait is soft like every other, and costs an item and no C
 * stack.  Below the limit of threads, which only guards against runaway programs, no call waits
 * for another call to finish.
 *
 * Waking the caller.  The worker puts the tasklet into its scheduler's inbox while it holds the
 * GIL, gives the GIL up, becomes idle, and only then wakes the scheduler: once, by its futex word
 * or its wakeup descriptor, and the GIL is free.  Waking first would wake the scheduler's thread
 * twice, the second time for the GIL.  Being idle first means that the caller's next call finds
 * this worker.  So a round trip is two wake-ups by the system and no lock, condition variable or
 * queue object of Python's.  Where calls follow each other both sides spin for a moment before
 * they sleep, and then until the GIL is free (base/b_spin.h), which saves the wake-ups too: a
 * round trip takes 2 to 3 us where asyncio's run_in_executor takes 190 on the same machine at the
 * same time, and 54 without spinning (two cores, 3.13).
 *
 * Ownership.  The tasklet's wait (t->on) and the pool hold a reference to the call each.  The
 * function, its arguments and the context belong to the pool and are dropped there before the
 * tasklet resumes: the result is all that is left.  `lock` of a call covers the claim of its
 * tasklet (with a GIL, that is the lock).
 *
 * Interruption.  The tasklet resumes at once.  The function cannot be interrupted: it runs to its
 * end and its outcome is dropped.  A function that has not begun by then is not called.
 *
 * Deadlock.  While a function runs there is no deadlock, because it may wake any tasklet: its
 * thread counts as awake like every other thread of the program, unless it waits inside loomlet
 * itself.  Idle workers wake nothing although they have thread states, so sched/idle.c is given a
 * function that counts them.  A deadlock among calls that wait for queued calls is not detected.
 *
 * Exit.  Workers do not outlive the interpreter: i_blocking_close takes no more calls, fails those
 * that have not begun, ends idle workers, and waits for running functions, as concurrent.futures
 * does; but not for ever (300 s), and Ctrl-C ends the wait.  What still runs then is treated by the
 * interpreter as a daemon thread: it stops when it next wants the GIL.
 *
 * Fork.  The child's pool is empty, but for the worker that forked, if one did.  Tasklets of the
 * child that wait get an error, because their functions run in the parent only.
 *
 * Threads.  All functions want an attached thread state and may be called on any thread.
 *
 * Rejected: concurrent.futures (locks and conditions of Python's, a ceiling that calls wait for);
 * starting a thread per call (44 us, and nothing is warm); deleting the thread state of an idle
 * worker (thread-locals of the functions, connections for example, would go each time).
 */
#ifndef LOOMLET_IO_BLOCKING_H
#define LOOMLET_IO_BLOCKING_H

#include "sched/sched.h"

/* What can be set.  Times in nanoseconds. */
typedef struct {
    int64_t threads, idle, exit;
} i_blocking_limits;

void i_blocking_init(void);

/* Calls the function on a worker while the current tasklet waits; the arguments as in a
 * vectorcall.  A new reference, or NULL and *code as in io.h. */
PyObject *i_run_blocking(s_sched *s, PyObject *function, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames, const c_call_site *site, int *code);
/* Sets what is not negative; returns what was set before. */
i_blocking_limits i_blocking_configure(i_blocking_limits limits);
/* How many workers there are, and how many of them are idle. */
int i_blocking_threads(int *idle);
/* At interpreter exit, see above: how many functions still run, or -1 with an exception set. */
int i_blocking_close(void);
void i_blocking_after_fork(s_sched *s);

#endif
