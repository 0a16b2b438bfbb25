/* loomlet.Tasklet */
#include <stddef.h>

#include "bind/native/native.h"
#include "bind/pickling.h"
#include "sched/failure.h"
#include "sched/guests/scope.h"

#define SELF ((s_tasklet *)self)

static PyObject *join_tasklet(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames, int want_result, void *function)
{
    s_sched *s = s_self();
    int64_t until;
    int code;
    const char *name = want_result ? "result" : "join";
    if (s == NULL || bind_read_timeout(s, name, args, nargs, kwnames, 0, &until) < 0)
        return NULL;
    c_call_site site = {self, args, bind_argument_count(nargs, kwnames), function, C_CALL};
    PyObject *done = s_join(s, SELF, until, want_result, &site, &code);
    return bind_result(done, code, self);
}

static PyObject *tasklet_join(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    return join_tasklet(self, args, nargs, kwnames, 0, (void *)tasklet_join);
}

static PyObject *tasklet_result(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    return join_tasklet(self, args, nargs, kwnames, 1, (void *)tasklet_result);
}

/* What kill() raises in `t`: new, or NULL with an exception. */
static PyObject *new_kill(s_sched *s, s_tasklet *t)
{
    PyObject *error = s_hook.error(S_E_KILLED, (PyObject *)t);
    if (error != NULL && bind_mark_kill(s, t, error) < 0)
        Py_CLEAR(error);
    return error;
}

static PyObject *tasklet_kill(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    int code;
    if (s == NULL || bind_check_count("kill", nargs, 0) < 0)
        return NULL;
    if (SELF->state == S_DONE)
        Py_RETURN_NONE;
    PyObject *error = new_kill(s, SELF);
    if (error == NULL)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, tasklet_kill);
    PyObject *done = s_throw(s, SELF, error, S_STAY, &site, &code);
    if (code == S_E_DEAD) /* it has ended meanwhile */
        Py_RETURN_NONE;
    return bind_result(done, code, self);
}

static PyObject *tasklet_discard(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    s_tasklet *which;
    if (s == NULL || bind_check_count("discard", nargs, 0) < 0)
        return NULL;
    int code = s_discard(s, SELF, new_kill, &which);
    if (code < 0)
        return bind_fail(code, (PyObject *)which);
    if (SELF->state == S_DONE)
        Py_RETURN_NONE;
    c_call_site site = BIND_SITE(self, args, nargs, tasklet_discard);
    PyObject *done = s_run_now(s, SELF, S_STAY, &site, &code);
    if (code == S_E_DEAD)
        Py_RETURN_NONE;
    return bind_result(done, code, self);
}

/* The exception that `raise` would make of the argument: a new reference. */
static PyObject *exception_of(PyObject *value)
{
    if (PyExceptionInstance_Check(value))
        return Py_NewRef(value);
    if (!PyExceptionClass_Check(value)) {
        PyErr_Format(PyExc_TypeError,
                     "throw() expected an exception class or instance, found %.100s",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    return bind_make_exception(value, NULL);
}

static PyObject *tasklet_throw(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    int code;
    if (s == NULL || bind_check_count("throw", nargs, 1) < 0)
        return NULL;
    PyObject *error = exception_of(args[0]);
    if (error != NULL && bind_mark_kill(s, SELF, error) < 0)
        Py_CLEAR(error);
    if (error == NULL)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, tasklet_throw);
    PyObject *done = s_throw(s, SELF, error, S_STAY, &site, &code);
    return bind_result(done, code, self);
}

static PyObject *tasklet_insert(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("insert", nargs, 0) < 0)
        return NULL;
    int code = s_insert(s, SELF);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(self);
}

static PyObject *tasklet_remove(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("remove", nargs, 0) < 0)
        return NULL;
    int code = s_remove(s, SELF);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(self);
}

