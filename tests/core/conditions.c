/* plat/condition_pthread.c: the waiters of a condition variable are counted, and calls are
 * intercepted. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "plat/plat.h"
#include "runner.h"

#define WAITERS 5

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int begun, allowed;

static void init_monotonic(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* as the interpreter's */
    CHECK(pthread_cond_init(&condition, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
}

static void *wait_until_allowed(void *arg)
{
    pthread_mutex_lock(&mutex);
    begun++;
    while (!allowed)
        pthread_cond_wait(&condition, &mutex);
    allowed--;
    pthread_mutex_unlock(&mutex);
    return arg;
}

/* With the mutex, so that whoever has begun waits. */
static void lock_when_begun(int count)
{
    pthread_mutex_lock(&mutex);
    while (begun < count) {
        pthread_mutex_unlock(&mutex);
        usleep(100); /* lets the waiters run */
        pthread_mutex_lock(&mutex);
    }
}

static void let_all_go(pthread_t *threads)
{
    allowed = WAITERS;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
}

TEST(waiters_of_a_condition_are_counted)
{
    pthread_t threads[WAITERS];
    init_monotonic();
    CHECK(p_condition_waiters(&condition) == -1);
    p_condition_learn();
    for (int round = 0; round < 100; round++) {
        CHECK(p_condition_waiters(&condition) == 0);
        begun = 0;
        for (int i = 0; i < WAITERS; i++) {
            CHECK(pthread_create(&threads[i], NULL, wait_until_allowed, NULL) == 0);
            lock_when_begun(i + 1);
            CHECK(p_condition_waiters(&condition) == i + 1);
            pthread_mutex_unlock(&mutex);
        }
        lock_when_begun(WAITERS);
        let_all_go(threads);
    }
    CHECK(p_condition_waiters(&condition) == 0);
    pthread_cond_destroy(&condition);
}

TEST(what_is_known_is_not_learned_again)
{
    p_condition_learn();
    p_condition_learn();
    CHECK(p_condition_waiters(&(pthread_cond_t)PTHREAD_COND_INITIALIZER) == 0);
}

/* ---- interception: of our own calls ------------------------------------------------------- */

static int signals, waits, handles;

static int handle_signal(const void *of)
{
    signals += of == &condition;
    return handles;
}

static int handle_wait(const void *of, void *with)
{
    waits += of == &condition && with == &mutex;
    return handles;
}

static const p_condition_hooks hooks = {handle_signal, handle_wait};

TEST(calls_can_be_handled_by_others)
{
    struct timespec end = {0, 0};
    init_monotonic();
    CHECK(p_condition_intercept(&condition, &hooks) >= 3);
    handles = 1;
    CHECK(pthread_cond_signal(&condition) == 0 && signals == 1);
    pthread_mutex_lock(&mutex);
    CHECK(pthread_cond_wait(&condition, &mutex) == 0 && waits == 1);
    CHECK(pthread_cond_timedwait(&condition, &mutex, &end) == 0 && waits == 2);
    pthread_mutex_unlock(&mutex);
}

TEST(calls_that_others_leave_alone_are_made)
{
    pthread_t waiter;
    struct timespec end = {0, 0};
    init_monotonic();
    CHECK(p_condition_intercept(&condition, &hooks) >= 3);
    CHECK(pthread_create(&waiter, NULL, wait_until_allowed, NULL) == 0);
    lock_when_begun(1);
    CHECK(pthread_cond_timedwait(&condition, &mutex, &end) == ETIMEDOUT);
    allowed = 1;
    CHECK(pthread_cond_signal(&condition) == 0);
    pthread_mutex_unlock(&mutex);
    pthread_join(waiter, NULL);
    CHECK(signals == 1 && waits == 2 && allowed == 0);
}
