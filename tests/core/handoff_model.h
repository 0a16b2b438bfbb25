/* The model of a handoff: what is in its state, and what may happen.  See handoff.c. */
#ifndef LOOMLET_TEST_HANDOFF_MODEL_H
#define LOOMLET_TEST_HANDOFF_MODEL_H

#include <stdint.h>

#include "sched/handoff.h"

#define THREADS 3
#define TASKLETS 3
#define HOME 0
#define MAIN 0
#define NOBODY 255

/* Where a thread is.  RESTS (at its base, with nothing to do), DISPATCHES, PYTHON: it is attached;
 * without a GIL also LOOKS (it comes to its base), DECIDES (it was called) and HEADS (it has chosen
 * where the scheduler goes).  IDLES: it sleeps at its base, where the scheduler is idle or was; and
 * SLEEPS elsewhere, with the scheduler. */
enum {
    OFF,
    STARTS,
    BASE,
    LOOKS,
    DECIDES,
    RESTS,
    HEADS,
    DISPATCHES,
    PYTHON,
    SAFEPOINT,
    IN_C,
    SLEEPS,
    IDLES,
    STOPPED,
    ENDED
};
/* What a tasklet does.  CHOSEN: it runs when the scheduler arrives.  GONE: it never runs again. */
enum { READY, CURRENT, CHOSEN, SITTING, MAIL, ASIDE, WAITING, DONE, GONE };

/* What may happen besides. */
enum {
    FORKS = 1,    /* a thread forks; the model goes on in the child */
    EXITS = 2,    /* the interpreter ends, whatever the others do */
    LEAVES = 4,   /* main ends, and with it the scheduler, while others are left */
    APART = 8,    /* who has sat once is kept apart */
    DEPENDS = 16, /* calls of tasklet 1 return once tasklet 2, which stays soft, has ended */
    NO_GIL = 32   /* threads run beside each other between two steps of the protocol */
};

/* Mistakes in the use of the protocol. */
enum {
    NO_MISTAKE,
    ENDS_WITHOUT_MEETING, /* the dispatcher does not compare at the end of a function */
    OPERATES_WITHOUT_MEETING,
    SLEEPS_UNFORBIDDEN,
    WAKES_NOBODY,    /* the carrier that the scheduler goes to is not woken */
    SENDS_NO_MAIL,   /* a sitter that has met is not sent to the scheduler */
    FORGETS_ASIDE,   /* what was put aside is not made ready */
    NEVER_CALLS,     /* the monitor sees nothing */
    LEAVES_TOO_SOON, /* the thread ends though its carrier could not leave */
    TAKES_UNHELD,    /* without a GIL: the thread may attach while it is taken from */
    GOES_UNASKED,    /* ... and whether the carrier still stands there is not asked */
    MISTAKES
};

typedef struct {
    uint8_t serves, state, kept, sitter, in_reserve, below; /* of the protocol */
    uint8_t is, runs, woken;                                /* of the thread */
} thread_state;

typedef struct {
    uint8_t is, hard, apart; /* hard: the thread plus one */
} tasklet_state;

typedef struct {
    uint8_t gil; /* the thread plus one */
    uint8_t at, home, reserve, called, invited, in_transit, idle, forbidden, closed;
    uint8_t chosen, heads, forked, exited, over;
    thread_state thread[THREADS];
    tasklet_state tasklet[TASKLETS];
} world;

/* The state, and what went wrong in the last action; NULL: nothing. */
extern world w;
extern const char *wrong;
extern int features, mistake;

#define WAYS 3
typedef struct {
    const char *name;
    int (*act)(int t, int way);
    int ways; /* up to WAYS */
} action_kind;
extern const action_kind kinds[];
extern const int kind_count;

/* The model begins: main runs at home. */
void begin_world(int what, int made);
/* An action, between the bytes of the state and the structures of the protocol. */
int act_in_world(const action_kind *kind, int t, int way);
int is_over(const tasklet_state *task);

/* The same as the protocol knows it; of `names` only the addresses matter. */
extern s_handoff h;
extern s_carrier carriers[THREADS];
extern int names[TASKLETS];
void load_world(void);
void store_world(void);
uint8_t index_of(const s_carrier *c);

#endif
