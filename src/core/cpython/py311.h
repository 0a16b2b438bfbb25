/* CPython 3.11: the difference.  Hard switching only.
 *
 * Soft switching would need more than 3.11 gives: the caller of the outermost frame
 * (_PyEval_Vector) owns that frame and pops it, and a call is two instructions of which specialised
 * code skips the second.  Every suspended tasklet keeps its C stack.
 *
 * The _PyCFrame of an activation also carries the mark that tracing is on, which CPython copies
 * from one activation to the next: on a new stack, and on coming back to an old one, the mark is
 * set anew from what the thread traces then.  There are no entry frames: an activation's first
 * frame has is_entry.
 *
 * One counter limits Python and C calls alike, and C calls are what can run off the end of our
 * stack: a tasklet gets what its stack carries, if that is less than the recursion limit.  So a
 * higher recursion limit has no effect in a tasklet.
 */
#ifndef LOOMLET_PY311_H
#define LOOMLET_PY311_H

#include "cpython/py_until312.h"
#include "cpython/py_until313.h"

/* Pending calls cannot be switched away from: interrupt_trace.c. */
#define C_INTERRUPT_TRACES 1

/* The attributes of a type: new. */
static inline PyObject *type_dict(PyTypeObject *type)
{
    return Py_NewRef(type->tp_dict);
}

/* What sys._current_exceptions() lists for an exception: new. */
static inline PyObject *exception_as_listed(PyObject *exception)
{
    PyObject *traceback = PyException_GetTraceback(exception);
    return Py_BuildValue("OON", (PyObject *)Py_TYPE(exception), exception,
                         traceback != NULL ? traceback : Py_NewRef(Py_None));
}

/* Calls `visit` with each object of the collector, until it returns 0. */
static inline int visit_objects_of(PyGC_Head *generation, int (*visit)(PyObject *, void *),
                                   void *arg)
{
    for (PyGC_Head *gc = _PyGCHead_NEXT(generation); gc != generation; gc = _PyGCHead_NEXT(gc)) {
        if (!visit((PyObject *)(gc + 1), arg))
            return 0;
    }
    return 1;
}
static inline void visit_objects(int (*visit)(PyObject *, void *), void *arg)
{
    struct _gc_runtime_state *collector = &PyInterpreterState_Get()->gc;
    int more = visit_objects_of(&collector->permanent_generation.head, visit, arg);
    for (int i = 0; more && i < NUM_GENERATIONS; i++)
        more = visit_objects_of(&collector->generations[i].head, visit, arg);
}

/* ---- frames and code ---- */

/* Words of the data stack that a call of `code` takes. */
static inline int code_frame_words(const PyCodeObject *code)
{
    return code->co_nlocalsplus + code->co_stacksize + (int)FRAME_SPECIALS_SIZE;
}
/* No frame marks the beginning of an activation. */
static inline int frame_is_entry(const c_frame *f)
{
    (void)f;
    return 0;
}

#define C_NO_ENTRY_FRAMES 1
static inline int frame_begins_activation(const c_frame *f)
{
    return f->is_entry;
}
static inline PyObject *frame_funcobj(const c_frame *f)
{
    return (PyObject *)f->f_func;
}
/* What runs in the frame: borrowed. */
static inline PyObject *frame_function(const c_frame *f)
{
    return (PyObject *)f->f_func;
}
/* `function` may be NULL: the frame has ended. */
static inline void frame_replace_function(c_frame *f, PyObject *function)
{
    Py_XSETREF(f->f_func, (PyFunctionObject *)Py_XNewRef(function));
}
/* A waiting frame has its pointer where the callee's return finds it: no offset is kept. */
static inline int frame_return_offset(const c_frame *f)
{
    (void)f;
    return 0;
}
static inline void frame_set_return_offset(c_frame *f, int offset)
{
    (void)f, (void)offset;
}

