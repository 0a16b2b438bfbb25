/* Clocks, parked threads and short locks on Linux: one futex word each.
 *
 * A thread that spins between p_park_prepare and p_park is woken by the word alone.  p_park also
 * returns on a signal, so that the caller can handle pending signals; a condition variable would
 * sleep through it.
 *
 * A waker says on which processor it runs before it wakes a sleeper.  One that says it too late,
 * because another has woken the sleeper, says it about the next sleep: a hint, and nothing more.
 *
 * Lock word: 0 free, 1 held, 2 held with waiters.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plat/plat.h"

void p_yield(void)
{
    sched_yield();
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t p_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t p_now_coarse(void)
{
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

int64_t p_thread_time(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t p_wall_seconds(void)
{
    return read_clock(CLOCK_REALTIME_COARSE) / 1000000000;
}

static void futex_wait(uint32_t *word, uint32_t expected, const struct timespec *until)
{
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, until, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

static void futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void p_park_cancel(p_parker *parker)
{
    __atomic_store_n(&parker->word, P_AWAKE, __ATOMIC_SEQ_CST);
}

int p_park_spin(p_parker *parker, int64_t now, int64_t until)
{
    int64_t looked = now;
    if (!p_word_change(&parker->word, P_ASLEEP, P_SPINNING))
        return 0;
    while (__atomic_load_n(&parker->word, __ATOMIC_SEQ_CST) == P_SPINNING && now < until &&
           now - looked < B_SPIN_GAP) {
        p_relax();
        looked = now;
        now = p_now();
    }
    p_word_change(&parker->word, P_SPINNING, P_ASLEEP);
    return now - looked >= B_SPIN_GAP;
}

void p_park(p_parker *parker, int64_t until)
{
    struct timespec limit = {until / 1000000000, until % 1000000000};
    if (__atomic_load_n(&parker->word, __ATOMIC_SEQ_CST) == P_ASLEEP)
        futex_wait(&parker->word, P_ASLEEP, until == INT64_MAX ? NULL : &limit);
    __atomic_store_n(&parker->word, P_AWAKE, __ATOMIC_SEQ_CST);
}

int p_woken_here(const p_parker *parker)
{
    int waker = __atomic_load_n(&parker->waker, __ATOMIC_RELAXED);
    return waker >= 0 && waker == sched_getcpu();
}

void p_park_adaptive(p_parker *parker, b_spin *spin, int64_t until, void (*then)(int64_t until))
{
    int64_t limit = b_spin_time(spin), began = p_now();
    int crowded = 0;
    if (limit > 0)
        crowded = p_park_spin(parker, began, until < began + limit ? until : began + limit);
    p_park(parker, until);
    crowded |= p_woken_here(parker);
    if (limit > 0 && !crowded && then != NULL)
        then(began + limit);
    b_spin_learn(spin, limit, p_now() - began, crowded);
}

int p_unpark_begin(p_parker *parker)
{
    if (!p_word_wake(&parker->word))
        return 0;
    __atomic_store_n(&parker->waker, sched_getcpu(), __ATOMIC_RELAXED);
    return 1;
}

void p_unpark(p_parker *parker)
{
    if (p_unpark_begin(parker))
        futex_wake(&parker->word);
}

void p_lock_slow(p_lock *lock)
{
    for (int spin = 0; spin < 100; spin++) {
        uint32_t free = 0;
        if (__atomic_compare_exchange_n(&lock->word, &free, 1, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return;
    }
    while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
        futex_wait(&lock->word, 2, NULL);
}

void p_unlock_slow(p_lock *lock)
{
    futex_wake(&lock->word);
}
