/* Clocks, parked threads and short locks on Linux: one futex word each.
 *
 * A thread that spins between p_park_prepare and p_park is woken by the word alone.  p_park also
 * returns on a signal, so that the caller can handle pending signals; a condition variable would
 * sleep through it.
 *
 * Lock word: 0 free, 1 held, 2 held with waiters.
 */
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

void p_park_prepare(p_parker *parker)
{
    p_word_announce(&parker->word);
}

void p_park_cancel(p_parker *parker)
{
    __atomic_store_n(&parker->word, P_AWAKE, __ATOMIC_SEQ_CST);
}

void p_park_spin(p_parker *parker, int64_t until)
{
    if (!p_word_change(&parker->word, P_ASLEEP, P_SPINNING))
        return;
    while (__atomic_load_n(&parker->word, __ATOMIC_SEQ_CST) == P_SPINNING && p_now() < until)
        p_relax();
    p_word_change(&parker->word, P_SPINNING, P_ASLEEP);
}

void p_park(p_parker *parker, int64_t until)
{
    struct timespec limit = {until / 1000000000, until % 1000000000};
    if (__atomic_load_n(&parker->word, __ATOMIC_SEQ_CST) == P_ASLEEP)
        futex_wait(&parker->word, P_ASLEEP, until == INT64_MAX ? NULL : &limit);
    __atomic_store_n(&parker->word, P_AWAKE, __ATOMIC_SEQ_CST);
}

void p_park_adaptive(p_parker *parker, b_spin *spin, int64_t until, void (*then)(int64_t until))
{
    int64_t limit = b_spin_time(spin), began = p_now();
    if (limit > 0)
        p_park_spin(parker, until < began + limit ? until : began + limit);
    p_park(parker, until);
    if (limit > 0 && then != NULL)
        then(began + limit);
    b_spin_learn(spin, limit, p_now() - began);
}

void p_unpark(p_parker *parker)
{
    if (p_word_wake(&parker->word))
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
