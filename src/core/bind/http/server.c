/* loomlet._core.HttpServer: connections and routes of one scheduler. */
#include "bind/http/http.h"
#include "http/coding.h"
#include "serve/file_cache.h"

#define SELF ((bind_http_server *)self)

static int refuse_keywords(const PyObject *kwargs)
{
    if (kwargs == NULL)
        return 0;
    PyErr_SetString(PyExc_TypeError, "HttpServer() takes no keyword arguments");
    return -1;
}

/* HttpServer(handler, type, slow, late, most_body, batched, tls): the first is called in a tasklet
 * with a request, or if `batched` with a list of those that have come together; the next but one
 * and two with one that takes long.  `type` is that of the requests, `tls` an ssl.SSLContext or
 * None. */
static PyObject *server_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *handler, *kind, *slow, *late, *tls;
    unsigned long long most_body;
    int batched;
    if (refuse_keywords(kwargs) < 0 ||
        !PyArg_ParseTuple(args, "OO!OOKpO:HttpServer", &handler, &PyType_Type, &kind, &slow, &late,
                          &most_body, &batched, &tls))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)kind, &bind_http_request_type))
        return PyErr_Format(PyExc_TypeError, "expected a type of requests, found %R", kind);
    PyObject *self = type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    v_init(&SELF->server);
    SELF->handler = Py_NewRef(handler);
    SELF->slow = Py_NewRef(slow);
    SELF->late = Py_NewRef(late);
    SELF->most_body = most_body;
    SELF->batched = (char)batched;
    SELF->tls = Py_NewRef(tls);
    SELF->server.has_tls = tls != Py_None;
    SELF->type = (PyTypeObject *)Py_NewRef(kind);
    SELF->routes = PyList_New(0);
    SELF->held = PySet_New(NULL);
    if (SELF->routes == NULL || SELF->held == NULL)
        Py_CLEAR(self);
    return self;
}

/* _start(fd, (seconds for each state but gathered), slow, most connections, most busy, most queued)
 */
static PyObject *server_start(PyObject *self, PyObject *args)
{
    int fd;
    v_limits limits = {0}; /* a state that is not among them has none */
    int64_t *seconds = limits.seconds;
    s_sched *s = s_self();
    if (s == NULL ||
        !PyArg_ParseTuple(args, "i(LLLLLL)LIII:_start", &fd, &seconds[0], &seconds[1], &seconds[2],
                          &seconds[3], &seconds[4], &seconds[5], &limits.slow,
                          &limits.most_connections, &limits.most_busy, &limits.most_queued))
        return NULL;
    int code = v_start(&SELF->server, s, fd, &limits);
    if (code < 0)
        return bind_fail(code, self);
    SELF->server.owner = self;
    SELF->runs = 1;
    Py_INCREF(self); /* a server that runs is not collected */
    Py_RETURN_NONE;
}

static void end_serving(PyObject *self)
{
    if (!SELF->runs)
        return;
    SELF->runs = 0;
    v_close_all(&SELF->server);
    Py_DECREF(self);
}