/* A line event comes between the end of a `with` block and its `__exit__(None, None, None)`, of
 * which `self` makes PRECALL 2 out of three operands: no other call looks so. */
#define C_HAS_WITH_GAP 1
static inline int frame_in_with_gap(const c_frame *f)
{
    const _Py_CODEUNIT *ip = frame_ip(f);
    while (_Py_OPCODE(*ip) == NOP || _Py_OPCODE(*ip) == SWAP)
        ip++;
    for (int i = 0; i < 3; i++, ip++) {
        if (_PyOpcode_Deopt[_Py_OPCODE(*ip)] != LOAD_CONST)
            return 0;
    }
    return _PyOpcode_Deopt[_Py_OPCODE(*ip)] == PRECALL && _Py_OPARG(*ip) == 2;
}

/* ---- thread states ---- */

static inline struct _gil_runtime_state *gil_of_interpreter(void)
{
    return &_PyRuntime.ceval.gil;
}
static inline int thread_py_left(PyThreadState *ts)
{
    return ts->recursion_remaining;
}
static inline void thread_set_py_left(PyThreadState *ts, int left)
{
    ts->recursion_remaining = left;
}
static inline int thread_py_limit(PyThreadState *ts)
{
    return ts->recursion_limit;
}
/* Calls that a tasklet may nest: the recursion limit, or what its stack carries. */
static inline int thread_py_budget(PyThreadState *ts)
{
    int carried = stack_call_budget();
    return ts->recursion_limit < carried ? ts->recursion_limit : carried;
}
/* The same counter; it is saved and loaded as that of Python calls. */
static inline int thread_c_left(PyThreadState *ts)
{
    return ts->recursion_remaining;
}
static inline void thread_set_c_left(PyThreadState *ts, int left)
{
    (void)ts, (void)left;
}
/* The program's own trace function, where an interrupt request may have taken its place:
 * interrupt_trace.c. */
Py_tracefunc c_trace_function(PyThreadState *ts);
void c_trace_set_function(PyThreadState *ts, Py_tracefunc function);
/* PyEval_SetTrace() was called: a request is put back. */
void c_trace_changed(PyThreadState *ts);
/* cProfile is a profile function of the thread, with an object of its type. */
static inline int thread_is_profiled(PyThreadState *ts)
{
    if (ts->c_profilefunc == NULL || ts->c_profileobj == NULL)
        return 0;
    PyTypeObject *type = Py_TYPE(ts->c_profileobj);
    while (type->tp_base != NULL && type->tp_base != &PyBaseObject_Type)
        type = type->tp_base;
    return strcmp(type->tp_name, "_lsprof.Profiler") == 0 ? 1 : 0;
}
static inline void thread_mark_tracing(PyThreadState *ts)
{
    int traced = ts->tracing == 0 && (ts->c_tracefunc != NULL || ts->c_profilefunc != NULL);
    ts->cframe->use_tracing = traced ? 255 : 0;
}
/* Objects in trash_delete_later stay with the thread: they are freed when it leaves its outermost
 * deallocation. */
static inline void thread_nesting_save(PyThreadState *ts, c_hard_state *kept)
{
    kept->tracing = ts->tracing;
    kept->event = ts->tracing_what;
    kept->nesting = ts->trash_delete_nesting;
    ts->tracing = 0;
    ts->trash_delete_nesting = 0;
}
static inline void thread_nesting_restore(PyThreadState *ts, c_hard_state *kept)
{
    ts->tracing = kept->tracing;
    ts->tracing_what = kept->event;
    ts->trash_delete_nesting = kept->nesting;
    thread_mark_tracing(ts);
}
static inline void stack_base_enter(PyThreadState *ts, void **cell)
{
    B_CHECK(ts->cframe == (_PyCFrame *)cell);
    ((_PyCFrame *)cell)->current_frame = NULL;
    thread_mark_tracing(ts);
}

#endif
