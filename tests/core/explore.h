/* Tries everything that may happen in a small model, in every order.
 *
 * A model is a state (some bytes), and actions numbered from 0, each of which may be impossible in
 * a state.  All states that can be reached are visited, nearest first, so that the path to a
 * mistake is as short as it can be; it is printed.
 */
#ifndef LOOMLET_TEST_EXPLORE_H
#define LOOMLET_TEST_EXPLORE_H

#include <stddef.h>

typedef struct {
    size_t size; /* of a state; it has no padding */
    int actions;
    void *state; /* the model works here; at the beginning, the first state */
    /* Does an action in `state`: 1, or 0 when it is impossible (`state` is then undefined). */
    int (*act)(int action);
    /* What is wrong with `state` or was done wrong in the last action; NULL: nothing. */
    const char *(*fault)(void);
    /* Nothing more has to happen. */
    int (*is_final)(void);
    void (*print)(int action); /* the action (below 0: none) and the state after it */
} explore_model;

typedef enum {
    EXPLORE_RIGHT,
    EXPLORE_FAULT,    /* a state with a fault can be reached */
    EXPLORE_HOPELESS, /* a state can be reached from which no final one can */
} explore_result;

/* Says nothing on the way to a mistake when `quiet`. */
explore_result explore(const explore_model *model, int quiet);

#endif
