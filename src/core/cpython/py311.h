/* CPython 3.11: where things live.  Hard switching only.
 *
 * Soft switching would need more than it gives here: the caller of the outermost
 * frame (_PyEval_Vector) owns that frame and pops it, and calls are two
 * instructions of which specialised code skips the second.  Every suspended
 * tasklet keeps its C stack.
 *
 * What runs is found through a _PyCFrame on the C stack of each activation of the
 * interpreter.  It also carries the mark that tracing is on, which CPython copies
 * from one activation to the next: on a new stack, and on coming back to an old
 * one, the mark is set anew from what the thread traces then.  There are no entry
 * frames: an activation's first frame has is_entry.
 *
 * One counter limits Python and C calls alike, and C calls are what can run off
 * the end of our stack: a tasklet gets what its stack carries, if that is less
 * than the recursion limit.
 */
#ifndef LOOMLET_PY311_H
#define LOOMLET_PY311_H

#ifdef C_OPCODE_TABLES
#define NEED_OPCODE_TABLES 1
#endif
#include <frameobject.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_context.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_hamt.h>
#include <internal/pycore_opcode.h>
#include <internal/pycore_pystate.h>
#include <opcode.h>

/* The name that 3.13 made public. */
#define Py_IsFinalizing _Py_IsFinalizing

/* threading.local: the dictionary of a thread state leads to a thread's values. */
#define C_LOCAL_IN_THREAD 1

typedef PyObject *slot;
#define SLOT_NULL NULL

static inline PyObject *slot_object(slot s)
{
    return s;
}
static inline PyObject *slot_owned(slot s)
{
    return s;
}

static inline int frame_top(const c_frame *f)
{
    return f->stacktop;
}
static inline void frame_set_top(c_frame *f, int top)
{
    f->stacktop = top;
}
static inline PyCodeObject *frame_code(const c_frame *f)
{
    return f->f_code;
}
/* Words of the data stack that a call of `code` takes. */
static inline int code_frame_words(const PyCodeObject *code)
{
    return code->co_nlocalsplus + code->co_stacksize + (int)FRAME_SPECIALS_SIZE;
}
static inline _Py_CODEUNIT *frame_ip(const c_frame *f)
{
    return f->prev_instr;
}
/* No frame marks the beginning of an activation. */
static inline int frame_is_entry(const c_frame *f)
{
    (void)f;
    return 0;
}
static inline int frame_begins_activation(const c_frame *f)
{
    return f->is_entry;
}
static inline PyObject *frame_funcobj(const c_frame *f)
{
    return (PyObject *)f->f_func;
}
static inline PyObject *frame_executable(const c_frame *f)
{
    return (PyObject *)f->f_code;
}

/* Whether somebody has the GIL; atomic. */
static inline int *gil_taken(void)
{
    return (int *)&_PyRuntime.ceval.gil.locked;
}

