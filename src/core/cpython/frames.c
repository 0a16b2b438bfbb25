/* The frames of a suspended tasklet: read as records, and built from them.
 *
 * A softly suspended tasklet is a chain of frames and nothing else.  Reading walks
 * it from the innermost frame to the outermost.  Building lays the frames of plain
 * calls on the tasklet's own data stack, in the order in which the calls were made,
 * as the interpreter pops them; frames of generators stay inside their generators.
 * The chain of handled exceptions is made anew: the tasklet's own item, then that of
 * each generator on the way inwards.
 *
 * The innermost frame stands at the instruction that called us, without its
 * operands, or at a check where it was interrupted (safepoint.c); how far to step over it follows
 * from the instruction alone, and is taken from the code as CPython gives it out (no specialised or
 * traced instruction, empty inline caches).
 *
 * On the tasklet's home thread.  Building checks all before it changes anything.
 */
#include "cpython/frame_snapshot.h"
#include "cpython/safepoint.h"

static int place(const c_frame *f)
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
    PyObject *records = PyTuple_New(left);
    for (c_frame *f = state->frame; records != NULL && left-- > 0; f = f->previous) {
        int inner = f == state->frame;
        PyObject *record = inner ? c_frame_snapshot_read(f, state->depth, 0)
                                 : c_frame_snapshot_read(f, frame_top(f), frame_return_offset(f));
        if (record == NULL)
            Py_CLEAR(records);
        else
            PyTuple_SET_ITEM(records, left, record);
    }
    return records;
}

int c_generator_is_running_in(const c_state *state, PyObject *gen)
{
    for (c_frame *f = state->frame; f != NULL && !frame_is_entry(f); f = f->previous)
        if (f == generator_frame(gen))
            return 1;
    return 0;
}

/* ---- where the innermost frame goes on --------------------------------------------------- */

/* Where a tasklet that was interrupted may have been left softly: safepoint.c. */
static int is_check(int op)
{
    return op == RESUME || op == JUMP_BACKWARD;
}

/* What the call of a blocked function has on the value stack, or -1. */
static int operands_of(c_plain_instruction at)
{
#ifdef C_OP_BEFORE_WITH
    if (at.op == C_OP_BEFORE_WITH)
        return 0; /* the manager is gone, its __exit__ lies there */
#endif
    if (at.op == C_OP_CALL)
        return at.oparg + 2;
    if (at.op == C_OP_CALL_KW)
        return C_KW_OPERANDS(at.oparg);
    if (at.op == C_OP_CALL_EX)
        return C_EX_OPERANDS(at.oparg);
    return at.op == C_OP_FOR_ITER || is_check(at.op) ? 0 : -1;
}

static const char *check_inner(const c_frame_snapshot *inner, int operands)
{
    const PyCodeObject *code = inner->code;
    if (operands < 0)
        return "the innermost frame does not stand at a call";
    if (inner->slots + (operands > 0) > code->co_nlocalsplus + code->co_stacksize)
        return "the innermost frame has no room for a result";
#if C_TELLS_DEPTH
    int depth = c_stack_depth_at(inner->code, inner->ip * (int)sizeof(_Py_CODEUNIT));
    if (inner->slots != code->co_nlocalsplus + depth - operands)
        return "the place and the slots of the innermost frame do not agree";
#endif
    return NULL;
}

static const char *find_advance(const c_frame_snapshot *inner, c_state *state)
{
    c_plain_instruction at = c_plain_instruction_at(inner->code, inner->ip);
    const char *wrong = check_inner(inner, at.unit == inner->ip ? operands_of(at) : -1);
    if (wrong != NULL)
        return wrong;
    state->depth = inner->slots;
    state->advance = C_AFTER(at.op);
    state->end_advance = 0;
    if (is_check(at.op)) {
        check_ways(at.op, at.op == RESUME ? 0 : at.oparg, &state->advance, &state->end_advance);
        int target = inner->ip + state->end_advance + C_TO_NEXT;
        return target < 0 || target >= code_units(inner->code)
                   ? "the innermost frame jumps out of its code"
                   : NULL;
    }
    if (at.op != C_OP_FOR_ITER)
        return NULL;
    int end = inner->ip + 1 + C_CACHES(at.op) + at.oparg;
    if (c_plain_instruction_at(inner->code, end).op != C_OP_END_FOR ||
        inner->slots <= inner->code->co_nlocalsplus)
        return "the innermost frame does not stand at an iteration";
    state->end_advance = C_AFTER(at.op) + at.oparg + C_ITER_END_SKIPS;
    return NULL;
}

/* ---- building ----------------------------------------------------------------------------- */

#define SPARE_WORDS 24 /* for a small call on top */

/* The generator that a record belongs to, or None. */
static PyObject *owner_of(PyObject *tuple)
{
    return PyTuple_CheckExact(tuple) && PyTuple_GET_SIZE(tuple) > 0 ? PyTuple_GET_ITEM(tuple, 0)
                                                                    : Py_None;
}

