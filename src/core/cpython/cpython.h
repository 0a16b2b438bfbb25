/* The room of CPython's internals: the contract.
 *
 * Everything that depends on how CPython lays out frames, thread states and code is behind these
 * functions; no other folder includes an internal header or tests a version.  README.md lists each
 * internal field that is touched and why.  One file per minor version (py311.h ... py314.h) says
 * where a field lives; the rules of switching are written once: soft_rules.c (may this call be
 * suspended softly?), resume.c (how it resumes), tasklet_state.c and visit.c (what belongs to it).
 *
 * There are two kinds of suspension:
 *   soft  The call came straight from the eval loop of the interpreter, whose C frame holds nothing
 *         worth keeping.  The Python frames are all there is; the C stack is abandoned and used by
 *         the next tasklet.
 *   hard  Some C frame in between must be kept: the tasklet keeps the C stack.
 *
 * A safepoint is where the eval loop looks at its eval breaker and can call us.
 *
 * All functions want an attached thread state (the GIL where there is one) and run on the thread
 * that owns the tasklet, unless they say otherwise.
 */
#ifndef LOOMLET_CPYTHON_H
#define LOOMLET_CPYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "cpython/interned_name.h"
#include "cpython/soft_point.h"
#include "plat/plat.h"

#if PY_VERSION_HEX < 0x030C0000
/* 3.11 lacks the calls that take and set one exception object. */
PyObject *PyErr_GetRaisedException(void);
void PyErr_SetRaisedException(PyObject *exception);
#endif

/* A reference to None, which needs no count since 3.12. */
static inline PyObject *c_new_none(void)
{
#if PY_VERSION_HEX < 0x030C0000
    Py_INCREF(Py_None);
#endif
    return Py_None;
}

/* The part of PyThreadState that belongs to one tasklet, and its frames.
 *
 * `frame` is the innermost frame while suspended.  While running, `rest` are the frames below the
 * interpreter activation that runs the tasklet: they wait for that activation to return, and
 * c_resume then hands its result to them.  `rest` is C_BELOW while the tasklet was entered through
 * a callable that is not a Python function: then it is never soft. */
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
#if PY_VERSION_HEX < 0x030D0000
    void *cframe; /* the _PyCFrame of the C stack */
#endif
    int py_left;
    int depth;                 /* of the value stack without the call's operands */
    int finalizers_suppressed; /* of the generators that run in it: c_state_visit */
    /* Code units to step over when the call returns, and when an iteration ends.  Of a tasklet that
     * was suspended at a safepoint: when an exception is thrown in, and when it resumes. */
    int advance, end_advance;
} c_state;

/* What a hard suspension keeps on its own C stack. */
typedef struct {
    uintptr_t sections;
    int tracing, event, nesting;
    void *executor;
    int top;
    int c_left;
} c_hard_state;

/* Why a call is not soft; 0: it is soft.  c_hard_reason() has a name for each, for statistics. */
enum {
    C_SOFT,
    C_NEVER,            /* this interpreter has no soft switching */
    C_MAIN,             /* the main tasklet keeps the thread's own stack */
    C_FROM_C,           /* the core itself switches: a kill at the end, a finalizer */
    C_NO_FRAME,         /* no Python frame called us */
    C_OPCODE,           /* not called by an instruction that we can finish (or a traced one) */
    C_OPERANDS,         /* the instruction calls something else: C is in between */
    C_UNKNOWN_DEPTH,    /* the depth of the value stack is unknown */
    C_NESTED,           /* there is C code between two interpreter activations */
    C_CRITICAL_SECTION, /* free-threaded: a critical section is open */
    C_DEALLOC,          /* inside a deallocation or a trace function */
    C_EVENT_LOOP,       /* an event loop of asyncio runs in it */
    C_FIXED_STACK,      /* something keeps addresses of its C stack */
    C_COPIED_OPERANDS,  /* the interpreter copied the operands; abandoning would leak them */
    C_PREEMPTED,        /* preempted at a safepoint where the eval loop holds something */
    C_HARD_REASON_COUNT
};
const char *c_hard_reason(int why);

/* ---- thread states (tasklet_state.c) ----------------------------------------- */

