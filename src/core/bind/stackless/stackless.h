/* What the files of the Stackless face share. */
#ifndef LOOMLET_BIND_STACKLESS_H
#define LOOMLET_BIND_STACKLESS_H

#include "bind/bind.h"
#include "sched/mail.h"
#include "sched/preempt.h"
#include "sched/watchdog.h"

extern PyTypeObject bind_stackless_tasklet_type;
extern PyGetSetDef bind_stackless_tasklet_getset[];
extern PyMethodDef bind_stackless_functions[], bind_stackless_info_functions[];

/* ---- module.c ------------------------------------------------------------ */

/* A new TaskletExit of the Stackless face, and whether an exception is one. */
PyObject *bind_stackless_exit(void);
int bind_stackless_is_exit(PyObject *exception);
int bind_stackless_has_exit(void);

/* ---- tasklet.c ----------------------------------------------------------------- */

/* What `raise` makes of the three (None: not given): a new reference, or NULL with TypeError. */
PyObject *bind_stackless_exception(PyObject *exc, PyObject *value, PyObject *traceback);
/* ---- call.c ------------------------------------------------------------------ */

int bind_stackless_init(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *bind_stackless_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *bind_stackless_bind(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *bind_stackless_setup(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames);
PyObject *bind_stackless_call(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- attributes.c -------------------------------------------------------------- */

/* Gives the type, made ready, the names that are extensions. */
int bind_stackless_extend(PyTypeObject *type);
PyObject *bind_stackless_set_atomic(PyObject *self, PyObject *flag);
PyObject *bind_stackless_set_ignore_nesting(PyObject *self, PyObject *flag);
PyObject *bind_stackless_set_context(PyObject *self, PyObject *context);
PyObject *bind_stackless_context_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames);

static inline int bind_has_thread(const s_tasklet *t)
{
    return t->home != NULL && !t->home->ended;
}

static inline int bind_is_in_queue(const s_tasklet *t)
{
    return t->state == S_READY || (t->state == S_BLOCKED && !s_is_watching(t));
}

static inline PyObject *bind_refuse(const char *text)
{
    PyErr_SetString(PyExc_RuntimeError, text);
    return NULL;
}

/* ---- callbacks.c, module.c ------------------------------------------- */

/* s_hook.handled: asks the error handler of the Stackless face. */
PyObject *bind_stackless_handled(s_tasklet *t, PyObject *exception);
/* s_hook.refused: into gc.garbage with it. */
void bind_stackless_refused(s_tasklet *t);

#endif
