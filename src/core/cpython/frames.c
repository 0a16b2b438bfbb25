/* The frames of a suspended tasklet: read as snapshots, and built from them.
 *
 * A softly suspended tasklet is a chain of frames and nothing else.  Reading walks it from the
 * innermost frame to the outermost.  Building puts the frames of plain calls on the tasklet's own
 * data stack, in the order in which the calls were made, because the interpreter pops them in the
 * reverse order; frames of generators stay inside their generators.  The chain of handled
 * exceptions is made anew: the tasklet's own item, then that of each generator on the way inwards.
 *
 * The innermost frame stands at the instruction that called us, without its operands, or at a
 * safepoint where it was interrupted (safepoint.c); how far to step over the instruction follows
 * from the instruction alone, and is computed from the bytecode that PyCode_GetCode returns (no
 * specialised or traced instruction, empty inline caches).
 *
 * On the tasklet's owner thread.  Building checks everything before it changes anything.
 */
#include "cpython/frame_snapshot.h"
#include "cpython/safepoint.h"
#include "cpython/splice.h"

static int units_into_code(const c_frame *f)
{
    return (int)(frame_ip(f) - _PyCode_CODE(frame_code(f)));
}

#ifdef C_HAS_SOFT

/* ---- reading ------------------------------------------------------------------------ */

static Py_ssize_t count_frames(const c_frame *f)
{
    Py_ssize_t count = 0;
    for (; f != NULL && !frame_is_entry(f); f = f->previous)
        count++;
    return count;
}

PyObject *c_frames_read(const c_state *state)
{
    Py_ssize_t left = count_frames(state->frame);
    PyObject *snapshots = PyTuple_New(left);
    for (c_frame *f = state->frame; snapshots != NULL && left-- > 0; f = f->previous) {
        int inner = f == state->frame;
        PyObject *snapshot = inner ? c_frame_snapshot_read(f, state->depth, 0)
                                   : c_frame_snapshot_read(f, frame_top(f), frame_return_offset(f));
        if (snapshot == NULL)
            Py_CLEAR(snapshots);
        else
            PyTuple_SET_ITEM(snapshots, left, snapshot);
    }
    return snapshots;
}

int c_generator_is_running_in(const c_state *state, PyObject *gen)
{
    for (c_frame *f = state->frame; f != NULL && !frame_is_entry(f); f = f->previous)
        if (f == generator_frame(gen))
            return 1;
    return 0;
}

/* ---- where the innermost frame resumes ---------------------------------------------------- */

/* Where an interrupted tasklet may have been suspended softly: safepoint.c. */
static int is_soft_safepoint(int op)
{
    return op == RESUME || op == JUMP_BACKWARD;
}

/* How many operands the call of a blocked function has on the value stack, or -1. */
static int operands_of_call(c_plain_instruction at)
{
#ifdef C_OP_BEFORE_WITH
    if (at.op == C_OP_BEFORE_WITH)
        return 0; /* the manager's slot holds its __exit__ now */
#endif
    if (at.op == C_OP_CALL)
        return at.oparg + 2;
    if (at.op == C_OP_CALL_KW)
        return C_KW_OPERANDS(at.oparg);
    if (at.op == C_OP_CALL_EX)
        return C_EX_OPERANDS(at.oparg);
    return at.op == C_OP_FOR_ITER || is_soft_safepoint(at.op) ? 0 : -1;
}

static const char *check_innermost_frame(const c_frame_snapshot *inner, int operands)
{
    const PyCodeObject *code = inner->code;
    if (operands < 0)
        return "the innermost frame is not at a call";
    if (inner->slots + (operands > 0) > code->co_nlocalsplus + code->co_stacksize)
        return "the innermost frame has no room for a result";
#if C_COMPUTES_DEPTH
    int depth = c_stack_depth_at(inner->code, inner->ip * (int)sizeof(_Py_CODEUNIT));
    if (inner->slots != code->co_nlocalsplus + depth - operands)
        return "the location and the slots of the innermost frame do not agree";
#endif
    return NULL;
}

static const char *find_innermost_advance(const c_frame_snapshot *inner, c_state *state)
{
    c_plain_instruction at = c_plain_instruction_at(inner->code, inner->ip);
    const char *wrong =
        check_innermost_frame(inner, at.unit == inner->ip ? operands_of_call(at) : -1);
    if (wrong != NULL)
        return wrong;
    state->depth = inner->slots;
    state->advance = C_STEP_OVER(at.op);
    state->end_advance = 0;
    if (is_soft_safepoint(at.op)) {
        safepoint_advances(at.op, at.op == RESUME ? 0 : at.oparg, &state->advance,
                           &state->end_advance);
        int target = inner->ip + state->end_advance + C_IP_TO_NEXT;
        return target < 0 || target >= code_units(inner->code)
                   ? "the innermost frame jumps out of its code"
                   : NULL;
    }
    if (at.op != C_OP_FOR_ITER)
        return NULL;
    int end = inner->ip + 1 + C_CACHES(at.op) + at.oparg;
    if (c_plain_instruction_at(inner->code, end).op != C_OP_END_FOR ||
        inner->slots <= inner->code->co_nlocalsplus)
        return "the innermost frame is not at an iteration";
    state->end_advance = C_STEP_OVER(at.op) + at.oparg + C_ITER_END_SKIPS;
    return NULL;
}

