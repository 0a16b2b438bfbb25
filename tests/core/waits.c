/* plat/wait_linux.c: no wake-up is lost, no two threads hold a lock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "plat/plat.h"
#include "runner.h"

TEST(the_clock_does_not_go_back)
{
    int64_t last = p_now();
    for (int i = 0; i < 100000; i++) {
        int64_t now = p_now();
        CHECK(now >= last);
        last = now;
    }
}

/* ---- parking ---------------------------------------------------------------------- */

#define HANDOVERS 20000

typedef struct {
    p_parker parker;
    int work;
} side;

static side sides[2];

static void sleep_after(p_parker *parker, int64_t spin)
{
    if (spin > 0)
        p_park_spin(parker, p_now(), p_now() + spin);
    p_park(parker, INT64_MAX);
}

/* Announces, looks once more, may spin, sleeps: the protocol of plat.h. */
static void wait_for_work(side *mine, int64_t spin)
{
    while (!__atomic_load_n(&mine->work, __ATOMIC_SEQ_CST)) {
        p_park_prepare(&mine->parker);
        if (__atomic_load_n(&mine->work, __ATOMIC_SEQ_CST))
            p_park_cancel(&mine->parker);
        else
            sleep_after(&mine->parker, spin);
    }
    __atomic_store_n(&mine->work, 0, __ATOMIC_SEQ_CST);
}

static void give_work(side *other)
{
    __atomic_store_n(&other->work, 1, __ATOMIC_SEQ_CST);
    p_unpark(&other->parker);
}

static long passed; /* guarded by whose turn it is */

static void *answer_handovers(void *unused)
{
    for (int i = 0; i < HANDOVERS; i++) {
        wait_for_work(&sides[1], i % 3 * 1000);
        CHECK(passed++ == 2 * i + 1);
        give_work(&sides[0]);
    }
    return unused;
}

TEST(two_threads_wake_each_other_and_lose_nothing)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer_handovers, NULL) == 0);
    for (int i = 0; i < HANDOVERS; i++) {
        CHECK(passed++ == 2 * i);
        give_work(&sides[1]);
        wait_for_work(&sides[0], i % 5 * 1000);
    }
    pthread_join(thread, NULL);
    CHECK(passed == 2 * HANDOVERS);
}

TEST(a_wake_up_between_announcing_and_sleeping_is_kept)
{
    p_parker parker = {0};
    p_park_prepare(&parker);
    p_unpark(&parker);
    p_park(&parker, INT64_MAX);
    CHECK(parker.word == 0);
}

TEST(a_wake_up_ends_a_spin_and_the_sleep_after_it)
{
    p_parker parker = {0};
    p_park_prepare(&parker);
    p_unpark(&parker);
    p_park_spin(&parker, p_now(), INT64_MAX);
    p_park(&parker, INT64_MAX);
    CHECK(parker.word == P_AWAKE);
}

TEST(a_spin_in_vain_ends_at_its_time)
{
    p_parker parker = {0};
    int64_t until = p_now() + 1000000;
    p_park_prepare(&parker);
    int crowded = p_park_spin(&parker, p_now(), until);
    CHECK((crowded || p_now() >= until) && parker.word == P_ASLEEP);
    p_unpark(&parker);
    p_park(&parker, INT64_MAX);
}

/* The caller's last look was long ago: somebody else has run. */
TEST(a_spin_that_lost_the_processor_ends)
{
    p_parker parker = {0};
    p_park_prepare(&parker);
    CHECK(p_park_spin(&parker, p_now() - B_SPIN_GAP, INT64_MAX) == 1);
    CHECK(parker.word == P_ASLEEP);
    p_park_cancel(&parker);
}

static void stay_on_this_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
}

TEST(a_sleeper_knows_whether_it_was_woken_from_its_processor)
{
    p_parker parker = {0};
    stay_on_this_processor();
    p_park_prepare(&parker);
    p_unpark(&parker);
    p_park(&parker, INT64_MAX);
    CHECK(p_woken_here(&parker));
    p_park_prepare(&parker);
    p_park(&parker, 0);
    CHECK(!p_woken_here(&parker)); /* nobody has woken it */
    p_park_prepare(&parker);
    parker.word = P_SPINNING;
    p_unpark(&parker);
    CHECK(!p_woken_here(&parker)); /* it was awake */
}

