/* loomlet._core.Queue, the base of the queues of loomlet.sync. */
#include <stddef.h>

#include "bind/native/gate.h"
#include "bind/pickling.h"

#define SELF ((y_queue *)self)

/* Queue(maxsize, last_first): no bound if maxsize is 0 or less. */
static PyObject *queue_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"maxsize", "last_first", NULL};
    Py_ssize_t most = 0;
    int last_first = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|np:Queue", names, &most, &last_first))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL)
        y_queue_init(SELF, most > 0 ? most : PY_SSIZE_T_MAX, last_first);
    return self;
}

/* The deadline for `block` and `timeout`, each borrowed or NULL: 0, or -1 with an exception. */
static int read_queue_timeout(s_sched *s, PyObject *block, PyObject *timeout, int64_t *until)
{
    int64_t nanoseconds;
    int wait = block != NULL ? PyObject_IsTrue(block) : 1;
    if (wait < 0)
        return -1;
    *until = wait ? S_FOREVER : INT64_MIN;
    if (!wait || timeout == NULL || timeout == Py_None)
        return 0;
    double seconds = PyFloat_AsDouble(timeout);
    if (seconds == -1 && PyErr_Occurred())
        return -1;
    if (seconds < 0) {
        PyErr_Format(PyExc_ValueError, "expected a timeout of 0 or more seconds, found %R",
                     timeout);
        return -1;
    }
    if (bind_read_seconds(timeout, &nanoseconds) < 0)
        return -1;
    *until = s_now(s) + nanoseconds;
    return 0;
}

static PyObject *queue_put_item(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    static const char *const names[] = {"item", "block", "timeout", NULL};
    PyObject *values[3] = {NULL};
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_parse_arguments("put", names, 1, args, nargs, kwnames, values) < 0 ||
        read_queue_timeout(s, values[1], values[2], &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), queue_put_item);
    PyObject *done = y_queue_put(s, SELF, values[0], until, &site, &code);
    return bind_result(done, code, self);
}

static PyObject *queue_get_item(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    static const char *const names[] = {"block", "timeout", NULL};
    PyObject *values[2] = {NULL};
    int64_t until;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_parse_arguments("get", names, 0, args, nargs, kwnames, values) < 0 ||
        read_queue_timeout(s, values[0], values[1], &until) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), queue_get_item);
    PyObject *item = y_queue_get(s, SELF, until, &site, &code);
    return bind_result(item, code, self);
}

static PyObject *queue_put_item_now(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    static const char *const names[] = {"item", NULL};
    PyObject *item = NULL;
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_parse_arguments("put_nowait", names, 1, args, nargs, kwnames, &item) < 0)
        return NULL;
    PyObject *done = y_queue_put(s, SELF, item, INT64_MIN, NULL, &code);
    return bind_result(done, code, self);
}

static PyObject *queue_get_nowait(PyObject *self, PyObject *unused)
{
    (void)unused;
    int code;
    s_sched *s = s_self();
    PyObject *item = s != NULL ? y_queue_get(s, SELF, INT64_MIN, NULL, &code) : NULL;
    return s != NULL ? bind_result(item, code, self) : NULL;
}

static PyObject *queue_qsize(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(SELF->count);
}

static PyObject *queue_empty(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->count == 0);
}

static PyObject *queue_full(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->count >= SELF->most);
}

static PyObject *queue_task_done(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    int code = s != NULL ? y_queue_task_done(s, SELF) : S_E_SET;
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *queue_join_tasks(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("join", nargs, 0) < 0)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, queue_join_tasks);
    PyObject *done = y_queue_join(s, SELF, &site, &code);
    return bind_result(done, code, self);
}

static PyObject *queue_shutdown(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    static const char *const names[] = {"immediate", NULL};
    PyObject *immediate = Py_False;
    s_sched *s = s_self();
    if (s == NULL ||
        bind_parse_arguments("shutdown", names, 0, args, nargs, kwnames, &immediate) < 0)
        return NULL;
    int at_once = PyObject_IsTrue(immediate);
    if (at_once < 0)
        return NULL;
    y_queue_shut(s, SELF, at_once);
    Py_RETURN_NONE;
}

static PyObject *queue_get_maxsize(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(SELF->most == PY_SSIZE_T_MAX ? 0 : SELF->most);
}