/* ---- building ----------------------------------------------------------------------------- */

#define SPARE_WORDS 24 /* for a small call on top */

/* The generator that a frame snapshot belongs to, or None. */
static PyObject *snapshot_owner(PyObject *tuple)
{
    return PyTuple_CheckExact(tuple) && PyTuple_GET_SIZE(tuple) > 0 ? PyTuple_GET_ITEM(tuple, 0)
                                                                    : Py_None;
}

/* A context that is entered anew must not be entered already, nor twice. */
static const char *check_entered_context(PyObject *snapshots, Py_ssize_t at,
                                         const c_frame_snapshot *waiting)
{
    c_frame_snapshot outer;
    if (!c_snapshot_is_in_context(waiting))
        return NULL;
    PyObject *context = c_snapshot_context(waiting);
    if (context == NULL || context_is_entered(context))
        return "a context cannot be entered";
    for (Py_ssize_t i = 0; i < at; i++) {
        c_frame_snapshot_parse(PyTuple_GET_ITEM(snapshots, i), &outer);
        if (c_snapshot_is_in_context(&outer) && c_snapshot_context(&outer) == context)
            return "a context cannot be entered twice";
    }
    return NULL;
}

static const char *check_one_snapshot(PyObject *snapshots, Py_ssize_t at, c_frame_snapshot *out)
{
    const char *wrong = c_frame_snapshot_parse(PyTuple_GET_ITEM(snapshots, at), out);
    if (wrong == NULL)
        wrong = c_frame_snapshot_check(out);
    if (wrong == NULL && at + 1 < PyTuple_GET_SIZE(snapshots))
        wrong = c_location_check_waiting(out, snapshot_owner(PyTuple_GET_ITEM(snapshots, at + 1)));
    if (wrong == NULL && at + 1 < PyTuple_GET_SIZE(snapshots))
        wrong = check_entered_context(snapshots, at, out);
    if (wrong != NULL || out->owner == Py_None)
        return wrong;
    for (Py_ssize_t i = 0; i < at; i++)
        if (snapshot_owner(PyTuple_GET_ITEM(snapshots, i)) == out->owner)
            return "a generator cannot run twice";
    return c_generator_check(out->owner, out);
}

const char *c_frames_check(PyThreadState *ts, PyObject *snapshots, size_t *size)
{
    c_frame_snapshot snapshot;
    c_state inner;
    size_t words = SPARE_WORDS;
    Py_ssize_t count = PyTuple_CheckExact(snapshots) ? PyTuple_GET_SIZE(snapshots) : 0;
    if (count == 0)
        return "expected a tuple of frames";
    if (count >= thread_py_budget(ts))
        return "there are more frames than the recursion limit allows";
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *wrong = check_one_snapshot(snapshots, i, &snapshot);
        if (wrong != NULL)
            return wrong;
        if (snapshot.owner == Py_None)
            words += (size_t)code_frame_words(snapshot.code);
    }
    *size = offsetof(_PyStackChunk, data) + (words + 1) * sizeof(PyObject *);
    return find_innermost_advance(&snapshot, &inner);
}

static c_frame *build_stack_frame(c_state *state, const c_frame_snapshot *snapshot)
{
    c_frame *f = state->top;
    PyObject *locals = snapshot->locals != Py_None ? snapshot->locals : NULL;
    frame_init(f, snapshot->function, snapshot->code, locals);
    c_frame_snapshot_fill(snapshot, f);
    state->top = (PyObject **)f + code_frame_words(snapshot->code);
    return f;
}

static c_frame *build_generator_frame(c_state *state, const c_frame_snapshot *snapshot)
{
    PyGenObject *gen = (PyGenObject *)snapshot->owner;
    c_generator_put(snapshot->owner, snapshot, FRAME_EXECUTING);
    gen->gi_exc_state.previous_item = state->exc_info;
    state->exc_info = &gen->gi_exc_state;
    return generator_frame(snapshot->owner);
}

int c_frames_build(PyThreadState *ts, c_state *state, PyObject *snapshots)
{
    c_frame *below = NULL;
    c_frame_snapshot snapshot;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(snapshots); i++) {
        c_frame_snapshot_parse(PyTuple_GET_ITEM(snapshots, i), &snapshot);
        c_frame *f = snapshot.owner == Py_None ? build_stack_frame(state, &snapshot)
                                               : build_generator_frame(state, &snapshot);
        f->previous = below;
        below = f;
        state->py_left--;
    }
    state->frame = below;
    find_innermost_advance(&snapshot, state);
    return is_soft_safepoint(c_plain_instruction_at(snapshot.code, snapshot.ip).op);
}

