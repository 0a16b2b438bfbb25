/* Can a frame resume at the location that its snapshot names?
 *
 * A frame below the innermost one waits at an instruction that runs another frame.  How far it
 * advances when that frame returns follows from the instruction: over it, or to where its loop or
 * its delegation ends.  There the value stack holds one value more than while it waits, and its
 * depth is static (stack_depth.c), so the number of the frame's slots follows as well.  Loops and
 * delegations run generators, and the one that runs lies on top of the stack; all other
 * instructions run functions.  A frame that waits through a splice stands at the instruction with
 * all operands (splice.c).
 *
 * A suspended generator stands after its `yield`, or after the instruction that made it, and
 * resumes there with the value that is sent: one more, too.  Whether it delegates follows from its
 * state and from the RESUME after the `yield`, and both must agree, because if it does the
 * interpreter takes what lies on top for an object.
 *
 * Where the depth is unknown (generators on 3.11) it is not compared.  The instructions are read
 * from the bytecode that PyCode_GetCode returns.
 */
#include "cpython/frame_snapshot.h"
#include "cpython/splice.h"

/* A new bytes object, or NULL: without memory, and for the frame under __init__, whose code is a
 * constant for which PyCode_GetCode does not work. */
static PyObject *plain_bytecode(PyCodeObject *code)
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
    PyObject *bytes = plain_bytecode(code);
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

/* Whether the frame can resume at `unit` with one value more. */
static int can_resume_at(const c_frame_snapshot *snapshot, int unit)
{
    PyCodeObject *code = snapshot->code;
    int depth = snapshot->slots - code->co_nlocalsplus + 1;
    if (unit < 0 || unit >= code_units(code) || depth < 1 || depth > code->co_stacksize)
        return 0;
    return !C_COMPUTES_DEPTH || c_stack_depth_at(code, unit * (int)sizeof(_Py_CODEUNIT)) == depth;
}

/* ---- suspended generators ----------------------------------------------------------------- */

/* The argument of a RESUME: what it stands after. */
enum { AFTER_START, AFTER_YIELD, AFTER_YIELD_FROM, AFTER_AWAIT };

static int stands_at_yield(const c_frame_snapshot *snapshot, int next, int state)
{
    c_plain_instruction next_one = c_plain_instruction_at(snapshot->code, next);
    int after = next_one.oparg & 3;
    if (next_one.op != RESUME || after == AFTER_START)
        return 0;
    return after == AFTER_YIELD ? state == FRAME_SUSPENDED
                                : state == C_DELEGATING && c_frame_snapshot_top(snapshot) != NULL;
}

const char *c_location_check_generator(const c_frame_snapshot *snapshot, int state)
{
    int next = snapshot->ip + C_IP_TO_NEXT;
    c_plain_instruction in_front = c_plain_instruction_at(snapshot->code, next - 1);
    int agrees = in_front.op == RETURN_GENERATOR ? state == FRAME_CREATED
                 : in_front.op == YIELD_VALUE    ? stands_at_yield(snapshot, next, state)
                                                 : 0;
    return agrees && in_front.unit == next - 1 && snapshot->offset == 0 &&
                   can_resume_at(snapshot, next)
               ? NULL
               : "a generator is not suspended where its snapshot says";
}

/* ---- waiting frames ----------------------------------------------------------------------- */

#ifdef C_HAS_SOFT

/* The frame under __init__: as the interpreter makes it, with the new object. */
static int is_valid_init_shim(const c_frame_snapshot *snapshot)
{
    return !PyFunction_Check(snapshot->function) && snapshot->ip == 0 && snapshot->offset == 0 &&
           snapshot->slots == 1 && c_frame_snapshot_top(snapshot) != NULL;
}

static int is_valid_splice(const c_frame_snapshot *snapshot, c_plain_instruction at, int generator)
{
    PyCodeObject *code = snapshot->code;
    int depth = snapshot->slots - code->co_nlocalsplus;
    if (snapshot->offset < C_SPLICED || at.unit != snapshot->ip)
        return 0;
    if (C_COMPUTES_DEPTH && c_stack_depth_at(code, at.unit * (int)sizeof(_Py_CODEUNIT)) != depth)
        return 0;
    return c_splice_is_valid(code, at.op, at.oparg, snapshot->offset, depth, generator);
}

/* How far the instruction jumps when the frame above returns; -1 if it runs no such frame. */
static int jump_after_callee(c_plain_instruction at, int generator)
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

const char *c_location_check_waiting(const c_frame_snapshot *snapshot, PyObject *generator)
{
    if (snapshot->code == c_shim_code())
        return is_valid_init_shim(snapshot) ? NULL : "the frame under __init__ is not as expected";
    c_plain_instruction at = c_plain_instruction_at(snapshot->code, snapshot->ip);
    if (is_valid_splice(snapshot, at, generator != Py_None))
        return NULL;
    int jump = at.op < 0 ? -1 : jump_after_callee(at, generator != Py_None);
    if (jump < 0 || (generator != Py_None && c_frame_snapshot_top(snapshot) != generator))
        return "a frame is not suspended where its snapshot says";
    int advance = C_STEP_OVER(at.op) - C_WAIT_ADVANCE(at.op) + jump;
    return snapshot->ip == at.unit + C_WAIT_ADVANCE(at.op) &&
                   snapshot->offset == (advance & UINT16_MAX) &&
                   can_resume_at(snapshot, snapshot->ip + advance + C_IP_TO_NEXT)
               ? NULL
               : "the location and the slots of a frame do not agree";
}

#endif
