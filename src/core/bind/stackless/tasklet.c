/* _stackless.tasklet: a tasklet that follows the rules of Stackless Python.
 *
 * A subtype of loomlet.Tasklet over the same structure, so every native operation accepts it.
 * What differs:
 *
 *   life     The object outlives its runs: call.c.
 *   order    run() and throw() keep the caller's position in the ring (S_RING).
 *   tempval  It is wait.value; a bomb in it is `error`.
 *   waiting  A caller of the module's run() is blocked for the scheduler, but reads as paused.
 *   threads  Operations on a tasklet whose thread has ended are refused, except kill(), which
 *            drops its frames, and bind_thread().
 *
 * Methods that switch own nothing when they suspend, as everywhere.
 */
#include <stddef.h>

#include "bind/pickling.h"
#include "bind/stackless/stackless.h"

#define SELF ((s_tasklet *)self)

/* ---- the run queue ------------------------------------------------------------------ */

static PyObject *stackless_tasklet_insert(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (SELF->state != S_DONE && !bind_is_in_queue(SELF) && !bind_has_thread(SELF))
        return bind_stackless_refuse("Target thread isn't initialized");
    int code = s_insert(s, SELF);
    return code < 0 ? bind_stackless_fail(code, self) : Py_NewRef(self);
}

static PyObject *stackless_tasklet_remove(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (SELF->owner == s)
        s_read_inbox(s);
    if (SELF->state == S_BLOCKED && !s_is_run_caller(SELF))
        return bind_stackless_refuse("You cannot remove a blocked tasklet.");
    if (SELF->state == S_DONE || !bind_has_thread(SELF) || s_is_run_caller(SELF))
        return Py_NewRef(self);
    if (SELF->owner->current == SELF)
        return bind_stackless_fail(S_E_CURRENT, self);
    int code = s_remove(s, SELF);
    return code < 0 ? bind_stackless_fail(code, self) : Py_NewRef(self);
}

static PyObject *run_tasklet_now(PyObject *self, int how, const c_call_site *site)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (SELF->state != S_DONE && !bind_has_thread(SELF))
        return bind_stackless_refuse("tasklet has no thread");
    if (SELF == s->current)
        Py_RETURN_NONE;
    PyObject *done = s_run_now(s, SELF, how, site, &code);
    return bind_stackless_result(done, code, self);
}

static PyObject *stackless_tasklet_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (bind_check_count("run", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stackless_tasklet_run);
    return run_tasklet_now(self, S_STAY | S_RING, &site);
}