static PyObject *tasklet_switch(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    int code;
    if (s == NULL || bind_check_count("switch", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, tasklet_switch);
    PyObject *done = s_run_now(s, SELF, S_PAUSE, &site, &code);
    return bind_result(done, code, self);
}

static PyObject *tasklet_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    int code;
    if (s == NULL || bind_check_count("run", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, tasklet_run);
    PyObject *done = s_run_now(s, SELF, S_STAY, &site, &code);
    return bind_result(done, code, self);
}

/* _interrupt(exception): ends its wait; False when it does not wait.  From another thread this is
 * requested, and True is returned. */
static PyObject *tasklet_interrupt(PyObject *self, PyObject *error)
{
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (!PyExceptionInstance_Check(error)) {
        PyErr_SetString(PyExc_TypeError, "_interrupt() takes an exception instance");
        return NULL;
    }
    int done = s_request_interrupt(s, SELF, Py_NewRef(error));
    return done < 0 ? bind_fail(done, self) : PyBool_FromLong(done);
}

static PyObject *tasklet_bind_thread(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames)
{
    static const char *const names[] = {"thread_id", NULL};
    PyObject *given[1] = {Py_None};
    s_sched *target = s_self();
    if (target == NULL ||
        bind_parse_arguments("bind_thread", names, 0, args, nargs, kwnames, given) < 0)
        return NULL;
    if (given[0] != Py_None)
        target = s_sched_of_thread(PyLong_AsUnsignedLong(given[0]));
    if (PyErr_Occurred())
        return NULL;
    int code = target == NULL ? S_E_THREAD : SELF->state == S_DONE ? S_E_DEAD : S_OK;
    if (code == S_OK)
        code = SELF->saved_as == S_C_STACK ? S_E_STUCK : s_change_owner(target, SELF);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

/* _where() -> (code, line) of the innermost Python function, or None. */
static PyObject *tasklet_where(PyObject *self, PyObject *unused)
{
    PyObject *code;
    int line;
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (!s_find_location(s, SELF, &code, &line))
        Py_RETURN_NONE;
    return Py_BuildValue("(Ni)", code, line);
}

#define FRAMES 48
#define HOLDERS 8

/* _stack() -> [(code, line), ...] of its Python functions, innermost first. */
static PyObject *tasklet_stack(PyObject *self, PyObject *unused)
{
    c_location frames[FRAMES];
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int count = s_find_frames(s, SELF, frames, FRAMES);
    PyObject *list = PyList_New(0);
    for (int i = 0; i < count; i++) {
        PyObject *pair = Py_BuildValue("(Ni)", frames[i].code, c_peek_line(&frames[i]));
        if (list != NULL && (pair == NULL || PyList_Append(list, pair) < 0))
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

/* The id of the tasklet that holds what `found` says; 0: none that is known. */
static uint64_t holder_of(const s_tasklet *t, const s_target *found)
{
    const s_sched *owner = t->owner;
    int by_main = found->holder == 0 && found->thread != 0 && found->thread == owner->thread_id;
    return by_main ? owner->main->id : found->holder;
}

/* _holders() -> the ids of the tasklets that can end its wait, as far as they are known; of a
 * group's children the first few. */
static PyObject *tasklet_holders(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    int (*target)(const s_tasklet *t, int i, s_target *found) =
        SELF->state == S_BLOCKED ? SELF->kind->target : NULL;
    for (int i = 0; target != NULL && list != NULL && i < HOLDERS; i++) {
        s_target found = {0};
        if (!target(SELF, i, &found))
            break;
        uint64_t id = holder_of(SELF, &found);
        PyObject *number = id ? PyLong_FromUnsignedLongLong(id) : Py_NewRef(Py_None);
        if (number == NULL || (id && PyList_Append(list, number) < 0))
            Py_CLEAR(list);
        Py_XDECREF(number);
    }
    return list;
}

/* _spawned_at() -> (code, line) of the call of spawn(), or None. */
static PyObject *tasklet_spawned_at(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *code = SELF->stackless_rules ? NULL : SELF->spawner;
    if (code == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("(Oi)", code, c_line_at(code, SELF->spawned_at));
}

static const char *const state_names[] = {"new",     "runnable", "running",
                                          "blocked", "paused",   "done"};

static PyObject *tasklet_get_state(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_InternFromString(state_names[SELF->state]);
}

static PyObject *tasklet_get_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(SELF->id);
}

static PyObject *default_tasklet_name(s_tasklet *t)
{
    static PyObject *attribute;
    if (t->is_main)
        return PyUnicode_FromString("main");
    PyObject *qualname = NULL;
    if (t->func != NULL && PyUnicode_Check(t->func))
        qualname = Py_NewRef(t->func);
    else if (t->func != NULL)
        qualname = c_get_attribute(t->func, &attribute, "__qualname__");
    if (qualname == NULL) {
        PyErr_Clear();
        const char *type = t->func ? Py_TYPE(t->func)->tp_name : "tasklet";
        return PyUnicode_FromFormat("%s-%llu", type, (unsigned long long)t->id);
    }
    PyObject *name = PyUnicode_FromFormat("%S-%llu", qualname, (unsigned long long)t->id);
    Py_DECREF(qualname);
    return name;
}

static PyObject *tasklet_get_name(PyObject *self, void *unused)
{
    (void)unused;
    if (SELF->name == NULL && (SELF->name = default_tasklet_name(SELF)) == NULL)
        return NULL;
    return Py_NewRef(SELF->name);
}

static int tasklet_set_name(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    if (value == NULL || !PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "a tasklet's name must be a str");
        return -1;
    }
    Py_XSETREF(SELF->name, Py_NewRef(value));
    return 0;
}

static PyObject *tasklet_get_waiting_for(PyObject *self, void *unused)
{
    (void)unused;
    if (SELF->state != S_BLOCKED || SELF->kind == NULL)
        Py_RETURN_NONE;
    PyObject *object = s_waited_object(SELF);
    return object != NULL || PyErr_Occurred() ? object : Py_NewRef(Py_None);
}

/* "send", "receive", "join", ... while blocked, else None. */
static PyObject *tasklet_get_waiting_in(PyObject *self, void *unused)
{
    (void)unused;
    const s_wait_kind *kind = SELF->kind;
    if (SELF->state != S_BLOCKED || kind == NULL)
        Py_RETURN_NONE;
    return PyUnicode_InternFromString(kind->name);
}

static PyObject *tasklet_get_cancelled(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->cancelled);
}

static PyObject *tasklet_get_scope(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(SELF->scope ? SELF->scope : Py_None);
}

static PyObject *tasklet_get_failure(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *failure = SELF->state == S_DONE ? s_failure_take(SELF) : NULL;
    return failure != NULL ? failure : Py_NewRef(Py_None);
}

/* Whether a join() has raised its failure, too. */
static PyObject *tasklet_get_observed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->observed);
}

