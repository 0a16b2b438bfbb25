/* Calls on an object, one tasklet at a time: the contract.
 *
 * For objects of the interpreter whose own lock belongs to an OS thread: it would let a second
 * tasklet of the same thread in.  A mutex lies on the C stack of a call that may wait.  Tasklets
 * that are about to call the same object wait until that call is over, then look again.
 *
 * Threads.  The mutexes of a scheduler are its own; other threads wait in the object's lock.
 */
#ifndef LOOMLET_OBJECT_MUTEX_H
#define LOOMLET_OBJECT_MUTEX_H

#include "sched/sched.h"

typedef struct {
    b_link link;
    PyObject *object; /* borrowed: the caller's */
    b_link waiters;   /* of s_wait */
} y_object_mutex;

/* A call on `object` that may wait, on this C stack, until y_object_mutex_end. */
void y_object_mutex_begin(s_sched *s, y_object_mutex *mutex, PyObject *object);
void y_object_mutex_end(s_sched *s, y_object_mutex *mutex);
static inline b_link *y_object_calls(s_sched *s, const PyObject *object)
{
    return &s->object_calls[(uintptr_t)object / 64 % S_OBJECT_BUCKETS];
}
/* Whether such a call of this thread's tasklets may be under way; 1 also where that is not known.
 */
static inline int y_object_mutex_any(const PyObject *object)
{
    s_sched *s = s_self_here();
    return s == NULL || !b_list_empty(y_object_calls(s, object));
}
/* ... on `object`. */
int y_object_mutex_is_taken(s_sched *s, const PyObject *object);
/* Waits until no call on `object` is under way: Py_True, or NULL with *code.  Hard. */
PyObject *y_object_mutex_wait(s_sched *s, PyObject *object, int *code);

#endif
