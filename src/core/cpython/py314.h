/* CPython 3.14 with the GIL: the difference.
 *
 * Frames hold tagged references (slot_since314.h).  The interpreter writes a frame's stack pointer
 * before everything that can leave the eval loop, so the depth of the value stack is always exact
 * and never has to be computed from the bytecode.
 *
 * There is no count of C recursion: three words of the thread state say between which addresses the
 * C stack may grow.  They belong to a stack, not to a tasklet, and are swapped with it; without
 * that, every container would be freed late and a deep repr() would run off the end of our stack.
 * How far the limits lie from the end is taken from the limits that CPython gave the thread,
 * because the call that computes them came in a later bugfix release of 3.14.
 *
 * A loop that the interpreter compiled (JIT) holds a reference to itself through current_executor;
 * an abandoned C stack cannot drop it, so thread_abandon_c_stack does.
 */
#ifndef LOOMLET_PY314_H
#define LOOMLET_PY314_H

#ifdef Py_GIL_DISABLED
#error "loomlet supports CPython 3.14 with the GIL; without it, use 3.13t"
#endif

#include "cpython/py_since313.h"
#include "cpython/slot_since314.h"

#include <internal/pycore_interpframe.h>
#include <internal/pycore_tstate.h>

/* ---- frames and code ---- */

static inline int frame_top(const c_frame *f)
{
    return (int)(f->stackpointer - f->localsplus);
}
static inline void frame_set_top(c_frame *f, int top)
{
    f->stackpointer = f->localsplus + top;
}
/* The frame itself knows its depth. */
#define C_FRAME_KNOWS_DEPTH 1
/* What lies on the value stack while a block's __exit__ is called with an exception, and whether
 * the C code owns the traceback. */
#define C_WITH_OPERANDS 5
#define C_WITH_OWNS_TRACEBACK 1
static inline int frame_is_entry(const c_frame *f)
{
    return f->owner >= FRAME_OWNED_BY_INTERPRETER;
}
static inline PyCodeObject *frame_code(const c_frame *f)
{
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(f->f_executable);
}
static inline void frame_set_code(c_frame *f, PyCodeObject *code)
{
    slot before = f->f_executable;
    f->f_executable = slot_steal(Py_NewRef(code));
    slot_close(before);
}
static inline PyObject *frame_executable(const c_frame *f)
{
    return slot_owned(f->f_executable);
}
static inline PyObject *frame_funcobj(const c_frame *f)
{
    return slot_owned(f->f_funcobj);
}
/* What runs in the frame: borrowed; None in the one below an inlined __init__. */
static inline PyObject *frame_function(const c_frame *f)
{
    return slot_object(f->f_funcobj);
}
/* `function` may be NULL: the frame has ended. */
static inline void frame_replace_function(c_frame *f, PyObject *function)
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

/* The call of `__enter__` is an ordinary one, with a safepoint after it, and the block of the
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

#define C_OP_SUBSCRIPT BINARY_OP
#define C_PLAIN_SUBSCRIPT(op, oparg) ((op) == BINARY_OP && (oparg) == NB_SUBSCR)
#define C_CALL_BASE(f, site) ((f)->stackpointer - (site)->nargs - 2)
/* Before a call's operands are dropped, their slots are cleared or given up. */
#define C_DROPS_IN_PLACE 0
/* f(*args): callable, NULL, args, kwargs or NULL */
#define C_EX_OPERANDS(oparg) ((void)(oparg), 4)
#define C_EX_HAS_KEYWORDS(f, base, oparg) (!PyStackRef_IsNull((f)->localsplus[(base) + 3]))
/* The eval loop copies the arguments of a C call to plain pointers: up to this many on the C stack,
 * more in a block that it must free. */
#define C_MAX_OPERANDS 10

/* ---- thread states ---- */

#define C_THREAD_HAS_EVENT_LOOP 1
static inline PyObject **thread_event_loop(PyThreadState *ts)
{
    return &((_PyThreadStateImpl *)ts)->asyncio_running_loop;
}
static inline PyObject **thread_asyncio_task(PyThreadState *ts)
{
    return &((_PyThreadStateImpl *)ts)->asyncio_running_task;
}
/* The C stack is limited by addresses, not by a count. */
static inline int stack_call_budget(void)
{
    return 0;
}
static inline int thread_c_left(PyThreadState *ts)
{
    (void)ts;
    return 0;
}
static inline void thread_set_c_left(PyThreadState *ts, int left)
{
    (void)ts, (void)left;
}
static inline int thread_in_dealloc(PyThreadState *ts)
{
    return ts->tracing;
}
/* Objects in ts->delete_later stay with the thread: they are freed once the C stack has room. */
static inline void thread_nesting_save(PyThreadState *ts, c_hard_state *kept)
{
    kept->tracing = ts->tracing;
    kept->event = ts->what_event;
    kept->executor = ts->current_executor;
    ts->tracing = 0;
    ts->what_event = -1;
    ts->current_executor = NULL;
}
static inline void thread_nesting_restore(PyThreadState *ts, c_hard_state *kept)
{
    ts->tracing = kept->tracing;
    ts->what_event = kept->event;
    ts->current_executor = kept->executor;
}
static inline void thread_abandon_c_stack(PyThreadState *ts)
{
    PyObject *executor = ts->current_executor;
    if (B_UNLIKELY(executor != NULL)) {
        ts->current_executor = NULL;
        Py_DECREF(executor);
    }
}
static inline void stack_limits_own(PyThreadState *ts, p_stack *stack)
{
    const _PyThreadStateImpl *thread = (const _PyThreadStateImpl *)ts;
    stack->limits[0] = thread->c_stack_top;
    stack->limits[1] = thread->c_stack_soft_limit;
    stack->limits[2] = thread->c_stack_hard_limit;
}
/* As CPython does it: a margin above the end the hard limit, two the soft one.  The end is moved up
 * a little, for C code that takes much stack without asking: below ours there is no guard page but
 * the next stack.  A tasklet gets what a thread has unless the system was configured otherwise. */
#define C_STACK_RESERVE ((uintptr_t)64 << 10)
#define C_STACK_USED ((uintptr_t)8 << 20)
static inline void stack_limits_init(PyThreadState *ts, p_stack *stack)
{
    const _PyThreadStateImpl *thread = (const _PyThreadStateImpl *)ts;
    uintptr_t top = (uintptr_t)stack->low + stack->size;
    uintptr_t low = top - C_STACK_USED + C_STACK_RESERVE;
    uintptr_t margin = thread->c_stack_soft_limit - thread->c_stack_hard_limit;
    stack->limits[0] = top;
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

#endif
