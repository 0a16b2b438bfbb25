/* The room of CPython's internals: the contract.
 *
 * Everything that depends on how CPython lays out frames, thread states and
 * code stands behind these functions; no other folder includes an internal
 * header or tests a version.  README.md lists each internal field that is
 * touched and why.  One file per minor version (py311.h ... py314.h) says where
 * a field lives; the rules of switching are written once, in soft_rules.c (may this
 * call be suspended softly?), resume.c (how it goes on), tasklet_state.c (what belongs
 * to a tasklet), visit.c (what the collector sees).
 *
 * Two kinds of suspension:
 *   soft  The call came straight from the interpreter loop, whose C frame holds
 *         nothing worth keeping.  The Python frames are all there is; the C
 *         stack is abandoned and used by the next tasklet.
 *   hard  Some C frame in between must be kept: the tasklet keeps the C stack.
 *
 * All functions want an attached thread state (the GIL where there is one) and
 * run on the thread that owns the tasklet, unless said otherwise.
 */
#ifndef LOOMLET_CPYTHON_H
#define LOOMLET_CPYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "plat/plat.h"

#if PY_VERSION_HEX < 0x030C0000
/* 3.11 lacks the calls that take and set one exception object. */
PyObject *PyErr_GetRaisedException(void);
void PyErr_SetRaisedException(PyObject *exception);
#endif

struct _PyInterpreterFrame;
typedef struct _PyInterpreterFrame c_frame;

/* The part of PyThreadState that belongs to one tasklet, and its frames.
 *
 * `frame` is the innermost frame while suspended.  While running, `bottom` is
 * the outermost frame of the interpreter activation that runs it and `rest` the
 * frames below that activation: they wait for it to return and are then fed by
 * c_resume.  `rest` is C_BELOW while the tasklet was entered through a callable
 * that is not a Python function: then it is never soft. */
typedef struct {
    c_frame *frame;
    c_frame *rest;
    void *chunk, *top, *limit; /* the data stack */
    void *root;                /* its first chunk: ours, given to c_state_init */
    void *exc_info;            /* innermost handled exception */
    struct {
        PyObject *value;
        void *previous;
    } exc_root; /* laid out as _PyErr_StackItem */
    PyObject *context;
    void *cframe; /* 3.11, 3.12: the _PyCFrame of the C stack */
    int py_left, c_left;
    int depth;  /* of the value stack without the call's operands */
    int hushed; /* the collector does not close the generators on it */
    int advance,
        end_advance; /* code units to step over when the call returns, or an iteration ends;
                      * of one left at a check: when an exception is thrown in, or it goes on */
} c_state;

/* How a blocking C function was called: what the call's operands must look like.  C_SAFEPOINT: not
 * by Python code, but by a check of the interpreter loop (c_interrupt); only `args` is used, for
 * the breaker's `at`. */
enum { C_CALL, C_ITER, C_WITH, C_SAFEPOINT };
typedef struct {
    PyObject *self;
    PyObject *const *args; /* as handed to a METH_FASTCALL function, else NULL */
    Py_ssize_t nargs;      /* with the keyword values */
    void *function;        /* the address of the C function that was called */
    int kind;
} c_call_site;

#define C_MAX_SPLICES 16

/* Two activations with C between them that can be given up (splice.c). */
typedef struct {
    c_frame *upper, *lower;
    int top, offset, advance;
    int count;
    PyObject *owned[2];     /* what the C code owned */
    PyObject *made;         /* the same, to be kept in slot `spare` */
    void *spare, *borrowed; /* slots; `borrowed` holds what another owns, to be emptied */
} c_splice_plan;

/* A suspension point that passed every rule of soft_rules.c. */
typedef struct {
    c_frame *bottom;
    int depth, top, advance, end_advance;
    PyObject *enter, *exit; /* C_WITH: what the instruction holds in C, else NULL */
    int splices;
    c_splice_plan splice[C_MAX_SPLICES];
} c_soft_point;

