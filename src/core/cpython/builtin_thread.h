/* The interpreter's own handles of threads (3.13 on): the contract.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_BUILTIN_THREAD_H
#define LOOMLET_BUILTIN_THREAD_H

#include "cpython/cpython.h"

/* The type, or NULL where there is none; after c_thread_handle_find. */
extern PyTypeObject *c_thread_handle_type;
/* Finds and tries it: 0, or -1 with RuntimeError when it is not laid out as expected. */
int c_thread_handle_find(void);
/* A handle that has not been used is from now on that of a running thread `ident` (an int), until
 * its _set_done(): 0, or -1 with an exception. */
int c_thread_handle_set_running(PyObject *handle, PyObject *ident);

#endif
