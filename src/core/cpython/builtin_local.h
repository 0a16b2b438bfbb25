/* The interpreter's own threading.local: the contract.
 *
 * A local owns one dictionary per thread.  These functions add others, for keys of the caller's;
 * they live in the local beside those of the threads, and are freed with it.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_BUILTIN_LOCAL_H
#define LOOMLET_BUILTIN_LOCAL_H

#include "cpython/replace.h"

/* The C functions that make up a type of locals. */
typedef struct {
    getattrofunc get;
    setattrofunc set;
    newfunc make;
} c_local_slots;

/* The interpreter's own; valid once c_local_replace has succeeded. */
extern c_local_slots c_builtin_local_slots;
/* Replaces the functions of _thread._local and of every subclass, for all objects and for good: 0,
 * or -1 with RuntimeError when a local is not laid out as expected. */
int c_local_replace(const c_local_slots *ours);

/* The dictionary for `key`: a new reference; NULL without an exception when there is none. */
PyObject *c_local_find_values(PyObject *local, PyObject *key);
/* Adds a dictionary for `key`, and calls the local's __init__(), as at the first use in a thread: a
 * new reference, or NULL with an exception. */
PyObject *c_local_add_values(PyObject *local, PyObject *key);
/* The same for a local that is just being created: the dictionary for `key` takes the place of that
 * of the creating thread.  0, or -1 with an exception. */
int c_local_add_first_values(PyObject *local, PyObject *key);
/* Removes the dictionary for `key`. */
void c_local_remove_values(PyObject *local, PyObject *key);
/* Get and set attributes of a local in the dictionary `values`. */
PyObject *c_local_get(PyObject *local, PyObject *name, PyObject *values);
int c_local_set(PyObject *local, PyObject *name, PyObject *value, PyObject *values);

#endif
