/* The buffers of the io module, BufferedReader and BufferedWriter: the fields that we read.
 *
 * With the GIL, or under the buffer's lock.
 */
#ifndef LOOMLET_BUILTIN_BUFFER_H
#define LOOMLET_BUILTIN_BUFFER_H

#include "cpython/cpython.h"

/* Verifies where a buffer of these types keeps what is below it and how much it has read: 0, or -1
 * with an exception.  Must be called before the others. */
int c_buffer_find(PyTypeObject *reader, PyTypeObject *writer);

/* The raw stream: borrowed, NULL when it has been detached. */
PyObject *c_buffer_raw(PyObject *buffer);
/* Whether the next read of a reader calls the raw stream. */
int c_reader_is_empty(PyObject *reader);

#endif