static inline c_frame *thread_frame(PyThreadState *ts)
{
    return ts->cframe->current_frame;
}
static inline void thread_set_frame(PyThreadState *ts, c_frame *f)
{
    ts->cframe->current_frame = f;
}
static inline void thread_save_cframe(PyThreadState *ts, c_state *state)
{
    state->cframe = ts->cframe;
}
static inline void thread_drop_cframe(c_state *state)
{
    state->cframe = NULL;
}
static inline void thread_load_frame(PyThreadState *ts, const c_state *state)
{
    if (state->cframe != NULL) {
        ts->cframe = state->cframe;
        ts->cframe->current_frame = state->frame;
    }
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
    int carried = c_stack_budget();
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
/* The first frame under a new tasklet. */
static inline c_frame *thread_base_frame(PyThreadState *ts)
{
    (void)ts;
    return NULL;
}

/* As in 3.12: nested list.sort() takes 1650 bytes for each count, and 1497 counts
 * fit beside the parser.  A higher recursion limit has no effect in a tasklet. */
#define C_STACK_PER_COUNT 1400

/* [NULL, callable, args...] or [method, self, args...]; see py312.h. */
#define C_CALL_TARGET(slots) slot_object((slots)[0] ? (slots)[0] : (slots)[1])
#define C_CALL_FITS(slots, site)                                                                   \
    ((slots)[0] != NULL ||                                                                         \
     (slot *)(site)->args == (slots) + 2 + Py_IS_TYPE((slots)[1], &PyMethodDescr_Type))
#define C_EXACT_TOP 0

static inline PyGenObject *frame_generator(c_frame *f)
{
    return (PyGenObject *)((char *)f - offsetof(PyGenObject, gi_iframe));
}

static inline Py_ssize_t context_size(PyObject *context)
{
    return ((PyContext *)context)->ctx_vars->h_count;
}

static inline void thread_mark_tracing(PyThreadState *ts)
{
    int traced = ts->tracing == 0 && (ts->c_tracefunc != NULL || ts->c_profilefunc != NULL);
    ts->cframe->use_tracing = traced ? 255 : 0;
}

/* Objects in trash_delete_later stay with the thread: whoever leaves its outermost
 * deallocation frees them. */
static inline void thread_nesting_leave(PyThreadState *ts, c_hard_state *kept)
{
    kept->tracing = ts->tracing;
    kept->event = ts->tracing_what;
    kept->nesting = ts->trash_delete_nesting;
    ts->tracing = 0;
    ts->trash_delete_nesting = 0;
}
static inline void thread_nesting_back(PyThreadState *ts, c_hard_state *kept)
{
    ts->tracing = kept->tracing;
    ts->tracing_what = kept->event;
    ts->trash_delete_nesting = kept->nesting;
    thread_mark_tracing(ts);
}
static inline void thread_abandon(PyThreadState *ts)
{
    (void)ts;
}

/* The _PyCFrame under all activations on this stack. */
static inline void base_init(PyThreadState *ts, void **cell)
{
    _PyCFrame *base = (_PyCFrame *)cell;
    base->current_frame = NULL;
    base->previous = &ts->root_cframe;
    ts->cframe = base;
}
static inline void base_enter(PyThreadState *ts, void **cell)
{
    B_CHECK(ts->cframe == (_PyCFrame *)cell);
    ((_PyCFrame *)cell)->current_frame = NULL;
    thread_mark_tracing(ts);
}

static inline void stack_limits_init(PyThreadState *ts, p_stack *stack)
{
    (void)ts, (void)stack;
}
static inline void stack_limits_own(PyThreadState *ts, p_stack *stack)
{
    (void)ts, (void)stack;
}
static inline void stack_limits_use(PyThreadState *ts, const p_stack *stack)
{
    (void)ts, (void)stack;
}

/* The lock that this thread's end gives in C; NULL: none. */
static inline void *thread_end_lock(PyThreadState *ts)
{
    PyObject *ref = ts->on_delete_data;
    return ref != NULL && PyWeakref_CheckRef(ref) ? PyWeakref_GET_OBJECT(ref) : NULL;
}

/* Pending calls cannot be switched away from: interrupt_trace.c. */
#define C_INTERRUPT_TRACES 1

/* A line event comes between the end of a `with` block and its `__exit__(None, None, None)`,
 * of which `self` makes PRECALL 2 out of three operands: no other call looks so. */
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

static inline int thread_collecting(PyThreadState *ts)
{
    return ts->interp->gc.collecting;
}

/* ---- for frames as records: frame_snapshot.h ---- */
/* A frame that waits has its pointer where the callee's return finds it. */
static inline int frame_return_offset(const c_frame *f)
{
    (void)f;
    return 0;
}
static inline void frame_set_return_offset(c_frame *f, int offset)
{
    (void)f, (void)offset;
}
/* From the instruction pointer of a frame to the instruction that runs next. */
#define C_TO_NEXT 1
/* The state of a generator that has delegated to another one. */
#define C_DELEGATING FRAME_SUSPENDED
/* What runs in the frame: borrowed; None in the one below an inlined __init__. */
static inline PyObject *frame_function(const c_frame *f)
{
    return (PyObject *)f->f_func;
}
/* `function` may be NULL: the frame has ended. */
static inline void frame_exchange_function(c_frame *f, PyObject *function)
{
    Py_XSETREF(f->f_func, (PyFunctionObject *)Py_XNewRef(function));
}
static inline slot slot_steal(PyObject *object)
{
    return object;
}
static inline void slot_close(slot s)
{
    Py_XDECREF(s);
}
static inline void frame_set_ip(c_frame *f, _Py_CODEUNIT *ip)
{
    f->prev_instr = ip;
}

#endif