/* _add_fixed(path, status, type, body), all bytes but the status */
static PyObject *server_add_fixed(PyObject *self, PyObject *args)
{
    t_text path, type, body;
    Py_ssize_t sizes[3];
    int status;
    if (!PyArg_ParseTuple(args, "y#iy#y#:_add_fixed", &path.at, &sizes[0], &status, &type.at,
                          &sizes[1], &body.at, &sizes[2]))
        return NULL;
    path.size = (size_t)sizes[0], type.size = (size_t)sizes[1], body.size = (size_t)sizes[2];
    int code = v_add_fixed(&SELF->server, path, status, type, body);
    if (code == T_BAD_FIELD)
        return PyErr_Format(PyExc_ValueError, "no status or no media type: %d, %R", status,
                            PyTuple_GET_ITEM(args, 2));
    return code < 0 ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

/* _add_handler(path, handler): requests of that path are for it, and never queue. */
static PyObject *server_add_handler(PyObject *self, PyObject *args)
{
    t_text path;
    Py_ssize_t size;
    PyObject *handler;
    if (!PyArg_ParseTuple(args, "y#O:_add_handler", &path.at, &size, &handler) ||
        PyList_Append(SELF->routes, handler) < 0)
        return NULL;
    path.size = (size_t)size;
    return v_add_handler(&SELF->server, path, handler) < 0 ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

/* _add_folder(prefix, path, maker): the first two are bytes; `maker` or None is called with
 * requests for folders without an index. */
static PyObject *server_add_folder(PyObject *self, PyObject *args)
{
    const char *prefix, *path;
    Py_ssize_t size;
    PyObject *maker;
    if (!PyArg_ParseTuple(args, "y#yO:_add_folder", &prefix, &size, &path, &maker) ||
        PyList_Append(SELF->routes, maker) < 0)
        return NULL;
    int code = v_add_folder(&SELF->server, (t_text){prefix, (size_t)size}, path,
                            maker != Py_None ? maker : NULL);
    if (code == S_E_MEMORY)
        return PyErr_NoMemory();
    return code < 0 ? bind_fail(S_E_SYSTEM + code, self) : Py_NewRef(Py_None);
}

/* _open_below(path of a target): a descriptor of what that names in a folder. */
static PyObject *server_open_below(PyObject *self, PyObject *path)
{
    t_text text;
    if (bind_http_read_text(path, &text) < 0)
        return NULL;
    int fd = v_open_below(&SELF->server, text);
    return fd < 0 ? bind_fail(S_E_SYSTEM + fd, self) : PyLong_FromLong(fd);
}

/* _compress(): from now on files of folders are answered compressed to those who take it. */
static PyObject *server_compress(PyObject *self, PyObject *unused)
{
    (void)unused;
    SELF->server.compresses = 1;
    Py_RETURN_NONE;
}

/* (ETag, Last-Modified, type) of what is kept, or None. */
static PyObject *facts_of_kept(const v_file *file)
{
    if (file == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("(s#s#s#)", file->tag, (Py_ssize_t)file->tag_size, file->modified,
                         (Py_ssize_t)T_DATE, file->type.at, (Py_ssize_t)file->type.size);
}

/* _keep_made(path of a target, type, body, fd): the answer for a second.  fd: -2, or the body is
 * compressed by gzip, and fd is that of its file, or -1; what was made from a file is the answer
 * until that changes, and has the type that its name says. */
static PyObject *server_keep_made(PyObject *self, PyObject *args)
{
    PyObject *parts[3];
    t_text texts[3];
    p_file_facts facts;
    int fd;
    if (!PyArg_ParseTuple(args, "OOOi:_keep_made", &parts[0], &parts[1], &parts[2], &fd))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (bind_http_read_text(parts[i], &texts[i]) < 0)
            return NULL;
    int code = fd >= 0 ? p_file_facts_of(fd, &facts) : 0;
    if (code < 0)
        return bind_fail(S_E_SYSTEM + code, self);
    v_made made = {texts[1], texts[2], fd == -2 ? 0 : T_GZIP, fd >= 0 ? &facts : NULL};
    return facts_of_kept(v_keep_made(&SELF->server, texts[0], &made));
}

/* _add_type(suffix, type), both bytes */
static PyObject *server_add_type(PyObject *self, PyObject *args)
{
    const char *suffix, *type;
    Py_ssize_t sizes[2];
    if (!PyArg_ParseTuple(args, "y#y#:_add_type", &suffix, &sizes[0], &type, &sizes[1]))
        return NULL;
    if (v_add_type(&SELF->server, (t_text){suffix, (size_t)sizes[0]},
                   (t_text){type, (size_t)sizes[1]}) < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* _set_http2(handler): it is called in a tasklet with a request, whose connection it takes over. */
static PyObject *server_set_http2(PyObject *self, PyObject *handler)
{
    Py_XSETREF(SELF->http2, Py_NewRef(handler));
    SELF->server.http2 = handler;
    Py_RETURN_NONE;
}

/* _set_upgrades(handler): requests that ask for another protocol are for it, if they are for the
 * handler. */
static PyObject *server_set_upgrades(PyObject *self, PyObject *handler)
{
    Py_XSETREF(SELF->upgrades, Py_NewRef(handler));
    Py_RETURN_NONE;
}

/* _stop(seconds): nothing new is accepted; what is idle ends after so long at the latest. */
static PyObject *server_stop(PyObject *self, PyObject *seconds)
{
    long long limit = PyLong_AsLongLong(seconds);
    if (limit == -1 && PyErr_Occurred())
        return NULL;
    if (SELF->runs)
        v_stop(&SELF->server, limit);
    Py_RETURN_NONE;
}

static PyObject *server_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    end_serving(self);
    Py_RETURN_NONE;
}

static PyObject *server_counts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const v_server *server = &SELF->server;
    const uint32_t *counts = server->counts, taken = v_count_taken(server);
    return Py_BuildValue(
        "{sIsIsIsIsIsIsIsKsKsK}", "connections", server->connections + taken, "taken", taken,
        "idle", counts[V_PARKED], "reading", counts[V_READING], "queued", counts[V_QUEUED], "busy",
        counts[V_BUSY], "sending", counts[V_SENDING] + counts[V_GATHERED], "requests",
        (unsigned long long)server->requests, "answered", (unsigned long long)server->answered,
        "refused", (unsigned long long)server->refused);
}

static int server_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(SELF->handler);
    Py_VISIT(SELF->slow);
    Py_VISIT(SELF->late);
    Py_VISIT(SELF->routes);
    Py_VISIT(SELF->held);
    Py_VISIT(SELF->http2);
    Py_VISIT(SELF->upgrades);
    Py_VISIT(SELF->batch.list);
    Py_VISIT(SELF->batch.task);
    Py_VISIT(SELF->tls);
    Py_VISIT(SELF->log);
    Py_VISIT(SELF->notes.list);
    Py_VISIT(SELF->notes.task);
    Py_VISIT((PyObject *)SELF->type);
    return 0;
}

/* The routes point to what is cleared. */
static int server_clear(PyObject *self)
{
    v_free_routes(&SELF->server);
    v_free_folders(&SELF->server);
    SELF->server.http2 = NULL;
    Py_CLEAR(SELF->held);
    Py_CLEAR(SELF->http2);
    Py_CLEAR(SELF->upgrades);
    Py_CLEAR(SELF->handler);
    Py_CLEAR(SELF->slow);
    Py_CLEAR(SELF->late);
    Py_CLEAR(SELF->routes);
    bind_http_drop_waiting(&SELF->batch);
    bind_http_drop_waiting(&SELF->notes);
    Py_CLEAR(SELF->tls);
    Py_CLEAR(SELF->log);
    return 0;
}

static void server_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    server_clear(self);
    Py_XDECREF((PyObject *)SELF->type);
    Py_TYPE(self)->tp_free(self);
}

/* ---- requests for the handler --------------------------------------------------------------- */

/* Hands it to a tasklet of its own, or to that of the batch: 0, or -1. */
static int hand_over(bind_http_server *server, PyObject *request, PyObject *handler)
{
    bind_http_request *r = (bind_http_request *)request;
    if (server->batched && handler == NULL)
        return bind_http_add_waiting(&server->batch, server->handler, request);
    if (handler == NULL)
        handler = r->upgrades && server->upgrades != NULL ? server->upgrades : server->handler;
    PyObject *t = bind_http_spawn(handler, request);
    r->task = t;
    return t != NULL ? 0 : -1;
}

static int start_handler(v_connection *c, const t_head *head, const char *bytes, void *handler)
{
    bind_http_server *server = c->server->owner;
    if (head->framing == T_LENGTH && head->length > server->most_body)
        return -413;
    PyObject *request = bind_http_request_new(server, c, head, bytes);
    int code = request != NULL ? hand_over(server, request, handler) : -1;
    if (code < 0) {
        PyErr_Clear();
        if (request != NULL)
            ((bind_http_request *)request)->connection = NULL;
    } else {
        c->request = request; /* the tasklet has it */
    }
    Py_XDECREF(request);
    return code < 0 ? -503 : 0;
}

/* _log_to(function): it is called in a tasklet with lists of notes (note.c). */
static PyObject *server_log_to(PyObject *self, PyObject *function)
{
    Py_XSETREF(SELF->log, Py_NewRef(function));
    SELF->server.notes = 1;
    Py_RETURN_NONE;
}

/* _take_notes(): from now on they are put into a new list.  How many had no place in the old one.
 */
static PyObject *server_take_notes(PyObject *self, PyObject *unused)
{
    (void)unused;
    uint64_t lost = SELF->lost;
    bind_http_drop_waiting(&SELF->notes);
    SELF->lost = 0;
    return PyLong_FromUnsignedLongLong(lost);
}

/* _take_batch(): from now on requests are put into a new list. */
static PyObject *server_take_batch(PyObject *self, PyObject *unused)
{
    (void)unused;
    bind_http_drop_waiting(&SELF->batch);
    Py_RETURN_NONE;
}

/* _gather(more): whether more answers of ASGI are at hand, with which others leave; when there are
 * none, all that were gathered leave. */
static PyObject *server_gather(PyObject *self, PyObject *more)
{
    if (SELF->runs)
        v_gather(&SELF->server, more == Py_True);
    Py_RETURN_NONE;
}

/* What the request asked to be called.  Who only sends nothing more still reads, and may have sent
 * further requests behind this one. */
static void client_is_gone(v_connection *c, int broken)
{
    bind_http_request *r = c->request;
    if (r == NULL)
        return;
    if (broken)
        r->keeps_alive = 0;
    PyObject *gone = r->gone;
    r->gone = NULL;
    if (gone != NULL)
        Py_XDECREF(bind_http_spawn(gone, (PyObject *)r));
    Py_XDECREF(gone);
}

static void drop_request(v_connection *c)
{
    bind_http_request *r = c->request;
    if (r != NULL)
        r->connection = NULL;
}

static void tell_slow(v_connection *c)
{
    bind_http_server *server = c->server->owner;
    if (c->request != NULL && server->slow != Py_None)
        Py_XDECREF(bind_http_spawn(server->slow, c->request));
}

static void tell_late(v_connection *c)
{
    bind_http_server *server = c->server->owner;
    if (c->request != NULL && server->late != Py_None)
        Py_XDECREF(bind_http_spawn(server->late, c->request));
}

void bind_http_init(void)
{
    bind_http_tls_init();
    v_hook = (v_hooks){start_handler, client_is_gone, drop_request,
                       tell_slow,     tell_late,      bind_http_note};
}

static PyMethodDef methods[] = {
    {"_start", server_start, METH_VARARGS, NULL},
    {"_add_fixed", server_add_fixed, METH_VARARGS, NULL},
    {"_add_handler", server_add_handler, METH_VARARGS, NULL},
    {"_add_folder", server_add_folder, METH_VARARGS, NULL},
    {"_open_below", server_open_below, METH_O, NULL},
    {"_compress", server_compress, METH_NOARGS, NULL},
    {"_keep_made", server_keep_made, METH_VARARGS, NULL},
    {"_add_type", server_add_type, METH_VARARGS, NULL},
    {"_set_http2", server_set_http2, METH_O, NULL},
    {"_set_upgrades", server_set_upgrades, METH_O, NULL},
    {"_begin_taken", bind_http_begin_taken, METH_NOARGS, NULL},
    {"_hold", bind_http_add_held, METH_O, NULL},
    {"_release", bind_http_drop_held, METH_O, NULL},
    {"_held", bind_http_held, METH_NOARGS, NULL},
    {"_stop", server_stop, METH_O, NULL},
    {"_close", server_close, METH_NOARGS, NULL},
    {"_log_to", server_log_to, METH_O, NULL},
    {"_add_note", bind_http_add_note, METH_O, NULL},
    {"_take_notes", server_take_notes, METH_NOARGS, NULL},
    {"_take_batch", server_take_batch, METH_NOARGS, NULL},
    {"_gather", server_gather, METH_O, NULL},
    {"_counts", server_counts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject bind_http_server_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.HttpServer",
    .tp_basicsize = sizeof(bind_http_server),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = server_new,
    .tp_methods = methods,
    .tp_traverse = server_traverse,
    .tp_clear = server_clear,
    .tp_dealloc = server_dealloc,
};