/* What a hard suspension keeps on its own C stack. */
typedef struct {
    uintptr_t sections;
    int tracing, event, nesting;
    void *executor;
    int top;
} c_hard_state;

/* Why a call is not soft; 0 = it is.  Names for statistics: c_hard_reason(). */
enum {
    C_SOFT,
    C_NEVER,            /* this interpreter has no soft switching */
    C_MAIN,             /* the thread's own flow of control keeps the thread's stack */
    C_FROM_C,           /* the core itself switches: a kill at the end, a finalizer */
    C_NO_FRAME,         /* no Python frame called us */
    C_OPCODE,           /* not called by an instruction that we can finish (or a traced one) */
    C_OPERANDS,         /* the instruction calls something else: C is in between */
    C_UNKNOWN_DEPTH,    /* the depth of the value stack is not known */
    C_NESTED,           /* C between two interpreter activations */
    C_CRITICAL_SECTION, /* free-threaded: a critical section is open */
    C_DEALLOC,          /* inside a deallocation or a trace function */
    C_EVENT_LOOP,       /* an event loop of asyncio runs in it */
    C_COPIED_OPERANDS,  /* the interpreter copied the operands; abandoning would leak them */
    C_HARD_REASON_COUNT
};
const char *c_hard_reason(int why);

/* ---- thread states (tasklet_state.c) --------------------------------------------- */

PyThreadState *c_thread_state(void);
/* Makes `state` that of a tasklet not yet started, with its first frame chunk. */
void c_state_init(PyThreadState *ts, c_state *state, void *chunk, size_t size);
/* For the main tasklet, which keeps the thread's own C stack. */
void c_state_never_soft(c_state *state);
void c_state_save(PyThreadState *ts, c_state *state);
void c_state_load(PyThreadState *ts, const c_state *state);
/* Frees what the state owns after the end of its tasklet, but for the root chunk. */
void c_state_clear(c_state *state);
/* A suspended one goes on here soon: its innermost frame is brought to this core's cache. */
void c_state_prefetch(const c_state *state);
/* 1 when the tasklet outgrew its first chunk. */
int c_state_grew(const c_state *state);
/* 1 when little or nothing is left of the running tasklet's first chunk: the
 * interpreter then calls through C what it would else inline (an __init__, a property). */
int c_chunk_nearly_full(PyThreadState *ts, const c_state *state);
/* Bytes of its first chunk. */
size_t c_chunk_size(const c_state *state);
/* A copy of the running context for a new tasklet, NULL for an empty one (made when needed). */
PyObject *c_context_copy(PyThreadState *ts);
/* The running context, made if there is none yet: borrowed, NULL with an exception. */
PyObject *c_context(PyThreadState *ts);
/* Bytes of the first chunk for a call of `callable` (a frame and a small call on top). */
size_t c_chunk_size_for(PyObject *callable);
/* Address that stands for the code of `callable` in statistics, or NULL. */
const void *c_code_key(PyObject *callable);
/* The qualified name of a Python function: borrowed; NULL for other callables. */
PyObject *c_function_name(PyObject *callable);

/* C stack bookkeeping: limits of a new stack, of the thread's own, and making one current. */
void c_stack_limits_init(PyThreadState *ts, p_stack *stack);
void c_stack_limits_of_thread(PyThreadState *ts, p_stack *stack);
void c_stack_limits_use(PyThreadState *ts, const p_stack *stack);
/* At the base of a stack, before anything runs on it; `cell` is 4 words on that stack. */
void c_stack_base_init(PyThreadState *ts, void **cell);
void c_stack_base_enter(PyThreadState *ts, void **cell);

/* ---- names --------------------------------------------------------------- */

/* An interned name, made at its first use and kept in *kept; borrowed, NULL with an exception.
 * PyObject_GetAttrString makes a new string each time, and the type cache of CPython keeps it. */
static inline PyObject *c_interned_name(PyObject **kept, const char *text)
{
    PyObject *name = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
    if (name == NULL && (name = PyUnicode_InternFromString(text)) != NULL)
        __atomic_store_n(kept, name, __ATOMIC_RELEASE);
    return name;
}

