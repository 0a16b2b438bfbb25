/* The Stackless API: what its files share. */
#ifndef LOOMLET_BIND_STACKLESS_H
#define LOOMLET_BIND_STACKLESS_H

#include "bind/native/native.h"
#include "sched/guests/preempt.h"
#include "sched/guests/stackless_run.h"
#include "sched/inbox.h"
#include "sched/wake.h"

extern PyTypeObject bind_stackless_tasklet_type;
extern PyGetSetDef bind_stackless_tasklet_getset[];
/* Of the core itself, and of the module. */
extern PyMethodDef bind_stackless_functions[], bind_stackless_info_functions[],
    bind_stackless_surrogate_functions[];
/* Adds the functions of the Stackless module to the core. */
int bind_add_stackless_functions(PyObject *module);

/* ---- errors.c ------------------------------------------------------------------------- */

/* As bind_fail, in the words of Stackless. */
PyObject *bind_stackless_fail(int code, PyObject *about);
/* A new exception for a code. */
PyObject *bind_stackless_error(int code);
static inline PyObject *bind_stackless_result(PyObject *result, int code, PyObject *about)
{
    return bind_result_by(bind_stackless_fail, result, code, about);
}
/* The truth of a bool or int; -1 with TypeError for other values. */
int bind_read_flag(PyObject *value, const char *refusal);
/* The exception that `raise` makes of the three (None: not given): a new reference, or NULL with
 * TypeError. */
PyObject *bind_stackless_exception(PyObject *exc, PyObject *value, PyObject *traceback);
/* cls(*args) for method(cls, *args), "tasklet.raise_exception" or "channel.send_exception". */
PyObject *bind_exception_to_raise(const char *method, PyObject *const *args, Py_ssize_t nargs);

/* ---- bomb.c ---------------------------------------------------------------------------- */

extern PyTypeObject bind_bomb_type;
#define bind_is_bomb(o) Py_IS_TYPE((o), &bind_bomb_type)
/* A new bomb with that exception, or NULL. */
PyObject *bind_bomb_around(PyObject *error);
/* The exception that a bomb raises, or the one that says why it cannot; never NULL. */
PyObject *bind_bomb_exception(PyObject *bomb);

/* ---- channel.c, callbacks.c, atomic.c, cstack.c
 * -------------------------------------------------- */

extern PyTypeObject bind_stackless_channel_type;
int bind_stackless_channel_ready(void);
/* _stackless_send_sequence(function): gives the type that method. */
PyObject *bind_set_send_sequence(PyObject *module, PyObject *function);
extern PyTypeObject bind_atomic_type, bind_cframe_type, bind_cstack_type;
extern PyMethodDef bind_stackless_callback_functions[];
/* The cstack of a tasklet: a new reference. */
PyObject *bind_cstack_for(s_tasklet *t);
/* What identifies the initial C stack of a thread, on which all its tasklets began. */
static inline long bind_stack_serial(const s_sched *s)
{
    return s->main != NULL ? (long)s->main->id : 0;
}

/* ---- call.c ------------------------------------------------------------------ */

int bind_stackless_init(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *bind_stackless_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
/* What a call of the type calls. */
PyObject *bind_stackless_make(PyObject *type, PyObject *const *args, size_t nargs,
                              PyObject *kwnames);
PyObject *bind_stackless_bind(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *bind_stackless_setup(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames);
PyObject *bind_stackless_call(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- attributes.c -------------------------------------------------------------- */

/* Adds the extensions to the type, which is ready. */
int bind_stackless_extend(PyTypeObject *type);
PyObject *bind_stackless_set_atomic(PyObject *self, PyObject *flag);
PyObject *bind_stackless_set_ignore_nesting(PyObject *self, PyObject *flag);
PyObject *bind_stackless_set_context(PyObject *self, PyObject *context);
PyObject *bind_stackless_context_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames);

static inline int bind_has_thread(const s_tasklet *t)
{
    return t->owner != NULL && !t->owner->ended;
}

static inline int bind_is_in_queue(const s_tasklet *t)
{
    return t->state == S_READY || (t->state == S_BLOCKED && !s_is_run_caller(t));
}

static inline PyObject *bind_stackless_refuse(const char *text)
{
    PyErr_SetString(PyExc_RuntimeError, text);
    return NULL;
}

/* ---- callbacks.c, module.c ------------------------------------------- */

/* s_hook.handled: calls the error handler of the Stackless API. */
PyObject *bind_stackless_handle_error(s_tasklet *t, PyObject *exception);
/* s_hook.refused: puts the tasklet into gc.garbage. */
void bind_stackless_keep_garbage(s_tasklet *t);

#endif
