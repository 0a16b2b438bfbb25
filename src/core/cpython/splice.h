/* What soft_rules.c and resume.c must know of splice.c. */
#ifndef LOOMLET_SPLICE_H
#define LOOMLET_SPLICE_H

#include "cpython/layout.h"

/* What the instruction of a waiting frame is. */
enum {
    C_KIND_NEXT = 1,
    C_KIND_SEND,
    C_KIND_ITEM,
    C_KIND_ATTR,
    C_KIND_METHOD,
    C_KIND_CALL,
    C_KIND_INIT,
    C_KIND_STAR,
    C_KIND_RUN,
    C_KIND_ENTER,  /* `with`: __enter__ */
    C_KIND_EXCEPT, /* and __exit__, with the exception of the block */
    C_KIND_STEP
};

/* Plans to join `upper`, the first frame of an activation, to `lower`, whose instruction entered
 * that activation through C: fills out->splice and has no other effect.  C_SOFT or C_NESTED. */
int c_splice(PyThreadState *ts, c_frame *upper, c_frame *lower, c_soft_point *out);
/* Gives up the C code between the two frames of out->splice[i]. */
void c_splice_join(const c_soft_point *point, int i);

/* context.run(function, ...) or such a bound `run`: the context, or NULL. */
PyObject *c_context_of_run(PyObject *callable, PyObject *self);

/* A frame that waits through a splice of any kind but FOR_ITER has at least this number in its
 * return_offset; the interpreter itself writes such a large one only for the end of a generator in
 * a gigantic loop, which c_splice_is_waiting distinguishes. */
#define C_SPLICED 0xF000
int c_splice_is_waiting(const c_frame *f, const PyGenObject *gen);
/* Whether it waits in context.run(). */
int c_splice_is_in_context(const c_frame *f);
/* Whether a frame of `code` may wait so at the plain instruction `op` with a value stack of
 * `depth`; `generator`: it waits for a generator. */
int c_splice_is_valid(PyCodeObject *code, int op, int arg, int offset, int depth, int generator);
/* Finishes the instruction of `f` with the result of its callee: a value (stolen), or NULL with the
 * exception set.  1: resume; 0: throw. */
int c_splice_finish(c_frame *f, PyObject *result, int yielded);

/* Facts about the interpreter that CPython does not export, found at import (splice_facts.c). */
typedef struct {
    PyObject *next;                  /* the builtin */
    PyTypeObject *partial;           /* functools.partial */
    void *send, *awaited_send, *run; /* of generators, coroutines and contexts */
    /* The slot functions for hooks written in Python. */
    getattrofunc attribute, fallback;
    binaryfunc item;
    initproc init;
    ternaryfunc call;
    /* Offsets of fields. */
    Py_ssize_t getter, partial_func, partial_args, partial_keywords;
    PyObject *name_getattr, *name_getattribute, *name_getitem, *name_init, *name_call, *name_del;
} c_splice_facts;
extern c_splice_facts c_facts;

/* The words of the C stack from the activation of `upper` to that of `lower`. */
typedef struct {
    void *const *at;
    size_t count;
} c_stack_words;
c_stack_words c_stack_words_between(const c_frame *upper, const c_frame *lower);

/* Where one chain of C functions keeps what it uses (stack_layout.c). */
#define C_LAYOUT_KINDS 6
#define C_LAYOUT_OFFSETS 16
typedef struct {
    size_t words; /* between the activations; 0: not known */
    size_t offset[C_LAYOUT_KINDS][C_LAYOUT_OFFSETS];
    int offsets[C_LAYOUT_KINDS], probes;
} c_stack_layout;
/* In each probe: the object of that kind is looked for, and then the probe is complete. */
void c_layout_note(c_stack_layout *layout, c_stack_words words, int kind, const void *object);
void c_layout_end_probe(c_stack_layout *layout, c_stack_words words);
/* The object of that kind in a later call, NULL: not there. */
void *c_layout_read(const c_stack_layout *layout, c_stack_words words, int kind);
/* Bytes at this distance from an address. */
typedef struct {
    const void *bytes;
    size_t size, offset;
    const void *besides; /* an address that is not meant, or NULL */
} c_memory_part;
#define C_MOST_BYTES (8 * sizeof(void *))
/* In each probe, as c_layout_note: the address at which these bytes are found, anywhere on the
 * stack in the first probe, later where it was. */
void c_layout_note_memory(c_stack_layout *layout, c_stack_words words, int kind,
                          const c_memory_part *wanted);
/* Overwrites what calls have left on the stack below. */
void c_stack_overwrite(void);
/* In a function that the program of a probe calls: the frame that called it, first of its
 * activation, and the words below that.  0: this is another call. */
int c_probe_find(c_frame **upper, c_stack_words *words);
/* The globals of a program that makes probes, with `probe` and with wipe(); NULL: an exception. */
PyObject *c_probe_begin(PyMethodDef *probe, const char *program);

/* Finds the new object and the tuple of arguments, borrowed from the C code of Class(...): 0 when
 * the words do not look like those of such a call, with `func` as its __init__.  `tuple` is NULL
 * when the call has no arguments: then the tuple is immortal. */
int c_find_new_object(c_stack_words words, PyObject *func, PyObject **object, PyObject **tuple);

/* object(...), with __call__ written in Python: instance_call.c.  Whether the words look like those
 * of such a call, with `func` as its __call__.  *tuple: the arguments, owned by the C code; without
 * any, the empty tuple, which nobody owns. */
int c_instance_call_init(void);
int c_instance_call_find(c_stack_words words, PyObject *func, PyObject **tuple);

/* method(*args, **kwargs): star_call.c. */
int c_star_call_init(void);
/* Whether such a call is in progress: with the method's arguments, which may be no live objects if
 * it is not. */
int c_star_call_find(c_stack_words words, PyObject *args, PyObject *kwargs, c_star_call *found);
void c_star_call_release(const c_star_call *call);

/* Class(..., name=value) and object(..., name=value): keyword_call.c.  `func` is its __init__ or
 * __call__; `object` is NULL for a class.  In `args` `given` positional arguments and one for each
 * of the names. */
typedef struct {
    PyObject *func, *object, *names;
    const slot *args;
    Py_ssize_t given;
} c_keyword_query;
/* What the C code owns beside the function; of an object that is called, not the object. */
typedef struct {
    PyObject *object, *tuple, *dict;
    c_star_call array;
} c_keyword_call;
int c_keyword_call_init(void);
int c_keyword_call_find(c_stack_words words, const c_keyword_query *wanted, c_keyword_call *found);

/* `with manager:` on 3.12 and 3.13 (with_call.c). */
int c_with_call_init(void);
/* Whether BEFORE_WITH calls `func` as the bound __enter__ of `manager`: with both bound methods,
 * which the C code owns. */
int c_with_enter_find(c_stack_words words, PyObject *manager, PyObject *func, PyObject **enter,
                      PyObject **exit);
/* The bound __exit__ of `manager` that CALL calls as `func`, or NULL. */
PyObject *c_with_exit_find(c_stack_words words, PyObject *manager, PyObject *func);

/* For functions that read words of the C stack. */
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

#endif