static PyObject *tasklet_get_is_main(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->is_main);
}

static PyObject *tasklet_repr(PyObject *self)
{
    PyObject *name = tasklet_get_name(self, NULL);
    if (name == NULL)
        return NULL;
    PyObject *repr =
        PyUnicode_FromFormat("<loomlet.Tasklet %U %s>", name, state_names[SELF->state]);
    Py_DECREF(name);
    return repr;
}

static int tasklet_traverse(PyObject *self, visitproc visit, void *arg)
{
    return s_visit(SELF, visit, arg);
}

static int tasklet_clear(PyObject *self)
{
    s_clear(SELF);
    return 0;
}

static void tasklet_finalize(PyObject *self)
{
    s_finalize(SELF);
}

static PyMethodDef methods[] = {
    {"join", BIND_FN(tasklet_join), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("join($self, /, timeout=None)\n--\n\n"
               "Waits until this tasklet has ended.\n\n"
               "timeout: seconds, or None for no limit.  Raises the exception that ended the\n"
               "tasklet, or TimeoutError when the time limit expires.  Any thread.")},
    {"result", BIND_FN(tasklet_result), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("result($self, /, timeout=None)\n--\n\n"
               "Waits like join() and returns what the tasklet's function returned.")},
    {"kill", BIND_FN(tasklet_kill), METH_FASTCALL,
     PyDoc_STR(
         "kill($self, /)\n--\n\n"
         "Raises TaskletExit in this tasklet, now: it leaves whatever it waits for, its\n"
         "`finally` blocks run, and the caller continues when it has ended or blocked again.\n"
         "A tasklet that has ended is left alone.  From another thread: it happens there, soon.")},
    {"discard", BIND_FN(tasklet_discard), METH_FASTCALL,
     PyDoc_STR(
         "discard($self, /)\n--\n\n"
         "Ends this suspended tasklet, and the children of its groups, without running anything\n"
         "of them: no `finally` block, no `except`, no `__exit__`, also in generators.  For one\n"
         "that was frozen and goes on elsewhere.  A tasklet that has ended is left alone.\n"
         "TaskletError for the running one, one of another thread, and one with a C function on\n"
         "its stack.")},
    {"throw", BIND_FN(tasklet_throw), METH_FASTCALL,
     PyDoc_STR("throw($self, exception, /)\n--\n\n"
               "Raises an exception (class or instance) in this tasklet as kill() does.\n"
               "A tasklet that has not started ends with it; its function does not run.")},
    {"insert", BIND_FN(tasklet_insert), METH_FASTCALL,
     PyDoc_STR("insert($self, /)\n--\n\n"
               "Puts a paused tasklet at the tail of its thread's run queue; returns it.")},
    {"remove", BIND_FN(tasklet_remove), METH_FASTCALL,
     PyDoc_STR("remove($self, /)\n--\n\n"
               "Takes a runnable tasklet out of the run queue: it is paused; returns it.")},
    {"switch", BIND_FN(tasklet_switch), METH_FASTCALL,
     PyDoc_STR("switch($self, /)\n--\n\n"
               "Runs this tasklet now and pauses the caller until it is inserted again.")},
    {"run", BIND_FN(tasklet_run), METH_FASTCALL,
     PyDoc_STR("run($self, /)\n--\n\n"
               "Runs this tasklet now; the caller stays runnable, first in the queue.")},
    {"bind_thread", BIND_FN(tasklet_bind_thread), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "bind_thread($self, /, thread_id=None)\n--\n\n"
         "Moves this tasklet to another OS thread, where it continues; any thread may call.\n\n"
         "thread_id: as threading.get_ident(), of a thread that has used loomlet; None: the\n"
         "calling one.  The tasklet is new, paused, or waits for a channel, lock or tasklet\n"
         "without a timeout.  TaskletError if it is runnable or C code is on its stack,\n"
         "WrongThread if there is no such thread.")},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
     PyDoc_STR("Channel[T] and Tasklet[T] are for type checkers.")},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {"__setstate__", bind_set_state, METH_O, NULL},
    {"_interrupt", tasklet_interrupt, METH_O, NULL},
    {"_where", tasklet_where, METH_NOARGS, NULL},
    {"_stack", tasklet_stack, METH_NOARGS, NULL},
    {"_holders", tasklet_holders, METH_NOARGS, NULL},
    {"_spawned_at", tasklet_spawned_at, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"name", tasklet_get_name, tasklet_set_name,
     PyDoc_STR("A str: given, or the function's name and the id."), NULL},
    {"id", tasklet_get_id, NULL, PyDoc_STR("An int, unique in the process."), NULL},
    {"state", tasklet_get_state, NULL,
     PyDoc_STR("'new', 'runnable', 'running', 'blocked', 'paused' or 'done'."), NULL},
    {"waiting_for", tasklet_get_waiting_for, NULL,
     PyDoc_STR("What a blocked tasklet waits for: a channel, a tuple of channels (select), a\n"
               "tasklet or group (join), a lock, a stream or listener, a function (run_blocking),\n"
               "a host name (getaddrinfo), a float (sleep: the time of waking).\n"
               "None otherwise."),
     NULL},
    {"waiting_in", tasklet_get_waiting_in, NULL,
     PyDoc_STR("The operation that blocks it: 'send', 'receive', 'iterate', 'select', 'join',\n"
               "'acquire', 'sleep', 'read', 'write', 'accept', 'connect', 'run_blocking',\n"
               "'getaddrinfo'; None otherwise."),
     NULL},
    {"is_main", tasklet_get_is_main, NULL,
     PyDoc_STR("True for the thread's original thread of control."), NULL},
    {"_failure", tasklet_get_failure, NULL, NULL, NULL},
    {"_observed", tasklet_get_observed, NULL, NULL, NULL},
    {"_cancelled", tasklet_get_cancelled, NULL, NULL, NULL},
    {"_scope", tasklet_get_scope, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_tasklet_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.Tasklet",
    .tp_doc = PyDoc_STR(
        "A function that runs beside others and is switched by loomlet; created by spawn()."),
    .tp_basicsize = sizeof(s_tasklet),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_weaklistoffset = offsetof(s_tasklet, weakrefs),
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_repr = tasklet_repr,
    .tp_traverse = tasklet_traverse,
    .tp_clear = tasklet_clear,
    .tp_finalize = tasklet_finalize,
    .tp_dealloc = s_dealloc,
};
