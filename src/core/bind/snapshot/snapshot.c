/* Tasklets as plain values, for loomlet.snapshot.
 *
 * The snapshot of a tasklet is (func, args, kwnames, frames, exception, context, wait, value,
 * error).  `frames` is described in cpython/frame_snapshot.h, `wait` in wait.c; `value` is what its
 * call will return, or what a sender offers.
 */
#include "bind/snapshot/snapshot.h"

#include "bind/stackless/stackless.h"

static PyObject *null_if_none(PyObject *object)
{
    return object != Py_None ? object : NULL;
}

static int want_tasklet(PyObject *object)
{
    if (bind_is_tasklet(object))
        return 1;
    PyErr_Format(PyExc_TypeError, "expected a tasklet, found %.100s", Py_TYPE(object)->tp_name);
    return 0;
}

/* ---- why there is no snapshot ---------------------------------------------------------- */

/* Why a tasklet cannot be frozen, (why, code or None, line, callee or None, opcode, tasklet); None
 * when it can. */
static PyObject *explain_not_freezable(s_sched *s, s_tasklet *t)
{
    PyObject *code = NULL, *callee = NULL;
    int line = 0, opcode = -1, why = s_snapshot_obstacle(s, t);
    if (why == S_OBSTACLE_NONE)
        Py_RETURN_NONE;
    if (why == S_OBSTACLE_PREEMPTED)
        c_suspended_location(&t->c, &code, &line);
    else if (why == S_OBSTACLE_C_STACK || why == S_OBSTACLE_TRACED)
        c_find_c_caller(&t->c, &code, &line, &callee, &opcode);
    if (code == NULL && t->func != NULL && !PyFunction_Check(t->func))
        callee = Py_NewRef(t->func);
    PyObject *found = Py_BuildValue("(iOiOiO)", why, bind_or_none(code), line, bind_or_none(callee),
                                    opcode, (PyObject *)t);
    Py_XDECREF(code);
    Py_XDECREF(callee);
    return found;
}

/* _tasklet_why(tasklet): why it cannot be frozen, a str; None when it can. */
static PyObject *tasklet_why(PyObject *module, PyObject *t)
{
    (void)module;
    s_sched *s = s_self();
    PyObject *found =
        s != NULL && want_tasklet(t) ? explain_not_freezable(s, (s_tasklet *)t) : NULL;
    if (found == NULL || found == Py_None)
        return found;
    PyObject *error = s_hook.error(S_E_NOT_FREEZABLE, found);
    Py_DECREF(found);
    PyObject *text = error != NULL ? PyObject_Str(error) : NULL;
    Py_XDECREF(error);
    return text;
}

/* ---- reading ----------------------------------------------------------------------- */

static PyObject *make_snapshot_tuple(s_sched *s, s_tasklet *t)
{
    s_snapshot snapshot;
    if (s_snapshot_take(t, &snapshot) < 0)
        return NULL;
    PyObject *wait = bind_read_wait(s, t);
    PyObject *found = NULL;
    if (wait != NULL)
        found =
            Py_BuildValue("(OOOOOONOO)", bind_or_none(snapshot.func), bind_or_none(snapshot.args),
                          bind_or_none(snapshot.kwnames), bind_or_none(snapshot.frames),
                          bind_or_none(snapshot.handled), bind_or_none(snapshot.context), wait,
                          bind_or_none(snapshot.value), bind_or_none(snapshot.error));
    s_snapshot_clear(&snapshot);
    return found;
}

static PyObject *tasklet_snapshot(PyObject *module, PyObject *t)
{
    (void)module;
    s_sched *s = s_self();
    PyObject *found =
        s != NULL && want_tasklet(t) ? explain_not_freezable(s, (s_tasklet *)t) : NULL;
    if (found == NULL)
        return NULL;
    PyObject *values = found == Py_None ? make_snapshot_tuple(s, (s_tasklet *)t)
                                        : bind_fail(S_E_NOT_FREEZABLE, found);
    Py_DECREF(found);
    return values;
}

/* ---- building ------------------------------------------------------------------------ */

/* Steals `text`, which may be NULL. */
static PyObject *raise_thaw_text(PyObject *text)
{
    if (text != NULL) {
        bind_fail(S_E_SNAPSHOT, text);
        Py_DECREF(text);
    }
    return NULL;
}

PyObject *bind_raise_thaw_error(const char *wrong)
{
    return raise_thaw_text(PyUnicode_FromString(wrong));
}

PyObject *bind_raise_thaw_object(const char *expected, PyObject *found)
{
    return raise_thaw_text(
        PyUnicode_FromFormat("expected %s, found %.100s", expected, Py_TYPE(found)->tp_name));
}

