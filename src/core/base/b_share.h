/* A share of the time: a bucket of tokens.
 *
 * Threads that come back from I/O may go before threads that compute, but only for a share of the
 * time, so that the others go on too.  A token is a nanosecond.  Tokens come at the rate of the
 * share, and B_SHARE_MOST of them can be saved.  Whoever has gone before others spends the time
 * that it took, afterwards, because nobody knows it before.  So the bucket may be in debt, and
 * while it is, nobody may go first.
 *
 * Invariant.  Between any two moments no more is spent than the tokens that came in meanwhile,
 * B_SHARE_MOST that had been saved before, and the last turn, which may go into debt.  Several who
 * were let in at the same time may each have such a last turn.  The wait that is announced ends the
 * debt, unless more is spent meanwhile.
 *
 * A share of everything never waits, and a share of nothing always does.
 *
 * Owned by whoever holds the lock beside it; no clock of its own.
 *
 * Rejected: counting how often somebody goes first (a turn takes a microsecond or five thousand);
 * shares of the processor time that the system measures (a system call for each turn; who spends
 * asks the system only where the clock does not tell).
 */
#ifndef LOOMLET_B_SHARE_H
#define LOOMLET_B_SHARE_H

#include <stdint.h>

#define B_SHARE_WHOLE 1000000   /* a share is a number of millionths */
#define B_SHARE_MOST 5000000    /* tokens that can be saved */
#define B_SHARE_DEBT 1000000000 /* the most that can be owed */
#define B_SHARE_NEVER INT64_MAX

typedef struct {
    int64_t share;  /* millionths */
    int64_t parts;  /* millionths of tokens: a quick succession of calls rounds nothing off */
    int64_t filled; /* the time up to which tokens have come */
} b_share;

static inline void b_share_begin(b_share *bucket, int64_t share, int64_t now)
{
    bucket->share = share;
    bucket->parts = (int64_t)B_SHARE_MOST * B_SHARE_WHOLE;
    bucket->filled = now;
}

static inline void b_share_fill(b_share *bucket, int64_t now)
{
    int64_t passed = now - bucket->filled, most = (int64_t)B_SHARE_MOST * B_SHARE_WHOLE;
    if (passed <= 0) /* another processor's clock, or the caller's older look at it */
        return;
    bucket->filled = now;
    if (passed > (most - bucket->parts) / (bucket->share + 1))
        passed = (most - bucket->parts) / (bucket->share + 1) + 1;
    bucket->parts += passed * bucket->share;
    if (bucket->parts > most)
        bucket->parts = most;
}

/* For how many nanoseconds nobody may go first; 0: one may now. */
static inline int64_t b_share_wait(b_share *bucket, int64_t now)
{
    if (bucket->share <= 0)
        return B_SHARE_NEVER;
    b_share_fill(bucket, now);
    if (bucket->share >= B_SHARE_WHOLE || bucket->parts > 0)
        return 0;
    return -bucket->parts / bucket->share + 1;
}

/* Somebody has gone first, for `took` nanoseconds. */
static inline void b_share_spend(b_share *bucket, int64_t took)
{
    int64_t least = -(int64_t)B_SHARE_DEBT * B_SHARE_WHOLE;
    took = took < B_SHARE_DEBT ? took : B_SHARE_DEBT;
    bucket->parts -= took * B_SHARE_WHOLE;
    if (bucket->parts < least)
        bucket->parts = least;
}

#endif
