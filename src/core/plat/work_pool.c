/* The workers of a pool: claimed, started, idle, ended.  See work_pool.h. */
#include "plat/work_pool.h"

#include <errno.h>
#include <stdlib.h>

enum { TASK_IDLE, TASK_WORK, TASK_MONITOR, TASK_END };

typedef struct p_worker {
    struct p_worker *below, *older; /* in the stack of the idle or unused; in the list of all */
    p_pool *pool;
    p_parker parker;
    b_spin spin;
    int task;                  /* TASK_IDLE, TASK_WORK or TASK_MONITOR; under lock */
    int coming;                /* claimed for work, and not there yet; written under lock */
    int64_t idle_since, until; /* when it became idle, and ends; its own */
} p_worker;

static __thread p_worker *self_worker;
static int64_t most_threads = 10000, all_threads; /* of all pools; atomic */

/* ---- under the lock ------------------------------------------------------------------ */

static void push_work(p_pool *pool, p_work *work)
{
    work->next = NULL;
    if (pool->first == NULL)
        pool->first = work;
    else
        pool->last->next = work;
    pool->last = work;
}

static p_work *pop_work(p_pool *pool)
{
    p_work *work = pool->first;
    if (work == NULL)
        return NULL;
    pool->first = work->next;
    pool->started++;
    return work;
}

static void count_task(p_pool *pool, int task, int by)
{
    if (task == TASK_MONITOR)
        pool->monitored += by;
    else
        pool->working += by;
}

/* A worker that was claimed for work is there, or could not be started. */
static void stop_coming(p_worker *worker)
{
    worker->pool->coming -= worker->coming;
    __atomic_store_n(&worker->coming, 0, __ATOMIC_RELAXED);
}

/* Whether all pools together may have one more thread. */
static int is_below_limit(void)
{
    return __atomic_load_n(&all_threads, __ATOMIC_RELAXED) <
           __atomic_load_n(&most_threads, __ATOMIC_RELAXED);
}

static int may_grow(const p_pool *pool)
{
    return pool->idle != NULL || (pool->working + pool->idle_count < pool->limits.threads &&
                                  (pool->alive == 0 || is_below_limit()));
}

/* What the work that was just queued needs: a worker, a monitor, or nothing. */
static int wanted_task(const p_pool *pool)
{
    if (pool->working < pool->policy->at_once && may_grow(pool))
        return TASK_WORK;
    return pool->policy->period > 0 && !pool->monitored ? TASK_MONITOR : TASK_IDLE;
}

static p_worker *pop_idle(p_pool *pool)
{
    p_worker *worker = pool->idle;
    if (worker != NULL) {
        pool->idle = worker->below;
        pool->idle_count--;
    }
    return worker;
}

static p_worker *pop_unused(p_pool *pool)
{
    p_worker *worker = pool->unused;
    if (worker != NULL) {
        pool->unused = worker->below;
    } else if ((worker = calloc(1, sizeof(*worker))) != NULL) {
        worker->pool = pool;
        worker->older = pool->all;
        pool->all = worker;
    }
    if (worker != NULL)
        pool->alive++;
    return worker;
}

/* An idle worker for a task, or the record of a new one; NULL without memory. */
static p_worker *claim_worker(p_pool *pool, int task, int *is_new)
{
    p_worker *worker = pop_idle(pool);
    *is_new = worker == NULL;
    if (worker == NULL)
        worker = pop_unused(pool);
    if (worker != NULL) {
        worker->task = task;
        __atomic_store_n(&worker->coming, task == TASK_WORK, __ATOMIC_RELAXED);
        pool->coming += worker->coming;
        count_task(pool, task, 1);
        pool->changes++;
    }
    return worker;
}

static void go_idle(p_worker *me, int64_t now)
{
    p_pool *pool = me->pool;
    count_task(pool, me->task, -1);
    me->task = TASK_IDLE;
    me->idle_since = now;
    me->until = pool->closed ? 0 : now + pool->limits.idle_time;
    me->below = pool->idle;
    pool->idle = me;
    pool->idle_count++;
}

static void leave_idle(p_worker *me)
{
    p_pool *pool = me->pool;
    p_worker **at = &pool->idle;
    while (*at != me)
        at = &(*at)->below;
    *at = me->below;
    pool->idle_count--;
}

/* Whether an idle worker that is awake is to end: it can no longer be claimed then. */
static int idle_is_over(p_worker *me, int64_t now)
{
    p_pool *pool = me->pool;
    me->until = pool->closed ? 0 : me->idle_since + pool->limits.idle_time;
    if (now < me->until)
        return 0;
    leave_idle(me);
    return 1;
}

static int recycle_worker(p_worker *worker)
{
    p_pool *pool = worker->pool;
    worker->below = pool->unused;
    pool->unused = worker;
    return --pool->alive;
}

/* ---- starting workers ---------------------------------------------------------------- */

static void run_worker(void *arg);

