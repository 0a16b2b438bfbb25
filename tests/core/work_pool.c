/* plat/work_pool.c: each item is run once, and growth, limits and the end follow the policy. */
#include "plat/work_pool.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "runner.h"

#define MANY 20000
#define FEW 2000
#define BLOCKED 100
#define LONG INT64_C(10000000000)

static long run_count, begin_count, end_count, finish_count;
static int begin_code;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int inside, opened;

static void add_one(long *count)
{
    __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
}

static long read_count(long *count)
{
    return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

static void wait_for_count(long *count, long value)
{
    while (read_count(count) < value)
        usleep(100); /* lets the workers run */
}

static void *run_quickly(p_work *work)
{
    (void)work;
    add_one(&run_count);
    return NULL;
}

static void *run_until_open(p_work *work)
{
    pthread_mutex_lock(&gate);
    inside++;
    pthread_cond_broadcast(&changed);
    while (!opened)
        pthread_cond_wait(&changed, &gate);
    inside--;
    pthread_mutex_unlock(&gate);
    return run_quickly(work);
}

static void *run_with_result(p_work *work)
{
    run_quickly(work);
    return work;
}

static void wait_until_inside(int count)
{
    pthread_mutex_lock(&gate);
    while (inside < count)
        pthread_cond_wait(&changed, &gate);
    pthread_mutex_unlock(&gate);
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate);
    opened = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&gate);
}

static int count_begin(void)
{
    add_one(&begin_count);
    return begin_code;
}

static void count_end(void)
{
    add_one(&end_count);
}

static void count_finish(void *result)
{
    CHECK(result != NULL);
    add_one(&finish_count);
}

static int launch_none(p_launch *launch)
{
    launch->stack = (size_t)1 << 47; /* more than the system has */
    return p_thread_launch(launch);
}

static const p_pool_policy monitored = {
    .name = "monitored", .at_once = 4, .period = 2000000, .launch = p_thread_launch};
static const p_pool_policy unlimited = {.name = "unlimited",
                                        .at_once = INT_MAX,
                                        .launch = p_thread_launch,
                                        .begin = count_begin,
                                        .end = count_end,
                                        .finished = count_finish};
static const p_pool_policy threadless = {
    .name = "threadless", .at_once = INT_MAX, .launch = launch_none};

static p_pool short_items = {.policy = &monitored, .limits = {INT64_MAX, LONG}};
static p_pool calls = {.policy = &unlimited, .limits = {BLOCKED, LONG}};

static void submit_all(p_pool *pool, p_work *work, int count, void *(*run)(p_work *work))
{
    for (int i = 0; i < count; i++) {
        work[i] = (p_work){NULL, run};
        CHECK(p_pool_submit(pool, &work[i]) == 0);
    }
}

static void wait_for_threads(p_pool *pool, int all, int idle)
{
    int found;
    while (p_pool_threads(pool, &found) != all || found != idle)
        usleep(100); /* lets the workers run */
}

static void *submit_many(void *work)
{
    submit_all(&short_items, work, MANY, run_quickly);
    return NULL;
}

TEST(each_item_is_run_once_however_many_submit)
{
    static p_work work[3][MANY];
    pthread_t submitters[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&submitters[i], NULL, submit_many, work[i]) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(submitters[i], NULL);
    wait_for_count(&run_count, 3 * MANY);
    usleep(2000); /* one that is run twice would be so by now */
    CHECK(run_count == 3 * MANY);
}

static void submit_one_by_one(p_pool *pool)
{
    p_work work;
    for (long i = 1; i <= FEW; i++) {
        submit_all(pool, &work, 1, run_quickly);
        wait_for_count(&run_count, i);
    }
    CHECK(run_count == FEW);
}

TEST(items_one_after_another_find_a_worker_each_time)
{
    submit_one_by_one(&short_items);
}

TEST(items_one_after_another_find_a_worker_of_an_unlimited_pool_too)
{
    int idle;
    submit_one_by_one(&calls);
    CHECK(p_pool_threads(&calls, &idle) <= 2);
}

/* A worker counts as busy until it has found out that nothing is left for it. */
static void wait_for_busy(p_pool *pool, int workers)
{
    while (p_pool_busy(pool) != workers)
        usleep(100); /* lets the workers run */
}

TEST(a_monitor_starts_all_items_that_block)
{
    static p_work work[BLOCKED];
    submit_all(&short_items, work, BLOCKED, run_until_open);
    wait_until_inside(BLOCKED);
    CHECK(run_count == 0);
    wait_for_busy(&short_items, BLOCKED);
    open_gate();
    wait_for_count(&run_count, BLOCKED);
    wait_for_busy(&short_items, 0);
}

TEST(blocked_items_do_not_hold_up_quick_ones)
{
    static p_work blocked[BLOCKED], quick[MANY];
    submit_all(&short_items, blocked, BLOCKED / 2, run_until_open);
    submit_all(&short_items, quick, MANY, run_quickly);
    submit_all(&short_items, blocked + BLOCKED / 2, BLOCKED / 2, run_until_open);
    wait_for_count(&run_count, MANY);
    wait_until_inside(BLOCKED);
    CHECK(run_count == MANY);
    open_gate();
    wait_for_count(&run_count, MANY + BLOCKED);
}

TEST(an_unlimited_pool_starts_each_item_at_once_up_to_its_limit)
{
    static p_work work[BLOCKED + 1];
    int idle;
    submit_all(&calls, work, BLOCKED + 1, run_until_open);
    wait_until_inside(BLOCKED);
    CHECK(p_pool_threads(&calls, &idle) == BLOCKED && idle == 0);
    open_gate();
    wait_for_count(&run_count, BLOCKED + 1);
    CHECK(begin_count == BLOCKED);
}

