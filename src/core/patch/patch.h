/* Waits in the standard library let other tasklets run: the contract of this room.
 *
 * A C function of the interpreter that would block its thread has a replacement in bind/patch.  The
 * replacement reads the arguments and calls a function of this room, which does what can be done
 * without blocking and suspends the tasklet until the rest can be done.  Whatever is wrong with the
 * arguments is left to the interpreter's own function, the original, so its errors stay its own.
 *
 * patch_scheduler() comes first.  Where it is NULL (in a thread without tasklets, inside a callback
 * of the scheduler, in another interpreter) the original is called and blocks as before.
 *
 * Hard, but for select() and its kind (select.c) and buffers (buffer.c): the tasklet keeps its C
 * stack, because the call is tried again after each wait.
 *
 * Errors.  Unless said otherwise a pointer is NULL, and an int -1, with an exception set.
 *
 * Threads.  Any attached thread.
 */
#ifndef LOOMLET_PATCH_H
#define LOOMLET_PATCH_H

#include "cpython/replace.h"
#include "io/external.h"

typedef PyObject *(*patch_fast_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
typedef PyObject *(*patch_keyword_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *kwnames);

/* ---- waiting (patch.c) ------------------------------------------------------------- */

/* The scheduler that runs other tasklets while the caller waits; NULL: the original is called. */
s_sched *patch_scheduler(void);
/* Whether the caller is in our interpreter; *s: the scheduler of its thread, or NULL. */
int patch_in_our_interpreter(s_sched **s);
/* The running tasklet, but for a main one and for code that runs between tasklets; or NULL. */
s_tasklet *patch_tasklet(void);

/* NULL, with the exception for a code of a wait by `s`. */
PyObject *patch_raise(s_sched *s, int code);
/* -1, with OSError. */
int patch_raise_errno(int error);

/* Whether a wait may begin now: 0 or -1. */
static inline int patch_may_block(s_sched *s)
{
    int code = s_may_block(s);
    return code == S_OK || patch_raise(s, code) != NULL ? 0 : -1;
}

/* When a wait of that many nanoseconds ends; a negative timeout has no end. */
static inline int64_t patch_deadline(s_sched *s, int64_t timeout)
{
    int64_t now = timeout < 0 ? 0 : s_now(s);
    return timeout < 0 || timeout >= S_FOREVER - 1 - now ? S_FOREVER : now + timeout;
}

/* 0 when `fd` may be ready, 1 at `until`, or -1.  `owner` is the object that the tasklet is shown
 * to wait for, or NULL. */
int patch_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until);
/* Lets others run for so many nanoseconds: 0 or -1. */
int patch_pause(s_sched *s, int64_t nanoseconds);

/* ---- select.c ------------------------------------------------------------------------- */

/* The originals. */
typedef struct {
    c_replaced_function select;
    PyCFunction poll, epoll_poll, epoll_close;
} patch_select_functions;
extern patch_select_functions patch_select_originals;

/* At install: 0 or -1. */
int patch_select_prepare(void);
/* select(): three lists or tuples (stolen), and a timeout in nanoseconds; negative: none.  `site`
 * is the call, and its self what is asked. */
PyObject *patch_select(s_sched *s, PyObject *lists[3], int64_t timeout, const c_call_site *site);
PyObject *patch_poll(s_sched *s, int64_t timeout, const c_call_site *site);
/* `most` events (borrowed); NULL: as many as there are. */
PyObject *patch_epoll(s_sched *s, PyObject *most, int64_t timeout, const c_call_site *site);
/* close() of an epoll object: its waits end. */
PyObject *patch_epoll_close(PyObject *epoll, PyObject *unused);

/* ---- driven_generator.c ----------------------------------------------------------------- */

/* Drives a generator that yields P_READ, P_WRITE or both for `fd`, and is sent what is ready; 0
 * after `interval` nanoseconds.  Returns what it returns, or, where it wants to wait again or the
 * interval was over, an object of this type, for another call. */
PyObject *patch_generator_begin(s_sched *s, PyObject *generator, int fd, int64_t interval,
                                const c_call_site *site);
PyObject *patch_generator_go_on(s_sched *s, PyObject *self, const c_call_site *site);
/* Of such an object: whether a call on it is under way, whether the interval was over, and what it
 * wants to wait for. */
int patch_generator_is_waiting(PyObject *self);
int patch_generator_is_late(PyObject *self);
unsigned patch_generator_wanted(PyObject *self);
extern PyTypeObject patch_generator_type;

/* ---- child.c -------------------------------------------------------------------------- */

/* A call of os.waitpid() or one of its kind, whose arguments are ints. */
typedef struct {
    const c_replaced_function *kept; /* whose original is asked */
    int values[3];                   /* the last one given are the options */
    int count;
    int by_kind; /* waitid(): the first value is the kind of the second */
} patch_child_query;

/* The original's answer once a child has ended. */
PyObject *patch_child_wait(s_sched *s, const patch_child_query *query);

/* ---- file_lock.c ---------------------------------------------------------------------- */

/* A call that takes or gives back a lock of a file; args[0] says of which. */
typedef struct {
    const c_replaced_function *kept; /* whose original is asked */
    PyObject *const *args;           /* at most PATCH_LOCK_ARGS */
    Py_ssize_t nargs;
    int nonblocking; /* for args[1], so that the original does not wait */
    int blocks;      /* it may wait */
    int may_release; /* once it is done, others may get a lock */
    int of_range;    /* not of the whole file */
} patch_lock_call;
#define PATCH_LOCK_ARGS 5
PyObject *patch_lock(const patch_lock_call *call);

/* A descriptor is closed: waiters with that number get EBADF, others may get a lock.  `fd` may be
 * below 0: nothing is. */
typedef struct {
    b_link waiting;
    p_file_id file;
    int known;
} patch_lock_close;
void patch_lock_close_begin(patch_lock_close *closing, int fd);
void patch_lock_close_end(s_sched *s, patch_lock_close *closing);

/* ---- queue.c -------------------------------------------------------------------------- */

/* The originals of queue.SimpleQueue, and its exception Empty. */
typedef struct {
    PyCFunction put, put_nowait;
    c_method_forms get, get_nowait;
    PyObject *empty;
} patch_queue_methods;
extern patch_queue_methods patch_queue_originals;

/* get(): waits for an item; a negative timeout has no end. */
PyObject *patch_queue_get(s_sched *s, const c_method_call *call, int64_t timeout);
/* put() by the original, and wakes a tasklet that waits for an item. */
PyObject *patch_queue_put(PyCFunction original, PyObject *queue, PyObject *const *args,
                          Py_ssize_t nargs, PyObject *kwnames);

/* ---- semaphore.c ---------------------------------------------------------------------- */

/* The originals of multiprocessing's semaphores, and whether tasklets wait for them. */
typedef struct {
    PyCFunction acquire, release, is_mine;
    int cooperative;
} patch_semaphore_methods;
extern patch_semaphore_methods patch_semaphore_originals;

/* A call of acquire(). */
typedef struct {
    PyObject *semlock;
    PyObject *const *args;
    Py_ssize_t nargs;
    PyObject *kwnames;
} patch_semaphore_call;

/* acquire(): in nanoseconds, 0 without waiting, negative without an end.  `s` may be NULL here and
 * below. */
PyObject *patch_semaphore_acquire(s_sched *s, const patch_semaphore_call *call, int64_t timeout);
PyObject *patch_semaphore_release(s_sched *s, PyObject *semlock);
int patch_semaphore_is_owned(s_sched *s, PyObject *semlock);

#endif
