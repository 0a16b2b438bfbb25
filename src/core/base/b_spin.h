/* Whether to stay awake for a moment before a sleep.
 *
 * To be woken costs tens of microseconds, a hundred and more in a virtual machine, and whoever
 * wakes pays too.  Who answers somebody that answers at once saves both, and gives his processor
 * for nothing otherwise.  So what came of it decides: after a sleep that was short the next
 * one begins with a watch; after a watch in vain there is none until 1, then 3, 7, ... sleeps
 * have been short, up to B_SPIN_MOST.  One in whose time the thing came forgives all.  A sleep
 * of up to twice the time is short: the rest of it may be wake-ups, one's own and the other's.
 *
 * So an idle thread never watches, one whose peer needs its processor soon does not, and what is
 * wasted is less than one watch for each sleep that was short.  Owned by one sleeper; no locking.
 *
 * The time is about what a wake-up costs where it is dear: who watches for so long before he
 * sleeps never loses more than twice what the better choice would have cost.  Half of it was too
 * little to ever begin, where each answer took two such wake-ups.
 *
 * Rejected: a fixed time (a thread that is woken now and then would waste it each time);
 * asking how many processors there are (a quota or a neighbour says more than the number).
 */
#ifndef LOOMLET_B_SPIN_H
#define LOOMLET_B_SPIN_H

#include <stdint.h>

#define B_SPIN_TIME 100000 /* nanoseconds: how long is watched, and half of what is short */
#define B_SPIN_MOST 127

typedef struct {
    unsigned short needed; /* short sleeps until the next watch */
    unsigned short vain;   /* how many the last watch in vain has cost */
} b_spin;

#define B_SPIN_BEGIN ((b_spin){1, 0})

/* For how many nanoseconds to watch now. */
static inline int64_t b_spin_time(const b_spin *e)
{
    return e->needed == 0 ? B_SPIN_TIME : 0;
}

/* What was waited for came after `took` nanoseconds, `watched` of which were to be watched. */
static inline void b_spin_learn(b_spin *e, int64_t watched, int64_t took)
{
    if (watched > 0 && took > B_SPIN_TIME)
        e->needed = e->vain = e->vain < B_SPIN_MOST ? e->vain * 2 + 1 : B_SPIN_MOST;
    else if (watched > 0)
        e->vain = 0;
    else if (took <= 2 * B_SPIN_TIME)
        e->needed--;
}

#endif
