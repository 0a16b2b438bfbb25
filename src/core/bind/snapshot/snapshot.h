/* Snapshots of tasklets as Python values: what the files of this sub-room share. */
#ifndef LOOMLET_BIND_SNAPSHOT_H
#define LOOMLET_BIND_SNAPSHOT_H

#include "bind/native/native.h"
#include "sched/guests/snapshot.h"

#define bind_is_scope(o) PyObject_TypeCheck((o), &bind_scope_type)
#define bind_is_queue(o) PyObject_TypeCheck((o), &bind_queue_type)

static inline PyObject *bind_or_none(PyObject *object)
{
    return object != NULL ? object : Py_None;
}

/* Raises ThawError; returns NULL. */
PyObject *bind_raise_thaw_error(const char *wrong);
/* The same for an object of a wrong type: "expected a channel, found int". */
PyObject *bind_raise_thaw_object(const char *expected, PyObject *found);
/* What a tasklet waits for: a new tuple, or None when it does not wait. */
PyObject *bind_read_wait(s_sched *s, s_tasklet *t);
/* Makes a paused tasklet of this thread wait again; `value`: what a sender offers.  0 or an error
 * code. */
int bind_restore_wait(s_sched *s, s_tasklet *t, PyObject *wait, PyObject *value);

extern PyMethodDef bind_snapshot_functions[], bind_snapshot_part_functions[];
extern PyMethodDef bind_checkpoint_functions[];

#endif