static PyObject *stackless_tasklet_switch(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (bind_check_count("switch", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stackless_tasklet_switch);
    return run_tasklet_now(self, S_PAUSE | S_RING, &site);
}

/* ---- exceptions ------------------------------------------------------------------------ */

/* Into a tasklet that cannot run: an exit exception drops its frames, others are refused, and so is
 * what is to be raised later in one without a thread. */
static PyObject *throw_into_dead(s_tasklet *t, PyObject *error, int pending)
{
    int quiet = s_hook.is_exit(error) && (t->state == S_DONE || !pending);
    Py_DECREF(error);
    if (!quiet)
        return bind_stackless_refuse(t->state == S_DONE ? "You cannot throw to a dead tasklet"
                                                        : "tasklet has no thread");
    if (t->state != S_DONE && s_claim_for_rebinding(t, 1, NULL) == S_OK) {
        s_unbind(t);
        s_release_claim(t);
    }
    Py_RETURN_NONE;
}

/* Steals `error`. */
static PyObject *throw_into(PyObject *self, PyObject *error, int pending, const c_call_site *site)
{
    s_sched *s = s_self();
    int code;
    if (s == NULL) {
        Py_DECREF(error);
        return NULL;
    }
    if (SELF->state == S_DONE || !bind_has_thread(SELF))
        return throw_into_dead(SELF, error, pending);
    if (!pending || SELF == s->current) {
        PyObject *done = s_throw(s, SELF, error, S_STAY | S_RING, site, &code);
        return bind_stackless_result(done, code, self);
    }
    code = s_throw_later(s, SELF, error);
    return code < 0 ? bind_stackless_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *stackless_tasklet_throw(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                         PyObject *kwnames)
{
    static const char *const names[] = {"exc", "val", "tb", "pending", NULL};
    PyObject *given[4] = {NULL, Py_None, Py_None, Py_False};
    if (bind_parse_arguments("throw", names, 1, args, nargs, kwnames, given) < 0)
        return NULL;
    int pending = PyObject_IsTrue(given[3]);
    PyObject *error = pending < 0 ? NULL : bind_stackless_exception(given[0], given[1], given[2]);
    if (error == NULL)
        return NULL;
    c_call_site site =
        BIND_SITE(self, args, bind_argument_count(nargs, kwnames), stackless_tasklet_throw);
    return throw_into(self, error, pending, &site);
}

static PyObject *stackless_tasklet_raise(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *error = bind_exception_to_raise("tasklet.raise_exception", args, nargs);
    if (error == NULL)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, stackless_tasklet_raise);
    return throw_into(self, error, 0, &site);
}

/* kill(pending=True) of one without a thread, which ends in this one; but not one that keeps a C
 * stack, whose thread has ended: that only leaves what it waits for. */
static int adopt_to_kill(s_sched *s, s_tasklet *t)
{
    int code = s_change_owner(s, t);
    if (code != S_E_STUCK)
        return code;
    s_leave_wait(t);
    return S_E_STUCK;
}

static PyObject *stackless_tasklet_kill(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *kwnames)
{
    static const char *const names[] = {"pending", NULL};
    PyObject *given[1] = {Py_False};
    if (bind_parse_arguments("kill", names, 0, args, nargs, kwnames, given) < 0)
        return NULL;
    int pending = PyObject_IsTrue(given[0]);
    if (pending < 0)
        return NULL;
    if (SELF->state == S_DONE)
        Py_RETURN_NONE;
    s_sched *s = s_self();
    if (s != NULL && pending && !bind_has_thread(SELF) && adopt_to_kill(s, SELF) < 0)
        Py_RETURN_NONE;
    PyObject *error = s != NULL ? s_hook.error(S_E_KILLED, self) : NULL;
    if (error != NULL && bind_mark_kill(s, SELF, error) < 0)
        Py_CLEAR(error);
    if (error == NULL)
        return NULL;
    c_call_site site =
        BIND_SITE(self, args, bind_argument_count(nargs, kwnames), stackless_tasklet_kill);
    return throw_into(self, error, pending, &site);
}

/* ---- threads ------------------------------------------------------------------------------ */

#define CURRENT_THREAD ((unsigned long)-1)

/* -1 stands for the current one. */
static unsigned long read_thread_id(PyObject *id)
{
    int overflow;
    long number = PyLong_AsLongAndOverflow(id, &overflow);
    if (overflow == 0 && number == -1)
        return CURRENT_THREAD;
    return PyLong_AsUnsignedLong(id);
}

static s_sched *scheduler_of_thread(PyObject *id)
{
    if (id == Py_None)
        return s_self();
    unsigned long thread_id = read_thread_id(id);
    if (thread_id == CURRENT_THREAD && !PyErr_Occurred())
        return s_self();
    s_sched *s = PyErr_Occurred() ? NULL : s_sched_of_thread(thread_id);
    if (s == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "bad thread");
    return s;
}

static PyObject *stackless_tasklet_bind_thread(PyObject *self, PyObject *const *args,
                                               Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"thread_id", NULL};
    PyObject *given[1] = {Py_None};
    if (bind_parse_arguments("bind_thread", names, 0, args, nargs, kwnames, given) < 0)
        return NULL;
    s_sched *target = scheduler_of_thread(given[0]);
    if (target == NULL)
        return NULL;
    if (target == SELF->owner)
        Py_RETURN_NONE;
    int code = s_change_owner(target, SELF);
    if (code == S_E_BLOCKED)
        return bind_stackless_refuse("can't (re)bind a runnable tasklet");
    if (code == S_E_THREAD)
        return PyErr_Format(PyExc_ValueError, "bad thread");
    return code < 0 ? bind_stackless_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *stackless_tasklet_reduce(PyObject *self, PyObject *unused)
{
    if (SELF->owner != NULL && SELF->owner->current == SELF)
        return bind_stackless_refuse("You cannot __reduce__ the tasklet which is current.");
    return bind_reduce(self, unused);
}

static PyMethodDef methods[] = {
    {"bind", BIND_FN(bind_stackless_bind), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR(
         "bind($self, /, func=None, args=None, kwargs=None)\n--\n\n"
         "Stores the function to be called; with arguments, makes the call: the tasklet is\n"
         "then paused.  Without anything, drops what it was bound to.  Returns the tasklet.")},
    {"setup", BIND_FN(bind_stackless_setup), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("setup($self, /, *args, **kwargs)\n--\n\n"
               "Makes the call of a bound tasklet and inserts it; returns the tasklet.")},
    {"insert", stackless_tasklet_insert, METH_NOARGS,
     PyDoc_STR("insert($self, /)\n--\n\n"
               "Puts a paused tasklet at the tail of its thread's run queue; returns it.")},
    {"remove", stackless_tasklet_remove, METH_NOARGS,
     PyDoc_STR("remove($self, /)\n--\n\n"
               "Takes a tasklet out of the run queue: it is paused; returns it.")},
    {"run", BIND_FN(stackless_tasklet_run), METH_FASTCALL,
     PyDoc_STR("run($self, /)\n--\n\n"
               "Runs this tasklet now; execution continues from its position in the run queue.\n"
               "A tasklet of another thread runs there next, and the caller continues.")},
    {"switch", BIND_FN(stackless_tasklet_switch), METH_FASTCALL,
     PyDoc_STR("switch($self, /)\n--\n\nAs run(), but the caller is paused.")},
    {"throw", BIND_FN(stackless_tasklet_throw), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("throw($self, /, exc, val=None, tb=None, pending=False)\n--\n\n"
               "Raises an exception in this tasklet, by the rules of the raise statement: now,\n"
               "or with pending when it runs next.")},
    {"raise_exception", BIND_FN(stackless_tasklet_raise), METH_FASTCALL,
     PyDoc_STR(
         "raise_exception($self, cls, /, *args)\n--\n\nRaises cls(*args) in this tasklet now.")},
    {"kill", BIND_FN(stackless_tasklet_kill), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("kill($self, /, pending=False)\n--\n\n"
               "Raises TaskletExit in this tasklet; does nothing if it is dead.")},
    {"bind_thread", BIND_FN(stackless_tasklet_bind_thread), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("bind_thread($self, /, thread_id=None)\n--\n\n"
               "Moves a tasklet that is not runnable to this thread, or to the given one.")},
    {"set_atomic", bind_stackless_set_atomic, METH_O,
     PyDoc_STR("set_atomic($self, flag, /)\n--\n\n"
               "Whether it is never interrupted; returns the old value.")},
    {"set_ignore_nesting", bind_stackless_set_ignore_nesting, METH_O,
     PyDoc_STR("set_ignore_nesting($self, flag, /)\n--\n\n"
               "Whether it may be interrupted inside C callers; returns the old value.")},
    {"set_context", bind_stackless_set_context, METH_O,
     PyDoc_STR("set_context($self, context, /)\n--\n\n"
               "Gives a tasklet that is not current another contextvars.Context; returns it.")},
    {"context_run", BIND_FN(bind_stackless_context_run), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("context_run($self, callable, /, *args, **kwargs)\n--\n\n"
               "Calls callable in the context of this tasklet; returns its result.")},
    {"__reduce__", stackless_tasklet_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *stackless_tasklet_repr(PyObject *self)
{
    return PyBaseObject_Type.tp_repr(self);
}

PyTypeObject bind_stackless_tasklet_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.tasklet",
    .tp_doc = PyDoc_STR("tasklet(func=None, args=None, kwargs=None)\n--\n\n"
                        "A function that runs beside others, by the rules of Stackless Python.\n\n"
                        "tasklet(f)(*args) calls f(*args) when its turn comes."),
    .tp_basicsize = sizeof(s_tasklet),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_base = &bind_tasklet_type,
    .tp_vectorcall_offset = offsetof(s_tasklet, call),
    .tp_vectorcall = bind_stackless_make,
    .tp_new = bind_stackless_new,
    .tp_init = bind_stackless_init,
    .tp_call = bind_stackless_call,
    .tp_repr = stackless_tasklet_repr,
    .tp_methods = methods,
    .tp_getset = bind_stackless_tasklet_getset,
};