/* The attribute of that name: a new reference, or NULL with an exception. */
static inline PyObject *c_get_attribute(PyObject *object, PyObject **kept, const char *text)
{
    PyObject *name = c_interned_name(kept, text);
    return name != NULL ? PyObject_GetAttr(object, name) : NULL;
}

/* ---- soft (soft_rules.c, resume.c) ---------------------------------------------- */

/* Tells whether the current call may be suspended softly, and fills `point`.
 * Without effect.  point->top is -1 when the stack depth is unknown. */
int c_soft_point_find(PyThreadState *ts, const c_state *state, const c_call_site *site,
                      c_soft_point *point);
/* Both at once for the common kind of call: 1 when it was suspended; 0 says nothing. */
int c_suspend_call(PyThreadState *ts, c_state *state, const c_call_site *site);
/* Saves the state and makes the frames independent of the C stack. */
void c_suspend(PyThreadState *ts, c_state *state, const c_soft_point *point);
/* A call to be made, of references of its own: args are the positional ones, then the keyword
 * values; kwnames may be NULL. */
typedef struct {
    PyObject *func, *args, *kwnames;
} c_call;

/* Opens bound methods, functools.partial objects and the like, so that a Python function is called
 * where there is one behind them.  0, or -1 with an exception set; the call is good either way. */
int c_unwrap_slow(c_call *call);
static inline int c_unwrap(c_call *call)
{
    return PyFunction_Check(call->func) ? 0 : c_unwrap_slow(call);
}

/* Calls `func` as the first thing of a tasklet; args are the positional ones, then the keyword
 * values. */
PyObject *c_start(PyThreadState *ts, c_state *state, PyObject *func, PyObject *args,
                  PyObject *kwnames);
/* Goes on with a softly suspended tasklet till its function returns.  Steals
 * both: value is what the call returns; error is raised there instead; neither
 * ends the iteration of a `for`. */
PyObject *c_resume(PyThreadState *ts, c_state *state, PyObject *value, PyObject *error);
/* The same for one that was suspended at a check (C_SAFEPOINT): nothing waits for a value. */
PyObject *c_resume_at_safepoint(PyThreadState *ts, c_state *state, PyObject *error);
/* Destroys the frames of a softly suspended tasklet; no `finally` runs. */
void c_drop_frames(PyThreadState *ts, c_state *state);

/* ---- `with` (with_statement.c) ---------------------------------------------------------- */

/* Gives a type its __enter__ and __exit__, so that a `with` that has to wait can be
 * soft.  enter(self, site) returns a new reference or NULL; exit(self) too.  The
 * type must be ready; `methods` lives for ever. */
typedef struct {
    PyObject *(*enter)(PyObject *self, const c_call_site *site);
    PyObject *(*exit)(PyObject *self);
} c_with_methods;
int c_with_install(PyTypeObject *type, const c_with_methods *methods);

/* ---- hard (tasklet_state.c) -------------------------------------------------------- */

void c_hard_suspend(PyThreadState *ts, c_state *state, c_hard_state *kept, int top);
void c_hard_resume(PyThreadState *ts, c_state *state, c_hard_state *kept);

/* ---- trace and profile functions (trace.c) ------------------------------------- */

enum { C_TRACE, C_PROFILE };
/* Those of a thread state, or of a tasklet that does not run; owns its objects. */
typedef struct {
    void *function[2];
    PyObject *object[2];
} c_trace;
/* Exchanges them with those of the thread state. */
void c_trace_swap(PyThreadState *ts, c_trace *kept);
/* Takes them off, as sys.settrace(None) does; may run destructors. */
void c_trace_remove(PyThreadState *ts);
int c_trace_is_set(PyThreadState *ts);
/* What sys.gettrace() or sys.getprofile() returns: borrowed, or NULL. */
PyObject *c_trace_object(PyThreadState *ts, int which);
/* Python's own settrace() or setprofile() has just set one: remembers how that looks. */
void c_trace_learn(PyThreadState *ts, int which);
/* Whether one of them was set by those. */
int c_trace_is_known(PyThreadState *ts);
/* Exchanges the C function of a builtin for all who hold it: the original, or NULL when it is
 * none with these METH_ flags. */