PyThreadState *c_thread_state(void);
/* Makes `state` that of a tasklet that has not started, with its first frame chunk. */
void c_state_init(PyThreadState *ts, c_state *state, void *chunk, size_t size);
/* For the main tasklet, which keeps the thread's own C stack. */
void c_state_never_soft(c_state *state);
void c_state_save(PyThreadState *ts, c_state *state);
void c_state_load(PyThreadState *ts, const c_state *state);
/* Copies what c_state_load loads and c_state_visit needs, with the context's reference: where a
 * tasklet stands.  The first chunk and the item of the handled exception stay where they are. */
void c_state_copy_position(c_state *to, const c_state *from);
/* Frees what the state owns after the end of its tasklet, but for the root chunk. */
void c_state_clear(c_state *state);
/* Loads the innermost frame into this processor core's cache: the tasklet will resume here soon. */
void c_state_prefetch(const c_state *state);
/* 1 when the tasklet has outgrown its first chunk. */
int c_state_grew(const c_state *state);
/* 1 when little or nothing is left of the running tasklet's first chunk: the interpreter then calls
 * through C what it would otherwise inline (an __init__, a property). */
int c_chunk_nearly_full(PyThreadState *ts, const c_state *state);
/* Bytes of its first chunk. */
size_t c_chunk_size(const c_state *state);
/* A copy of the running context for a new tasklet; NULL for an empty one (a context is then made
 * when needed).  0, or -1 with an exception set. */
int c_context_copy(PyThreadState *ts, PyObject **copy);
/* Whether a call makes an object that awaits instead of running the function. */
int c_makes_coroutine(PyObject *callable);
/* The running context, which is made if there is none yet: borrowed, NULL with an exception. */
PyObject *c_context(PyThreadState *ts);
/* Swaps the running context, NULL for none, with an owned one. */
void c_context_swap(PyThreadState *ts, PyObject **context);
/* Bytes of the first chunk for a call of `callable` (a frame and a small call on top). */
size_t c_chunk_size_for(PyObject *callable);
/* An address that stands for the code of `callable` in statistics, or NULL. */
const void *c_code_key(PyObject *callable);
/* The qualified name of a Python function: borrowed; NULL for other callables. */
PyObject *c_function_name(PyObject *callable);

/* C stack limits: of a new stack, of the thread's own stack, and making those of one current. */
void c_stack_limits_init(PyThreadState *ts, p_stack *stack);
void c_stack_limits_of_thread(PyThreadState *ts, p_stack *stack);
void c_stack_limits_use(PyThreadState *ts, const p_stack *stack);
/* At the base of a stack, before anything runs on it; `cell` is 4 words on that stack. */
void c_stack_base_init(PyThreadState *ts, void **cell);
void c_stack_base_enter(PyThreadState *ts, void **cell);

/* ---- soft suspension (soft_rules.c, unwrap.c, start.c, resume.c) -------------- */

/* Decides whether the current call may be suspended softly, and fills `point`.  Has no effect.
 * point->top is -1 when the stack depth is unknown. */
int c_soft_point_find(PyThreadState *ts, const c_state *state, const c_call_site *site,
                      c_soft_point *point);
/* Slots in use with the operands of the current call, which a hard-suspended frame shows to the
 * collector; -1 when unknown. */
int c_call_top(PyThreadState *ts, const c_call_site *site);
/* Both steps at once for the common kind of call: 1 when it was suspended, 0 when c_soft_point_find
 * must decide. */
int c_suspend_call(PyThreadState *ts, c_state *state, const c_call_site *site);
/* Saves the state and makes the frames independent of the C stack. */
void c_suspend(PyThreadState *ts, c_state *state, const c_soft_point *point);
/* A call to be made; owns its references.  args are the positional ones, then the keyword values;
 * kwnames may be NULL. */
typedef struct {
    PyObject *func, *args, *kwnames;
} c_call;

/* Unwraps bound methods, functools.partial objects and the like, so that the Python function behind
 * them, if any, is called directly.  0, or -1 with an exception set; the call is valid either
 * way. */
int c_unwrap_slow(c_call *call);
static inline int c_unwrap(c_call *call)
{
    return PyFunction_Check(call->func) ? 0 : c_unwrap_slow(call);
}
/* Adds the keyword arguments of a call to a dict; kwnames may be NULL.  0, or -1 with an exception
 * set. */
int c_add_keywords(PyObject *dict, PyObject *kwnames, PyObject *const *values);

/* Calls `func` as the first function of a tasklet; args are the positional ones, then the keyword
 * values. */
