/* loomlet._core.HttpCycle: what an ASGI application answers with, one for each request.
 *
 * send() takes the common way at once: the start of an answer is kept, and a body that is all of it
 * is sent with it.  Nobody waits then, so what is returned is the same object each time, for which
 * `await` is over at once; it passes for a coroutine, because some programs make a task of it.
 * Everything else is up to `_send()`, `_send_rest()` and `_end()` of the Python type.
 *
 * The request is one of the engine or of HTTP/2; the latter is answered by its own methods.
 *
 * Threads.  The loop's, which is the server's.
 *
 * Rejected: a coroutine for each message.  It is made, begun, ended and freed for nothing.
 */
#include "bind/http/http.h"

typedef struct {
    PyObject_HEAD
    PyObject *request;
    PyObject *status, *fields; /* what the answer has begun with; or NULL */
    char begun;                /* its head has gone, or waits for a part of the body */
    char finished;
    char body_over; /* nothing more of the body of the request is given */
} http_cycle;

#define SELF ((http_cycle *)self)

/* ---- what is over at once -------------------------------------------------------------------- */

static PyObject *sent_iter(PyObject *self)
{
    return Py_NewRef(self);
}

static PyObject *sent_next(PyObject *self)
{
    (void)self;
    return NULL;
}

static PyObject *sent_send(PyObject *self, PyObject *value)
{
    (void)self, (void)value;
    PyErr_SetNone(PyExc_StopIteration);
    return NULL;
}

static PyObject *sent_throw(PyObject *self, PyObject *args)
{
    PyObject *kind = NULL, *value = NULL, *traceback = NULL;
    (void)self;
    if (PyArg_UnpackTuple(args, "throw", 1, 3, &kind, &value, &traceback) == 0)
        return NULL;
    if (PyExceptionInstance_Check(kind))
        PyErr_SetObject((PyObject *)Py_TYPE(kind), kind);
    else
        PyErr_SetObject(kind, value);
    return NULL;
}

static PyObject *sent_close(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    Py_RETURN_NONE;
}

static PyMethodDef sent_methods[] = {
    {"send", sent_send, METH_O, NULL},
    {"throw", sent_throw, METH_VARARGS, NULL},
    {"close", sent_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyAsyncMethods sent_as_awaitable = {.am_await = sent_iter};

static PyTypeObject sent_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.HttpSent",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_as_async = &sent_as_awaitable,
    .tp_iter = sent_iter,
    .tp_iternext = sent_next,
    .tp_methods = sent_methods,
};

static PyObject *sent; /* the only one */

static struct {
    PyObject *type, *status, *headers, *body, *more, *nothing, *no_fields;
    PyObject *send, *send_rest, *end;
} names;

int bind_http_cycle_ready(void)
{
    names.type = PyUnicode_InternFromString("type");
    names.status = PyUnicode_InternFromString("status");
    names.headers = PyUnicode_InternFromString("headers");
    names.body = PyUnicode_InternFromString("body");
    names.more = PyUnicode_InternFromString("more_body");
    names.nothing = PyBytes_FromStringAndSize(NULL, 0);
    names.no_fields = PyTuple_New(0);
    names.send = PyUnicode_InternFromString("_send");
    names.send_rest = PyUnicode_InternFromString("_send_rest");
    names.end = PyUnicode_InternFromString("_end");
    if (PyErr_Occurred() || PyType_Ready(&sent_type) < 0)
        return -1;
    sent = PyType_GenericAlloc(&sent_type, 0);
    return sent != NULL ? 0 : -1;
}

/* ---- send() ---------------------------------------------------------------------------------- */

#define IS_KIND(kind, text) is_kind(kind, text, sizeof(text) - 1)

static int is_kind(PyObject *kind, const char *text, size_t size)
{
    return PyUnicode_Check(kind) && PyUnicode_IS_COMPACT_ASCII(kind) &&
           (size_t)PyUnicode_GET_LENGTH(kind) == size &&
           memcmp(PyUnicode_DATA(kind), text, size) == 0;
}

/* An item, or `otherwise`: borrowed; NULL with an exception. */
static PyObject *item_or(PyObject *message, PyObject *name, PyObject *otherwise)
{
    PyObject *found = PyDict_GetItemWithError(message, name);
    return found != NULL || PyErr_Occurred() ? found : otherwise;
}

/* 1: it is kept; 0: up to the Python type; -1 with an exception. */
static int keep_start(PyObject *self, PyObject *message)
{
    PyObject *status = item_or(message, names.status, NULL);
    PyObject *fields = status != NULL ? item_or(message, names.headers, names.no_fields) : NULL;
    if (fields == NULL)
        return PyErr_Occurred() ? -1 : 0;
    SELF->status = Py_NewRef(status);
    SELF->fields = Py_NewRef(fields);
    return 1;
}

/* All of it has gone. */
static PyObject *end_cycle(PyObject *self)
{
    SELF->finished = 1;
    if (((bind_http_request *)SELF->request)->state == NULL)
        return Py_NewRef(sent);
    PyObject *told = PyObject_CallMethodNoArgs(self, names.end);
    Py_XDECREF(told);
    return told != NULL ? Py_NewRef(sent) : NULL;
}

/* What was not taken at once is sent in a tasklet. */
static PyObject *answer_at_once(PyObject *self, PyObject *body)
{
    PyObject *const parts[] = {SELF->status, SELF->fields, body};
    PyObject *rest = bind_http_answer_together(SELF->request, parts);
    if (rest == NULL)
        return NULL;
    PyObject *done =
        rest == Py_None ? end_cycle(self) : PyObject_CallMethodOneArg(self, names.send_rest, rest);
    Py_DECREF(rest);
    return done;
}

/* The body, if it is all of it; NULL: it is not, or with an exception. */
static PyObject *whole_body(PyObject *self, PyObject *message)
{
    if (SELF->status == NULL || SELF->begun || SELF->finished)
        return NULL;
    PyObject *body = item_or(message, names.body, names.nothing);
    PyObject *more = body != NULL ? item_or(message, names.more, Py_False) : NULL;
    return more == Py_False && PyBytes_CheckExact(body) ? body : NULL;
}

/* send(message): what is returned is to be awaited. */
static PyObject *cycle_send(PyObject *self, PyObject *message)
{
    int native =
        SELF->request != NULL && PyObject_TypeCheck(SELF->request, &bind_http_request_type);
    PyObject *kind =
        native && PyDict_CheckExact(message) ? PyDict_GetItemWithError(message, names.type) : NULL;
    int kept = 0;
    if (kind != NULL && IS_KIND(kind, "http.response.body")) {
        PyObject *body = whole_body(self, message);
        if (body != NULL)
            return answer_at_once(self, body);
    } else if (kind != NULL && IS_KIND(kind, "http.response.start") && SELF->status == NULL) {
        kept = keep_start(self, message);
    }
    if (kept < 0 || PyErr_Occurred())
        return NULL;
    return kept ? Py_NewRef(sent) : PyObject_CallMethodOneArg(self, names.send, message);
}

/* ---- the type -------------------------------------------------------------------------------- */

static PyObject *cycle_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *request;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0)
        return PyErr_Format(PyExc_TypeError, "HttpCycle() takes no keyword arguments");
    if (!PyArg_UnpackTuple(args, "HttpCycle", 1, 1, &request))
        return NULL;
    PyObject *self = type->tp_alloc(type, 0);
    if (self != NULL)
        SELF->request = Py_NewRef(request);
    return self;
}

