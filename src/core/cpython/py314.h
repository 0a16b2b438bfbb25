/* CPython 3.14 with the GIL: where things live.
 *
 * Frames hold tagged stack references.  A reference may be borrowed (the tag
 * says so): then somebody else owns the object, mostly a local variable of the
 * same tasklet, and it is neither visited nor released here.  The interpreter
 * writes a frame's stack pointer before everything that can leave the loop, so
 * the depth of the value stack is always exact and nothing has to be told from
 * the bytecode.
 *
 * There is no count of C recursion: three words of the thread state say between
 * which addresses the C stack may grow.  They belong to a stack, not to a
 * tasklet, and are exchanged with it; without that, every container would be
 * freed late and a deep repr() would run off the end of our stack.  How far the
 * limits lie from the end is taken from the limits that CPython gave the thread,
 * because the call that computes them came in a later bugfix release of 3.14.
 *
 * A loop that the interpreter compiled (JIT) holds a reference to itself through
 * current_executor; an abandoned C stack cannot drop it, so thread_abandon does.
 */
#ifndef LOOMLET_PY314_H
#define LOOMLET_PY314_H

#ifdef Py_GIL_DISABLED
#error "loomlet supports CPython 3.14 with the GIL; without it, use 3.13t"
#endif

#ifdef C_OPCODE_TABLES
#define NEED_OPCODE_METADATA 1
#endif
#include <frameobject.h>
#include <internal/pycore_ceval.h>
#include <internal/pycore_code.h>
#include <internal/pycore_context.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_genobject.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_opcode_metadata.h>
#include <internal/pycore_opcode_utils.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_stackref.h>
#include <internal/pycore_tstate.h>
#include <opcode.h>

#define C_HAS_SOFT 1

typedef _PyStackRef slot;
#define SLOT_NULL PyStackRef_NULL

/* NULL for an empty slot and for a small integer that is no object. */
static inline PyObject *slot_object(slot s)
{
    return PyStackRef_IsNullOrInt(s) ? NULL : PyStackRef_AsPyObjectBorrow(s);
}
static inline slot slot_steal(PyObject *object)
{
    return PyStackRef_FromPyObjectSteal(object);
}
static inline void slot_close(slot s)
{
    PyStackRef_XCLOSE(s);
}
static inline PyObject *slot_owned(slot s)
{
    return PyStackRef_RefcountOnObject(s) ? slot_object(s) : NULL;
}

static inline int frame_top(const c_frame *f)
{
    return (int)(f->stackpointer - f->localsplus);
}
static inline void frame_set_top(c_frame *f, int top)
{
    f->stackpointer = f->localsplus + top;
}
static inline PyCodeObject *frame_code(const c_frame *f)
{
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(f->f_executable);
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
    return f->owner >= FRAME_OWNED_BY_INTERPRETER;
}
static inline int frame_begins_activation(const c_frame *f)
{
    return frame_is_entry(f);
}
static inline PyObject *frame_funcobj(const c_frame *f)
{
    return slot_owned(f->f_funcobj);
}
static inline PyObject *frame_executable(const c_frame *f)
{
    return slot_owned(f->f_executable);
}

