/* May this call be suspended softly?  Every rule of soft switching is here.
 *
 * A soft suspension abandons the C stack, so it is allowed only if nothing on that stack is worth
 * keeping.  The proof has two halves:
 *
 * 1. The eval loop called us itself, not through another C function: the instruction at the frame's
 *    instruction pointer is one that we know how to finish, and the slot of what it calls (or
 *    iterates) holds our own function (or object).  The operands then lie in the frame, which owns
 *    them.
 * 2. That activation of the eval loop was entered by the dispatcher: walking down from the frame,
 *    the first entry mark sits on the frames that the tasklet's state says lie below.  The walk is
 *    short: a resumed activation begins at the frame that was innermost when the tasklet was
 *    suspended.
 *
 * Some C callers may stand between two activations: it is known what they would do with the result,
 * so the frames are joined directly (splice.c).
 *
 * Refused, although the frames look right: operands that the eval loop has copied (f(**kwargs),
 * f(*list), more than C_MAX_OPERANDS: the copies would leak), an open critical section, a
 * deallocation or trace function below us, and traced instructions (INSTRUMENTED_*).  A refused
 * call is switched hard; it is never an error.  The short form of the rules also refuses while the
 * thread has a trace or profile function: so the scheduler finds out that C code has set one.
 *
 * Rejected: counting C recursion to prove half 2 (other C code may not count), and reading
 * EXTENDED_ARG in front of an instruction (the unit before it may be an inline cache that looks
 * like one).
 */
#include "cpython/bytecode.h"
#include "cpython/layout.h"
#include "cpython/safepoint.h"
#include "cpython/save_state.h"
#include "cpython/splice.h"
#include "cpython/with_statement.h"

static inline int is_called_function(PyObject *callable, const c_call_site *site)
{
    if (callable == NULL)
        return 0;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
        return (void *)((PyMethodDescrObject *)callable)->d_method->ml_meth == site->function;
    if (Py_IS_TYPE(callable, &PyCFunction_Type))
        return (void *)PyCFunction_GET_FUNCTION(callable) == site->function;
    return callable == site->function;
}

#ifdef C_HAS_SOFT

/* Half 1 once more, for the time when the eval loop drops the operands: a destructor may then call
 * the same function through C.  Operands that are handed over in place prove by their address that
 * the eval loop called, copied ones by being the same objects; the eval loop empties each slot
 * before it drops the object. */
static inline int same_operands(const slot *base, const slot *end, const c_call_site *site)
{
    if (!C_FRAME_KNOWS_DEPTH)
        return 1;
    PyObject *callable = slot_object(base[0]), *self = slot_object(base[1]);
    if (callable == site->function)
        self = site->self;
    else if (Py_IS_TYPE(callable, &PyCFunction_Type))
        self = PyCFunction_GET_SELF(callable);
    else if (self == NULL && end - base > 2)
        self = slot_object(base[2]);
    for (Py_ssize_t i = 1; i <= site->nargs; i++)
        if (slot_object(end[-i]) != site->args[site->nargs - i])
            return 0;
    return self == site->self;
}

#define UNKNOWN (-1)
#define ELSEWHERE (-2) /* the arguments are not in the frame: C code called us */

/* Slots in use, the operands of the call included. */
static inline int find_stack_top(c_frame *f, PyCodeObject *code, int op, const c_call_site *site)
{
    if (C_FRAME_KNOWS_DEPTH)
        return frame_top(f);
    slot *base = f->localsplus + code->co_nlocalsplus;
    slot *args = (slot *)site->args;
    if (op == C_OP_CALL || op == C_OP_CALL_KW) {
        if (args < base + 1 || args + site->nargs > base + code->co_stacksize)
            return ELSEWHERE;
        return (int)(args - f->localsplus + site->nargs) + (op == C_OP_CALL_KW);
    }
    int depth = c_stack_depth_at(code, code_offset(code, frame_ip(f)));
    return depth < 0 ? UNKNOWN : code->co_nlocalsplus + depth;
}

/* `names`: 1 when the tuple of keyword names lies above the arguments. */
static B_INLINE int check_call(c_frame *f, PyCodeObject *code, int operands, int names,
                               const c_call_site *site, c_soft_point *out)
{
    int base = out->top - operands;
    if (base < code->co_nlocalsplus)
        return C_OPERANDS;
    if (operands > C_MAX_OPERANDS)
        return C_COPIED_OPERANDS;
    slot *slots = f->localsplus;
    if (!is_called_function(C_CALL_TARGET(slots + base), site) ||
        !C_CALL_FITS(slots + base, site) ||
        !same_operands(slots + base, slots + out->top - names, site))
        return C_OPERANDS;
    out->depth = base;
    return C_SOFT;
}

