/* Threads that give each other work, and how often one of them is interrupted for another.
 *
 * A thread that was woken may have a thread that computes interrupted, because that one would go on
 * for long.  Not so its waker, nor a third one that was woken a moment ago: these are partners.  A
 * partner is about to wait, or has more work to give.  If each of a thousand jobs interrupted the
 * thread that gives them to idle workers, every job would cost two changes of threads, and the
 * workers would interrupt each other as well.
 *
 * So partners are interrupted once in B_PARTNER_PAUSE, all of them together.  Once, because a
 * partner may compute all the same; then the thread that it has woken goes on at once, if that does
 * not happen all the time.  Later a woken thread waits like others until a partner waits.
 *
 * A thread that has woken another one, or was woken, stays a partner for B_PARTNER_TIME.  A table
 * by address keeps the marks.  Two threads may have the same slot there; then the first of them is
 * forgotten, and is interrupted as if it computed.
 *
 * Threads.  Any, without a lock.  All of it is a hint: a mixture of two threads' marks makes a
 * thread be interrupted too early or too late.
 *
 * Rejected: never to interrupt a waker (one that computes for long and sends now and then would
 * delay each value); a pause for each partner (four workers that are woken by the same thread
 * interrupt each other in turn); only who has waited lately (a thread that gives jobs for longer
 * than that would be interrupted by each of them).
 */
#ifndef LOOMLET_B_PARTNERS_H
#define LOOMLET_B_PARTNERS_H

#include <stdint.h>

#define B_PARTNER_TIME 5000000  /* nanoseconds: a switch interval */
#define B_PARTNER_PAUSE 4000000 /* less than that: beyond it the interpreter asks */
#define B_PARTNER_BITS 8        /* of ten threads, hardly any two have the same slot */

typedef struct {
    uintptr_t who; /* atomic; only compared */
    int64_t met;   /* atomic: when it woke another one, or was woken */
} b_partner;

typedef struct {
    b_partner slots[1 << B_PARTNER_BITS];
    int64_t interrupted; /* atomic: when one was last; or 0 */
} b_partners;

static inline int b_partner_slot(uintptr_t who)
{
    return (int)((uint64_t)who * UINT64_C(0x9E3779B97F4A7C15) >> (64 - B_PARTNER_BITS));
}

/* It wakes another one, or was woken. */
static inline void b_partner_note(b_partners *partners, uintptr_t who, int64_t now)
{
    b_partner *slot = &partners->slots[b_partner_slot(who)];
    __atomic_store_n(&slot->who, who, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->met, now, __ATOMIC_RELAXED);
}

static inline int b_is_partner(const b_partners *partners, uintptr_t who, int64_t now)
{
    const b_partner *slot = &partners->slots[b_partner_slot(who)];
    return __atomic_load_n(&slot->who, __ATOMIC_RELAXED) == who &&
           now - __atomic_load_n(&slot->met, __ATOMIC_RELAXED) < B_PARTNER_TIME;
}

/* For how many nanoseconds a woken thread may not interrupt it; 0: it may now. */
static inline int64_t b_partner_wait(const b_partners *partners, uintptr_t who, int64_t now)
{
    int64_t last = __atomic_load_n(&partners->interrupted, __ATOMIC_RELAXED);
    if (last == 0 || now - last >= B_PARTNER_PAUSE || !b_is_partner(partners, who, now))
        return 0;
    return now > last ? B_PARTNER_PAUSE - (now - last) : B_PARTNER_PAUSE;
}

/* A woken thread has interrupted it. */
static inline void b_partner_interrupt(b_partners *partners, uintptr_t who, int64_t now)
{
    if (b_is_partner(partners, who, now))
        __atomic_store_n(&partners->interrupted, now, __ATOMIC_RELAXED);
}

#endif
