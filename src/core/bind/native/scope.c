/* loomlet.CancelScope and loomlet.timeout */
#include <math.h>

#include "bind/native/native.h"
#include "sched/guests/scope.h"

#define SELF ((s_scope *)self)

/* ---- making --------------------------------------------------------------- */

static PyObject *scope_make(PyTypeObject *type, int64_t deadline, int relative, int shield)
{
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL) {
        s_scope_init(SELF);
        SELF->timer.node.when = deadline;
        SELF->relative = (unsigned char)relative;
        SELF->shield = (unsigned char)shield;
    }
    return self;
}

/* Seconds, or None for never. */
static int read_time(PyObject *value, int64_t *nanoseconds)
{
    *nanoseconds = S_FOREVER;
    if (value == Py_None || (PyFloat_CheckExact(value) && isinf(PyFloat_AS_DOUBLE(value)) &&
                             PyFloat_AS_DOUBLE(value) > 0))
        return 0;
    return bind_read_seconds(value, nanoseconds);
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"deadline", "shield", NULL};
    PyObject *deadline = Py_None;
    int shield = 0;
    int64_t when;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op:CancelScope", names, &deadline, &shield) ||
        read_time(deadline, &when) < 0)
        return NULL;
    return scope_make(type, when, 0, shield);
}

static PyObject *timeout_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"seconds", NULL};
    PyObject *seconds;
    int64_t time;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:timeout", names, &seconds) ||
        read_time(seconds, &time) < 0)
        return NULL;
    return scope_make(type, time, 1, 0);
}

/* timeout(seconds), called from Python without keywords. */
static PyObject *timeout_call(PyObject *type, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames)
{
    int64_t time;
    if (PyVectorcall_NARGS(nargsf) == 1 && kwnames == NULL)
        return read_time(args[0], &time) < 0 ? NULL : scope_make((PyTypeObject *)type, time, 1, 0);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *positional = bind_make_tuple(args, nargs), *named = kwnames ? PyDict_New() : NULL;
    PyObject *self = NULL;
    int ready = positional != NULL && (kwnames == NULL || named != NULL);
    for (Py_ssize_t i = 0; ready && kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        ready = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) == 0;
    if (ready)
        self = timeout_new((PyTypeObject *)type, positional, named);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return self;
}

/* ---- `with` ------------------------------------------------------------------ */

static PyObject *scope_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = s_scope_enter(s, SELF);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(self);
}

static int add_notes(PyObject *error, PyObject *notes)
{
    int code = 0;
    for (Py_ssize_t i = 0; code == 0 && i < PyList_GET_SIZE(notes); i++) {
        PyObject *done = PyObject_CallMethod(error, "add_note", "O", PyList_GET_ITEM(notes, i));
        code = done != NULL ? 0 : -1;
        Py_XDECREF(done);
    }
    return code;
}

/* Raises TimeoutError, caused by the Cancelled that was absorbed. */
static PyObject *raise_scope_late(PyObject *self, PyObject *cause)
{
    PyObject *error = s_hook.error(S_E_SCOPE_LATE, self);
    if (error != NULL) {
        PyException_SetCause(error, Py_NewRef(cause));
        PyObject *notes = s_scope_note_list(SELF);
        if (notes == NULL || add_notes(error, notes) < 0)
            PyErr_Clear();
        Py_XDECREF(notes);
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

static PyObject *scope_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    if (s == NULL || (nargs != 3 && bind_check_count("__exit__", nargs, 3) < 0))
        return NULL;
    int caught = args[1] != Py_None && s_scope_absorbs(SELF) && bind_is_cancelled(args[1]);
    int code = s_scope_leave(s, SELF, 1);
    if (code < 0)
        return bind_fail(code, self);
    if (!caught)
        Py_RETURN_FALSE;
    SELF->caught = 1;
    if (SELF->expired && PyObject_TypeCheck(self, &bind_timeout_type))
        return raise_scope_late(self, args[1]);
    Py_RETURN_TRUE;
}

/* ---- the rest ------------------------------------------------------------------ */

static PyObject *scope_cancel(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s_scope_cancel(s, SELF);
    Py_RETURN_NONE;
}

static PyObject *scope_get_called(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->called);
}

static PyObject *scope_get_caught(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->caught);
}

static PyObject *scope_get_deadline(PyObject *self, void *unused)
{
    (void)unused;
    if (SELF->relative || SELF->timer.node.when == S_FOREVER)
        Py_RETURN_NONE;
    return PyFloat_FromDouble((double)SELF->timer.node.when / 1e9);
}

