/* The interpreter's own locks, _thread.lock and _thread.RLock: the contract.
 *
 * They are acquired and released through the interpreter's own C functions, so the lock itself
 * stays what it is: an OS thread that waits inside one is woken as usual.  Only an RLock's owner
 * and count are read and written directly.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_BUILTIN_LOCK_H
#define LOOMLET_BUILTIN_LOCK_H

#include "cpython/replace.h"

/* Finds both types and verifies where an RLock keeps its owner and count: 0, or -1 with an
 * exception.  Must be called before the others. */
int c_builtin_lock_find(void);
extern PyTypeObject *c_builtin_lock_type, *c_builtin_rlock_type;
/* Whether acquire() takes any object for `blocking`, or only an int. */
extern int c_builtin_lock_any_blocking;
typedef struct {
    PyCFunction acquire, release;
} c_builtin_lock_methods;
/* To be filled in by the caller: the original methods of the lock and of the RLock. */
extern c_builtin_lock_methods c_builtin_lock_original[2];

/* Whether it is an RLock.  Recognised by a function, not by the type: a second _thread module has
 * types of its own. */
static inline int c_builtin_lock_is_recursive(PyObject *lock)
{
    return Py_TYPE(lock)->tp_dealloc != c_builtin_lock_type->tp_dealloc;
}

/* The interpreter's own acquire(*args, **kwargs) and release(). */
PyObject *c_builtin_lock_acquire(PyObject *lock, PyObject *args, PyObject *kwargs);
PyObject *c_builtin_lock_release(PyObject *lock);
/* acquire(False): 1, 0 when the lock is held, -1 with an exception.  Runs no Python code. */
int c_builtin_lock_try(PyObject *lock);

/* The owner of an RLock; 0 when it is free. */
unsigned long long c_builtin_rlock_owner(PyObject *rlock);
void c_builtin_rlock_set_owner(PyObject *rlock, unsigned long long owner);
/* How many times a held RLock is held. */
size_t c_builtin_rlock_count(PyObject *rlock);
void c_builtin_rlock_set_count(PyObject *rlock, size_t count);

/* Whether the interpreter releases this lock in C when a thread ends, without a call that we could
 * see (3.11, 3.12). */
int c_builtin_lock_released_in_c(PyObject *lock);

#endif
