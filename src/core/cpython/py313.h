/* CPython 3.13, with and without the GIL: the difference. */
#ifndef LOOMLET_PY313_H
#define LOOMLET_PY313_H

#include "cpython/py_since313.h"
#include "cpython/py_until313.h"

#ifdef Py_GIL_DISABLED
#include <internal/pycore_critical_section.h>
#include <internal/pycore_object.h>
#include <internal/pycore_parking_lot.h>
#endif

/* ---- frames and code ---- */

static inline PyCodeObject *frame_code(const c_frame *f)
{
    return (PyCodeObject *)f->f_executable;
}
static inline void frame_set_code(c_frame *f, PyCodeObject *code)
{
    Py_SETREF(f->f_executable, Py_NewRef(code));
}
static inline PyObject *frame_executable(const c_frame *f)
{
    return f->f_executable;
}
/* A new frame of the data stack without slots. */
static inline void frame_init(c_frame *f, PyObject *function, PyCodeObject *code, PyObject *locals)
{
    memset(f, 0, offsetof(c_frame, localsplus));
    f->f_funcobj = Py_NewRef(function);
    f->f_executable = Py_NewRef(code);
    f->f_locals = Py_XNewRef(locals);
    f->owner = FRAME_OWNED_BY_THREAD;
}

/* ---- thread states ---- */

/* What a trace function or a destructor calls has C between two activations. */
static inline int thread_in_dealloc(PyThreadState *ts)
{
    (void)ts;
    return 0;
}
static inline void thread_nesting_save(PyThreadState *ts, c_hard_state *kept)
{
    kept->tracing = ts->tracing;
    kept->event = ts->what_event;
    ts->tracing = 0;
    ts->what_event = -1;
#ifdef Py_GIL_DISABLED
    kept->sections = 0;
    if (ts->critical_section != 0) {
        _PyCriticalSection_SuspendAll(ts);
        kept->sections = ts->critical_section;
        ts->critical_section = 0;
    }
#endif
}
static inline void thread_nesting_restore(PyThreadState *ts, c_hard_state *kept)
{
    ts->tracing = kept->tracing;
    ts->what_event = kept->event;
#ifdef Py_GIL_DISABLED
    if (kept->sections != 0) {
        ts->critical_section = kept->sections;
        _PyCriticalSection_Resume(ts);
    }
#endif
}

#endif
