/* base/b_turns.h: who is woken when a lock is given back.
 *
 * The model: two threads that compute and two that go first share a lock with a mutex and a
 * condition variable, as the interpreter's.  What is done with the mutex is one action, but for the
 * drop: whoever spins sees the free lock before the drop has woken anybody.  No wait of a computing
 * thread ends by itself, so every lost wake-up is found.
 */
#include "base/b_turns.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "explore.h"
#include "runner.h"

#define COMPUTING 2
#define FIRST 2
#define THREADS (COMPUTING + FIRST)
#define NOBODY 0xff

enum {
    AWAY,   /* for I/O; only those that go first */
    HOLDS,  /* the lock */
    DROPS,  /* the lock is free; the mutex is not, and nobody was woken yet */
    TRIES,  /* takes the lock if it is free, else waits */
    SLEEPS, /* for the condition variable */
    STANDS, /* by */
    SPINS,  /* on its way */
    QUEUED, /* sleeps until its turn */
};

typedef struct {
    uint8_t is[THREADS], on_way[THREADS];
    uint8_t holder;                    /* of the lock */
    uint8_t waiters[THREADS], waiting; /* the condition variable's, in order */
    uint8_t sleepers[FIRST], sleeping; /* those of the turns, in order */
    uint8_t coming, stands;            /* those of the turns */
    uint8_t woke_without_need;
} turns_world;

static turns_world w;
static b_turns turns;
static b_link links[THREADS];

/* The protocol works on links, the explorer on bytes. */
static void load_turns(void)
{
    b_turns_begin(&turns);
    memset(links, 0, sizeof(links));
    turns.coming = w.coming;
    turns.stands = w.stands;
    for (int i = 0; i < w.sleeping; i++)
        b_append(&turns.sleepers, &links[w.sleepers[i]]);
}

static void store_turns(void)
{
    w.coming = (uint8_t)turns.coming;
    w.stands = (uint8_t)turns.stands;
    w.sleeping = 0;
    memset(w.sleepers, 0, sizeof(w.sleepers));
    for (b_link *at = turns.sleepers.next; at != &turns.sleepers; at = at->next)
        w.sleepers[w.sleeping++] = (uint8_t)(at - links);
}

static int goes_first(int t)
{
    return t >= COMPUTING;
}

static int is_mutex_free(void)
{
    for (int t = 0; t < THREADS; t++) {
        if (w.is[t] == DROPS)
            return 0;
    }
    return 1;
}

static void arrive(int t)
{
    if (w.on_way[t])
        b_turns_leave(&turns);
    w.on_way[t] = 0;
}

static void wake_longest_waiter(void)
{
    if (w.waiting == 0)
        return;
    w.is[w.waiters[0]] = TRIES;
    w.woke_without_need = w.coming > 0 || w.sleeping > 0;
    memmove(w.waiters, w.waiters + 1, --w.waiting);
    w.waiters[w.waiting] = 0;
}

static void finish_drop(int t)
{
    b_link *woken = NULL;
    arrive(t);
    b_turn turn = b_turns_next(&turns, &woken);
    store_turns();
    if (turn == B_TURN_WAKES)
        w.is[woken - links] = SPINS;
    else if (turn == B_TURN_USUAL)
        wake_longest_waiter();
    w.is[t] = goes_first(t) ? AWAY : TRIES;
}

static void wait_for_condition(int t)
{
    w.is[t] = SLEEPS;
    w.waiters[w.waiting++] = (uint8_t)t;
}

static void wait_for_lock(int t, int may_stand)
{
    if (w.on_way[t]) { /* another was quicker: it begins anew */
        w.on_way[t] = 0;
        w.is[t] = SPINS;
    } else if (!goes_first(t) && goes_first(w.holder) &&
               b_turns_stand(&turns, &links[t], 0, may_stand)) {
        w.is[t] = STANDS;
    } else
        wait_for_condition(t);
}

