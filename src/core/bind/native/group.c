/* loomlet._core.Group, the base of TaskGroup, which decides in Python which exception leaves it. */
#include "bind/native/native.h"
#include "sched/guests/scope.h"
#include "sync/sync.h"

#define SELF ((s_scope *)self)

/* The type of a group with a limit, in which spawn() waits. */
static PyTypeObject *limited_type(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"limit", NULL};
    PyObject *limit = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O:TaskGroup", names, &limit))
        return NULL;
    if (limit == Py_None)
        return type;
    PyObject *limited = PyObject_GetAttrString((PyObject *)type, "_limited");
    Py_XDECREF(limited);
    if (limited != NULL && ((PyTypeObject *)limited)->tp_base != type &&
        limited != (PyObject *)type) {
        PyErr_Format(PyExc_TypeError, "%.100s takes no limit; only TaskGroup does", type->tp_name);
        return NULL;
    }
    return (PyTypeObject *)limited;
}

static PyObject *group_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    int plain = PyTuple_GET_SIZE(args) == 0 && (kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0);
    if (!plain && (type = limited_type(type, args, kwargs)) == NULL)
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    s_scope_init(SELF);
    SELF->children = PyDict_New();
    if (SELF->children == NULL)
        Py_CLEAR(self);
    return self;
}

/* The group's thread is another one: the child begins there.  It is adopted before that thread can
 * see it. */
static PyObject *spawn_elsewhere(PyObject *self, s_sched *to, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *child = bind_new_for(to, args, nargs, kwnames);
    if (child == NULL)
        return NULL;
    int code = s_scope_adopt(SELF, (s_tasklet *)child);
    if (code == S_OK && (code = s_start_for(to, (s_tasklet *)child)) < 0)
        s_scope_disown((s_tasklet *)child);
    if (code == S_OK)
        return child;
    Py_DECREF(child);
    return bind_fail(code == S_E_THREAD ? S_E_GROUP_CLOSED : code, self);
}

/* The child cannot run between the spawn and its adoption. */
static PyObject *group_spawn(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    if (SELF->state != S_SCOPE_ENTERED || SELF->called)
        return bind_fail(S_E_GROUP_CLOSED, self);
    s_sched *s = s_self_if_any(), *to = s_scope_owner(SELF);
    if (to != s && to != NULL)
        return spawn_elsewhere(self, to, args, nargs, kwnames);
    PyObject *child = bind_spawn(NULL, args, nargs, kwnames);
    if (child == NULL)
        return NULL;
    int code = s_scope_adopt(SELF, (s_tasklet *)child);
    if (code == S_OK)
        return child;
    s_remove(s, (s_tasklet *)child);
    Py_DECREF(child);
    return bind_fail(code, self);
}

/* _wait(shielded): waits until there are no children. */
static PyObject *group_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("_wait", nargs, 1) < 0)
        return NULL;
    int shielded = PyObject_IsTrue(args[0]);
    if (shielded < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, group_wait);
    PyObject *done = s_scope_wait(s, SELF, shielded, &site, &code);
    return bind_result(done, code, self);
}

/* _leave() -> True when the group is left, False while it has children, an exception when it is
 * left out of order. */
static PyObject *group_leave(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = s_scope_leave(s, SELF, 0);
    return code < 0 ? s_hook.error(code, self) : PyBool_FromLong(code == 0);
}

/* _report(tasklet, exception): a failure that cannot be raised goes to the error handler. */
static PyObject *group_report(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)self;
    if (bind_check_count("_report", nargs, 2) < 0)
        return NULL;
    if (!bind_is_tasklet(args[0]) || !PyExceptionInstance_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "_report() takes a tasklet and an exception");
        return NULL;
    }
    s_hook.failed((s_tasklet *)args[0], args[1]);
    Py_RETURN_NONE;
}

/* _take_failed() -> the children that have failed, in order; the group forgets them.  Every way out
 * of the block comes here: a group that is still open is left. */
static PyObject *group_take_failed(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL || s_scope_leave_open(s, SELF) < 0)
        return NULL;
    PyObject *failed = s_as_group(SELF)->failed;
    s_as_group(SELF)->failed = NULL;
    return failed ? failed : PyList_New(0);
}

/* _caught(): notes that the group ended its block by catching Cancelled. */
static PyObject *group_caught(PyObject *self, PyObject *unused)
{
    (void)unused;
    SELF->caught = 1;
    Py_RETURN_NONE;
}

static void give_permit_back(s_sched *s, PyObject *permits)
{
    y_semaphore_release(s, (y_semaphore *)permits, 1);
}

/* _use(semaphore): each child gives a permit of it back when it ends. */
static PyObject *group_use(PyObject *self, PyObject *semaphore)
{
    if (!Py_IS_TYPE(semaphore, &bind_semaphore_type))
        return PyErr_Format(PyExc_TypeError, "expected a semaphore, found %R", semaphore);
    s_as_group(SELF)->give_back = give_permit_back;
    Py_XSETREF(s_as_group(SELF)->permits, Py_NewRef(semaphore));
    Py_RETURN_NONE;
}

static PyObject *group_get_children(PyObject *self, void *unused)
{
    (void)unused;
    return c_list_of_keys(SELF->children);
}

static PyObject *group_get_outer_cancelled(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(s_scope_outer(SELF));
}

static PyObject *group_get_lost_failure(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->lost_failure);
}

static PyObject *group_get_left(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->state == S_SCOPE_LEFT);
}

static PyMethodDef methods[] = {
    {"spawn", BIND_FN(group_spawn), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "spawn($self, func, /, *args, **kwargs)\n--\n\n"
         "As loomlet.spawn(); the tasklet belongs to the group, which waits for it, collects\n"
         "its exception and cancels it with the others.  Any thread.  ScopeError when the group "
         "is\n"
         "not open: before its block, after it, and once it is cancelled.")},
    {"_wait", BIND_FN(group_wait), METH_FASTCALL, NULL},
    {"_leave", group_leave, METH_NOARGS, NULL},
    {"_report", BIND_FN(group_report), METH_FASTCALL, NULL},
    {"_take_failed", group_take_failed, METH_NOARGS, NULL},
    {"_caught", group_caught, METH_NOARGS, NULL},
    {"_use", group_use, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"_children", group_get_children, NULL, NULL, NULL},
    {"_left", group_get_left, NULL, NULL, NULL},
    {"_lost_failure", group_get_lost_failure, NULL, NULL, NULL},
    {"_outer_cancelled", group_get_outer_cancelled, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_group_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Group",
    .tp_base = &bind_scope_type,
    .tp_basicsize = sizeof(s_group),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = group_new,
    .tp_methods = methods,
    .tp_getset = getset,
};
