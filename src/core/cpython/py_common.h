/* What all supported versions of CPython have in common: the headers of their internals, and the
 * accessors that are the same on each.
 *
 * A version's file (py311.h ... py314.h) is the difference.  What several versions share lies in
 * headers named after the first or the last version for which it holds: py_since312.h and
 * py_since313.h are for good, py_until312.h and py_until313.h go when those versions do.  Includes
 * and calls lead from a version's file to these headers, never back.
 */
#ifndef LOOMLET_PY_COMMON_H
#define LOOMLET_PY_COMMON_H

#include <frameobject.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_context.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_genobject.h>
#include <internal/pycore_hamt.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#include <opcode.h>

/* The generator whose frame this is. */
static inline PyGenObject *frame_generator(c_frame *f)
{
    return (PyGenObject *)((char *)f - offsetof(PyGenObject, gi_iframe));
}

static inline Py_ssize_t context_size(PyObject *context)
{
    return ((PyContext *)context)->ctx_vars->h_count;
}

static inline int context_is_entered(PyObject *context)
{
    return ((PyContext *)context)->ctx_entered;
}
/* What ran before it was entered: borrowed, or NULL. */
static inline PyObject *context_outside(PyObject *context)
{
    return (PyObject *)((PyContext *)context)->ctx_prev;
}
/* Steals `outside`. */
static inline void context_enter(PyObject *context, PyObject *outside)
{
    ((PyContext *)context)->ctx_prev = (PyContext *)outside;
    ((PyContext *)context)->ctx_entered = 1;
}

/* Whether the garbage collector runs. */
static inline int thread_collecting(PyThreadState *ts)
{
    return __atomic_load_n(&ts->interp->gc.collecting, __ATOMIC_RELAXED);
}

#endif