static void try_lock(int t, int may_stand)
{
    if (w.holder == NOBODY) {
        w.holder = (uint8_t)t;
        w.is[t] = HOLDS;
    } else
        wait_for_lock(t, may_stand);
}

/* Sees the lock without the mutex. */
static int spin(int t, int choice)
{
    if (choice == 0 && w.holder == NOBODY) {
        w.is[t] = TRIES;
        w.on_way[t] = 1;
    } else if (choice == 1 && w.holder != NOBODY && is_mutex_free()) {
        b_turns_sleep(&turns, &links[t]);
        w.is[t] = QUEUED;
    } else if (choice == 2 && w.holder != NOBODY) { /* it has waited long enough */
        b_turns_leave(&turns);
        w.is[t] = TRIES;
    } else
        return 0;
    return 1;
}

/* Back from I/O; the share may be used up. */
static int come_back(int t, int choice)
{
    if (choice > 0 && (w.holder == NOBODY || !is_mutex_free()))
        return 0;
    if (choice > 0)
        b_turns_come(&turns);
    w.is[t] = choice > 0 ? SPINS : TRIES;
    return choice < 2;
}

static void stop_standing(int t)
{
    b_turns_end_stand(&turns);
    w.is[t] = TRIES;
    if (w.holder != NOBODY)
        wait_for_condition(t);
}

static int step_with_mutex(int t, int choice)
{
    if (!is_mutex_free() || (choice > 0 && (choice > 1 || w.is[t] != TRIES)))
        return 0;
    switch (w.is[t]) {
    case HOLDS:
        w.holder = NOBODY;
        w.is[t] = DROPS;
        return 1;
    case TRIES:
        try_lock(t, choice); /* 0: it has stood by for long enough */
        return 1;
    case STANDS:
        stop_standing(t);
        return 1;
    case QUEUED: /* a time is over */
        b_turns_awake(&turns, &links[t]);
        w.is[t] = SPINS;
        return 1;
    }
    return 0;
}

static int step_of(int t, int choice)
{
    if (w.is[t] == SPINS)
        return spin(t, choice);
    if (w.is[t] == AWAY)
        return come_back(t, choice);
    if (w.is[t] != DROPS)
        return step_with_mutex(t, choice);
    if (choice > 0)
        return 0;
    finish_drop(t);
    return 1;
}

static int act(int action)
{
    w.woke_without_need = 0;
    load_turns();
    int done = step_of(action / 3, action % 3);
    store_turns();
    return done;
}

static int is_awake(int t)
{
    return w.is[t] != SLEEPS && w.is[t] != QUEUED && w.is[t] != AWAY;
}

static const char *find_fault(void)
{
    int awake = 0, counted = 0;
    for (int t = 0; t < THREADS; t++) {
        awake += is_awake(t);
        counted += w.is[t] == SPINS || w.on_way[t];
    }
    if (w.holder == NOBODY && awake == 0)
        return "the lock is free, and all sleep";
    if (counted != w.coming)
        return "a thread is counted twice, or not at all";
    return w.woke_without_need ? "another is woken than the one whose turn it is" : NULL;
}

static int is_settled(void)
{
    return w.holder < COMPUTING && w.coming == 0 && w.is[COMPUTING] == AWAY &&
           w.is[COMPUTING + 1] == AWAY;
}

static void print_world(int action)
{
    printf("action %d: is", action);
    for (int t = 0; t < THREADS; t++)
        printf(" %d%s", w.is[t], w.on_way[t] ? "w" : "");
    printf(", holder %d, coming %d, stands %d\n", w.holder, w.coming, w.stands);
}

TEST(no_drop_is_lost_and_none_wakes_another)
{
    explore_model model = {.size = sizeof(w),
                           .actions = THREADS * 3,
                           .state = &w,
                           .act = act,
                           .fault = find_fault,
                           .is_final = is_settled,
                           .print = print_world};
    memset(&w, 0, sizeof(w));
    w.is[0] = HOLDS;
    w.is[1] = TRIES;
    CHECK(explore(&model, 0) == EXPLORE_RIGHT);
}