PyCFunction c_function_swap(PyObject *function, int flags, PyCFunction replacement);

/* ---- running event loops of asyncio (loop.c) ---------------------------------------- */

/* What one has put into a thread state, or what a tasklet in which one runs keeps meanwhile. */
typedef struct {
    PyObject *hooks[2]; /* of asynchronous generators; all owned */
    PyObject *loop, *task;
    int depth; /* of the origins of coroutines */
} c_event_loop;
/* asyncio's _set_running_loop, with its C function, and _get_running_loop: before all others. */
void c_event_loop_learn(PyObject *setter, PyCFunction original, PyObject *getter);
PyObject *c_event_loop_set(PyObject *loop);
int c_event_loop_is_running(void);
/* Exchanges it with that of the thread state; runs no Python code. */
void c_event_loop_swap(PyThreadState *ts, c_event_loop *kept);
void c_event_loop_clear(c_event_loop *kept);

/* ---- looking at suspended frames (visit.c) --------------------------------- */

int c_state_visit(c_state *state, int started, visitproc visit, void *arg);
/* Undoes what c_state_visit did to the generators of a tasklet that goes on. */
void c_state_allow_finalizers(c_state *state);
/* Lets the collector finalize an object that it has finalized before. */
void c_finalize_again(PyObject *object);
/* How many C callers are between the Python frames of a tasklet and its first one; `running`:
 * it is the one that runs now. */
int c_nesting_level(PyThreadState *ts, const c_state *state, int running);
/* Python calls that are open in it. */
int c_recursion_depth(PyThreadState *ts, const c_state *state, int running);
/* The frame object of a suspended tasklet's innermost Python function: new, or NULL. */
PyObject *c_frame_object(PyThreadState *ts, const c_state *state);
/* The innermost Python function of a suspended tasklet: new references, or 0. */
int c_suspended_location(const c_state *state, PyObject **code, int *line);
/* The same for the running one. */
int c_running_location(PyThreadState *ts, PyObject **code, int *line);

/* ---- the same as plain memory (peek.c) ------------------------------------------ */

/* A code object and the offset of an instruction: borrowed. */
typedef struct {
    PyObject *code;
    int offset;
} c_location;

/* No thread state is needed: in a copy of the process, or for objects that live. */

/* The frames of a suspended tasklet, or (ts != NULL) of a running thread, innermost first:
 * how many were found, and how many more there are. */
int c_peek_frames(PyThreadState *ts, const c_state *state, c_location *found, int room, int *more);
int c_peek_line(const c_location *place);
PyObject *c_peek_function(const c_location *place);
PyObject *c_peek_file(const c_location *place);
/* A str as UTF-8 with a 0 behind it, control characters as question marks; cut where `room` (6
 * bytes or more) ends.  Its size. */
size_t c_peek_text(PyObject *text, char *to, size_t room);

/* ---- frames as plain records (frame_snapshot.c, frames.c, generator.c) -------------- */

/* The functions that write return NULL, or in a few words what does not fit; then nothing has
 * been changed. */

/* The frames of a softly suspended tasklet, outermost first: a tuple of records. */
PyObject *c_frames_read(const c_state *state);
/* Whether frames can be built from such a tuple; *size: bytes of the first chunk for them. */
const char *c_frames_check(PyThreadState *ts, PyObject *records, size_t *size);
/* Builds them, checked, in a state that c_state_init has just made.  1 when they are those of a
 * tasklet that was interrupted, 0 of one that waits for a call of ours to return. */
