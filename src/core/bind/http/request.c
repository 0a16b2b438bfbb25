/* loomlet._core.HttpRequest: what a handler is called with, and by which it answers.
 *
 * It is one block of memory: the fields and the bytes of the head lie behind the object, and become
 * Python objects when they are asked for.  Who is destroyed without having answered closes the
 * connection, so a handler that is killed leaves none open.
 *
 * reading.c has what reads its body, answering.c what answers it.
 */
#include "bind/http/http.h"

#define SELF ((bind_http_request *)self)

PyObject *bind_http_request_new(bind_http_server *server, v_connection *c, const t_head *head,
                                const char *bytes)
{
    Py_ssize_t size = (Py_ssize_t)(head->count * sizeof(t_field) + head->size);
    bind_http_request *r = PyObject_GC_NewVar(bind_http_request, server->type, size);
    if (r == NULL)
        return NULL;
    memset((char *)r + sizeof(PyVarObject), 0, sizeof(*r) - sizeof(PyVarObject));
    r->connection = c;
    r->server = Py_NewRef((PyObject *)server);
    r->method = head->method, r->target = head->target, r->path = head->path;
    r->query = head->query, r->host = head->host;
    r->count = head->count, r->size = head->size;
    r->minor = head->minor, r->method_known = head->method_known;
    r->keeps_alive = head->keeps_alive, r->expects_continue = head->expects_continue;
    r->upgrades = head->upgrades;
    t_begin_body(&r->body, head, server->most_body);
    memcpy(bind_http_fields(r), head->fields, head->count * sizeof(t_field));
    memcpy((char *)bind_http_bytes(r), bytes, head->size);
    PyObject_GC_Track((PyObject *)r);
    return (PyObject *)r;
}

static int request_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(SELF->server);
    Py_VISIT(SELF->task);
    Py_VISIT(SELF->gone);
    Py_VISIT(SELF->status);
    Py_VISIT(SELF->fields);
    Py_VISIT(SELF->state);
    return 0;
}

static int request_clear(PyObject *self)
{
    Py_CLEAR(SELF->task);
    Py_CLEAR(SELF->gone);
    Py_CLEAR(SELF->status);
    Py_CLEAR(SELF->fields);
    Py_CLEAR(SELF->state);
    return 0;
}

static void request_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    bind_http_end(SELF, 0);
    request_clear(self);
    Py_DECREF(SELF->server);
    Py_TYPE(self)->tp_free(self);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static PyObject *text_of_span(PyObject *self, t_span span)
{
    return PyUnicode_DecodeLatin1(bind_http_bytes(SELF) + span.at, (Py_ssize_t)span.size, NULL);
}

static PyObject *get_span(PyObject *self, void *offset)
{
    return text_of_span(self, *(t_span *)((char *)self + (intptr_t)offset));
}

static PyObject *get_version(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(SELF->minor ? "1.1" : "1.0");
}

/* A list of (name, value). */
static PyObject *get_headers(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < SELF->count; i++) {
        t_field field = bind_http_fields(SELF)[i];
        PyObject *pair =
            Py_BuildValue("(NN)", text_of_span(self, field.name), text_of_span(self, field.value));
        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *request_environ(PyObject *self, PyObject *common)
{
    if (!PyDict_Check(common))
        return PyErr_Format(PyExc_TypeError, "expected a dict, found %R", common);
    return bind_http_environ(SELF, common);
}

static PyObject *request_scope(PyObject *self, PyObject *common)
{
    if (!PyDict_Check(common))
        return PyErr_Format(PyExc_TypeError, "expected a dict, found %R", common);
    return bind_http_scope(SELF, common);
}

static PyObject *get_tasklet(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(SELF->task != NULL ? SELF->task : Py_None);
}

static PyObject *get_server(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(SELF->server);
}

/* Whether the client has ended, or nobody can answer it any more. */
static PyObject *get_gone(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->connection == NULL || SELF->connection->ended);
}

static PyObject *get_client(PyObject *self, void *unused)
{
    (void)unused;
    return bind_http_client(SELF);
}

/* Whether the client asks for another protocol. */
static PyObject *get_upgrades(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->upgrades);
}

/* Whether all of the body of the request has been read. */
static PyObject *get_body_over(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(t_body_is_over(&SELF->body));
}

/* How many bytes of the body are still to be written; -1: the answer has not said. */
static PyObject *get_left(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(SELF->left);
}