#define C_THREAD_HAS_LOOP 1
static inline PyObject **thread_loop(PyThreadState *ts)
{
    return &((_PyThreadStateImpl *)ts)->asyncio_running_loop;
}
static inline PyObject **thread_task(PyThreadState *ts)
{
    return &((_PyThreadStateImpl *)ts)->asyncio_running_task;
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
/* The C stack is limited by addresses, not by a count. */
static inline int thread_c_left(PyThreadState *ts)
{
    (void)ts;
    return 0;
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

static inline int ip_opcode(const _Py_CODEUNIT *ip)
{
    return _PyOpcode_Deopt[ip->op.code];
}
static inline int ip_oparg(const _Py_CODEUNIT *ip)
{
    return ip->op.arg;
}
/* The call of `__enter__` is an ordinary one, with a check behind it, and the block of the
 * `with` begins after that. */
#define C_HAS_WITH_GAP 1
static inline int frame_in_with_gap(const c_frame *f)
{
    const _Py_CODEUNIT *ip = frame_ip(f);
    int op = ip_opcode(ip);
    if ((op != CALL && op != INSTRUMENTED_CALL) || ip_oparg(ip) != 0)
        return 0;
    return ip_opcode(ip - 1) == LOAD_SPECIAL && ip_oparg(ip - 1) == SPECIAL___ENTER__;
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
#define C_OP_SUBSCRIPT BINARY_OP
#define C_PLAIN_SUBSCRIPT(op, oparg) ((op) == BINARY_OP && (oparg) == NB_SUBSCR)

/* [callable, self or NULL, args...] */
#define C_CALL_BASE(f, site) ((f)->stackpointer - (site)->nargs - 2)
#define C_CALL_TARGET(slots) slot_object((slots)[0])
#define C_CALL_FITS(slots, site) 1
/* What a method is called with, or NULL for a function. */
#define C_CALL_SELF(slots) slot_object((slots)[1])
#define C_OP_NAMES (-1)
/* LOAD_ATTR for a call of what is no method pushes the attribute and NULL, in this order. */
#define C_ATTRIBUTE_BEHIND_NULL 0
/* Before a call's operands are dropped, their slots are cleared or given up. */
#define C_DROPS_IN_PLACE 0
/* The empty slot of a call of a function. */
#define C_SPARE(slots) (slots)[1]
#define C_PARTIAL_SHOWS 1
/* f(*args): callable, NULL, args, kwargs or NULL */
#define C_EX_TARGET(slots) slot_object((slots)[0])
#define C_EX_OPERANDS(oparg) ((void)(oparg), 4)
#define C_EX_HAS_KWARGS(f, base, oparg) (!PyStackRef_IsNull((f)->localsplus[(base) + 3]))
/* CALL_KW has the tuple of names on the stack. */
#define C_KW_OPERANDS(oparg) ((oparg) + 3)
/* The loop copies the arguments of a C call to plain pointers: up to this many
 * on the C stack, more in a block that it must free. */
#define C_MAX_OPERANDS 10
/* An iteration that ends keeps its iterator for POP_ITER and skips END_FOR. */
#define C_ITER_END_POPS 0
#define C_ITER_END_SKIPS 1
#define C_ITER_SLOT(top) ((top) - 1)
/* What a frame at FOR_ITER must add when the generator that it runs returns. */
#define C_RETURN_FROM_FOR_ITER(jump) (C_AFTER(FOR_ITER) + (jump))
/* The frame itself knows its depth. */
#define C_EXACT_TOP 1

static inline int thread_in_dealloc(PyThreadState *ts)
{
    return ts->tracing;
}
static inline int thread_in_section(PyThreadState *ts)
{
    (void)ts;
    return 0;
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

/* Objects in ts->delete_later stay with the thread: whoever has room frees them. */
static inline void thread_nesting_leave(PyThreadState *ts, c_hard_state *kept)
{
    kept->tracing = ts->tracing;
    kept->event = ts->what_event;
    kept->executor = ts->current_executor;
    ts->tracing = 0;
    ts->what_event = -1;
    ts->current_executor = NULL;
}
static inline void thread_nesting_back(PyThreadState *ts, c_hard_state *kept)
{
    ts->tracing = kept->tracing;
    ts->what_event = kept->event;
    ts->current_executor = kept->executor;
}
static inline void thread_abandon(PyThreadState *ts)
{
    PyObject *executor = ts->current_executor;
    if (B_UNLIKELY(executor != NULL)) {
        ts->current_executor = NULL;
        Py_DECREF(executor);
    }
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

static inline void stack_limits_own(PyThreadState *ts, p_stack *stack)
{
    const _PyThreadStateImpl *thread = (const _PyThreadStateImpl *)ts;
    stack->limits[0] = thread->c_stack_top;
    stack->limits[1] = thread->c_stack_soft_limit;
    stack->limits[2] = thread->c_stack_hard_limit;
}
/* As CPython does it: a margin above the end the hard limit, two the soft one.  The
 * end is moved up a little, for C code that takes much stack without asking: below
 * ours there is no guard page but the next stack. */
#define C_STACK_RESERVE ((uintptr_t)64 << 10)
static inline void stack_limits_init(PyThreadState *ts, p_stack *stack)
{
    const _PyThreadStateImpl *thread = (const _PyThreadStateImpl *)ts;
    uintptr_t low = (uintptr_t)stack->low + C_STACK_RESERVE;
    uintptr_t margin = thread->c_stack_soft_limit - thread->c_stack_hard_limit;
    stack->limits[0] = (uintptr_t)stack->low + stack->size;
    stack->limits[1] = low + 2 * margin;
    stack->limits[2] = low + margin;
}
static inline void stack_limits_use(PyThreadState *ts, const p_stack *stack)
{
    _PyThreadStateImpl *thread = (_PyThreadStateImpl *)ts;
    thread->c_stack_top = stack->limits[0];
    thread->c_stack_soft_limit = stack->limits[1];
    thread->c_stack_hard_limit = stack->limits[2];
}

/* Ends of threads are events, not locks. */
static inline void *thread_end_lock(PyThreadState *ts)
{
    (void)ts;
    return NULL;
}

/* ---- for frames as records: frame_snapshot.h ---- */
static inline int slot_is_number(slot s)
{
    return PyStackRef_IsTaggedInt(s);
}
static inline Py_ssize_t slot_number(slot s)
{
    return (Py_ssize_t)PyStackRef_UntagInt(s);
}
static inline slot slot_from_number(Py_ssize_t number)
{
    return PyStackRef_TagInt((intptr_t)number);
}
#define SLOTS_HOLD_NUMBERS 1
/* From the instruction pointer of a frame to the instruction that runs next. */
#define C_TO_NEXT 0
/* The state of a generator that has delegated to another one. */
#define C_DELEGATING FRAME_SUSPENDED_YIELD_FROM
/* What runs in the frame: borrowed; None in the one below an inlined __init__. */
static inline PyObject *frame_function(const c_frame *f)
{
    return slot_object(f->f_funcobj);
}
/* `function` may be NULL: the frame has ended. */
static inline void frame_exchange_function(c_frame *f, PyObject *function)
{
    slot old = f->f_funcobj;
    f->f_funcobj = function ? PyStackRef_FromPyObjectNew(function) : SLOT_NULL;
    slot_close(old);
}
/* A new frame of the data stack without slots. */
static inline void frame_init(c_frame *f, PyObject *function, PyCodeObject *code, PyObject *locals)
{
    memset(f, 0, offsetof(c_frame, localsplus));
    f->f_funcobj = PyStackRef_FromPyObjectNew(function);
    f->f_executable = PyStackRef_FromPyObjectNew(code);
    f->f_locals = Py_XNewRef(locals);
    f->owner = FRAME_OWNED_BY_THREAD;
}

#include "cpython/pending313.h"

#endif
