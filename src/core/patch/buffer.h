/* The buffers of the io module: the contract.
 *
 * A buffer calls its raw stream under a lock that belongs to an OS thread, so the calls of tasklets
 * on one buffer come one after the other (sync/object_mutex.h).
 */
#ifndef LOOMLET_PATCH_BUFFER_H
#define LOOMLET_PATCH_BUFFER_H

#include "cpython/builtin_buffer.h"
#include "patch/patch.h"
#include "sync/object_mutex.h"

/* Before the others: 0 or -1. */
int patch_buffers_prepare(PyTypeObject *reader, PyTypeObject *writer);
/* Waits until no tasklet of this thread is inside a call on the stream below a buffer: 0 or -1. */
int patch_buffer_wait(PyObject *raw);
/* The same for a few loads when no tasklet is inside such a call. */
static inline int patch_buffer_enter(PyObject *buffer)
{
    PyObject *raw = c_buffer_raw(buffer);
    return raw != NULL && y_object_mutex_any(raw) ? patch_buffer_wait(raw) : 0;
}

/* Calls a reading method by `original`.  If the buffer is empty and a socket is below, the tasklet
 * waits for that first, softly where the caller's frames allow it. */
PyObject *patch_reader_call(PyObject *reader, patch_fast_call original, const c_call_site *site);

#endif