static int begin_worker(void *arg)
{
    self_worker = arg;
    int (*begin)(void) = self_worker->pool->policy->begin;
    return begin != NULL ? begin() : 0;
}

static int64_t count_thread(int by)
{
    return __atomic_add_fetch(&all_threads, by, __ATOMIC_RELAXED);
}

static int launch_worker(p_worker *worker)
{
    const p_pool_policy *policy = worker->pool->policy;
    worker->spin = B_SPIN_BEGIN;
    p_launch launch = {
        .name = policy->name, .begin = begin_worker, .run = run_worker, .arg = worker};
    int allowed = count_thread(1) <= __atomic_load_n(&most_threads, __ATOMIC_RELAXED);
    int code = allowed ? policy->launch(&launch) : -EAGAIN;
    if (code < 0)
        count_thread(-1);
    return code;
}

/* Wakes or starts a claimed worker: 0 or -errno. */
static int start_worker(p_worker *worker, int is_new)
{
    if (worker == NULL)
        return -ENOMEM;
    if (!is_new) {
        p_unpark(&worker->parker);
        return 0;
    }
    int code = launch_worker(worker);
    if (code < 0) {
        p_pool *pool = worker->pool;
        p_lock_take(&pool->lock);
        stop_coming(worker);
        count_task(pool, worker->task, -1);
        recycle_worker(worker);
        p_lock_give(&pool->lock);
    }
    return code;
}

/* One more worker for the queue: 0, or below 0 when there can be none. */
static int add_worker(p_pool *pool)
{
    int is_new;
    p_lock_take(&pool->lock);
    int grows = may_grow(pool);
    p_worker *worker = grows ? claim_worker(pool, TASK_WORK, &is_new) : NULL;
    p_lock_give(&pool->lock);
    return grows ? start_worker(worker, is_new) : -EAGAIN;
}

static void add_workers(p_pool *pool, int count)
{
    while (count > 0 && add_worker(pool) == 0)
        count--;
}

/* How many items have no worker on its way. */
static int count_uncovered(const p_pool *pool)
{
    int count = -pool->coming;
    for (const p_work *at = pool->first; at != NULL; at = at->next)
        count++;
    return count;
}

/* ---- the life of a worker -------------------------------------------------------------- */

/* How many workers are wanted, when `moved` items were started in a period. */
static int count_wanted(const p_pool *pool, int moved)
{
    int wanted = 0, most = pool->working > 0 ? pool->working : 1;
    if (moved < most)
        for (const p_work *at = pool->first; at != NULL && wanted < most; at = at->next)
            wanted++;
    return wanted;
}

/* The same after a period; below 0: nothing is left to be monitored, idle from now on. */
static int sample_queue(p_worker *me, unsigned *seen)
{
    p_pool *pool = me->pool;
    int64_t now = p_now();
    p_park_prepare(&me->parker);
    p_lock_take(&pool->lock);
    int wanted = pool->first != NULL ? count_wanted(pool, (int)(pool->started - *seen)) : -1;
    *seen = pool->started;
    if (wanted < 0)
        go_idle(me, now);
    p_lock_give(&pool->lock);
    return wanted;
}

static void monitor_queue(p_worker *me)
{
    p_pool *pool = me->pool;
    p_lock_take(&pool->lock);
    unsigned seen = pool->started;
    p_lock_give(&pool->lock);
    for (int wanted = 0; wanted >= 0; wanted = sample_queue(me, &seen)) {
        add_workers(pool, wanted);
        p_park_prepare(&me->parker);
        p_park(&me->parker, p_now() + pool->policy->period);
    }
}

/* Whether a worker is about to become idle or to end.  A claimed worker finds work,
 * unless another worker was faster; then the clock is read under the lock. */
static int needs_clock(const p_worker *me)
{
    return !__atomic_load_n(&me->coming, __ATOMIC_RELAXED);
}

/* What a worker does next: its item, TASK_MONITOR, TASK_IDLE (it sleeps until `until` and asks
 * again), or TASK_END. */
static int next_task(p_worker *me, p_work **work)
{
    p_pool *pool = me->pool;
    int64_t now = needs_clock(me) ? p_now() : 0;
    p_park_prepare(&me->parker);
    p_lock_take(&pool->lock);
    stop_coming(me);
    int over = me->task == TASK_IDLE && idle_is_over(me, now);
    if (me->task == TASK_WORK && (*work = pop_work(pool)) == NULL)
        go_idle(me, now != 0 ? now : p_now());
    int task = over ? TASK_END : me->task;
    p_lock_give(&pool->lock);
    return task;
}

static void end_worker(p_worker *me)
{
    p_pool *pool = me->pool;
    if (pool->policy->end != NULL)
        pool->policy->end();
    p_lock_take(&pool->lock);
    int left = recycle_worker(me);
    p_lock_give(&pool->lock);
    count_thread(-1);
    if (left == 0)
        p_unpark(&pool->closer);
}