PyObject *c_start(PyThreadState *ts, c_state *state, PyObject *func, PyObject *args,
                  PyObject *kwnames);
/* Resumes a softly suspended tasklet until its function returns.  Steals both: `value` is what the
 * call returns; `error` is raised there instead; if both are NULL the iteration of a `for` ends. */
PyObject *c_resume(PyThreadState *ts, c_state *state, PyObject *value, PyObject *error);
/* The same for a tasklet that was suspended at a safepoint (C_SAFEPOINT): nothing waits for a
 * value. */
PyObject *c_resume_at_safepoint(PyThreadState *ts, c_state *state, PyObject *error);
/* The state is loaded: from here on code may be called as if its innermost frame called it. */
void c_call_on_frames(PyThreadState *ts, c_state *state);
/* ... and is suspended softly again, as it was. */
void c_leave_frames(PyThreadState *ts, c_state *state);
/* Destroys the frames of a softly suspended tasklet; no `finally` runs. */
void c_drop_frames(PyThreadState *ts, c_state *state);
/* The same; what is suspended in a generator or coroutine that dies with them is not run either.
 * See discard.c. */
void c_discard_frames(PyThreadState *ts, c_state *state);

/* ---- `with` (with_statement.c) ------------------------------------------------ */

/* Gives a type its __enter__ and __exit__, so that a `with` that has to wait can be soft.
 * enter(self, site) and exit(self) return a new reference or NULL.  The type must be ready;
 * `methods` must never be freed. */
typedef struct {
    PyObject *(*enter)(PyObject *self, const c_call_site *site);
    PyObject *(*exit)(PyObject *self);
} c_with_methods;
int c_with_install(PyTypeObject *type, const c_with_methods *methods);
/* What the thread keeps for its next `with` is freed. */
void c_with_end_thread(void);
/* The same for `with` statements alone, on a type of the interpreter's that has both methods: they
 * stay what they are for all other code.  For good, and nothing where `with` makes calls like
 * others. */
int c_with_replace(PyTypeObject *type, const c_with_methods *methods);

/* ---- hard suspension (tasklet_state.c) ------------------------------------------- */

void c_hard_suspend(PyThreadState *ts, c_state *state, c_hard_state *kept, int top);
void c_hard_resume(PyThreadState *ts, c_state *state, c_hard_state *kept);

/* ---- trace and profile functions (trace.c) ------------------------------------- */

enum { C_TRACE, C_PROFILE };
/* The functions of a thread state, or of a tasklet that does not run; owns its objects. */
typedef struct {
    void *function[2];
    PyObject *object[2];
} c_trace;
/* Swaps them with those of the thread state. */
void c_trace_swap(PyThreadState *ts, c_trace *kept);
/* Whether the thread state has one. */
int c_trace_is_set(PyThreadState *ts);
/* Of cProfile (1) and VizTracer (2), which are on, here or (3.12 on) in any thread. */
int c_trace_by_profiler(PyThreadState *ts);
/* Whether one runs, or a callback of sys.monitoring. */
int c_trace_running(PyThreadState *ts);
/* What sys.gettrace() or sys.getprofile() returns: borrowed, or NULL. */
PyObject *c_trace_object(PyThreadState *ts, int which);
/* What sys.settrace(callable) or sys.setprofile(callable) does, whatever has replaced them: 0, or
 * -1 with an exception. */
int c_trace_set(PyThreadState *ts, int which, PyObject *callable);
/* Removes both, as sys.settrace(None) does; may run destructors. */
void c_trace_remove(PyThreadState *ts);
/* What a tasklet that this thread spawns begins with, into an empty `copy`: 0, or -1 with an
 * exception. */
int c_trace_inherit(PyThreadState *ts, c_trace *copy);
/* The function of that name as the builtin module defined it, even if the attribute has been
 * replaced since.  A new reference.  NULL if the module defined no such function; no exception is
 * set then. */
PyObject *c_function_find(PyObject *module, const char *name);
/* Replaces the C function of a builtin for all its holders: the original, or NULL when `function`
 * is not a builtin with these METH_ flags. */
PyCFunction c_function_swap(PyObject *function, int flags, PyCFunction replacement);

/* ---- running event loops of asyncio (event_loop.c) ------------------------------- */

/* What a running event loop has put into a thread state, or what its tasklet keeps while it does
 * not run. */
