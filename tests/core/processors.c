/* plat/processors_linux.c: a thread is confined while it sleeps, and has all its processors again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "plat/plat.h"
#include "runner.h"

#define TURNS 200

static p_processors processors;
static p_parker parker;
static int begun, turns;

static int count_processors(int thread)
{
    cpu_set_t all;
    CHECK(sched_getaffinity(thread, sizeof(all), &all) == 0);
    return CPU_COUNT(&all);
}

/* Sleeps, and notes how many it has when it is awake. */
static void *sleep_in_turn(void *found)
{
    p_processors_begin(&processors);
    p_park_prepare(&parker);
    __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&turns, __ATOMIC_SEQ_CST) < TURNS) {
        p_park(&parker, INT64_MAX);
        p_processors_restore(&processors);
        *(int *)found = count_processors(0);
        p_park_prepare(&parker);
        __atomic_add_fetch(&turns, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

TEST(a_confined_thread_has_all_processors_when_it_runs)
{
    pthread_t thread;
    int had = count_processors(0), found = 0;
    CHECK(pthread_create(&thread, NULL, sleep_in_turn, &found) == 0);
    while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
        sched_yield();
    for (int turn = 0; turn < TURNS; turn++) {
        p_processors_confine(&processors);
        p_processors_confine(&processors); /* it is known still what it had */
        CHECK(count_processors(processors.thread) == 1);
        p_unpark(&parker);
        while (__atomic_load_n(&turns, __ATOMIC_SEQ_CST) == turn)
            sched_yield();
        CHECK(found == had);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

TEST(no_thread_is_confined_before_it_has_begun)
{
    p_processors of_none = {.thread = 0};
    int had = count_processors(0);
    p_processors_confine(&of_none);
    CHECK(!of_none.confined && count_processors(0) == had);
    p_processors_restore(&of_none);
    CHECK(count_processors(0) == had);
}

/* Whether it begins on the one processor of its launcher, and has all of them after that. */
static void *begin_confined(void *found)
{
    ((int *)found)[0] = count_processors(0);
    p_processors_restore(&processors);
    ((int *)found)[1] = count_processors(0);
    return NULL;
}

TEST(a_thread_begins_on_the_processor_of_its_launcher)
{
    pthread_t thread;
    int had = count_processors(0), found[2];
    for (int turn = 0; turn < TURNS; turn++) {
        processors = (p_processors){.thread = 0};
        int confined = p_processors_launch_begin(&processors);
        CHECK(count_processors(0) == 1 && confined == (had > 1));
        CHECK(pthread_create(&thread, NULL, begin_confined, found) == 0);
        p_processors_launch_end(&processors, confined);
        CHECK(count_processors(0) == had);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(found[0] == 1 && found[1] == had);
    }
}