static const char *check_record(PyObject *records, Py_ssize_t at, c_frame_snapshot *out)
{
    const char *wrong = c_frame_snapshot_parse(PyTuple_GET_ITEM(records, at), out);
    if (wrong == NULL)
        wrong = c_frame_snapshot_check(out);
    if (wrong == NULL && at + 1 < PyTuple_GET_SIZE(records))
        wrong = c_location_check_waiting(out, owner_of(PyTuple_GET_ITEM(records, at + 1)));
    if (wrong != NULL || out->owner == Py_None)
        return wrong;
    for (Py_ssize_t i = 0; i < at; i++)
        if (owner_of(PyTuple_GET_ITEM(records, i)) == out->owner)
            return "a generator cannot run twice";
    return c_generator_check(out->owner, out);
}

const char *c_frames_check(PyThreadState *ts, PyObject *records, size_t *size)
{
    c_frame_snapshot record;
    c_state inner;
    size_t words = SPARE_WORDS;
    Py_ssize_t count = PyTuple_CheckExact(records) ? PyTuple_GET_SIZE(records) : 0;
    if (count == 0)
        return "the frames are no tuple of frames";
    if (count >= thread_py_budget(ts))
        return "the frames are more than the recursion limit allows";
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *wrong = check_record(records, i, &record);
        if (wrong != NULL)
            return wrong;
        if (record.owner == Py_None)
            words += (size_t)code_frame_words(record.code);
    }
    *size = offsetof(_PyStackChunk, data) + (words + 1) * sizeof(PyObject *);
    return find_advance(&record, &inner);
}

static c_frame *lay_frame(c_state *state, const c_frame_snapshot *record)
{
    c_frame *f = state->top;
    PyObject *locals = record->locals != Py_None ? record->locals : NULL;
    frame_init(f, record->function, record->code, locals);
    c_frame_snapshot_fill(record, f);
    state->top = (PyObject **)f + code_frame_words(record->code);
    return f;
}

static c_frame *enter_generator(c_state *state, const c_frame_snapshot *record)
{
    PyGenObject *gen = (PyGenObject *)record->owner;
    c_generator_put(record->owner, record, FRAME_EXECUTING);
    gen->gi_exc_state.previous_item = state->exc_info;
    state->exc_info = &gen->gi_exc_state;
    return generator_frame(record->owner);
}

int c_frames_build(PyThreadState *ts, c_state *state, PyObject *records)
{
    c_frame *below = NULL;
    c_frame_snapshot record;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(records); i++) {
        c_frame_snapshot_parse(PyTuple_GET_ITEM(records, i), &record);
        c_frame *f =
            record.owner == Py_None ? lay_frame(state, &record) : enter_generator(state, &record);
        f->previous = below;
        below = f;
        state->py_left--;
    }
    state->frame = below;
    find_advance(&record, state);
    return is_check(c_plain_instruction_at(record.code, record.ip).op);
}

/* In the place of the first operand: there is one wherever the stack does not keep it anyway (an
 * iteration, a `with`). */
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

const char *c_frames_check(PyThreadState *ts, PyObject *records, size_t *size)
{
    (void)ts, (void)records, (void)size;
    return "freezing needs 3.12";
}

int c_frames_build(PyThreadState *ts, c_state *state, PyObject *records)
{
    (void)ts, (void)state, (void)records;
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

/* ---- what stands between --------------------------------------------------------------------- */

#ifdef C_HAS_SOFT

/* What the instruction calls: borrowed, or NULL when it is no call or cannot be told. */
static PyObject *callee_at(const c_frame *f, int op)
{
    PyCodeObject *code = frame_code(f);
    int oparg = ip_oparg(frame_ip(f)), operands = 0, depth = 0;
    if (op == C_OP_CALL)
        operands = oparg + 2;
    else if (op == C_OP_CALL_KW)
        operands = C_KW_OPERANDS(oparg);
    else if (op == C_OP_CALL_EX)
        operands = C_EX_OPERANDS(oparg);
    if (C_EXACT_TOP)
        depth = frame_top(f) - code->co_nlocalsplus;
    else
        depth = c_stack_depth_at(code, place(f) * (int)sizeof(_Py_CODEUNIT));
    int told = frame_top(f) < 0 || frame_top(f) >= code->co_nlocalsplus + depth;
    if (operands == 0 || depth < operands || !told)
        return NULL;
    slot *base = (slot *)f->localsplus + code->co_nlocalsplus + depth - operands;
    return op == C_OP_CALL_EX ? C_EX_TARGET(base) : C_CALL_TARGET(base);
}

/* The Python frame that waits for C, the innermost one if there is no other: the activation may
 * be the dispatcher's own, and then what is below waits for nobody but that. */
static const c_frame *frame_between(const c_state *state)
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
    const c_frame *f = state->frame != NULL ? frame_between(state) : NULL;
    if (f == NULL || frame_is_entry(f) || (f == state->frame && state->rest == C_BELOW))
        return 0;
    *opcode = c_plain_instruction_at(frame_code(f), place(f)).op;
    *callee = Py_XNewRef(callee_at(f, *opcode));
    *code = Py_NewRef((PyObject *)frame_code(f));
    *line = PyCode_Addr2Line(frame_code(f), place(f) * (int)sizeof(_Py_CODEUNIT));
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
    *opcode = f != NULL ? c_plain_instruction_at(frame_code(f), place(f)).op : -1;
    return c_suspended_location(state, code, line);
}

#endif
