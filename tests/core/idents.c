/* plat/ident_mmap.c: idents are apart, known, rest before they are given out again, and the C
 * library takes them for threads that have ended. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "plat/plat.h"
#include "runner.h"

#define MANY 20000

TEST(idents_are_apart_and_know_their_owners)
{
    static uintptr_t idents[MANY];
    for (int i = 0; i < MANY; i++) {
        CHECK((idents[i] = p_ident_take((uint64_t)i + 1)) != 0);
        CHECK(idents[i] % 64 == 0 && (i == 0 || idents[i] >= idents[i - 1] + 64));
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(p_ident_is_ours(idents[i]) && p_ident_owner(idents[i]) == (uint64_t)i + 1);
        CHECK(p_ident_owner(idents[i] + 1) == 0);
        p_ident_give(idents[i]);
        CHECK(p_ident_is_ours(idents[i]) && p_ident_owner(idents[i]) == 0);
    }
    CHECK(!p_ident_is_ours((uintptr_t)pthread_self()) && !p_ident_is_ours(0));
    CHECK(p_ident_owner((uintptr_t)pthread_self()) == 0 && p_ident_owner(0) == 0);
}

TEST(an_ident_that_was_returned_rests)
{
    uintptr_t first = p_ident_take(1);
    p_ident_give(first);
    int taken = 0;
    for (; taken < 3 * MANY; taken++) {
        uintptr_t ident = p_ident_take(2);
        if (ident == first)
            break;
        p_ident_give(ident);
    }
    CHECK(taken > 1000 && taken < 3 * MANY);
    CHECK(p_ident_owner(first) == 2);
}

TEST(the_c_library_finds_no_thread_there)
{
    char name[16];
    clockid_t clock;
    struct sched_param parameters;
    int policy;
    cpu_set_t set;
    pthread_attr_t attributes;
    uintptr_t before = p_ident_take(1), ident = p_ident_take(2), after = p_ident_take(3);
    pthread_t thread = (pthread_t)ident;
    CHECK(pthread_setname_np(thread, "name") != 0);
    CHECK(pthread_getname_np(thread, name, sizeof(name)) != 0);
    CHECK(pthread_kill(thread, SIGKILL) != 0);
    CHECK(pthread_getcpuclockid(thread, &clock) != 0);
    CHECK(pthread_getschedparam(thread, &policy, &parameters) != 0);
    CHECK(pthread_setschedparam(thread, SCHED_OTHER, &(struct sched_param){0}) != 0);
    CHECK(pthread_getaffinity_np(thread, sizeof(set), &set) == 0); /* that of the calling thread */
    if (pthread_getattr_np(thread, &attributes) == 0)
        pthread_attr_destroy(&attributes);
    for (uintptr_t at = before; at < after + 4096; at += sizeof(long))
        CHECK(*(long *)at == 0);
}

TEST(a_small_address_space_has_idents_too)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
    rlim_t size = (rlim_t)pages * 4096 + ((rlim_t)6 << 20);
    struct rlimit before, small = {.rlim_cur = size};
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    small.rlim_max = before.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &small) == 0);
    for (int i = 0; i < 3 * MANY; i++)
        CHECK(p_ident_take(1) != 0);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0); /* a sanitizer needs more at the end */
}

static void *take_and_return(void *seed)
{
    uint64_t me = (uintptr_t)seed + 1;
    uintptr_t mine[16] = {0};
    for (int i = 0; i < 40000; i++) {
        uintptr_t *slot = &mine[i % 16];
        if (*slot != 0) {
            CHECK(p_ident_owner(*slot) == me);
            p_ident_give(*slot);
        }
        *slot = p_ident_take(me);
        CHECK(*slot != 0);
    }
    return NULL;
}

TEST(threads_never_get_the_same_ident)
{
    runner_run_four(take_and_return);
}