int c_frames_build(PyThreadState *ts, c_state *state, PyObject *records);
/* The call in which such a tasklet waits keeps `object` alive, as its operands did. */
void c_frames_keep_alive(c_state *state, PyObject *object);
int c_is_generator(PyObject *object);
/* Whether a generator runs, also inside a tasklet that is suspended. */
int c_generator_is_running(PyObject *gen);
/* ... in this one. */
int c_generator_is_running_in(const c_state *state, PyObject *gen);
/* `running`: without its frame, which a tasklet's record brings. */
PyObject *c_generator_read(PyObject *gen, int running);
/* `gen` is new, of the same code. */
const char *c_generator_build(PyObject *gen, PyObject *record);
/* What an asynchronous generator calls when it is dropped half-way: borrowed, or NULL. */
PyObject *c_generator_finalizer(PyObject *gen);
void c_generator_set_finalizer(PyObject *gen, PyObject *finalizer);
/* The code of the frame that the interpreter puts below an inlined __init__: borrowed, or NULL
 * before one was seen; and looking for it, called from an __init__: 1 once it is known. */
PyCodeObject *c_shim_code(void);
int c_shim_learn(PyThreadState *ts);
/* Whether the instruction at which it waits is one that a tracer or debugger put there. */
int c_is_traced(const c_state *state);
/* What keeps a hard-suspended tasklet on its C stack: the place, and the callable (new) or the
 * opcode there.  0 when there is no such place. */
int c_find_c_caller(const c_state *state, PyObject **code, int *line, PyObject **callee,
                    int *opcode);

/* ---- the static stack depth of an instruction (stack_depth.c) -------------------- */

/* Value stack slots in use above the locals just before the instruction at
 * byte offset `offset` of the bytecode, or -1 when it cannot be told. */
int c_stack_depth_at(PyCodeObject *code, int offset);

/* ---- the interpreter around us (interpreter.c) --------------------------------- */

/* Calls `each` for every other thread state of this interpreter till it returns non-zero. */
int c_each_other_thread(PyThreadState *ts, int (*each)(PyThreadState *other, void *arg), void *arg);
/* Calls work(arg) while every other thread stands at a point where it could have lost the
 * GIL, if it had one.  It must not run Python code, wait, or take a lock. */
void c_while_world_stopped(void (*work)(void *arg), void *arg);
/* 0, or -1 with ImportError when this interpreter cannot carry us. */
int c_check_interpreter(void);
int c_is_finalizing(void);
/* For a detached thread: comes back when the GIL is free, if there is one, or at that time. */
void c_gil_spin(int64_t until);
/* A thread state for the calling OS thread, which has none and stays detached;
 * NULL without memory. */
PyThreadState *c_thread_state_new(void);
/* The end of one that is attached: it is cleared and freed, and the thread is detached. */
void c_thread_state_end(PyThreadState *ts);
/* Whether the calling thread is the interpreter's first. */
int c_on_main_thread(void);
unsigned long c_main_thread_id(void);
/* Keeps a few data-stack chunks instead of unmapping them (chunk_cache.c).  Once per process. */
void c_chunk_cache_install(void);

/* Locks that exist only without a GIL; with one, holding it is the lock. */
#ifdef Py_GIL_DISABLED
typedef struct {
    PyMutex mutex;
} c_lock;
#define c_lock_take(lock) PyMutex_Lock(&(lock)->mutex)
#define c_lock_give(lock) PyMutex_Unlock(&(lock)->mutex)
#define C_FREE_THREADED 1
#else
typedef struct {
    char none[1];
} c_lock;
#define c_lock_take(lock) ((void)(lock))
#define c_lock_give(lock) ((void)(lock))
#define C_FREE_THREADED 0
#endif

/* A reference to an object that nothing may own any more: 1, or 0 when it is being
 * destroyed.  Its memory must be valid; c_allow_try_incref was called when it was new. */
int c_try_incref(PyObject *object);
void c_allow_try_incref(PyObject *object);
/* Gives back a reference that is certainly not the last one: 1, or 0 when it may be. */
int c_decref_shared(PyObject *object);

/* ---- being called by the interpreter loop (interrupt.c, interruptible.c) ---------- */

