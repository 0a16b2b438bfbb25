/* Can a frame go on where its record says that it stands?
 *
 * A frame below the innermost one waits at an instruction that runs another frame.
 * How far it goes when that one returns follows from the instruction: over it, or
 * where its loop or its delegation ends.  There lies one value more than while it
 * waits, and the depth of the value stack is static (stack_depth.c), so the number of its
 * slots follows as well.  Loops and delegations run generators, and the one that
 * runs lies on top of the stack; all others run functions.  A frame that waits
 * through a splice stands at the instruction with all operands (splice.c).
 *
 * A generator at rest stands behind its `yield`, or behind the instruction that
 * made it, and goes on there with the value that is sent: one more, too.  Whether
 * it delegates is told by its state or by the RESUME behind the `yield`, and both
 * must say the same, because then what lies on top is taken for an object.
 *
 * Where the depth cannot be told (generators on 3.11) it is not compared.
 * The instructions are taken from the code as CPython gives it out.
 */
#include "cpython/frame_snapshot.h"
#include "cpython/splice.h"

/* New bytes, or NULL: without memory, and of the frame under __init__, whose code is a constant
 * that CPython cannot give out. */
static PyObject *plain_bytes(PyCodeObject *code)
{
    if (code == c_shim_code())
        return NULL;
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *bytes = PyCode_GetCode(code);
    PyErr_SetRaisedException(raised);
    return bytes;
}

c_plain_instruction c_plain_instruction_at(PyCodeObject *code, int unit)
{
    PyObject *bytes = plain_bytes(code);
    c_plain_instruction found = {-1, -1, 0};
    if (bytes != NULL && unit >= 0 && 2 * unit < PyBytes_GET_SIZE(bytes)) {
        const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(bytes) + 2 * unit;
        for (; unit > 0 && at[0] == CACHE; at -= 2)
            unit--;
        found = (c_plain_instruction){unit, at[0], at[1]};
        for (int i = 1; i <= unit && i <= 2 && at[-2 * i] == EXTENDED_ARG; i++)
            found.oparg |= at[1 - 2 * i] << (8 * i);
    }
    Py_XDECREF(bytes);
    return found;
}

/* Whether the frame can go on at `unit` with one value more. */
static int fits(const c_frame_snapshot *record, int unit)
{
    PyCodeObject *code = record->code;
    int depth = record->slots - code->co_nlocalsplus + 1;
    if (unit < 0 || unit >= code_units(code) || depth < 1 || depth > code->co_stacksize)
        return 0;
    return !C_TELLS_DEPTH || c_stack_depth_at(code, unit * (int)sizeof(_Py_CODEUNIT)) == depth;
}

/* ---- generators at rest ------------------------------------------------------------------ */

/* What the RESUME behind a `yield` says: a plain one, or one that delegates. */
enum { AFTER_START, AFTER_YIELD, AFTER_YIELD_FROM, AFTER_AWAIT };

static int is_at_yield(const c_frame_snapshot *record, int next, int state)
{
    c_plain_instruction behind = c_plain_instruction_at(record->code, next);
    int after = behind.oparg & 3;
    if (behind.op != RESUME || after == AFTER_START)
        return 0;
    return after == AFTER_YIELD ? state == FRAME_SUSPENDED
                                : state == C_DELEGATING && c_frame_snapshot_top(record) != NULL;
}

const char *c_location_check_generator(const c_frame_snapshot *record, int state)
{
    int next = record->ip + C_TO_NEXT;
    c_plain_instruction in_front = c_plain_instruction_at(record->code, next - 1);
    int told = in_front.op == RETURN_GENERATOR ? state == FRAME_CREATED
               : in_front.op == YIELD_VALUE    ? is_at_yield(record, next, state)
                                               : 0;
    return told && in_front.unit == next - 1 && record->offset == 0 && fits(record, next)
               ? NULL
               : "a generator does not rest where its record says";
}

/* ---- callers ------------------------------------------------------------------------------ */

#ifdef C_HAS_SOFT

/* The frame under __init__: as the interpreter makes it, with the new object. */
static int is_shim(const c_frame_snapshot *record)
{
    return !PyFunction_Check(record->function) && record->ip == 0 && record->offset == 0 &&
           record->slots == 1 && c_frame_snapshot_top(record) != NULL;
}

static int is_spliced(const c_frame_snapshot *record, c_plain_instruction at, int generator)
{
    PyCodeObject *code = record->code;
    int depth = record->slots - code->co_nlocalsplus;
    if (record->offset < C_SPLICED || at.unit != record->ip)
        return 0;
    if (C_TELLS_DEPTH && c_stack_depth_at(code, at.unit * (int)sizeof(_Py_CODEUNIT)) != depth)
        return 0;
    return c_splice_is_valid(code, at.op, at.oparg, record->offset, depth, generator);
}

/* How far the instruction jumps when the frame above returns, or -1: it runs none such. */
static int jump_of(c_plain_instruction at, int generator)
{
    if (at.op == FOR_ITER || at.op == SEND)
        return generator ? at.oparg : -1;
    if (generator)
        return -1;
    return at.op == C_OP_CALL || at.op == C_OP_CALL_KW || at.op == C_OP_CALL_EX ||
                   at.op == LOAD_ATTR || C_PLAIN_SUBSCRIPT(at.op, at.oparg)
               ? 0
               : -1;
}

const char *c_location_check_waiting(const c_frame_snapshot *record, PyObject *generator)
{
    if (record->code == c_shim_code())
        return is_shim(record) ? NULL : "the frame under __init__ is none";
    c_plain_instruction at = c_plain_instruction_at(record->code, record->ip);
    if (is_spliced(record, at, generator != Py_None))
        return NULL;
    int jump = at.op < 0 ? -1 : jump_of(at, generator != Py_None);
    if (jump < 0 || (generator != Py_None && c_frame_snapshot_top(record) != generator))
        return "a frame does not wait where its record says";
    int advance = C_AFTER(at.op) - C_WAIT_ADVANCE(at.op) + jump;
    return record->ip == at.unit + C_WAIT_ADVANCE(at.op) &&
                   record->offset == (advance & UINT16_MAX) &&
                   fits(record, record->ip + advance + C_TO_NEXT)
               ? NULL
               : "the place and the slots of a frame do not agree";
}

#endif
