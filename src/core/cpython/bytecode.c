/* Reading the bytecode that runs: arguments of instructions that may need more than one unit.
 *
 * A large argument has EXTENDED_ARG in front of its instruction.  But the unit before an
 * instruction may also be an inline cache that looks like EXTENDED_ARG, and tracing may hide what
 * is there.  So no unit before an instruction is trusted: a FOR_ITER has another way to confirm its
 * argument, and for a JUMP_BACKWARD the code is read from its beginning.
 */
#include "cpython/bytecode.h"

#ifdef C_HAS_SOFT

/* The jump of a FOR_ITER is its argument, or 256 times that of an EXTENDED_ARG in front of it and
 * its argument.  Both are tried; the right one lands on END_FOR.  If both do, the jump is unknown,
 * and also if tracing hides what is in front. */
int c_for_iter_jump(PyCodeObject *code, const _Py_CODEUNIT *ip)
{
    const _Py_CODEUNIT *end = ip + 1 + C_CACHES(C_OP_FOR_ITER);
    int room = (_PyCode_NBYTES(code) - code_offset(code, end)) / (int)sizeof(*ip);
    int jump = ip_oparg(ip), found = -1;
    if (jump < room && ip_opcode(end + jump) == C_OP_END_FOR)
        found = jump;
    if (code_offset(code, ip) < 2 * (int)sizeof(*ip))
        return found;
    if (ip_opcode(ip - 1) != EXTENDED_ARG)
        return ip_opcode(ip - 1) < MIN_INSTRUMENTED_OPCODE ? found : -1;
    if (ip_opcode(ip - 2) == EXTENDED_ARG)
        return -1;
    jump |= ip_oparg(ip - 1) << 8;
    if (jump < room && ip_opcode(end + jump) == C_OP_END_FOR)
        return found < 0 ? jump : -1;
    return found;
}

/* The whole argument of the instruction at `ip`, read from the beginning of the code, or -1. */
static int read_whole_oparg(PyCodeObject *code, const _Py_CODEUNIT *ip)
{
    const _Py_CODEUNIT *at = _PyCode_CODE(code);
    unsigned above = 0;
    while (at < ip) {
        int op = ip_opcode(at);
        if (op >= MIN_INSTRUMENTED_OPCODE || op == C_OP_COMPILED)
            return -1;
        above = op == EXTENDED_ARG ? above << 8 | (unsigned)ip_oparg(at) : 0;
        at += 1 + C_CACHES(op);
    }
    return at == ip && above < 1 << 16 ? (int)(above << 8) | ip_oparg(ip) : -1;
}

int c_backward_jump(PyCodeObject *code, const _Py_CODEUNIT *ip, int op)
{
    if (op == RESUME)
        return 0;
    int before = ip > _PyCode_CODE(code) ? ip_opcode(ip - 1) : NOP;
    if (before != EXTENDED_ARG && before < MIN_INSTRUMENTED_OPCODE)
        return ip_oparg(ip);
    return read_whole_oparg(code, ip);
}

#endif
