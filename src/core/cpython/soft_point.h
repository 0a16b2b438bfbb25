/* How a call was made that blocks, and what the rules have found out about it. */
#ifndef LOOMLET_SOFT_POINT_H
#define LOOMLET_SOFT_POINT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct _PyInterpreterFrame;
typedef struct _PyInterpreterFrame c_frame;

/* How a blocking C function was called: what the call's operands must look like.  C_SAFEPOINT: not
 * by Python code, but by the eval loop at a safepoint (c_interrupt); only `args` is used, for the
 * `at` of the interrupt request. */
enum { C_CALL, C_ITER, C_WITH, C_SAFEPOINT };
typedef struct {
    PyObject *self;
    PyObject *const *args; /* as handed to a METH_FASTCALL function, else NULL */
    Py_ssize_t nargs;      /* with the keyword values */
    void *function;        /* the address of the called C function */
    int kind;
} c_call_site;

#define C_MAX_SPLICES 16

/* What the C code of method(*args, **kwargs) owns (star_call.c): references in a block of memory,
 * and a tuple of names.  Both are NULL without keywords. */
typedef struct {
    PyObject **block, *names;
    Py_ssize_t count;
} c_star_call;

/* Two activations with C code between them that can be given up (splice.c). */
typedef struct {
    c_frame *upper, *lower;
    int top, offset, advance;
    int count;
    PyObject *owned[3];     /* references that the C code owned, to be dropped */
    PyObject *made;         /* one that it owned, to be kept in slot `spare` */
    void *spare, *borrowed; /* slots; `borrowed` holds a borrowed reference and must be emptied */
    c_star_call call;
} c_splice_plan;

/* A suspension point that has passed every rule of soft_rules.c. */
typedef struct {
    c_frame *bottom;
    int depth, top, advance, end_advance;
    PyObject *enter, *exit; /* C_WITH: what the instruction holds in C, else NULL */
    int splices;
    c_splice_plan splice[C_MAX_SPLICES];
} c_soft_point;

#endif