TEST(a_raised_limit_starts_queued_items)
{
    static p_work work[BLOCKED];
    p_pool_limits before = p_pool_configure(&calls, (p_pool_limits){1, -1});
    CHECK(before.threads == BLOCKED && before.idle_time == LONG);
    submit_all(&calls, work, BLOCKED, run_until_open);
    wait_until_inside(1);
    before = p_pool_configure(&calls, (p_pool_limits){BLOCKED, -1});
    CHECK(before.threads == 1 && before.idle_time == LONG);
    wait_until_inside(BLOCKED);
    open_gate();
    wait_for_count(&run_count, BLOCKED);
}

TEST(a_limit_of_one_keeps_the_order)
{
    static p_work work[FEW];
    p_pool_configure(&calls, (p_pool_limits){1, -1});
    submit_all(&calls, work, FEW, run_with_result);
    wait_for_count(&finish_count, FEW);
    CHECK(run_count == FEW);
    CHECK(begin_count == 1);
}

TEST(idle_workers_end_and_new_ones_begin)
{
    static p_work work[BLOCKED];
    submit_all(&calls, work, BLOCKED, run_until_open);
    wait_until_inside(BLOCKED);
    open_gate();
    wait_for_threads(&calls, BLOCKED, BLOCKED);
    p_pool_configure(&calls, (p_pool_limits){-1, 1000});
    wait_for_threads(&calls, 0, 0);
    CHECK(end_count == BLOCKED);
    submit_all(&calls, work, FEW / BLOCKED, run_with_result);
    wait_for_count(&finish_count, FEW / BLOCKED);
    wait_for_threads(&calls, 0, 0);
    CHECK(end_count == begin_count);
}

TEST(submissions_race_with_workers_that_end)
{
    p_work work;
    p_pool_configure(&calls, (p_pool_limits){-1, 0});
    for (long i = 1; i <= FEW; i++) {
        submit_all(&calls, &work, 1, run_with_result);
        wait_for_count(&finish_count, i);
    }
    CHECK(run_count == FEW);
}

TEST(without_a_thread_nothing_is_submitted)
{
    static p_pool pool = {.policy = &threadless, .limits = {10, LONG}};
    p_work work = {NULL, run_quickly};
    int idle;
    CHECK(p_pool_submit(&pool, &work) == -EAGAIN);
    CHECK(p_pool_submit(&pool, &work) == -EAGAIN);
    CHECK(p_pool_threads(&pool, &idle) == 0 && idle == 0);
    CHECK(p_pool_close(&pool) == NULL);
}

TEST(all_pools_have_a_limit_together)
{
    static const p_pool_policy policy = {
        .name = "impatient", .at_once = INT_MAX, .never_waits = 1, .launch = p_thread_launch};
    static p_pool impatient = {.policy = &policy, .limits = {INT64_MAX, LONG}};
    p_work work[3], refused = {NULL, run_quickly};
    int idle;
    CHECK(p_pools_limit(2) == 10000);
    submit_all(&calls, &work[0], 1, run_until_open);
    submit_all(&impatient, &work[1], 1, run_until_open);
    wait_until_inside(2);
    CHECK(p_pool_submit(&impatient, &refused) == -EAGAIN);
    submit_all(&calls, &work[2], 1, run_with_result); /* it waits for the thread of its pool */
    CHECK(p_pool_threads(&calls, &idle) == 1 && p_pool_threads(&impatient, &idle) == 1);
    open_gate();
    wait_for_count(&finish_count, 1);
    CHECK(p_pools_limit(10000) == 2);
    p_pool_close(&impatient);
    while (p_pool_await_end(&impatient, p_now() + LONG) > 0)
        continue;
}

TEST(a_worker_that_cannot_begin_is_an_error)
{
    p_work blocked, work = {NULL, run_quickly};
    int idle;
    submit_all(&calls, &blocked, 1, run_until_open);
    wait_until_inside(1);
    begin_code = -ENOMEM;
    CHECK(p_pool_submit(&calls, &work) == -ENOMEM);
    CHECK(p_pool_threads(&calls, &idle) == 1 && idle == 0);
    begin_code = 0;
    CHECK(p_pool_submit(&calls, &work) == 0);
    wait_for_count(&run_count, 1);
    open_gate();
    wait_for_count(&run_count, 2);
}

TEST(a_closed_pool_returns_what_was_not_started)
{
    static p_work work[3];
    p_pool_configure(&calls, (p_pool_limits){1, -1});
    submit_all(&calls, work, 3, run_until_open);
    wait_until_inside(1);
    CHECK(p_pool_close(&calls) == &work[1] && work[1].next == &work[2] && work[2].next == NULL);
    CHECK(p_pool_submit(&calls, &work[1]) == -ESHUTDOWN);
    CHECK(p_pool_await_end(&calls, p_now() + 1000000) == 1);
    open_gate();
    while (p_pool_await_end(&calls, p_now() + LONG) > 0)
        continue;
    CHECK(run_count == 1 && end_count == 1);
}

TEST(a_closed_pool_ends_its_idle_workers)
{
    static p_work work[BLOCKED];
    submit_all(&calls, work, BLOCKED, run_until_open);
    wait_until_inside(BLOCKED);
    open_gate();
    wait_for_count(&run_count, BLOCKED);
    CHECK(p_pool_close(&calls) == NULL);
    while (p_pool_await_end(&calls, p_now() + LONG) > 0)
        continue;
    CHECK(end_count == BLOCKED);
}
