/* CPython 3.12: where things live.
 *
 * The instruction pointer (prev_instr) is the last code unit before the next
 * instruction.  In a frame that called C it stands at the calling instruction,
 * so stepping over that one means its inline cache alone.  In a frame that waits
 * for another frame of the same activation it stands behind the cache already:
 * a callee that yields adds nothing, one that returns adds return_offset.
 *
 * What runs is found through a _PyCFrame: each activation of the interpreter
 * keeps one on its C stack, and the thread state points at the innermost.  A
 * hard-suspended tasklet therefore saves that pointer.  A soft one has none: its
 * C stack is abandoned, and the dispatcher that goes on with it puts a _PyCFrame
 * of its own (base_init) under everything.  Loading the state of a tasklet that
 * has none must not write through the pointer, which is then still the leaving
 * tasklet's.
 *
 * As in 3.13, the depth of the value stack in the innermost frame must be told
 * from the operands' address or from the bytecode (stack_depth.c).
 */
#ifndef LOOMLET_PY312_H
#define LOOMLET_PY312_H

#ifdef C_OPCODE_TABLES
#define NEED_OPCODE_TABLES 1
#endif
#include <frameobject.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_context.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_opcode.h>
#include <internal/pycore_pystate.h>
#include <opcode.h>

/* The name that 3.13 made public. */
#define Py_IsFinalizing _Py_IsFinalizing

/* threading.local: the dictionary of a thread state leads to a thread's values. */
#define C_LOCAL_IN_THREAD 1

#define C_HAS_SOFT 1

typedef PyObject *slot;
#define SLOT_NULL NULL

static inline PyObject *slot_object(slot s)
{
    return s;
}
static inline slot slot_steal(PyObject *object)
{
    return object;
}
static inline void slot_close(slot s)
{
    Py_XDECREF(s);
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
    return code->co_framesize;
}
static inline _Py_CODEUNIT *frame_ip(const c_frame *f)
{
    return f->prev_instr;
}
static inline void frame_set_ip(c_frame *f, _Py_CODEUNIT *ip)
{
    f->prev_instr = ip;
}
static inline int frame_is_entry(const c_frame *f)
{
    return f->owner == FRAME_OWNED_BY_CSTACK;
}
static inline int frame_begins_activation(const c_frame *f)
{
    return frame_is_entry(f);
}
static inline PyObject *frame_funcobj(const c_frame *f)
{
    return f->f_funcobj;
}
static inline PyObject *frame_executable(const c_frame *f)
{
    return (PyObject *)f->f_code;
}