static int cycle_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(SELF->request);
    Py_VISIT(SELF->status);
    Py_VISIT(SELF->fields);
    return 0;
}

static int cycle_clear(PyObject *self)
{
    Py_CLEAR(SELF->request);
    Py_CLEAR(SELF->status);
    Py_CLEAR(SELF->fields);
    return 0;
}

static void cycle_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    cycle_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *get_object(PyObject *self, void *offset)
{
    PyObject *found = *(PyObject **)((char *)self + (intptr_t)offset);
    return Py_NewRef(found != NULL ? found : Py_None);
}

static int set_object(PyObject *self, PyObject *value, void *offset)
{
    PyObject **at = (PyObject **)((char *)self + (intptr_t)offset);
    Py_XSETREF(*at, Py_XNewRef(value));
    return 0;
}

static PyObject *get_flag(PyObject *self, void *offset)
{
    return PyBool_FromLong(*((char *)self + (intptr_t)offset));
}

static int set_flag(PyObject *self, PyObject *value, void *offset)
{
    int flag = value != NULL ? PyObject_IsTrue(value) : 0;
    if (flag >= 0)
        *((char *)self + (intptr_t)offset) = (char)flag;
    return flag < 0 ? -1 : 0;
}

#define AT(name) (void *)offsetof(http_cycle, name)

static PyGetSetDef attributes[] = {
    {"request", get_object, NULL, NULL, AT(request)},
    {"status", get_object, set_object, NULL, AT(status)},
    {"fields", get_object, set_object, NULL, AT(fields)},
    {"begun", get_flag, set_flag, NULL, AT(begun)},
    {"finished", get_flag, set_flag, NULL, AT(finished)},
    {"body_over", get_flag, set_flag, NULL, AT(body_over)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"send", cycle_send, METH_O,
     PyDoc_STR("send($self, message, /)\n--\n\nWhat the application answers; to be awaited.")},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_http_cycle_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.HttpCycle",
    .tp_basicsize = sizeof(http_cycle),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = cycle_new,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_traverse = cycle_traverse,
    .tp_clear = cycle_clear,
    .tp_dealloc = cycle_dealloc,
};
