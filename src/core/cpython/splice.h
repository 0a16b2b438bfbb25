/* What soft_rules.c and resume.c must know of splice.c. */
#ifndef LOOMLET_SPLICE_H
#define LOOMLET_SPLICE_H

#include "cpython/layout.h"

/* Joins `upper`, the first frame of an activation, to `lower`, whose instruction entered
 * it through C: fills out->splice, without effect.  C_SOFT or C_NESTED. */
int c_splice(PyThreadState *ts, c_frame *upper, c_frame *lower, c_soft_point *out);
/* Gives up the C code between the two frames of out->splice[i]. */
void c_splice_join(const c_soft_point *point, int i);

/* A frame that waits through a splice of any kind but FOR_ITER has this and more in its
 * return_offset; the interpreter itself writes as much only for the end of a generator in
 * a gigantic loop, which c_splice_is_waiting tells apart. */
#define C_SPLICED 0xF000
int c_splice_is_waiting(const c_frame *f, const PyGenObject *gen);
/* Whether a frame of `code` may wait so at the plain instruction `op` with `depth` operands and
 * what lies below them; `generator`: for one. */
int c_splice_is_valid(PyCodeObject *code, int op, int arg, int offset, int depth, int generator);
/* Finishes the instruction of `f` with what its callee left: a value (stolen), or NULL with
 * the exception set.  1: go on; 0: throw. */
int c_splice_finish(c_frame *f, PyObject *result, int yielded);

/* What CPython keeps to itself, found at import (splice_facts.c). */
typedef struct {
    PyObject *next;        /* the builtin */
    PyTypeObject *partial; /* functools.partial */
    void *send, *awaited_send;
    /* Its slot functions for hooks written in Python. */
    getattrofunc attribute, fallback;
    binaryfunc item;
    initproc init;
    /* Where objects keep things. */
    Py_ssize_t getter, partial_func, partial_args, partial_keywords;
    PyObject *name_getattr, *name_getattribute, *name_getitem, *name_init, *name_del;
} c_splice_facts;
extern c_splice_facts c_facts;

/* The words of the C stack from the activation of `upper` to that of `lower`. */
typedef struct {
    void *const *at;
    size_t count;
} c_stack_words;
c_stack_words c_stack_words_between(const c_frame *upper, const c_frame *lower);
/* The new object and the tuple of arguments, borrowed from the C code of Class(...): 0 when
 * the words do not look like those of such a call, with `func` for its __init__.  `tuple` is
 * NULL when the call has no arguments: an immortal tuple stands for them. */
int c_find_new_object(c_stack_words words, PyObject *func, PyObject **object, PyObject **tuple);

/* For functions that read them. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define C_READS_STACK __attribute__((no_sanitize("address")))
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define C_READS_STACK __attribute__((no_sanitize_address))
#endif
#ifndef C_READS_STACK
#define C_READS_STACK
#endif

/* Code units that a FOR_ITER jumps over when its iteration ends, -1 if unknown (soft_rules.c). */
int c_for_iter_jump(PyCodeObject *code, const _Py_CODEUNIT *ip);
/* How CPython itself calls a Python function; NULL without memory (resume.c). */
vectorcallfunc c_function_vectorcall(void);

#endif
