/* Turns at an object whose own lock knows no tasklets: the contract.  See turn.c. */
#ifndef LOOMLET_IO_TURN_H
#define LOOMLET_IO_TURN_H

#include "sched/sched.h"

typedef struct {
    b_link link;
    PyObject *object; /* borrowed: the caller's */
    b_link waiters;   /* of s_wait */
} i_turn;

/* A call on `object` that may wait, on this C stack, until i_turn_end. */
void i_turn_begin(i_turn *turn, PyObject *object);
void i_turn_end(s_sched *s, i_turn *turn);
/* Whether there is any turn in this thread. */
int i_turn_any(void);
/* Until no call of this thread is under way on `object`: Py_True, or NULL with *code.  Hard. */
PyObject *i_turn_wait(s_sched *s, PyObject *object, int *code);

#endif
