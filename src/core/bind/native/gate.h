/* What the types of gates share: lock, event, semaphore, condition. */
#ifndef LOOMLET_BIND_GATE_H
#define LOOMLET_BIND_GATE_H

#include "base/b_check.h"
#include "bind/native/native.h"
#include "sync/sync.h"

/* acquire(blocking=True, timeout), as in threading: None is no limit.  A negative time is over with
 * `may_be_over`, as for a semaphore; otherwise, as for a lock, -1 is no limit, and no other is
 * allowed. */
int bind_read_acquire(s_sched *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                      int may_be_over, int64_t *until);

/* How `self` is acquired: as y_lock_acquire. */
typedef PyObject *bind_acquire_call(PyObject *self, s_sched *s, int64_t until,
                                    const c_call_site *site, int *code);

/* acquire() of `self`; `called` is the function that Python has called. */
static B_INLINE PyObject *bind_acquire(PyObject *self, bind_acquire_call *acquire,
                                       PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                                       int may_be_over, void *called)
{
    int64_t until = S_FOREVER;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_read_acquire(s, args, nargs, kwnames, may_be_over, &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), called);
    PyObject *done = acquire(self, s, until, &site, &code);
    return code == S_E_TIMEOUT ? Py_NewRef(Py_False) : bind_result(done, code, self);
}

/* Entering `with self`. */
static B_INLINE PyObject *bind_enter(PyObject *self, bind_acquire_call *acquire,
                                     const c_call_site *site)
{
    int code;
    s_sched *s = s_self();
    PyObject *done = s ? acquire(self, s, S_FOREVER, site, &code) : NULL;
    return s ? bind_result(done, code, self) : NULL;
}

/* release() of `self`, which is the lock or has it. */
static inline PyObject *bind_release_lock(PyObject *self, y_lock *lock)
{
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = y_lock_release(s, lock);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

/* _depth of what is a lock or has one: how often the calling tasklet holds it. */
static inline PyObject *bind_get_depth(const y_lock *lock)
{
    s_sched *s = s_self();
    int held = s != NULL && lock->held && lock->holder == s->current->id;
    return s != NULL ? PyLong_FromUnsignedLong(held ? lock->depth : 0) : NULL;
}

int bind_gate_traverse(PyObject *self, visitproc visit, void *arg);
int bind_gate_clear(PyObject *self);
void bind_gate_dealloc(PyObject *self);

#endif