typedef struct {
    PyObject *hooks[2]; /* of asynchronous generators; all owned */
    PyObject *loop, *task;
    int depth; /* of the origins of coroutines */
} c_event_loop;
/* Hands over asyncio's _set_running_loop, with its C function, and _get_running_loop: must be
 * called before the others. */
void c_event_loop_learn(PyObject *setter, PyCFunction original, PyObject *getter);
PyObject *c_event_loop_set(PyObject *loop);
int c_event_loop_is_running(void);
/* Swaps it with that of the thread state; runs no Python code. */
void c_event_loop_swap(PyThreadState *ts, c_event_loop *kept);
void c_event_loop_clear(c_event_loop *kept);

/* ---- looking at suspended frames (visit.c) ------------------------------------ */

int c_state_visit(c_state *state, int started, visitproc visit, void *arg);
/* Undoes what c_state_visit did to the generators of a tasklet that resumes. */
void c_state_allow_finalizers(c_state *state);
/* Lets the garbage collector finalize an object that it has finalized before. */
void c_finalize_again(PyObject *object);
/* How many C callers are between the Python frames of a tasklet and its first one; `running`: the
 * tasklet is the one that runs now. */
int c_nesting_level(PyThreadState *ts, const c_state *state, int running);
/* An exception that comes to the frames of a suspended tasklet passes them without being handled,
 * but for the outermost ones if they are of the module `spared`.  1; 0 when C code lies between the
 * others; -1 with an exception. */
int c_frames_abandon(const c_state *state, const char *spared);
/* How many Python calls are open in it. */
int c_recursion_depth(PyThreadState *ts, const c_state *state, int running);
/* The frame object of a suspended tasklet's innermost Python function: new, or NULL. */
PyObject *c_frame_object(PyThreadState *ts, const c_state *state);
/* The exception that a suspended tasklet handles, or None, as sys._current_exceptions() gives it: a
 * new reference, or NULL with an exception. */
PyObject *c_caught_exception(PyThreadState *ts, const c_state *state);
/* The code and line of the innermost Python function of a suspended tasklet: 1 and a new reference,
 * or 0. */
int c_suspended_location(const c_state *state, PyObject **code, int *line);
/* The same for the running tasklet. */
int c_running_location(PyThreadState *ts, PyObject **code, int *line);
/* The code of the innermost Python function (a new reference, or NULL) and where it is: what
 * c_line_at makes a line of.  Cheap. */
PyObject *c_caller_code(PyThreadState *ts, unsigned short *at);
int c_line_at(PyObject *code, unsigned short at);

/* ---- the same as plain memory (peek.c) ----------------------------------------- */

/* A code object, borrowed, and the offset of an instruction. */
typedef struct {
    PyObject *code;
    int offset;
} c_location;

/* These need no thread state: they run in a copy of the process, or on objects that are alive. */

/* Finds the frames of a suspended tasklet, or (ts != NULL) of a running thread, innermost first:
 * returns how many were found, and in *more how many more there are. */
int c_peek_frames(PyThreadState *ts, const c_state *state, c_location *found, int room, int *more);
/* The innermost frame of the running thread: 1, or 0 if the thread runs no frame. */
int c_peek_innermost(PyThreadState *ts, c_location *found);
/* The frame in which that thread runs, as an address; for the thread itself, attached or not. */
const void *c_peek_frame(PyThreadState *ts);
int c_peek_line(const c_location *location);
PyObject *c_peek_function(const c_location *location);
PyObject *c_peek_file(const c_location *location);
/* Writes a str as UTF-8 with a 0 after it, control characters as question marks, and no more than
 * `room` bytes (6 or more).  Returns its size. */
size_t c_peek_text(PyObject *text, char *to, size_t room);

/* ---- snapshots of frames (frame_snapshot.c, frames.c, generator.c) ------------- */

/* Functions that return a `const char *` return NULL, or in a few words what is wrong; then nothing
 * has been changed. */

/* The frames of a softly suspended tasklet, outermost first: a tuple of frame snapshots. */
PyObject *c_frames_read(const c_state *state);
/* Whether frames can be built from such a tuple; *size: bytes of the first chunk for them. */
const char *c_frames_check(PyThreadState *ts, PyObject *snapshots, size_t *size);
/* Builds checked frames in a state that c_state_init has just made.  1 when they are those of a
 * tasklet that was interrupted, 0 when those of one that waits for a call of ours to return. */
