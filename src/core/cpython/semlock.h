/* _multiprocessing.SemLock, the semaphore of multiprocessing: the contract.
 *
 * Only the owner and the count, which each process keeps for itself beside the semaphore, are read
 * and written directly; the semaphore is used through the interpreter's own functions.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_SEMLOCK_H
#define LOOMLET_SEMLOCK_H

#include "cpython/cpython.h"

/* Finds the type and verifies where its fields lie: 1; 0 when this interpreter has no such type;
 * -1 with an exception.  Must be called before the others. */
int c_semlock_find(PyTypeObject **type);

/* The address of the semaphore: two objects of a process may share one. */
const void *c_semlock_handle(const PyObject *semlock);
int c_semlock_is_recursive(const PyObject *semlock);
/* The last one to take it; 0 when this process does not hold it.  Read as plain memory (dumps). */
unsigned long long c_semlock_owner(const PyObject *semlock);
void c_semlock_set_owner(PyObject *semlock, unsigned long long owner);
/* Counts a recursive one up if it belongs to that owner: whether it does. */
int c_semlock_take_again(PyObject *semlock, unsigned long long owner);

#endif