static int queue_set_maxsize(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (value == NULL)
        PyErr_SetString(PyExc_AttributeError, "cannot delete maxsize");
    if (s == NULL || value == NULL)
        return -1;
    Py_ssize_t most = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (most == -1 && PyErr_Occurred())
        return -1;
    y_queue_set_most(s, SELF, most > 0 ? most : PY_SSIZE_T_MAX);
    return 0;
}

static PyObject *queue_get_tasks(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(SELF->tasks);
}

static PyObject *queue_get_shut(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->shut);
}

static PyObject *queue_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<loomlet.sync.%s at %p items=%zd%s>", Py_TYPE(self)->tp_name,
                                (void *)self, SELF->count, SELF->shut ? " shut down" : "");
}

static int queue_traverse(PyObject *self, visitproc visit, void *arg)
{
    return y_queue_visit(SELF, visit, arg);
}

static int queue_clear(PyObject *self)
{
    y_queue_clear(SELF);
    return 0;
}

static void queue_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (SELF->gate.weakrefs != NULL)
        PyObject_ClearWeakRefs(self);
    y_queue_free(SELF);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"put", BIND_FN(queue_put_item), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("put($self, /, item, block=True, timeout=None)\n--\n\n"
               "Adds an item; waits for room, first come, first served.  queue.Full if there is\n"
               "none at once (block=False), or within `timeout` seconds; ShutDown after\n"
               "shutdown().  A tasklet that is killed while it waits may have added the item.\n"
               "Tasklets and OS threads alike.")},
    {"get", BIND_FN(queue_get_item), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "get($self, /, block=True, timeout=None)\n--\n\n"
         "Takes an item; waits for one, first come, first served.  queue.Empty when there is\n"
         "none at once (block=False), or within `timeout` seconds; ShutDown after\n"
         "shutdown(), once it is empty.  Tasklets and OS threads alike.")},
    {"put_nowait", BIND_FN(queue_put_item_now), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("put_nowait($self, /, item)\n--\n\nput(item, block=False).  Any thread.")},
    {"get_nowait", queue_get_nowait, METH_NOARGS,
     PyDoc_STR("get_nowait($self, /)\n--\n\nget(block=False).  Any thread.")},
    {"qsize", queue_qsize, METH_NOARGS,
     PyDoc_STR("qsize($self, /)\n--\n\nHow many items it has.  Any thread.")},
    {"empty", queue_empty, METH_NOARGS,
     PyDoc_STR("empty($self, /)\n--\n\nWhether it has no item.  Any thread.")},
    {"full", queue_full, METH_NOARGS,
     PyDoc_STR("full($self, /)\n--\n\nWhether it has `maxsize` items.  Any thread.")},
    {"task_done", queue_task_done, METH_NOARGS,
     PyDoc_STR("task_done($self, /)\n--\n\n"
               "What was to be done with one item is done.  ValueError when it is called more\n"
               "often than items were put.  Any thread.")},
    {"join", BIND_FN(queue_join_tasks), METH_FASTCALL,
     PyDoc_STR("join($self, /)\n--\n\n"
               "Waits until task_done() was called for each item that was put.  Tasklets and OS\n"
               "threads alike.")},
    {"shutdown", BIND_FN(queue_shutdown), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("shutdown($self, /, immediate=False)\n--\n\n"
               "From now on put() raises ShutDown, and so does get() once the queue is empty.\n"
               "`immediate`: what it has is dropped, and counts as done.  Any thread.")},
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"maxsize", queue_get_maxsize, queue_set_maxsize,
     PyDoc_STR("How many items it may have; 0: no bound."), NULL},
    {"unfinished_tasks", queue_get_tasks, NULL,
     PyDoc_STR("How many items were put for which task_done() was not called."), NULL},
    {"is_shutdown", queue_get_shut, NULL, PyDoc_STR("Whether shutdown() was called."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_queue_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Queue",
    .tp_basicsize = sizeof(y_queue),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_weaklistoffset = offsetof(y_gate, weakrefs),
    .tp_new = queue_new,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_repr = queue_repr,
    .tp_traverse = queue_traverse,
    .tp_clear = queue_clear,
    .tp_dealloc = queue_dealloc,
};