/* _tasklet_empty(type): a tasklet to be filled; until then it counts as ended. */
static PyObject *tasklet_empty(PyObject *module, PyObject *object)
{
    (void)module;
    PyTypeObject *type = (PyTypeObject *)object;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (!PyType_Check(object) || !PyType_IsSubtype(type, &bind_tasklet_type))
        return PyErr_Format(PyExc_TypeError, "expected a type of tasklets, found %R", object);
    s_tasklet *t = (s_tasklet *)type->tp_alloc(type, 0);
    if (t != NULL) {
        t->stackless_rules = PyType_IsSubtype(type, &bind_stackless_tasklet_type);
        s_unbound_init(s, t);
    }
    return (PyObject *)t;
}

/* Whether the snapshot describes a call that has not begun. */
static int parse_call(const s_snapshot *snapshot)
{
    Py_ssize_t names = snapshot->kwnames && PyTuple_CheckExact(snapshot->kwnames)
                           ? PyTuple_GET_SIZE(snapshot->kwnames)
                           : 0;
    return snapshot->func != NULL && PyCallable_Check(snapshot->func) && snapshot->args != NULL &&
           PyTuple_CheckExact(snapshot->args) &&
           (snapshot->kwnames == NULL || PyTuple_CheckExact(snapshot->kwnames)) &&
           names <= PyTuple_GET_SIZE(snapshot->args);
}

static int parse_snapshot(PyObject *values, s_snapshot *snapshot, PyObject **wait)
{
    if (!PyTuple_CheckExact(values) || PyTuple_GET_SIZE(values) != 9)
        return 0;
    PyObject **item = ((PyTupleObject *)values)->ob_item;
    *snapshot = (s_snapshot){.func = null_if_none(item[0]),
                             .args = null_if_none(item[1]),
                             .kwnames = null_if_none(item[2]),
                             .frames = null_if_none(item[3]),
                             .handled = null_if_none(item[4]),
                             .context = null_if_none(item[5]),
                             .error = null_if_none(item[8])};
    *wait = item[6];
    snapshot->value = item[7] == Py_None && *wait != Py_None ? NULL : item[7];
    if (snapshot->error != NULL && !PyExceptionInstance_Check(snapshot->error))
        return 0;
    if (snapshot->frames == NULL)
        return parse_call(snapshot);
    return (snapshot->handled == NULL || PyExceptionInstance_Check(snapshot->handled)) &&
           (snapshot->context == NULL || PyContext_CheckExact(snapshot->context));
}

/* None, or raises for a code; `wrong`: what does not fit, NULL when it is the wait. */
static PyObject *fill_outcome(PyObject *t, int code, const char *wrong)
{
    if (code == S_E_ALIVE)
        return bind_raise_thaw_error("the tasklet has started, and only a new one can be filled");
    if (code == S_E_SNAPSHOT) {
        PyErr_Clear();
        return bind_raise_thaw_error(wrong ? wrong : "the kind of the tasklet's wait is unknown");
    }
    return code < 0 ? bind_fail(code, t) : Py_NewRef(Py_None);
}

/* _tasklet_fill(tasklet, snapshot, block): with `block` it waits again, if it waited. */
static PyObject *tasklet_fill(PyObject *module, PyObject *args)
{
    PyObject *t, *values, *wait, *value;
    int block, code;
    s_snapshot snapshot;
    const char *wrong = "expected a tuple of 9 values for a tasklet";
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || !PyArg_ParseTuple(args, "OOp:_tasklet_fill", &t, &values, &block) ||
        !want_tasklet(t))
        return NULL;
    if (!parse_snapshot(values, &snapshot, &wait))
        return bind_raise_thaw_error(wrong);
    value = Py_XNewRef(PyTuple_GET_ITEM(values, 7));
    code = s_snapshot_restore((s_tasklet *)t, &snapshot, &wrong);
    if (code == S_OK && block && wait != Py_None)
        code = bind_restore_wait(s, (s_tasklet *)t, wait, value);
    Py_XDECREF(value);
    return fill_outcome(t, code, wrong);
}

/* _tasklet_wait(tasklet, wait, value): makes a paused tasklet wait again. */
static PyObject *tasklet_wait(PyObject *module, PyObject *args)
{
    PyObject *t, *wait, *value;
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || !PyArg_ParseTuple(args, "OOO:_tasklet_wait", &t, &wait, &value) ||
        !want_tasklet(t))
        return NULL;
    int code =
        ((s_tasklet *)t)->state == S_PAUSED && ((s_tasklet *)t)->owner == s ? S_OK : S_E_SNAPSHOT;
    if (code == S_OK)
        code = bind_restore_wait(s, (s_tasklet *)t, wait, value);
    return fill_outcome(t, code, NULL);
}

PyMethodDef bind_snapshot_functions[] = {
    {"_tasklet_why", tasklet_why, METH_O, NULL},
    {"_tasklet_snapshot", tasklet_snapshot, METH_O, NULL},
    {"_tasklet_empty", tasklet_empty, METH_O, NULL},
    {"_tasklet_fill", tasklet_fill, METH_VARARGS, NULL},
    {"_tasklet_wait", tasklet_wait, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