static int scope_set_deadline(PyObject *self, PyObject *value, void *unused)
{
    int64_t when;
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL || read_time(value ? value : Py_None, &when) < 0)
        return -1;
    int code = s_scope_set_deadline(s, SELF, when);
    if (code < 0)
        bind_fail(code, self);
    return code < 0 ? -1 : 0;
}

static PyObject *scope_get_shield(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->shield);
}

static int scope_set_shield(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    s_sched *s = s_self();
    int shield = value ? PyObject_IsTrue(value) : 0;
    if (s == NULL || shield < 0)
        return -1;
    s_scope_set_shield(s, SELF, shield);
    return 0;
}

static PyObject *scope_repr(PyObject *self)
{
    static const char *const states[] = {"not entered", "entered", "left"};
    const char *name = Py_TYPE(self)->tp_name, *dot = strrchr(name, '.');
    return PyUnicode_FromFormat("<loomlet.%s %s%s>", dot ? dot + 1 : name, states[SELF->state],
                                SELF->called ? ", cancelled" : "");
}

/* _opened: "timeout opened at file:line in function", or None. */
static PyObject *scope_get_opened(PyObject *self, void *unused)
{
    c_location at = s_scope_location(SELF);
    (void)unused;
    if (at.code == NULL)
        Py_RETURN_NONE;
    return PyUnicode_FromFormat("timeout opened at %U:%d in %U", c_peek_file(&at), c_peek_line(&at),
                                c_peek_function(&at));
}

/* _skipped: notes about clean-up that could not wait in it. */
static PyObject *scope_get_skipped(PyObject *self, void *unused)
{
    (void)unused;
    return s_scope_note_list(SELF);
}

static int scope_traverse(PyObject *self, visitproc visit, void *arg)
{
    return s_scope_visit(SELF, visit, arg);
}

static int scope_clear(PyObject *self)
{
    s_scope_clear(SELF);
    return 0;
}

static void scope_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    s_scope_clear(SELF);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, NULL},
    {"__exit__", BIND_FN(scope_exit), METH_FASTCALL, NULL},
    {"cancel", scope_cancel, METH_NOARGS,
     PyDoc_STR(
         "cancel($self, /)\n--\n\n"
         "Cancels the scope: every blocking operation inside it raises Cancelled, those that\n"
         "wait now and all that come, until it is left.  Again: nothing.  Any thread.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"cancel_called", scope_get_called, NULL,
     PyDoc_STR("True from cancel() on, or once the deadline has passed inside the scope."), NULL},
    {"cancelled_caught", scope_get_caught, NULL,
     PyDoc_STR("True when the scope ended its block by catching Cancelled."), NULL},
    {"deadline", scope_get_deadline, scope_set_deadline,
     PyDoc_STR("When the scope cancels itself, in seconds of loomlet.now(); None: never.\n"
               "Set by the thread that is inside the scope."),
     NULL},
    {"shield", scope_get_shield, scope_set_shield,
     PyDoc_STR("True: a cancel from further out does not reach into this scope."), NULL},
    {"_opened", scope_get_opened, NULL, NULL, NULL},
    {"_skipped", scope_get_skipped, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_scope_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.CancelScope",
    .tp_doc = PyDoc_STR(
        "CancelScope(deadline=None, shield=False)\n--\n\n"
        "`with CancelScope() as scope:` makes a block that can be cancelled as a whole.\n\n"
        "deadline: time of loomlet.now() at which it cancels itself.  shield: keeps cancels\n"
        "from further out away.  Cancelled is caught where the scope ends, unless one further\n"
        "out is cancelled too.  Entered once."),
    .tp_basicsize = sizeof(s_scope),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = scope_new,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_repr = scope_repr,
    .tp_traverse = scope_traverse,
    .tp_clear = scope_clear,
    .tp_dealloc = scope_dealloc,
};

/* Once more, for type checkers: it never suppresses an exception. */
static PyMethodDef timeout_methods[] = {
    {"__exit__", BIND_FN(scope_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_timeout_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet.timeout",
    .tp_doc = PyDoc_STR(
        "timeout(seconds)\n--\n\n"
        "`with timeout(5):` gives a block at most that many seconds from where it begins.\n\n"
        "A cancel scope that raises the builtin TimeoutError when it had to end its block\n"
        "because the time was over.  None: no limit."),
    .tp_base = &bind_scope_type,
    .tp_basicsize = sizeof(s_scope),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = timeout_new,
    .tp_methods = timeout_methods,
    .tp_vectorcall = timeout_call,
};