/* Whether its connection has TLS. */
static PyObject *get_has_tls(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->connection != NULL && SELF->connection->tls != NULL);
}

static PyObject *get_own_state(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(SELF->state != NULL ? SELF->state : Py_None);
}

static int set_own_state(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    Py_XSETREF(SELF->state, Py_XNewRef(value));
    return 0;
}

static PyObject *get_path(PyObject *self, void *unused)
{
    (void)unused;
    return bind_http_path(SELF);
}

/* Whether an answer has begun. */
static PyObject *get_begun(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(SELF->begun);
}

/* _when_gone(function): it is called in a tasklet when the client ends. */
static PyObject *request_when_gone(PyObject *self, PyObject *function)
{
    if (SELF->connection != NULL)
        Py_XSETREF(SELF->gone, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_environ", request_environ, METH_O, NULL},
    {"_scope", request_scope, METH_O, NULL},
    {"_fields", bind_http_fields_as_bytes, METH_NOARGS, NULL},
    {"_when_gone", request_when_gone, METH_O, NULL},
    {"_next", bind_http_next, METH_NOARGS, NULL},
    {"_receive", BIND_FN(bind_http_receive), METH_FASTCALL, NULL},
    {"_feed", bind_http_feed, METH_O, NULL},
    {"_answer", BIND_FN(bind_http_answer), METH_FASTCALL, NULL},
    {"_begin", BIND_FN(bind_http_begin), METH_FASTCALL, NULL},
    {"_write", bind_http_write, METH_O, NULL},
    {"_finish", bind_http_finish, METH_NOARGS, NULL},
    {"_send", BIND_FN(bind_http_send), METH_FASTCALL, NULL},
    {"_send_file", BIND_FN(bind_http_send_file), METH_FASTCALL, NULL},
    {"_push", bind_http_push, METH_O, NULL},
    {"_wait", BIND_FN(bind_http_wait), METH_FASTCALL, NULL},
    {"_sent", bind_http_sent, METH_O, NULL},
    {"_done", bind_http_done, METH_NOARGS, NULL},
    {"_abort", bind_http_abort, METH_NOARGS, NULL},
    {"_start_response", BIND_FN(bind_http_start_response), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_respond", bind_http_respond, METH_O, NULL},
    {"_respond_part", bind_http_respond_part, METH_O, NULL},
    {"_take_over", bind_http_take_over, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define SPAN(name) (void *)offsetof(bind_http_request, name)

static PyGetSetDef attributes[] = {
    {"method", get_span, NULL, PyDoc_STR("GET, POST, ..., as the client wrote it."), SPAN(method)},
    {"target", get_span, NULL, PyDoc_STR("Path and query, as the client wrote them."),
     SPAN(target)},
    {"path", get_path, NULL, PyDoc_STR("The path, decoded."), NULL},
    {"raw_path", get_span, NULL, PyDoc_STR("The path, as the client wrote it."), SPAN(path)},
    {"query", get_span, NULL, PyDoc_STR("What is behind the question mark, or \"\"."), SPAN(query)},
    {"host", get_span, NULL, PyDoc_STR("Which host the client means, with the port if it has one."),
     SPAN(host)},
    {"version", get_version, NULL, PyDoc_STR("\"1.1\" or \"1.0\"."), NULL},
    {"client", get_client, NULL,
     PyDoc_STR("(address, port) of the client; None when it has none, or has gone."), NULL},
    {"headers", get_headers, NULL, PyDoc_STR("All header fields: a list of (name, value)."), NULL},
    {"_tasklet", get_tasklet, NULL, NULL, NULL},
    {"_server", get_server, NULL, NULL, NULL},
    {"_begun", get_begun, NULL, NULL, NULL},
    {"_body_over", get_body_over, NULL, NULL, NULL},
    {"_left", get_left, NULL, NULL, NULL},
    {"_has_tls", get_has_tls, NULL, NULL, NULL},
    {"_gone", get_gone, NULL, NULL, NULL},
    {"_upgrades", get_upgrades, NULL, NULL, NULL},
    {"_state", get_own_state, set_own_state, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_http_request_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.HttpRequest",
    .tp_basicsize = sizeof(bind_http_request),
    .tp_itemsize = 1,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_traverse = request_traverse,
    .tp_clear = request_clear,
    .tp_dealloc = request_dealloc,
};
