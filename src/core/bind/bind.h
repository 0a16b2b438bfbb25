/* The border between Python and the core: argument checks, types, exceptions.
 *
 * One file per Python type and no logic: each function checks what it was given,
 * says how it was called (the call site, from which the core tells whether it may
 * suspend softly), calls the core, and turns an error code into an exception.
 * Blocking functions are METH_FASTCALL, so that the arguments' address shows
 * where in the caller's frame they lie.
 */
#ifndef LOOMLET_BIND_H
#define LOOMLET_BIND_H

#include "chan/chan.h"
#include "sched/sched.h"

#define BIND_FN(f) ((PyCFunction)(void (*)(void))(f))
#define BIND_SITE(self, args, nargs, f) {(PyObject *)(self), (args), (nargs), (void *)(f), C_CALL}

extern PyTypeObject bind_tasklet_type, bind_channel_type, bind_lock_type, bind_timer_type;
extern PyTypeObject bind_nopreempt_type, bind_scope_type, bind_timeout_type, bind_group_type;
extern const c_with_methods bind_lock_with;

#define bind_is_tasklet(o) PyObject_TypeCheck((o), &bind_tasklet_type)
#define bind_is_channel(o) PyObject_TypeCheck((o), &bind_channel_type)

/* ---- errors.c ------------------------------------------------------------- */

/* Raises the exception for a negative code; `about` is the object it concerns. */
PyObject *bind_fail(int code, PyObject *about);
/* The end of every core call that returns an object: passes it on, or raises by `fail`. */
static inline PyObject *bind_result_by(PyObject *(*fail)(int code, PyObject *about),
                                       PyObject *result, int code, PyObject *about)
{
    return result != NULL || code >= 0 || code == S_E_SET ? result : fail(code, about);
}

static inline PyObject *bind_result(PyObject *result, int code, PyObject *about)
{
    return bind_result_by(bind_fail, result, code, about);
}
int bind_is_cancelled(PyObject *exception);
/* _set_hooks(error, failed, abandoned, (exit, cancelled)): see loomlet.errors and
 * loomlet.runtime. */
PyObject *bind_set_hooks(PyObject *module, PyObject *args);
/* __reduce__() and __setstate__() of every type that loomlet.snapshot knows (snapshot.c). */
PyObject *bind_reduce(PyObject *self, PyObject *unused);
PyObject *bind_set_state(PyObject *self, PyObject *state);

/* ---- arguments.c ------------------------------------------------------------ */

/* The deadline for an optional `timeout` in seconds at place `at` or by name. */
int bind_timeout(s_sched *s, const char *function, PyObject *const *args, Py_ssize_t nargs,
                 PyObject *kwnames, Py_ssize_t at, int64_t *until);
/* Seconds (int or float) as nanoseconds, at least 0; -1 with an exception set. */
int bind_seconds(PyObject *value, int64_t *nanoseconds);
/* 0 when exactly `want` positional arguments were given. */
int bind_count(const char *function, Py_ssize_t nargs, Py_ssize_t want);

/* Fills `values`, preset with the defaults, from positional and keyword arguments; the first
 * `needed` of `names` (NULL at the end) must be given. */
int bind_parse(const char *function, const char *const *names, int needed, PyObject *const *args,
               Py_ssize_t nargs, PyObject *kwnames, PyObject **values);

static inline Py_ssize_t bind_slots(Py_ssize_t nargs, PyObject *kwnames)
{
    return nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
}

/* A new tuple of these objects. */
static inline PyObject *bind_tuple(PyObject *const *items, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    return tuple;
}

/* An exception: cls(), cls(*value), cls(value), or `value` itself if it is one of the class. */
PyObject *bind_instance_of(PyObject *cls, PyObject *value);

/* ---- channel.c -------------------------------------------------------------------- */

/* receive() and iteration of both faces, which know their own `receive` and `fail`. */
static inline PyObject *bind_receive(PyObject *self, const c_call_site *site,
                                     PyObject *(*receive)(s_sched *s, n_channel *ch,
                                                          const c_call_site *site, int *code),
                                     PyObject *(*fail)(int code, PyObject *about))
{
    s_sched *s = s_self();
    int code;
    if (s == NULL)
        return NULL;
    PyObject *value = receive(s, (n_channel *)self, site, &code);
    return bind_result_by(fail, value, code, self);
}

/* ---- builtin_lock.c --------------------------------------------------------------------- */

/* Before tasklets are interrupted for the first time: from now on the stock locks are
 * owned per tasklet, in every thread.  0, or -1 with an exception. */
int bind_patch_builtin_locks(void);

/* ---- trace.c --------------------------------------------------------------------- */

/* At import: sys.settrace and sys.setprofile are the running tasklet's. */
int bind_own_tracing(void);
/* Getter and setter of trace_function (closure NULL) and profile_function (any other). */
PyObject *bind_get_trace(PyObject *self, void *which);
int bind_set_trace(PyObject *self, PyObject *value, void *which);

/* ---- functions.c, select.c, blocking.c, inspect.c: the module's functions ------------------ */

extern PyMethodDef bind_functions[], bind_inspect_functions[], bind_builtin_lock_functions[];
extern PyMethodDef bind_blocking_functions[], bind_names_functions[], bind_loop_functions[],
    bind_patch_functions[];
extern PyMethodDef bind_thread_functions[], bind_observe_functions[], bind_preempt_functions[];
extern PyMethodDef bind_snapshot_functions[], bind_snapshot_parts[];
PyObject *bind_select(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* ---- errors.c -------------------------------------------------------- */

/* As bind_fail, in the words of Stackless. */
PyObject *bind_stackless_fail(int code, PyObject *about);
/* A new exception for a code. */
PyObject *bind_stackless_error(int code);
static inline PyObject *bind_stackless_result(PyObject *result, int code, PyObject *about)
{
    return bind_result_by(bind_stackless_fail, result, code, about);
}
/* The truth of a bool or int, else -1 with TypeError. */
int bind_flag(PyObject *value, const char *refusal);
/* cls(*args) for method(cls, *args), "tasklet.raise_exception" or "channel.send_exception". */
PyObject *bind_raised_by(const char *method, PyObject *const *args, Py_ssize_t nargs);

/* ---- bomb.c ------------------------------------------------------------ */

extern PyTypeObject bind_bomb_type;
#define bind_is_bomb(o) Py_IS_TYPE((o), &bind_bomb_type)
/* A bomb around an exception (borrowed), or NULL. */
PyObject *bind_bomb_of(PyObject *error);
/* What a bomb raises, or the exception that came up on the way; never NULL. */
PyObject *bind_bomb_error(PyObject *bomb);

/* ---- channel.c, callbacks.c, extras.c ------------------- */

extern PyTypeObject bind_stackless_channel_type;
int bind_stackless_channel_ready(void);
/* _stackless_send_sequence(function): gives the type that method. */
PyObject *bind_set_send_sequence(PyObject *module, PyObject *function);
extern PyTypeObject bind_atomic_type, bind_cframe_type, bind_cstack_type;
extern PyMethodDef bind_callback_functions[];
/* The cstack of a tasklet, one that stands for all: a new reference. */
PyObject *bind_cstack_of(s_tasklet *t);

#endif
