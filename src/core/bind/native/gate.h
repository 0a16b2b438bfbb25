/* What the types of gates share: lock, event, semaphore, condition. */
#ifndef LOOMLET_BIND_GATE_H
#define LOOMLET_BIND_GATE_H

#include "bind/native/native.h"
#include "sync/sync.h"

/* acquire(blocking=True, timeout=-1), as in threading; None is no limit either. */
int bind_read_acquire(s_sched *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                      int64_t *until);

int bind_gate_traverse(PyObject *self, visitproc visit, void *arg);
int bind_gate_clear(PyObject *self);
void bind_gate_dealloc(PyObject *self);

#endif