TEST(the_one_who_has_slept_longest_is_woken)
{
    b_link *woken = NULL;
    memset(&w, 0, sizeof(w));
    load_turns();
    for (int t = 0; t < THREADS; t++) {
        b_turns_come(&turns);
        b_turns_sleep(&turns, &links[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        CHECK(b_turns_next(&turns, &woken) == B_TURN_WAKES && woken == &links[t]);
        CHECK(b_turns_next(&turns, &woken) == B_TURN_COMES);
        b_turns_leave(&turns);
    }
    CHECK(b_turns_next(&turns, &woken) == B_TURN_USUAL);
}

TEST(nobody_stands_by_for_longer_than_allowed_in_a_row)
{
    int one, other;
    b_turns_begin(&turns);
    for (int64_t now = 1000; now < 1500; now += 100) {
        CHECK(b_turns_stand(&turns, &one, now, 500));
        CHECK(!b_turns_stand(&turns, &other, now, 500)); /* only one does */
        b_turns_end_stand(&turns);
    }
    CHECK(!b_turns_stand(&turns, &one, 1500, 500));
    CHECK(b_turns_stand(&turns, &one, 1600, 500)); /* after it has slept */
    b_turns_end_stand(&turns);
    CHECK(b_turns_stand(&turns, &other, 5000, 500)); /* with a time of its own */
    b_turns_end_stand(&turns);
    CHECK(b_turns_stand(&turns, &one, 5400, 500));
    b_turns_end_stand(&turns);
}

TEST(while_one_stands_by_a_drop_wakes_nobody)
{
    int one;
    b_link *woken = NULL;
    memset(&w, 0, sizeof(w));
    load_turns();
    CHECK(b_turns_stand(&turns, &one, 0, 1));
    CHECK(b_turns_next(&turns, &woken) == B_TURN_COMES && woken == NULL);
    b_turns_come(&turns);
    b_turns_sleep(&turns, &links[0]);
    CHECK(b_turns_next(&turns, &woken) == B_TURN_WAKES && woken == &links[0]);
    b_turns_leave(&turns);
    b_turns_end_stand(&turns);
    CHECK(b_turns_next(&turns, &woken) == B_TURN_USUAL);
}

TEST(turns_begin_with_nobody_whatever_was_there)
{
    b_link *woken = NULL;
    int other;
    turns = (b_turns){.coming = 1, .stands = 1, .stander = &other, .since = -1};
    b_turns_begin(&turns);
    CHECK(!b_turns_stands(&turns));
    CHECK(b_turns_next(&turns, &woken) == B_TURN_USUAL && woken == NULL);
    CHECK(b_turns_stand(&turns, &other, 5, 5));
    b_turns_end_stand(&turns);
}

TEST(it_is_seen_without_the_mutex_whether_one_stands_by)
{
    int one;
    b_turns_begin(&turns);
    CHECK(!b_turns_stands(&turns));
    CHECK(b_turns_stand(&turns, &one, 0, 1));
    CHECK(b_turns_stands(&turns));
    b_turns_end_stand(&turns);
    CHECK(!b_turns_stands(&turns));
}

TEST(who_was_woken_is_not_counted_again_when_it_awakes)
{
    b_link *woken = NULL;
    memset(&w, 0, sizeof(w));
    load_turns();
    b_turns_come(&turns);
    b_turns_sleep(&turns, &links[0]);
    CHECK(b_turns_next(&turns, &woken) == B_TURN_WAKES && woken == &links[0]);
    b_turns_awake(&turns, woken);
    b_turns_leave(&turns);
    CHECK(b_turns_next(&turns, &woken) == B_TURN_USUAL);
}
