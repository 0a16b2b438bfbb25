/* Reading the bytecode that runs: arguments of instructions that may need more than one unit. */
#ifndef LOOMLET_BYTECODE_H
#define LOOMLET_BYTECODE_H

#include "cpython/layout.h"

static inline int code_offset(PyCodeObject *code, const _Py_CODEUNIT *ip)
{
    return (int)((const char *)ip - (const char *)_PyCode_CODE(code));
}

static inline int code_units(PyCodeObject *code)
{
    return (int)(_PyCode_NBYTES(code) / (Py_ssize_t)sizeof(_Py_CODEUNIT));
}

#ifdef C_HAS_SOFT
/* Code units that the FOR_ITER at `ip` jumps over when its iteration ends, -1 if unknown. */
int c_for_iter_jump(PyCodeObject *code, const _Py_CODEUNIT *ip);
/* How far the instruction `op` at `ip`, a JUMP_BACKWARD or RESUME, jumps back: 0 for RESUME, -1 if
 * unknown. */
int c_backward_jump(PyCodeObject *code, const _Py_CODEUNIT *ip, int op);
#endif

#endif
