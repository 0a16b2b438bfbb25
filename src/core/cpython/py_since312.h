/* What CPython has had since 3.12: frames that can be left softly.
 *
 * An activation of the interpreter begins with an entry frame of its own, so a frame of the program
 * never has to return into C code that waits for it.  A frame knows how far it advances when the
 * frame above it returns (return_offset).  Python calls and C calls are limited apart.
 *
 * The header with the opcode tables differs, and comes before this one.
 */
#ifndef LOOMLET_PY_SINCE312_H
#define LOOMLET_PY_SINCE312_H

#include "cpython/py_common.h"

#define C_HAS_SOFT 1
#define C_HAS_HANDOFF 1

/* What sys._current_exceptions() lists for an exception: new. */
static inline PyObject *exception_as_listed(PyObject *exception)
{
    return Py_NewRef(exception);
}

/* The attributes of a type: new. */
static inline PyObject *type_dict(PyTypeObject *type)
{
    return PyType_GetDict(type);
}

/* Calls `visit` with each object of the collector, until it returns 0. */
static inline void visit_objects(int (*visit)(PyObject *, void *), void *arg)
{
    PyUnstable_GC_VisitObjects(visit, arg);
}

/* ---- frames and code ---- */

/* Words of the data stack that a call of `code` takes. */
static inline int code_frame_words(const PyCodeObject *code)
{
    return code->co_framesize;
}
/* How far a waiting frame advances when the frame above it returns. */
static inline int frame_return_offset(const c_frame *f)
{
    return f->return_offset;
}
static inline void frame_set_return_offset(c_frame *f, int offset)
{
    f->return_offset = (uint16_t)offset;
}
static inline int ip_opcode(const _Py_CODEUNIT *ip)
{
    return _PyOpcode_Deopt[ip->op.code];
}
static inline int ip_oparg(const _Py_CODEUNIT *ip)
{
    return ip->op.arg;
}
/* Inline cache units after an instruction. */
#define C_CACHES(op) (_PyOpcode_Caches[op])

#define C_OP_CALL CALL
#define C_OP_CALL_EX CALL_FUNCTION_EX
#define C_OP_FOR_ITER FOR_ITER
#define C_OP_END_FOR END_FOR
/* An iteration that ends skips END_FOR. */
#define C_ITER_END_SKIPS 1
#define C_ITER_SLOT(top) ((top) - 1)

/* ---- thread states ---- */

static inline int thread_py_left(PyThreadState *ts)
{
    return ts->py_recursion_remaining;
}
static inline void thread_set_py_left(PyThreadState *ts, int left)
{
    ts->py_recursion_remaining = left;
}
static inline int thread_py_limit(PyThreadState *ts)
{
    return ts->py_recursion_limit;
}
/* Python calls that a tasklet may nest: the recursion limit. */
static inline int thread_py_budget(PyThreadState *ts)
{
    return thread_py_limit(ts);
}
/* cProfile is a tool of sys.monitoring, one for all threads. */
static inline int thread_is_profiled(PyThreadState *ts)
{
    PyObject *name = ts->interp->monitoring_tool_names[PY_MONITORING_PROFILER_ID];
    if (B_LIKELY(name == NULL) || !PyUnicode_Check(name))
        return 0;
    return (PyUnicode_CompareWithASCIIString(name, "cProfile") == 0 ? 1 : 0) |
           (PyUnicode_CompareWithASCIIString(name, "viztracer") == 0 ? 2 : 0);
}
/* Where the program's own trace function is. */
static inline Py_tracefunc c_trace_function(PyThreadState *ts)
{
    return ts->c_tracefunc;
}
static inline void c_trace_set_function(PyThreadState *ts, Py_tracefunc function)
{
    ts->c_tracefunc = function;
}
/* PyEval_SetTrace() was called. */
static inline void c_trace_changed(PyThreadState *ts)
{
    (void)ts;
}
static inline int thread_is_traced(PyThreadState *ts)
{
    return ((uintptr_t)ts->c_tracefunc | (uintptr_t)ts->c_profilefunc) != 0;
}
/* The trace functions themselves say whether events are wanted. */
static inline void thread_mark_tracing(PyThreadState *ts)
{
    (void)ts;
}
/* Inside a critical section, which only exists without a GIL. */
static inline int thread_in_critical_section(PyThreadState *ts)
{
#ifdef Py_GIL_DISABLED
    return ts->critical_section != 0;
#else
    (void)ts;
    return 0;
#endif
}
#ifndef Py_GIL_DISABLED
/* Without a look at what ends with the interpreter: threads of ours may wake later. */
static inline struct _gil_runtime_state *gil_of_interpreter(void)
{
    return &_PyRuntime._main_interpreter._gil;
}
#endif

/* ---- pending calls ---- */

typedef struct _pending_calls pending_queue;

static inline pending_queue *pending_of_interpreter(void)
{
    return &PyInterpreterState_Main()->ceval.pending;
}

#endif
