/* Turns at an object whose own lock knows no tasklets: the contract.  See turn.c. */
#ifndef LOOMLET_OBJECT_MUTEX_H
#define LOOMLET_OBJECT_MUTEX_H

#include "sched/sched.h"

typedef struct {
    b_link link;
    PyObject *object; /* borrowed: the caller's */
    b_link waiters;   /* of s_wait */
} y_object_mutex;

/* A call on `object` that may wait, on this C stack, until y_object_mutex_end. */
void y_object_mutex_begin(y_object_mutex *turn, PyObject *object);
void y_object_mutex_end(s_sched *s, y_object_mutex *turn);
/* Whether there is any turn in this thread. */
int y_object_mutex_any(void);
/* Until no call of this thread is under way on `object`: Py_True, or NULL with *code.  Hard. */
PyObject *y_object_mutex_wait(s_sched *s, PyObject *object, int *code);

#endif