/* A standing request to one thread's interpreter loop.  `ts` is NULL while it is closed;
 * its memory must stay for ever, because a call may be on its way. */
typedef struct c_interrupt {
    PyThreadState *ts;
    /* Runs on that thread, between two instructions of Python code, no exception set.
     * 0, or -1 with an exception, which is raised there. */
    int (*call)(struct c_interrupt *breaker);
    void *at;    /* inside the call: the end of its caller's C stack, for a c_call_site */
    int posted;  /* a call is on its way */
    int ticking; /* it is called at every check */
    int known;
    struct c_interrupt *next;
    int on_main;  /* 3.11: its thread is the interpreter's first */
    void *traced; /* 3.11: the trace function whose place was taken */
} c_interrupt;

/* On the thread that is to be called. */
void c_interrupt_open(c_interrupt *breaker, PyThreadState *ts, int (*call)(c_interrupt *breaker));
void c_interrupt_close(c_interrupt *breaker);
/* From now on, or no longer, one call at every check.  On the thread itself. */
void c_interrupt_repeat(c_interrupt *breaker, int on);
/* Asks for one call at the next check.  Any OS thread, attached or without a thread
 * state; safe while the thread closes the breaker, but not while a fork is under way.
 * May be lost: ask again. */
void c_interrupt_request(c_interrupt *breaker);
/* Whether a thread that asks may have to wait for the GIL. */
extern const int c_interrupt_request_waits;
/* At interpreter exit: from now on nothing is asked for. */
void c_interrupt_shut_down(void);
/* The interpreter begins to end: below the Python function that C calls for that.  All is
 * shut when that function has returned. */
void c_interrupt_interpreter_ending(void);
/* In the child of a fork, first for each breaker of a thread that is gone, then once. */
void c_interrupt_forget(c_interrupt *breaker);
void c_interrupt_after_fork(void);
/* Around a switch inside the call: meanwhile other pending calls can run. */
void c_interrupt_switch_away(c_interrupt *breaker);
void c_interrupt_switch_back(c_interrupt *breaker);

/* At import: looks at how the loop calls a breaker, so that a tasklet can be suspended softly
 * there (safepoint.c).  Runs a line of Python: 0, or -1 with an exception.  What cannot be
 * learned stays hard. */
int c_safepoint_learn(void);

/* Names what must not be interrupted besides: code of files whose name begins with `own`
 * but not with `but` (two str, kept). */
int c_interruptible_init(PyObject *own, PyObject *but);
/* The same for code of that one file (a str that code objects hold). */
void c_interruptible_exclude_file(PyObject *file);
/* 0 while the running Python code should be let finish: an import, a destructor, a
 * collection, a trace function, code of our own. */
int c_is_interruptible(PyThreadState *ts);

/* ---- memory ------------------------------------------------------------------ */

/* Counts down at each allocation of ours; at 0 that one fails.  For tests; 0 = never. */
extern int c_fail_allocation_in;

static inline int c_out_of_memory(void)
{
    return __builtin_expect(c_fail_allocation_in != 0, 0) && --c_fail_allocation_in == 0;
}

/* Zeroed, to be freed with PyMem_Free; NULL with no exception set. */
static inline void *c_calloc(size_t size)
{
    return c_out_of_memory() ? NULL : PyMem_Calloc(1, size);
}

static inline void *c_malloc(size_t size)
{
    return c_out_of_memory() ? NULL : PyMem_Malloc(size);
}

/* A bytes object that nobody else has, made shorter: itself or another; NULL with MemoryError. */
static inline PyObject *c_bytes_shorten(PyObject *bytes, Py_ssize_t size)
{
    _PyBytes_Resize(&bytes, size);
    return bytes;
}

/* ---- proving the rules at import (selftest.c) ------------------------------- */

/* Learns what splice.c must know of the interpreter, once: 0, or -1 with an exception. */
int c_splice_init(void);
/* 0 when the layout that we were compiled for is the running interpreter's, -1
 * with ImportError set otherwise. */
int c_check_layout(void);

extern int c_soft_supported;

#endif