/* Whether somebody has the GIL; atomic. */
static inline int *gil_taken(void)
{
    return (int *)&PyInterpreterState_Main()->ceval.gil->locked;
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
static inline int thread_c_left(PyThreadState *ts)
{
    return ts->c_recursion_remaining;
}
static inline void thread_set_c_left(PyThreadState *ts, int left)
{
    ts->c_recursion_remaining = left;
}
/* The first frame under a new tasklet. */
static inline c_frame *thread_base_frame(PyThreadState *ts)
{
    (void)ts;
    return NULL;
}

/* The hungriest recursion measured is list.sort() calling its key function: 1650
 * bytes for each count.  This gives 1497 counts, what 3.12 itself allows a thread,
 * and they fit beside the parser, which counts in its own way. */
#define C_STACK_PER_COUNT 1400

static inline int ip_opcode(const _Py_CODEUNIT *ip)
{
    return _PyOpcode_Deopt[ip->op.code];
}
static inline int ip_oparg(const _Py_CODEUNIT *ip)
{
    return ip->op.arg;
}
#define C_CACHES(op) (_PyOpcode_Caches[op])
/* From the calling instruction to the last unit of its cache. */
#define C_AFTER(op) (C_CACHES(op))
/* A frame that waits for another one stands behind its cache. */
#define C_WAIT_ADVANCE(op) (C_CACHES(op))
#define C_YIELD_ADVANCE 0

#define C_OP_CALL CALL
#define C_OP_CALL_KW (-1) /* KW_NAMES puts the names in a variable of the loop: a plain CALL */
#define C_OP_CALL_EX CALL_FUNCTION_EX
#define C_OP_FOR_ITER FOR_ITER
#define C_OP_END_FOR END_FOR
#define C_OP_COMPILED (-1)
/* The handlers of a thrown exception are those of the unit at prev_instr. */
#define C_THROW_ADVANCE 0
#define C_OP_SUBSCRIPT BINARY_SUBSCR
#define C_PLAIN_SUBSCRIPT(op, oparg) ((op) == BINARY_SUBSCR)
#define C_OP_BEFORE_WITH BEFORE_WITH

/* [NULL, callable, args...] or [method, self, args...].  Without a method the
 * arguments begin right after the callable, or after the object that an unbound
 * method is called with; if they do not, a C function has put something else in the
 * callable's place (functools.partial does) and called us. */
#define C_CALL_BASE(f, site) ((slot *)((uintptr_t)(site)->args - 2 * sizeof(slot)))
#define C_CALL_TARGET(slots) slot_object((slots)[0] ? (slots)[0] : (slots)[1])
#define C_CALL_FITS(slots, site)                                                                   \
    ((slots)[0] != NULL ||                                                                         \
     (slot *)(site)->args == (slots) + 2 + Py_IS_TYPE((slots)[1], &PyMethodDescr_Type))
/* What a method is called with, or NULL for a function. */
#define C_CALL_SELF(slots) ((slots)[0] ? (slots)[1] : NULL)
/* Stands directly before a call with keywords. */
#define C_OP_NAMES KW_NAMES
/* LOAD_ATTR for a call of what is no method pushes NULL and the attribute, in this order. */
#define C_ATTRIBUTE_BEHIND_NULL 1
/* A call's operands stay visible while they are dropped. */
#define C_DROPS_IN_PLACE 1
/* The empty slot of a call of a function. */
#define C_SPARE(slots) (slots)[0]
/* functools.partial with arguments given may hide itself: its place in the frame is where
 * its array begins. */
#define C_PARTIAL_SHOWS 0
/* f(*args): NULL, callable, args [, kwargs] */
#define C_EX_TARGET(slots) slot_object((slots)[1])
#define C_EX_OPERANDS(oparg) (3 + ((oparg) & 1))
#define C_EX_HAS_KWARGS(f, base, oparg) ((oparg) & 1)
#define C_KW_OPERANDS(oparg) ((oparg) + 2)
/* The operands always lie in the value stack, whatever their number. */
#define C_MAX_OPERANDS 257
/* An iteration that ends drops its iterator and skips END_FOR. */
#define C_ITER_END_POPS 1
#define C_ITER_END_SKIPS 1
#define C_ITER_SLOT(top) ((top) - 1)
/* What a frame behind FOR_ITER must add when the generator that it runs returns:
 * END_FOR drops the result and the iterator. */
#define C_RETURN_FROM_FOR_ITER(jump) (jump)
/* The depth is told by the operands or by the bytecode. */
#define C_EXACT_TOP 0

/* Inside a nested deallocation: the thread counts how deep. */
static inline int thread_in_dealloc(PyThreadState *ts)
{
    return ts->trash.delete_nesting;
}
static inline int thread_in_section(PyThreadState *ts)
{
    (void)ts;
    return 0;
}

void c_frame_clear_pop(PyThreadState *ts, c_frame *f);
#define C_OWN_FRAME_CLEAR 1

static inline void frame_clear_pop(PyThreadState *ts, c_frame *f)
{
    c_frame_clear_pop(ts, f);
}

static inline int generator_is_suspended(PyGenObject *gen)
{
    return gen->gi_frame_state == FRAME_SUSPENDED;
}
static inline PyGenObject *frame_generator(c_frame *f)
{
    return (PyGenObject *)((char *)f - offsetof(PyGenObject, gi_iframe));
}

static inline Py_ssize_t context_size(PyObject *context)
{
    return ((PyContext *)context)->ctx_vars->h_count;
}

/* Whether events are looked at is told by the functions themselves. */
static inline void thread_mark_tracing(PyThreadState *ts)
{
    (void)ts;
}

/* Objects in trash.delete_later stay with the thread: whoever leaves its outermost
 * deallocation frees them. */
static inline void thread_nesting_leave(PyThreadState *ts, c_hard_state *kept)
{
    kept->tracing = ts->tracing;
    kept->event = ts->what_event;
    kept->nesting = ts->trash.delete_nesting;
    ts->tracing = 0;
    ts->what_event = -1;
    ts->trash.delete_nesting = 0;
}
static inline void thread_nesting_back(PyThreadState *ts, c_hard_state *kept)
{
    ts->tracing = kept->tracing;
    ts->what_event = kept->event;
    ts->trash.delete_nesting = kept->nesting;
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
    ((_PyCFrame *)cell)->current_frame = NULL;
    B_CHECK(ts->cframe == (_PyCFrame *)cell);
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

/* ---- for frames as records: frame_snapshot.h ---- */
/* From the instruction pointer of a frame to the instruction that runs next. */
#define C_TO_NEXT 1
/* The state of a generator that has delegated to another one. */
#define C_DELEGATING FRAME_SUSPENDED
/* What runs in the frame: borrowed; None in the one below an inlined __init__. */
static inline PyObject *frame_function(const c_frame *f)
{
    return f->f_funcobj;
}
/* `function` may be NULL: the frame has ended. */
static inline void frame_exchange_function(c_frame *f, PyObject *function)
{
    Py_XSETREF(f->f_funcobj, Py_XNewRef(function));
}
/* A new frame of the data stack without slots. */
static inline void frame_init(c_frame *f, PyObject *function, PyCodeObject *code, PyObject *locals)
{
    memset(f, 0, offsetof(c_frame, localsplus));
    f->f_funcobj = Py_NewRef(function);
    f->f_code = (PyCodeObject *)Py_NewRef(code);
    f->f_locals = Py_XNewRef(locals);
    f->owner = FRAME_OWNED_BY_THREAD;
}

#include "cpython/pending312.h"

#endif