int c_frames_build(PyThreadState *ts, c_state *state, PyObject *snapshots);
/* Makes the call in which such a tasklet waits keep `object` alive, as its operands did. */
void c_frames_keep_alive(c_state *state, PyObject *object);
int c_is_generator(PyObject *object);
/* Whether a generator runs, also inside a tasklet that is suspended. */
int c_generator_is_running(PyObject *gen);
/* The same, in this suspended tasklet. */
int c_generator_is_running_in(const c_state *state, PyObject *gen);
/* A snapshot of a generator; `running`: without its frame, which a tasklet's snapshot contains. */
PyObject *c_generator_read(PyObject *gen, int running);
/* Puts the snapshot into `gen`, which is new and has the same code. */
const char *c_generator_build(PyObject *gen, PyObject *snapshot);
/* A new generator, coroutine or asynchronous generator of a function, which needs no arguments: to
 * be filled. */
PyObject *c_generator_make(PyFunctionObject *function);
/* Calls a method of an asynchronous generator that gives a step of it, and puts that into a state:
 * 0 not begun, 1 begun, 2 ended. */
PyObject *c_generator_step_make(PyObject *gen, PyObject *method, PyObject *args, int state);
/* What an asynchronous generator calls when it is dropped before its end: borrowed, or NULL. */
PyObject *c_generator_finalizer(PyObject *gen);
/* ... and what cr_origin of a coroutine is. */
void c_generator_set_finalizer(PyObject *gen, PyObject *finalizer);
/* The code of the frame that the interpreter puts below an inlined __init__: borrowed, or NULL
 * before one was seen. */
PyCodeObject *c_shim_code(void);
/* Looks for that code; called from within an __init__.  1 once it is known. */
int c_shim_learn(PyThreadState *ts);
/* Whether the tasklet waits at an instruction that a tracer or debugger has put there. */
int c_is_traced(const c_state *state);
/* Whether it waits softly in context.run(). */
int c_waits_in_context(const c_state *state);
/* The context of a softly suspended tasklet without those that it has entered so: borrowed, may be
 * NULL.  0: that is not known. */
int c_outermost_context(const c_state *state, PyObject **context);
/* Of frames that were built, with the outermost context: enters the others. */
void c_context_enter_again(c_state *state);
/* Finds what keeps a hard-suspended tasklet on its C stack, or such a call: code and line, and the
 * callable (new) or the opcode there.  0 when nothing was found. */
int c_find_c_caller(const c_state *state, PyObject **code, int *line, PyObject **callee,
                    int *opcode);

/* ---- the static stack depth of an instruction (stack_depth.c) ------------------- */

/* Value stack slots in use above the locals just before the instruction at byte offset `offset` of
 * the bytecode, or -1 when it is unknown. */
int c_stack_depth_at(PyCodeObject *code, int offset);

/* ---- the interpreter around us (interpreter.c) ---------------------------------- */

/* Calls `each` for every other thread state of this interpreter until it returns non-zero. */
int c_each_other_thread(PyThreadState *ts, int (*each)(PyThreadState *other, void *arg), void *arg);
/* Calls work(arg) while every other thread is stopped at a point where it could have lost the GIL,
 * if there were one.  `work` must not run Python code, wait, or take a lock. */
void c_while_world_stopped(void (*work)(void *arg), void *arg);
/* 0, or -1 with ImportError when loomlet does not work in this interpreter. */
int c_check_interpreter(void);
int c_is_finalizing(void);
/* Whether handlers of signals may have to run in this thread: handled since c_run_signal_handlers
 * last, or not. */
int c_signal_waits(PyThreadState *ts);
/* The same for another thread, which no signal is for if it is not the system's main one. */
int c_signal_waits_for(PyThreadState *ts);
/* Runs the handlers of signals that have come: 0, or -1 with the exception of one. */
int c_run_signal_handlers(PyThreadState *ts);
/* The part of a tasklet that has no frames and never runs Python code: what a thread state holds
 * that stands between tasklets. */
void c_state_init_empty(PyThreadState *ts, c_state *state);
/* Reports the exception that is set as the one that has ended a thread which `function` began. */
void c_report_thread_exception(PyObject *function);
/* Whether the calling thread is the interpreter's first. */
int c_on_main_thread(void);
/* Whether a signal has a handler in Python, other than the one that raises KeyboardInterrupt: it
 * may wake a tasklet.  Runs no Python code.  (signal.c) */
