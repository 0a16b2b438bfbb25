/* What CPython 3.11, 3.12 and 3.13 have in common, and no later version has.
 *
 * Frames hold plain strong references, also without the GIL.  A frame knows the depth of its value
 * stack only after it called inline or was suspended; in the innermost frame the depth follows from
 * the address of the operands or from the bytecode (stack_depth.c).  C calls are counted.  The last
 * part is for 3.12 and 3.13 only.
 */
#ifndef LOOMLET_PY_UNTIL313_H
#define LOOMLET_PY_UNTIL313_H

#include "cpython/py_common.h"
#include "cpython/slot_until313.h"

/* How many C calls the interpreter lets a thread nest; 3.11 counts them with the Python calls. */
#if defined(Py_C_RECURSION_LIMIT)
#define C_THREAD_CALLS Py_C_RECURSION_LIMIT
#elif defined(C_RECURSION_LIMIT)
#define C_THREAD_CALLS C_RECURSION_LIMIT
#else
#define C_THREAD_CALLS INT_MAX
#endif

/* ---- frames and code ---- */

static inline int frame_top(const c_frame *f)
{
    return f->stacktop;
}
static inline void frame_set_top(c_frame *f, int top)
{
    f->stacktop = top;
}
#define C_FRAME_KNOWS_DEPTH 0
#define C_CALL_BASE(f, site) ((slot *)((uintptr_t)(site)->args - 2 * sizeof(slot)))

/* ---- the collector ---- */

#ifndef Py_GIL_DISABLED
/* gc.freeze() moves what the collector tracks to the end of a list that it never looks at: where
 * the last of these objects stands, another value after each freeze. */
#define C_COLLECTOR_FREEZES 1
static inline const uintptr_t *objects_frozen_end(void)
{
    return &PyInterpreterState_Main()->gc.permanent_generation.head._gc_prev;
}
/* It is in one of the lists of a collection that is under way. */
static inline int object_collecting(PyObject *object)
{
    return (_Py_AS_GC(object)->_gc_prev & _PyGC_PREV_MASK_COLLECTING) != 0;
}
#endif

/* ---- C stacks ---- */

/* The hungriest recursion measured is list.sort() calling its key function: 1650 bytes for each
 * count.  The parser has a limit of its own, and takes up to 1.5 MiB at any depth. */
#define C_STACK_PER_COUNT 1700
#define C_STACK_RESERVE ((size_t)9 << 18)
/* The count of C calls that a tasklet's stack carries, but no more than a thread may have. */
static inline int stack_call_budget(void)
{
    int carried = (int)((P_STACK_SIZE - C_STACK_RESERVE) / C_STACK_PER_COUNT);
    return carried < C_THREAD_CALLS ? carried : C_THREAD_CALLS;
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
static inline void thread_abandon_c_stack(PyThreadState *ts)
{
    (void)ts;
}

#ifdef C_HAS_SOFT

/* ---- 3.12 and 3.13 ---- */

static inline int frame_is_entry(const c_frame *f)
{
    return f->owner == FRAME_OWNED_BY_CSTACK;
}
static inline PyObject *frame_funcobj(const c_frame *f)
{
    return f->f_funcobj;
}
/* What runs in the frame: borrowed; None in the one below an inlined __init__. */
static inline PyObject *frame_function(const c_frame *f)
{
    return f->f_funcobj;
}
/* `function` may be NULL: the frame has ended. */
static inline void frame_replace_function(c_frame *f, PyObject *function)
{
    Py_XSETREF(f->f_funcobj, Py_XNewRef(function));
}
static inline int thread_c_left(PyThreadState *ts)
{
    return ts->c_recursion_remaining;
}
static inline void thread_set_c_left(PyThreadState *ts, int left)
{
    ts->c_recursion_remaining = left;
}

#define C_OP_SUBSCRIPT BINARY_SUBSCR
#define C_PLAIN_SUBSCRIPT(op, oparg) ((op) == BINARY_SUBSCR)
#define C_OP_BEFORE_WITH BEFORE_WITH
/* What lies on the value stack while a block's __exit__ is called with an exception, and whether
 * the C code owns the traceback. */
#define C_WITH_OPERANDS 4
#define C_WITH_OWNS_TRACEBACK 0
/* A call's operands stay visible while they are dropped. */
#define C_DROPS_IN_PLACE 1
/* f(*args): two slots for the callable, args [, kwargs] */
#define C_EX_OPERANDS(oparg) (3 + ((oparg) & 1))
#define C_EX_HAS_KEYWORDS(f, base, oparg) ((oparg) & 1)
/* The operands always lie in the value stack, whatever their number. */
#define C_MAX_OPERANDS 257

#endif

#endif
