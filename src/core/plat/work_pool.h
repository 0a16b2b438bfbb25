/* The work pool: blocking work is run on threads, as many as its policy grants.
 *
 * A program has several kinds of work that would block a scheduler, and they differ only in their
 * policy: how many threads begin at once, what happens to work beyond that, and what a thread
 * needs besides a C stack.  So there is one pool type, and each use is a policy (io/pools.c).
 *
 * Growth.  Work is queued, first come, first served.  While fewer than `at_once` threads are
 * working, each submission also claims a worker: the thread that became idle last, so that its
 * caches are warm and the others can end, or else a new one, up to the limit.  Beyond that, work
 * waits in the queue for a thread that finishes.
 *
 * - `at_once` unlimited: work never waits for other work below the limit.  This is right for
 *   functions of which nothing is known: one may wait for another.
 * - `at_once` small, with a `period`: right for many short items.  A monitor, one more thread of
 *   the pool, samples the queue once per period.  If fewer items were started than threads are
 *   working, these threads are blocked, and the monitor claims as many workers again, or as many
 *   as there are items.  So a thousand quick items are done by a few threads that never sleep, and
 *   a thousand items that hang are on a thousand threads after ten periods.
 *
 * A submission fails if no thread can be started, and then nothing has happened.  Only where a
 * monitor exists, an item may instead stay in the queue for the threads that are working.
 *
 * All pools together have a limit too (p_pools_limit).  Where it is reached, work waits for the
 * threads of its pool, if that has any and the policy lets work wait.
 *
 * Shrinking.  A worker that finds the queue empty is idle; after the idle time it ends.  Before it
 * sleeps it spins where work follows work (base/b_spin.h).
 *
 * Invariants, under `lock`:
 *   for each queued item a claimed worker is on its way, or `at_once` or the limit is reached;
 *   an idle worker is in the stack `idle` and its task is TASK_IDLE; only claiming it changes that;
 *   `alive` counts the workers between their creation and their last use of the pool.
 *
 * Threads.  Any thread may submit.  The lock is held for a few loads and stores.  A worker that is
 * claimed is woken after the lock is released, so a wake-up may arrive late, at a worker that
 * has ended: records of workers are reused and never freed, and each wake-up only means "look".
 *
 * Closing.  p_pool_close refuses new work, returns the items that no worker is on its way to, and
 * makes idle workers end.  Items that run are not interrupted; p_pool_await_end waits for the
 * threads.  A process may also end without it: no worker has to be joined.
 *
 * Fork.  The child has no worker but the one that forked, if it is one, and no queued work.
 *
 * Rejected: a fixed number of threads (four that hang stop all name lookups of the program;
 * asyncio and libuv have that ceiling); a thread per item (a start or a wake-up each, which costs
 * more than a short item); a timer of the submitter instead of a monitor (submitters are many and
 * may be busy); handing each item to one worker (a short item then waits for that worker's wake-up
 * although another worker has become free).
 */
#ifndef LOOMLET_WORK_POOL_H
#define LOOMLET_WORK_POOL_H

#include "plat/plat.h"

/* One item of work.  The submitter's again as soon as run() is called. */
typedef struct p_work {
    struct p_work *next;
    /* Does the work.  What it returns, unless NULL, goes to the policy's `finished`. */
    void *(*run)(struct p_work *work);
} p_work;

typedef struct {
    const char *name; /* of the threads, at most 15 characters */
    int at_once;
    int64_t period;  /* of the monitor in nanoseconds; 0: no monitor */
    int never_waits; /* work that no thread is free for is refused */
    /* Starts a thread, as p_thread_launch does; it may do more around it. */
    int (*launch)(p_launch *launch);
    /* On a new thread, before anything else: 0, or -errno, and the thread ends.  NULL: nothing. */
    int (*begin)(void);
    /* On a thread that ends.  NULL: nothing. */
    void (*end)(void);
    /* Gets what run() returned once the worker can be claimed again, so that a submitter that is
     * woken here finds it. */
    void (*finished)(void *result);
    /* After a spin, as in p_park_adaptive. */
    void (*after_spin)(int64_t until);
} p_pool_policy;

typedef struct {
    int64_t threads, idle_time; /* the time in nanoseconds */
} p_pool_limits;

struct p_worker;

typedef struct {
    const p_pool_policy *policy;
    p_pool_limits limits;
    p_lock lock;          /* guards the limits and all below */
    p_work *first, *last; /* the queue */
    struct p_worker *idle, *unused, *all;
    int working, idle_count; /* threads that run work, and that have nothing to do */
    int coming;              /* claimed workers that have not looked into the queue yet */
    int monitored;           /* whether there is a monitor */
    int alive;               /* all threads */
    int closed;
    unsigned started; /* items, ever; wraps */
    int64_t changes;  /* submissions and claims, ever */
    p_parker closer;
} p_pool;

/* Any thread.  0; -EAGAIN when the system cannot start a thread, -ENOMEM, -ESHUTDOWN when the pool
 * is closed, or what begin() returned: then nothing has happened. */
int p_pool_submit(p_pool *pool, p_work *work);
/* Sets how many threads all pools may have together, 10 000 at first; returns what it was. */
int64_t p_pools_limit(int64_t threads);
/* Sets what is not negative, also for the threads that exist; returns what was set before. */
p_pool_limits p_pool_configure(p_pool *pool, p_pool_limits limits);
/* How many threads there are, and how many of them are idle. */
int p_pool_threads(p_pool *pool, int *idle);
/* How many threads are working; 0: no work is left. */
int p_pool_busy(p_pool *pool);
/* How many threads are idle, and a number that changes whenever one of them may have got work. */
int64_t p_pool_idle(p_pool *pool, int *idle);
/* The pool takes no more work; the items that no worker is on its way to. */
p_work *p_pool_close(p_pool *pool);
/* Waits until no thread is left, until a time, or for a signal: how many are left. */
int p_pool_await_end(p_pool *pool, int64_t until);
/* In the child of a fork. */
void p_pool_after_fork(p_pool *pool);

#endif