/* f(*args, **kwargs) with empty kwargs hands the tuple over as it is. */
static inline int is_empty_dict(slot s)
{
    PyObject *dict = slot_object(s);
    return dict != NULL && PyDict_CheckExact(dict) && PyDict_GET_SIZE(dict) == 0;
}

static int check_star_call(c_frame *f, PyCodeObject *code, const c_call_site *site,
                           c_soft_point *out)
{
    int oparg = ip_oparg(frame_ip(f));
    int base = out->top - C_EX_OPERANDS(oparg);
    if (base < code->co_nlocalsplus)
        return C_OPERANDS;
    if (!is_called_function(C_EX_TARGET(f->localsplus + base), site))
        return C_OPERANDS;
    PyTupleObject *args = (PyTupleObject *)slot_object(f->localsplus[base + 2]);
    /* If the eval loop made a tuple of another object, the slot is stale: it may be compared but
     * not dereferenced, until the arguments prove to lie in it.
     */
    if (site->args == NULL || args == NULL || site->args != args->ob_item ||
        !PyTuple_CheckExact((PyObject *)args) ||
        (C_EX_HAS_KEYWORDS(f, base, oparg) && !is_empty_dict(f->localsplus[base + 3]))) {
        out->top = -1;
        return C_COPIED_OPERANDS;
    }
    out->depth = base;
    return C_SOFT;
}

static int check_iteration(c_frame *f, PyCodeObject *code, const c_call_site *site,
                           c_soft_point *out)
{
    int at = C_ITER_SLOT(out->top);
    if (site->kind != C_ITER || at < code->co_nlocalsplus ||
        slot_object(f->localsplus[at]) != site->self)
        return C_OPERANDS;
    int jump = c_for_iter_jump(code, frame_ip(f));
    if (jump < 0)
        return C_UNKNOWN_DEPTH;
    out->depth = out->top;
    out->end_advance = C_STEP_OVER(C_OP_FOR_ITER) + jump + C_ITER_END_SKIPS;
    return C_SOFT;
}

#ifdef C_OP_BEFORE_WITH
/* The manager's slot is stale, its reference was dropped; the two methods are in C variables. */
static int check_with_statement(c_frame *f, PyCodeObject *code, const c_call_site *site,
                                c_soft_point *out)
{
    int at = out->top - 1;
    PyObject *exit = c_with_exit_of(site->self);
    if (site->kind != C_WITH || exit == NULL || at < code->co_nlocalsplus ||
        slot_object(f->localsplus[at]) != site->self)
        return C_OPERANDS;
    out->enter = site->function;
    out->exit = exit;
    out->depth = out->top;
    out->top = at;
    return C_SOFT;
}
#endif

/* Half 2: the activation was entered by the dispatcher, or is reached by splices. */
static inline int find_activation_bottom(PyThreadState *ts, const c_state *state, c_frame *f,
                                         c_soft_point *out)
{
    out->splices = 0;
    for (;;) {
        while (!frame_is_entry(f->previous))
            f = f->previous;
        c_frame *below = f->previous->previous;
        if (below == state->rest)
            break;
        int why = state->rest == C_BELOW ? C_NESTED : c_splice(ts, f, below, out);
        if (why != C_SOFT)
            return why;
        f = below;
    }
    out->bottom = f;
    return C_SOFT;
}

static B_INLINE int check_instruction(c_frame *f, const c_call_site *site, c_soft_point *out)
{
    _Py_CODEUNIT *ip = frame_ip(f);
    int op = ip_opcode(ip);
    PyCodeObject *code = frame_code(f);
    int top = find_stack_top(f, code, op, site);
    if (top == ELSEWHERE)
        return C_OPERANDS;
    if (top < code->co_nlocalsplus || top > code->co_nlocalsplus + code->co_stacksize)
        return C_UNKNOWN_DEPTH;
    out->top = top;
    out->advance = C_STEP_OVER(op);
    out->end_advance = 0;
    out->enter = out->exit = NULL;
    if (B_LIKELY(op == C_OP_CALL))
        return check_call(f, code, ip_oparg(ip) + 2, 0, site, out);
    if (op == C_OP_CALL_KW)
        return check_call(f, code, C_KW_OPERANDS(ip_oparg(ip)), 1, site, out);
    if (op == C_OP_CALL_EX)
        return check_star_call(f, code, site, out);
    if (op == C_OP_FOR_ITER)
        return check_iteration(f, code, site, out);
#ifdef C_OP_BEFORE_WITH
    if (op == C_OP_BEFORE_WITH)
        return check_with_statement(f, code, site, out);
#endif
    return C_OPCODE;
}

