/* Adaptive spin: whether to spin for a moment before a sleep.
 *
 * A wake-up costs the sleeper tens of microseconds, a hundred and more in a virtual machine, and
 * costs the waker a system call.  Spinning instead saves both if the peer answers at once;
 * otherwise it burns processor time.  So recent outcomes decide.  After a short sleep the next
 * sleep begins with a spin.  After a spin in vain, the next spin comes only after 1 short sleep,
 * then 3, 7, ... up to B_SPIN_MOST.  A spin that succeeds halves the back-off.  A sleep of up to
 * twice the spin time counts as short, because the rest of it may be the two wake-ups.
 *
 * So a peer that answers at once is soon always spun for, and what comes at random moments, as
 * requests of many clients do, only where more than half of the spins succeed: else each success
 * would pay for several spins in vain.
 *
 * So an idle thread never spins, nor does, after a while, a thread whose peer needs the processor;
 * and less than one spin is wasted per short sleep.  Owned by one sleeper; no locking.
 *
 * Crowded processors.  Where a peer waits for the processor that the spin uses, the spin ends only
 * because the system takes that away, and it looks like a success that has cost a slice.  So two
 * looks that lie B_SPIN_GAP apart end the spin, and it was in vain: somebody else has run between
 * them.  In vain it was too if the peer has woken the sleeper from the sleeper's own processor,
 * before it could spin.
 *
 * The spin time is about the cost of an expensive wake-up: a thread that spins for that long before
 * it sleeps never loses more than twice what the better choice would have cost.  Half of it was too
 * little ever to start where each answer took two such wake-ups.
 *
 * Rejected: a fixed time (a thread that is woken now and then would waste it each time); asking how
 * many processors there are (a quota or a neighbour says more than the number).
 */
#ifndef LOOMLET_B_SPIN_H
#define LOOMLET_B_SPIN_H

#include <stdint.h>

#define B_SPIN_TIME 100000 /* nanoseconds: of a spin, and half of what counts as short */
#define B_SPIN_MOST 1023
#define B_SPIN_GAP 4000 /* nanoseconds: less than two changes of threads take */

typedef struct {
    unsigned short needed; /* short sleeps until the next spin */
    unsigned short vain;   /* how many the last spin in vain has cost */
} b_spin;

#define B_SPIN_BEGIN ((b_spin){1, 0})

/* For how many nanoseconds to spin now. */
static inline int64_t b_spin_time(const b_spin *spin)
{
    return spin->needed == 0 ? B_SPIN_TIME : 0;
}

/* It was in vain; `most`: as B_SPIN_MOST. */
static inline void b_spin_fail(b_spin *spin, unsigned short most)
{
    spin->needed = spin->vain = spin->vain < most ? spin->vain * 2 + 1 : most;
}

/* The sleep took `took` nanoseconds, of which `spun` were allowed for the spin.  `crowded`:
 * somebody else wanted the processor during the spin. */
static inline void b_spin_learn(b_spin *spin, int64_t spun, int64_t took, int crowded)
{
    if (spun > 0 && (crowded || took > B_SPIN_TIME))
        b_spin_fail(spin, B_SPIN_MOST);
    else if (spun > 0)
        spin->vain /= 2;
    else if (took <= 2 * B_SPIN_TIME)
        spin->needed--;
}

#endif
