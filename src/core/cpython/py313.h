/* CPython 3.13, with and without the GIL: where things live.
 *
 * Frames hold plain strong references, also without the GIL (tagged stack
 * references came in 3.14).  The instruction pointer of a frame that calls
 * stands at the CALL itself.  A frame knows the depth of its value stack only
 * after it called inline or was suspended; in the innermost frame it must be
 * told from the operands' address or from the bytecode (stack_depth.c).
 */
#ifndef LOOMLET_PY313_H
#define LOOMLET_PY313_H

#ifdef C_OPCODE_TABLES
#define NEED_OPCODE_METADATA 1
#endif
#include <frameobject.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_context.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_opcode_utils.h>
#include <internal/pycore_pystate.h>
#include <opcode.h>
#ifdef Py_GIL_DISABLED
#include <internal/pycore_critical_section.h>
#include <internal/pycore_object.h>
#endif

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
    return (PyCodeObject *)f->f_executable;
}
/* Words of the data stack that a call of `code` takes. */
static inline int code_frame_words(const PyCodeObject *code)
{
    return code->co_framesize;
}
static inline _Py_CODEUNIT *frame_ip(const c_frame *f)
{
    return f->instr_ptr;
}
static inline void frame_set_ip(c_frame *f, _Py_CODEUNIT *ip)
{
    f->instr_ptr = ip;
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
    return f->f_executable;
}

#ifndef Py_GIL_DISABLED
/* Whether somebody has the GIL; atomic. */
static inline int *gil_taken(void)
{
    return &PyInterpreterState_Main()->ceval.gil->locked;
}
#endif

static inline c_frame *thread_frame(PyThreadState *ts)
{
    return ts->current_frame;
}
static inline void thread_set_frame(PyThreadState *ts, c_frame *f)
{
    ts->current_frame = f;
}
/* The thread state itself names the running frame. */
static inline void thread_save_cframe(PyThreadState *ts, c_state *state)
{
    (void)ts, (void)state;
}
static inline void thread_drop_cframe(c_state *state)
{
    (void)state;
}
static inline void thread_load_frame(PyThreadState *ts, const c_state *state)
{
    ts->current_frame = state->frame;
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

/* As in 3.12: nested list.sort() takes 1650 bytes for each count, and 1497 counts
 * fit beside the parser. */
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
/* The instruction pointer stands at the instruction: step over it and its cache. */
#define C_AFTER(op) (1 + C_CACHES(op))
/* A frame that waits for another one stays at its instruction, and goes on behind
 * it when the other one yields.  That is SEND or FOR_ITER, which are equally long;
 * tracing may have put another opcode there. */
#define C_WAIT_ADVANCE(op) 0
#define C_YIELD_ADVANCE C_AFTER(SEND)

#define C_OP_CALL CALL
#define C_OP_CALL_KW CALL_KW
#define C_OP_CALL_EX CALL_FUNCTION_EX
#define C_OP_FOR_ITER FOR_ITER
#define C_OP_END_FOR END_FOR
#define C_OP_COMPILED ENTER_EXECUTOR
/* The handlers of a thrown exception are those of the unit before the instruction pointer. */
#define C_THROW_ADVANCE 1
#define C_OP_SUBSCRIPT BINARY_SUBSCR
#define C_PLAIN_SUBSCRIPT(op, oparg) ((op) == BINARY_SUBSCR)
#define C_OP_BEFORE_WITH BEFORE_WITH

/* [callable, self or NULL, args...] */
#define C_CALL_BASE(f, site) ((slot *)((uintptr_t)(site)->args - 2 * sizeof(slot)))
#define C_CALL_TARGET(slots) slot_object((slots)[0])
#define C_CALL_FITS(slots, site) 1
/* What a method is called with, or NULL for a function. */
#define C_CALL_SELF(slots) slot_object((slots)[1])
#define C_OP_NAMES (-1)
/* LOAD_ATTR for a call of what is no method pushes the attribute and NULL, in this order. */
#define C_ATTRIBUTE_BEHIND_NULL 0
/* A call's operands stay visible while they are dropped. */
#define C_DROPS_IN_PLACE 1
/* The empty slot of a call of a function. */
#define C_SPARE(slots) (slots)[1]
#define C_PARTIAL_SHOWS 1
/* f(*args): callable, NULL, args [, kwargs] */
#define C_EX_TARGET(slots) slot_object((slots)[0])
#define C_EX_OPERANDS(oparg) (3 + ((oparg) & 1))
#define C_EX_HAS_KWARGS(f, base, oparg) ((oparg) & 1)
/* CALL_KW has the tuple of names on the stack. */
#define C_KW_OPERANDS(oparg) ((oparg) + 3)
/* The operands always lie in the value stack, whatever their number. */
#define C_MAX_OPERANDS 257
/* An iteration that ends keeps its iterator for POP_TOP and skips END_FOR. */
#define C_ITER_END_POPS 0
#define C_ITER_END_SKIPS 1
#define C_ITER_SLOT(top) ((top) - 1)
/* What a frame at FOR_ITER must add when the generator that it runs returns. */
#define C_RETURN_FROM_FOR_ITER(jump) (C_AFTER(FOR_ITER) + (jump))
/* The depth is told by the operands or by the bytecode. */
#define C_EXACT_TOP 0

/* What a trace function or a destructor calls has C between two activations. */
static inline int thread_in_dealloc(PyThreadState *ts)
{
    (void)ts;
    return 0;
}
static inline int thread_in_section(PyThreadState *ts)
{
#ifdef Py_GIL_DISABLED
    return ts->critical_section != 0;
#else
    (void)ts;
    return 0;
#endif
}

static inline void frame_clear_pop(PyThreadState *ts, c_frame *f)
{
    _PyEval_FrameClearAndPop(ts, f);
}

static inline int generator_is_suspended(PyGenObject *gen)
{
    return FRAME_STATE_SUSPENDED(gen->gi_frame_state);
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

static inline void thread_nesting_leave(PyThreadState *ts, c_hard_state *kept)
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
static inline void thread_nesting_back(PyThreadState *ts, c_hard_state *kept)
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
static inline void thread_abandon(PyThreadState *ts)
{
    (void)ts;
}

/* Nothing of the thread state lies on the C stack. */
static inline void base_init(PyThreadState *ts, void **cell)
{
    (void)ts, (void)cell;
}
static inline void base_enter(PyThreadState *ts, void **cell)
{
    (void)ts, (void)cell;
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

/* Ends of threads are events, not locks. */
static inline void *thread_end_lock(PyThreadState *ts)
{
    (void)ts;
    return NULL;
}

/* ---- for frames as records: frame_snapshot.h ---- */
/* From the instruction pointer of a frame to the instruction that runs next. */
#define C_TO_NEXT 0
/* The state of a generator that has delegated to another one. */
#define C_DELEGATING FRAME_SUSPENDED_YIELD_FROM
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
    f->f_executable = Py_NewRef(code);
    f->f_locals = Py_XNewRef(locals);
    f->owner = FRAME_OWNED_BY_THREAD;
}

#include "cpython/pending313.h"

#endif