/* The same rules for the common case, a plain CALL of a method or function with its operands in
 * place and no splice, in as few machine instructions as possible. */
int c_suspend_call(PyThreadState *ts, c_state *state, const c_call_site *site)
{
    c_frame *f = thread_frame(ts);
    if (f == NULL || f->owner > FRAME_OWNED_BY_GENERATOR)
        return 0;
    const _Py_CODEUNIT *ip = frame_ip(f);
    if (ip_opcode(ip) != C_OP_CALL || ip_oparg(ip) != site->nargs)
        return 0;
    const PyCodeObject *code = frame_code(f);
    slot *base = C_CALL_BASE(f, site);
    size_t above = (size_t)(base - f->localsplus) - (size_t)code->co_nlocalsplus;
    if (above >= (size_t)code->co_stacksize || site->nargs + 2 > C_MAX_OPERANDS ||
        !is_called_function(C_CALL_TARGET(base), site) ||
        !same_operands(base, base + 2 + site->nargs, site) || thread_in_critical_section(ts) ||
        thread_in_dealloc(ts) || thread_is_traced(ts))
        return 0;
    c_frame *bottom = f;
    while (!frame_is_entry(bottom->previous))
        bottom = bottom->previous;
    if (bottom->previous->previous != state->rest)
        return 0;
    state->depth = (int)(base - f->localsplus);
    state->advance = C_STEP_OVER(C_OP_CALL);
    frame_set_top(f, state->depth + (int)site->nargs + 2);
    bottom->previous = state->rest;
    c_state_save_soft(ts, state, f);
    return 1;
}

static B_INLINE int find_call(PyThreadState *ts, const c_call_site *site, c_soft_point *out)
{
    out->top = -1;
    c_frame *f = thread_frame(ts);
    if (f == NULL || f->owner > FRAME_OWNED_BY_GENERATOR)
        return C_NO_FRAME;
    int why = B_UNLIKELY(site->kind == C_SAFEPOINT) ? c_safepoint_find(ts, f, site, out)
                                                    : check_instruction(f, site, out);
    if (B_UNLIKELY(why != C_SOFT && why != C_COPIED_OPERANDS))
        out->top = -1;
    return why;
}

B_INLINE int c_soft_point_find(PyThreadState *ts, const c_state *state, const c_call_site *site,
                               c_soft_point *out)
{
    int why = find_call(ts, site, out);
    if (B_UNLIKELY(why != C_SOFT))
        return why;
    if (B_UNLIKELY(thread_in_critical_section(ts)))
        return C_CRITICAL_SECTION;
    if (B_UNLIKELY(thread_in_dealloc(ts)))
        return C_DEALLOC;
    return find_activation_bottom(ts, state, thread_frame(ts), out);
}

int c_call_top(PyThreadState *ts, const c_call_site *site)
{
    c_soft_point point;
    find_call(ts, site, &point);
    return point.top;
}

#else

int c_suspend_call(PyThreadState *ts, c_state *state, const c_call_site *site)
{
    (void)ts, (void)state, (void)site;
    return 0;
}

int c_call_top(PyThreadState *ts, const c_call_site *site)
{
    c_frame *f = thread_frame(ts);
    if (f == NULL)
        return -1;
    slot *base = (slot *)f->localsplus + frame_code(f)->co_nlocalsplus;
    slot *args = (slot *)site->args;
    if (args < base + 2 || args + site->nargs > base + frame_code(f)->co_stacksize ||
        !is_called_function(C_CALL_TARGET(args - 2), site) || !C_CALL_FITS(args - 2, site))
        return -1;
    return (int)(args - f->localsplus + site->nargs);
}

int c_soft_point_find(PyThreadState *ts, const c_state *state, const c_call_site *site,
                      c_soft_point *out)
{
    (void)state;
    out->top = c_call_top(ts, site);
    return C_NEVER;
}

#endif