static void run_worker(void *arg)
{
    p_worker *me = arg;
    const p_pool_policy *policy = me->pool->policy;
    p_work *work = NULL;
    void *result = NULL;
    for (int task; (task = next_task(me, &work)) != TASK_END;) {
        if (result != NULL)
            policy->finished(result);
        result = NULL;
        if (task == TASK_WORK)
            result = work->run(work);
        else if (task == TASK_MONITOR)
            monitor_queue(me);
        else
            p_park_adaptive(&me->parker, &me->spin, me->until, policy->after_spin);
    }
    end_worker(me);
}

/* ---- for submitters ---------------------------------------------------------------------- */

/* Takes an item back for which no thread was found; 0 when a thread has it or will come to it. */
static int take_back(p_pool *pool, p_work *work)
{
    p_work *before = NULL;
    p_lock_take(&pool->lock);
    p_work *at = pool->first;
    for (; at != NULL && at != work; at = at->next)
        before = at;
    int found = at != NULL && (pool->policy->period == 0 || pool->working == 0);
    if (found) {
        *(before != NULL ? &before->next : &pool->first) = work->next;
        if (pool->last == work)
            pool->last = before;
    }
    p_lock_give(&pool->lock);
    return found;
}

int p_pool_submit(p_pool *pool, p_work *work)
{
    int is_new = 0, task = TASK_IDLE;
    p_worker *worker = NULL;
    p_lock_take(&pool->lock);
    int code = pool->closed ? -ESHUTDOWN : 0;
    if (code == 0 && (task = wanted_task(pool)) == TASK_IDLE && pool->policy->never_waits)
        code = -EAGAIN;
    if (code == 0) {
        push_work(pool, work);
        pool->changes++;
        if (task != TASK_IDLE)
            worker = claim_worker(pool, task, &is_new);
    }
    p_lock_give(&pool->lock);
    if (code < 0)
        return code;
    code = task == TASK_IDLE ? 0 : start_worker(worker, is_new);
    return code < 0 && take_back(pool, work) ? code : 0;
}

static void wake_idle(const p_pool *pool)
{
    for (p_worker *at = pool->idle; at != NULL; at = at->below)
        p_unpark(&at->parker);
}

int64_t p_pools_limit(int64_t threads)
{
    return __atomic_exchange_n(&most_threads, threads, __ATOMIC_RELAXED);
}

p_pool_limits p_pool_configure(p_pool *pool, p_pool_limits limits)
{
    p_lock_take(&pool->lock);
    p_pool_limits before = pool->limits;
    if (limits.threads >= 0)
        pool->limits.threads = limits.threads;
    if (limits.idle_time >= 0)
        pool->limits.idle_time = limits.idle_time;
    int waiting = limits.threads > before.threads ? count_uncovered(pool) : 0;
    wake_idle(pool);
    p_lock_give(&pool->lock);
    add_workers(pool, waiting);
    return before;
}

int p_pool_threads(p_pool *pool, int *idle)
{
    p_lock_take(&pool->lock);
    int count = pool->alive;
    *idle = pool->idle_count;
    p_lock_give(&pool->lock);
    return count;
}

int p_pool_busy(p_pool *pool)
{
    p_lock_take(&pool->lock);
    int busy = pool->working > 0 || pool->first == NULL ? pool->working : 1;
    p_lock_give(&pool->lock);
    return busy;
}

int64_t p_pool_idle(p_pool *pool, int *idle)
{
    p_lock_take(&pool->lock);
    *idle = pool->idle_count;
    int64_t changes = pool->changes;
    p_lock_give(&pool->lock);
    return changes;
}

/* ---- the end, fork --------------------------------------------------------------------- */

p_work *p_pool_close(p_pool *pool)
{
    p_lock_take(&pool->lock);
    p_work **end = &pool->first;
    for (int i = 0; i < pool->coming && *end != NULL; i++) {
        pool->last = *end;
        end = &(*end)->next;
    }
    p_work *left = *end;
    *end = NULL;
    pool->closed = 1;
    wake_idle(pool);
    p_lock_give(&pool->lock);
    return left;
}

int p_pool_await_end(p_pool *pool, int64_t until)
{
    int idle;
    p_park_prepare(&pool->closer);
    if (p_pool_threads(pool, &idle) > 0)
        p_park(&pool->closer, until);
    else
        p_park_cancel(&pool->closer);
    return p_pool_threads(pool, &idle);
}

void p_pool_after_fork(p_pool *pool)
{
    p_worker *self = self_worker != NULL && self_worker->pool == pool ? self_worker : NULL;
    pool->lock.word = 0;
    pool->first = NULL;
    pool->idle = pool->unused = NULL;
    for (p_worker *at = pool->all; at != NULL; at = at->older) {
        if (at == self)
            continue;
        at->below = pool->unused;
        pool->unused = at;
    }
    count_thread((self != NULL) - pool->alive);
    pool->working = pool->alive = self != NULL;
    pool->idle_count = pool->monitored = pool->coming = 0;
}
