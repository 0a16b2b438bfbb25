/* The interpreter's own threading.local: the contract.
 *
 * A local owns one dictionary per thread.  Here it is told of others, by keys of the caller's,
 * which live beside those in the local and die with it.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_BUILTIN_LOCAL_H
#define LOOMLET_BUILTIN_LOCAL_H

#include "cpython/replace.h"

/* What a type of locals is made of, as functions of C. */
typedef struct {
    getattrofunc get;
    setattrofunc set;
    newfunc make;
} c_local_slots;

/* The interpreter's own; valid from the exchange on. */
extern c_local_slots c_builtin_local_slots;
/* Exchanges those of _thread._local and of every class made of it, for all objects and for good: 0,
 * or -1 with RuntimeError when a local is not laid out as expected. */
int c_local_replace(const c_local_slots *ours);

/* The dictionary for `key`: new; NULL without an exception when there is none. */
PyObject *c_local_find_values(PyObject *local, PyObject *key);
/* A new one for `key`: new, or NULL with an exception.  For a local that exists its __init__()
 * is called, as for the first use in a thread; for one that is being made only the dictionary
 * of the thread that makes it goes. */
PyObject *c_local_add_values(PyObject *local, PyObject *key);
int c_local_add_first_values(PyObject *local, PyObject *key);
/* The values for `key` go. */
void c_local_remove_values(PyObject *local, PyObject *key);
/* Attributes of a local whose values are these. */
PyObject *c_local_get(PyObject *local, PyObject *name, PyObject *values);
int c_local_set(PyObject *local, PyObject *name, PyObject *value, PyObject *values);

#endif