/* It takes the slot of the first operand.  There is one unless the value stack keeps the object
 * alive anyway (an iteration, a `with`). */
void c_frames_keep_alive(c_state *state, PyObject *object)
{
    c_frame *f = state->frame;
    PyCodeObject *code = frame_code(f);
    int top = frame_top(f);
    if (top == state->depth && top < code->co_nlocalsplus + code->co_stacksize) {
        f->localsplus[top] = slot_steal(Py_NewRef(object));
        frame_set_top(f, top + 1);
    }
}

#else

PyObject *c_frames_read(const c_state *state)
{
    (void)state;
    PyErr_SetString(PyExc_SystemError, "loomlet: no soft suspension on this interpreter");
    return NULL;
}

const char *c_frames_check(PyThreadState *ts, PyObject *snapshots, size_t *size)
{
    (void)ts, (void)snapshots, (void)size;
    return "freezing needs 3.12";
}

int c_frames_build(PyThreadState *ts, c_state *state, PyObject *snapshots)
{
    (void)ts, (void)state, (void)snapshots;
    return 0;
}

void c_frames_keep_alive(c_state *state, PyObject *object)
{
    (void)state, (void)object;
}

int c_generator_is_running_in(const c_state *state, PyObject *gen)
{
    (void)state, (void)gen;
    return 0;
}

#endif

/* ---- the C caller that holds a tasklet ----------------------------------------------------- */

#ifdef C_HAS_SOFT

/* What the instruction calls: borrowed, or NULL when it is not a call or the callee is unknown. */
static PyObject *callee_of_call(const c_frame *f, int op)
{
    PyCodeObject *code = frame_code(f);
    int oparg = ip_oparg(frame_ip(f)), operands = 0, depth = 0;
    if (op == C_OP_CALL)
        operands = oparg + 2;
    else if (op == C_OP_CALL_KW)
        operands = C_KW_OPERANDS(oparg);
    else if (op == C_OP_CALL_EX)
        operands = C_EX_OPERANDS(oparg);
    if (C_FRAME_KNOWS_DEPTH)
        depth = frame_top(f) - code->co_nlocalsplus;
    else
        depth = c_stack_depth_at(code, units_into_code(f) * (int)sizeof(_Py_CODEUNIT));
    int known = frame_top(f) < 0 || frame_top(f) >= code->co_nlocalsplus + depth;
    if (operands == 0 || depth < operands || !known)
        return NULL;
    slot *base = (slot *)f->localsplus + code->co_nlocalsplus + depth - operands;
    return op == C_OP_CALL_EX ? C_EX_TARGET(base) : C_CALL_TARGET(base);
}

/* The Python frame that waits for C code, or the innermost one: the activation may be the
 * dispatcher's own, and then the frames below wait for that activation only. */
static const c_frame *frame_of_c_caller(const c_state *state)
{
    const c_frame *f = state->frame;
    while (f != NULL && !frame_is_entry(f))
        f = f->previous;
    if (f == NULL || f->previous == NULL || f->previous == state->rest)
        return state->frame;
    for (f = f->previous; f != NULL && frame_is_entry(f);)
        f = f->previous;
    return f != NULL ? f : state->frame;
}

int c_is_traced(const c_state *state)
{
    const c_frame *f = state->frame;
    return f != NULL && !frame_is_entry(f) && ip_opcode(frame_ip(f)) >= MIN_INSTRUMENTED_OPCODE;
}

int c_find_c_caller(const c_state *state, PyObject **code, int *line, PyObject **callee,
                    int *opcode)
{
    const c_frame *f = state->frame != NULL ? frame_of_c_caller(state) : NULL;
    if (f == NULL || frame_is_entry(f) || (f == state->frame && state->rest == C_BELOW))
        return 0;
    *opcode = c_plain_instruction_at(frame_code(f), units_into_code(f)).op;
    *callee = Py_XNewRef(callee_of_call(f, *opcode));
    *code = Py_NewRef((PyObject *)frame_code(f));
    *line = PyCode_Addr2Line(frame_code(f), units_into_code(f) * (int)sizeof(_Py_CODEUNIT));
    return 1;
}

#else

int c_is_traced(const c_state *state)
{
    (void)state;
    return 0;
}

int c_find_c_caller(const c_state *state, PyObject **code, int *line, PyObject **callee,
                    int *opcode)
{
    *callee = NULL;
    const c_frame *f = state->frame;
    *opcode = f != NULL ? c_plain_instruction_at(frame_code(f), units_into_code(f)).op : -1;
    return c_suspended_location(state, code, line);
}

#endif