int c_has_signal_handler(void);
unsigned long c_main_thread_id(void);
/* From now on the interpreter takes another thread for its first one: for the time of one call that
 * only the first may make, attached. */
void c_main_thread_set(unsigned long id);
/* Keeps a few data-stack chunks instead of unmapping them (chunk_cache.c).  Once per process. */
void c_chunk_cache_install(void);
/* Memory for a first chunk, NULL without an exception; freed with the same size. */
void *c_chunk_new(size_t size);
void c_chunk_free(void *chunk, size_t size);

/* More than 0: the thread waits for a lock of ours or for the world, and is in no call. */
extern __thread int c_lock_waits_ __attribute__((tls_model("initial-exec")));
/* Locks that exist only without a GIL; with one, holding it is the lock. */
#ifdef Py_GIL_DISABLED
typedef struct {
    PyMutex mutex;
} c_lock;
void c_lock_wait(c_lock *lock);
static inline void c_lock_take(c_lock *lock)
{
    uint8_t free = 0;
    if (!__atomic_compare_exchange_n(&lock->mutex._bits, &free, 1, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        c_lock_wait(lock);
}
#define c_lock_give(lock) PyMutex_Unlock(&(lock)->mutex)
#define c_lock_is_free(lock) (__atomic_load_n(&(lock)->mutex._bits, __ATOMIC_RELAXED) == 0)
#define C_FREE_THREADED 1
#define C_BEGIN_CRITICAL_SECTION(object) Py_BEGIN_CRITICAL_SECTION(object)
#define C_END_CRITICAL_SECTION() Py_END_CRITICAL_SECTION()
#else
typedef struct {
    char none[1];
} c_lock;
#define c_lock_take(lock) ((void)(lock))
#define c_lock_give(lock) ((void)(lock))
#define c_lock_is_free(lock) ((void)(lock), 1)
#define C_FREE_THREADED 0
#define C_BEGIN_CRITICAL_SECTION(object) {
#define C_END_CRITICAL_SECTION() }
#endif

/* Where the thread's innermost Python code is: an address, or NULL.  Without a GIL only. */
#if C_FREE_THREADED
#define C_FRAME_IP 56
static inline const void *c_position(const PyThreadState *ts)
{
    const char *f = (const char *)ts->current_frame;
    return f != NULL ? *(const void *const *)(f + C_FRAME_IP) : NULL;
}
#endif

/* Takes a reference to an object that may have no owner any more: 1, or 0 when it is being
 * destroyed.  Its memory must be valid; c_allow_try_incref was called when it was new. */
int c_try_incref(PyObject *object);
void c_allow_try_incref(PyObject *object);
/* Drops a reference that is certainly not the last one: 1, or 0 when it may be the last. */
int c_decref_shared(PyObject *object);
/* Appends the keys of a dict to a list: 0, or -1 with an exception.  No dict has none. */
int c_list_add_keys(PyObject *list, PyObject *dict);
/* A new list of one object; of the keys of a dict, which may be NULL; of its values.  NULL with an
 * exception. */
PyObject *c_list_with(PyObject *only);
PyObject *c_list_of_keys(PyObject *dict);
PyObject *c_list_of_values(PyObject *dict);

/* ---- being called by the eval loop (interrupt.c, interruptible.c) ---------------- */

/* A standing request to one thread's eval loop to call us.  `ts` is NULL while it is closed; its
 * memory must never be freed, because a call may be pending. */
typedef struct c_interrupt {
    PyThreadState *ts;
    /* Runs on that thread, between two instructions of Python code, with no exception set.  0, or
     * -1 with an exception, which is raised there. */
    int (*call)(struct c_interrupt *request);
    void *at;       /* inside the call: the end of its caller's C stack, for a c_call_site */
    int posted;     /* a call is pending */
    int cancelled;  /* ... which may be dropped */
    int repeating;  /* it is called at every safepoint */
    int waiting;    /* for its thread to come back: c_interrupt_await */
    int registered; /* it is in the list of all requests */
    struct c_interrupt *next;
    int (*raise)(struct c_interrupt *request); /* c_interrupt_throw; -1, or it does not return */
    struct c_interrupt *next_throwing;
    int is_main_thread;   /* 3.11: its thread is the interpreter's first */
    void *replaced_trace; /* 3.11: the program's own trace function */
} c_interrupt;

/* To be called on the thread that shall be interrupted. */
void c_interrupt_open(c_interrupt *request, PyThreadState *ts, int (*call)(c_interrupt *request));
void c_interrupt_close(c_interrupt *request);
/* A thread state ends: what is still open for it is closed. */
void c_interrupt_forget_thread(const PyThreadState *ts);
/* Starts or stops calling at every safepoint.  To be called on the thread itself. */
void c_interrupt_repeat(c_interrupt *request, int on);
/* Requests one call at the next safepoint.  Any OS thread, attached or without a thread state; safe
 * while the thread closes the request, but not during a fork.  It may be lost: repeat it. */
void c_interrupt_request(c_interrupt *request);
/* The same from an attached thread for a detached one, which may come back at any time: the request
 * stays until it is called or (on the thread itself) cancelled; it may still be called then. */
void c_interrupt_await(c_interrupt *request);
void c_interrupt_cancel(c_interrupt *request);
/* 3.12: a thread finds such a request only when c_interrupt_ring() is called while it runs.  To be
 * called as c_interrupt_request is, every few milliseconds as long as there is any. */
int c_interrupt_any(void);
void c_interrupt_ring(void);
/* To be called, attached, when such a request will raise something, or will not return: on 3.12
 * request->raise is called for certain at the next safepoint, if the request itself is not called
 * before; the same must follow from it. */
void c_interrupt_throw(c_interrupt *request);
/* Once before that: 0, or -1 with an exception. */
int c_interrupt_throw_prepare(void);
/* For interrupt.c: not any more; and the same when its thread is gone. */
void c_interrupt_throw_cancel(c_interrupt *request);
void c_interrupt_throw_forget(c_interrupt *request);
/* Whether a requesting thread may have to wait for the GIL. */
extern const int c_interrupt_request_waits;
/* At interpreter exit: from now on no request is posted. */
void c_interrupt_shut_down(void);
/* The interpreter begins to end; called from the Python function that it calls for that.  Requests
 * are shut down once that function has returned. */
void c_interrupt_interpreter_ending(void);
/* In the child of a fork: first for each request of a thread that is gone, then once. */
void c_interrupt_forget(c_interrupt *request);
void c_interrupt_after_fork(void);
/* Around a switch inside the call: meanwhile other pending calls can run. */
void c_interrupt_switch_away(c_interrupt *request);
void c_interrupt_switch_back(c_interrupt *request);

/* At import: learns how the eval loop calls an interrupt request, so that a tasklet can be
 * suspended softly there (safepoint.c).  Runs a line of Python: 0, or -1 with an exception.
 * Safepoints about which nothing was learned stay hard. */
int c_safepoint_learn(void);

/* Excludes more code from interruptions: that of files whose name begins with `own` but not with
 * `but` (two str, kept). */
int c_interruptible_init(PyObject *own, PyObject *but);
/* Excludes the code of one file too (a str that code objects hold). */
void c_interruptible_exclude_file(PyObject *file);
/* 0 while the running Python code must not be interrupted: an import, a destructor, a garbage
 * collection, a trace function, code of our own. */
int c_is_interruptible(PyThreadState *ts);

/* ---- memory ------------------------------------------------------------------ */

/* Counts down at each allocation of ours; the one that reaches 0 fails.  For tests; 0: none. */
extern int c_fail_allocation_in;

static inline int c_out_of_memory(void)
{
    return __builtin_expect(c_fail_allocation_in != 0, 0) && --c_fail_allocation_in == 0;
}

/* Zeroed memory, to be freed with PyMem_Free; NULL without an exception. */
static inline void *c_calloc(size_t size)
{
    return c_out_of_memory() ? NULL : PyMem_Calloc(1, size);
}

static inline void *c_malloc(size_t size)
{
    return c_out_of_memory() ? NULL : PyMem_Malloc(size);
}

/* Shortens a bytes object that has one reference: the same or another object; NULL with
 * MemoryError. */
static inline PyObject *c_bytes_shorten(PyObject *bytes, Py_ssize_t size)
{
    _PyBytes_Resize(&bytes, size);
    return bytes;
}

/* ---- proving the rules at import (selftest.c) ------------------------------- */

/* Learns what splice.c must know about the interpreter; to be called once: 0, or -1 with an
 * exception. */
int c_splice_init(void);
/* 0 when the running interpreter has the layout that we were compiled for, else -1 with
 * ImportError. */
int c_check_layout(void);

extern int c_soft_supported;

#endif
