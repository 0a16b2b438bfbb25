/* Who holds an exception: holders.c. */
#ifndef LOOMLET_DEBUG_HOLDERS_H
#define LOOMLET_DEBUG_HOLDERS_H

#include "cpython/cpython.h"

/* A list of (exception, root, path, objects, bytes) for each exception that has a traceback, or
 * NULL with an exception set.
 *   root     number in `roots` of the object from which it is reached; D_... below for none
 *   path     list of objects: from the root to the exception; around the cycle; or it alone
 *   objects  how many objects, and ...
 *   bytes    of what size, only this exception keeps alive
 * Frames among `roots` stand for their variables. */
PyObject *d_find_holders(PyObject *roots);

enum { D_THREAD_DATA = -1, D_IN_CYCLE = -2, D_UNKNOWN = -3 };

#endif
