/* _stackless.bomb: an exception as a value, with type, value and traceback.
 *
 * A bomb that is received from a channel (chan/stackless.c), or that is the tempval of a tasklet,
 * is raised instead of being returned.  Only the traceback is checked when a bomb is made; what
 * cannot be raised is noticed when it is raised.
 */
#include <stddef.h>

#include "bind/pickling.h"
#include "bind/stackless/stackless.h"

typedef struct {
    PyObject_HEAD
    PyObject *type, *value, *traceback; /* NULL: not set */
} bomb;

#define SELF ((bomb *)self)

static PyObject *bomb_make(PyObject *type, PyObject *value, PyObject *traceback)
{
    PyObject *self = bind_bomb_type.tp_alloc(&bind_bomb_type, 0);
    if (self != NULL) {
        SELF->type = Py_XNewRef(type);
        SELF->value = Py_XNewRef(value);
        SELF->traceback = Py_XNewRef(traceback);
    }
    return self;
}

PyObject *bind_bomb_around(PyObject *error)
{
    PyObject *traceback = PyException_GetTraceback(error);
    PyObject *self = bomb_make((PyObject *)Py_TYPE(error), error, traceback);
    Py_XDECREF(traceback);
    return self;
}

static PyObject *part_or_none(PyObject *object)
{
    return object != NULL ? object : Py_None;
}

PyObject *bind_bomb_exception(PyObject *self)
{
    PyObject *type = part_or_none(SELF->type), *value = SELF->value;
    if (PyExceptionInstance_Check(type) && value == type)
        value = NULL;
    PyObject *error =
        bind_stackless_exception(type, part_or_none(value), part_or_none(SELF->traceback));
    return error != NULL ? error : PyErr_GetRaisedException();
}

static PyObject *bomb_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"type", "value", "traceback", NULL};
    PyObject *given[3] = {NULL, NULL, NULL};
    (void)type;
    if (PyTuple_GET_SIZE(args) == 1 && PyTuple_Check(PyTuple_GET_ITEM(args, 0)))
        args = PyTuple_GET_ITEM(args, 0);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOO:bomb", names, &given[0], &given[1],
                                     &given[2]))
        return NULL;
    if (given[2] != NULL && given[2] != Py_None && !PyTraceBack_Check(given[2]))
        return PyErr_Format(PyExc_TypeError, "third argument must be a traceback object");
    return bomb_make(given[0], given[1], given[2]);
}

static PyObject *bomb_get_part(PyObject *self, void *offset)
{
    return Py_NewRef(part_or_none(*(PyObject **)((char *)self + (size_t)offset)));
}

static int bomb_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(SELF->type);
    Py_VISIT(SELF->value);
    Py_VISIT(SELF->traceback);
    return 0;
}

static int bomb_clear(PyObject *self)
{
    Py_CLEAR(SELF->type);
    Py_CLEAR(SELF->value);
    Py_CLEAR(SELF->traceback);
    return 0;
}

static void bomb_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    bomb_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"__reduce__", bind_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define PART(name, doc) {#name, bomb_get_part, NULL, PyDoc_STR(doc), (void *)offsetof(bomb, name)}

static PyGetSetDef getset[] = {
    PART(type, "The exception's class, or None."),
    PART(value, "The exception, or what to make it of, or None."),
    PART(traceback, "Its traceback, or None."),
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_bomb_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.bomb",
    .tp_doc = PyDoc_STR("bomb(type=None, value=None, traceback=None)\n--\n\n"
                        "An exception as a value: raised where it is received.\n\n"
                        "Takes the three parts, or one tuple of them."),
    .tp_basicsize = sizeof(bomb),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = bomb_new,
    .tp_methods = methods,
    .tp_getset = getset,
    .tp_traverse = bomb_traverse,
    .tp_clear = bomb_clear,
    .tp_dealloc = bomb_dealloc,
};