TEST(a_spinning_sleeper_is_woken_without_a_system_call)
{
    uint32_t word = P_SPINNING;
    CHECK(!p_word_wake(&word) && word == P_WOKEN);
    word = P_ASLEEP;
    CHECK(p_word_wake(&word) && word == P_WOKEN);
    CHECK(!p_word_wake(&word) && word == P_WOKEN);
    word = P_AWAKE;
    CHECK(!p_word_wake(&word) && word == P_AWAKE);
}

TEST(a_cancelled_sleep_leaves_nothing_behind)
{
    p_parker parker = {0};
    p_park_prepare(&parker);
    p_park_cancel(&parker);
    p_unpark(&parker);
    p_park_prepare(&parker);
    int64_t until = p_now() + 2000000;
    p_park(&parker, until);
    CHECK(p_now() >= until);
}

TEST(a_deadline_that_is_over_does_not_sleep)
{
    p_parker parker = {0};
    p_park_prepare(&parker);
    p_park(&parker, p_now() - 1);
    p_park_prepare(&parker);
    p_park(&parker, 0);
    CHECK(parker.word == 0);
}

static void sleep_for_ever(void)
{
    static p_parker parker;
    p_park_prepare(&parker);
    p_park(&parker, INT64_MAX);
}

TEST(a_signal_ends_a_sleep)
{
    runner_interrupt(sleep_for_ever);
}

/* ---- the lock ------------------------------------------------------------------------ */

#define THREADS 4
#define ROUNDS 50000

static p_lock lock;
static long shared[2]; /* guarded by lock; equal whenever it is free */

static void *count(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        p_lock_take(&lock);
        CHECK(shared[0] == shared[1]);
        shared[0]++;
        if (i % 1000 == 0)
            p_park(&(p_parker){.word = P_ASLEEP}, p_now() + 10000);
        shared[1]++;
        p_lock_give(&lock);
    }
    return unused;
}

TEST(a_lock_is_held_by_one_thread_at_a_time)
{
    runner_run_four(count);
    CHECK(shared[0] == THREADS * ROUNDS && shared[1] == THREADS * ROUNDS);
    CHECK(lock.word == 0);
}

/* ---- threads --------------------------------------------------------------------------- */

static p_lock running = {1};
static int begun;

static int begin_as(void *answer)
{
    begun++;
    return *(int *)answer;
}

static void run_on(void *answer)
{
    *(int *)answer = 7;
    p_lock_give(&running);
}

static int launch(int *answer, size_t stack)
{
    p_launch with = {
        .name = "test", .stack = stack, .begin = begin_as, .run = run_on, .arg = answer};
    return p_thread_launch(&with);
}

TEST(a_launched_thread_begins_before_it_runs)
{
    int answer = 0;
    CHECK(launch(&answer, 0) == 0);
    CHECK(begun == 1);
    p_lock_take(&running);
    CHECK(answer == 7);
}

TEST(a_thread_that_refuses_does_not_run)
{
    int answer = -5;
    CHECK(launch(&answer, 1 << 20) == -5);
    CHECK(begun == 1 && answer == -5);
}

static int signals_are_blocked;

static int read_mask(void *unused)
{
    sigset_t mask;
    (void)unused;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    signals_are_blocked = sigismember(&mask, SIGUSR1);
    return -1;
}

TEST(a_launched_thread_takes_signals_if_asked_to)
{
    p_launch with = {.name = "test", .signals = 1, .begin = read_mask};
    CHECK(p_thread_launch(&with) == -1 && !signals_are_blocked);
    with.signals = 0;
    CHECK(p_thread_launch(&with) == -1 && signals_are_blocked);
}

TEST(a_thread_that_the_system_does_not_give_is_an_error)
{
    int answer = 0;
    CHECK(launch(&answer, (size_t)1 << 47) == -EAGAIN);
    CHECK(begun == 0);
}
