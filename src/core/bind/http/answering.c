/* Answering a request.
 *
 * A whole answer goes out at once (_answer).  One in parts has a head (_begin), which is kept and
 * goes out with its first part (_write), and an end (_finish).  What the client does not take now
 * is given back as bytes, for _send(), which waits: so a client that does not read costs what its
 * handler has made, and no more is made for it.
 *
 * While somebody waits in _send() the client has LIMIT seconds to take what it was given; _sent()
 * says that it has.
 */
#include "bind/http/http.h"

#include <errno.h>

#include "serve/wire.h"

#define SELF ((bind_http_request *)self)
#define LIMIT 60000000000 /* ns */
#define MOST_KEPT 1048576 /* bytes of memory between two answers */

/* ---- the head -------------------------------------------------------------------------------- */

/* What was put is dropped first: the text of an object may be made by Python code, during which
 * another tasklet answers. */
static int refuse_part(t_buffer *to, PyObject *kind, const char *format, PyObject *part)
{
    to->size = 0;
    PyErr_Format(kind, format, part);
    return -1;
}

static int put_pair(bind_http_request *r, t_buffer *to, PyObject *pair)
{
    t_text name, value;
    if ((!PyTuple_Check(pair) && !PyList_Check(pair)) || PySequence_Fast_GET_SIZE(pair) != 2)
        return refuse_part(to, PyExc_TypeError, "expected a tuple (name, value), found %R", pair);
    if (bind_http_read_text(PySequence_Fast_GET_ITEM(pair, 0), &name) < 0 ||
        bind_http_read_text(PySequence_Fast_GET_ITEM(pair, 1), &value) < 0)
        return -1;
    int code = t_put_field(&r->answer, to, name, value);
    if (code == T_BAD_FIELD)
        return refuse_part(to, PyExc_ValueError, "no header field: %R", pair);
    if (code < 0)
        PyErr_NoMemory();
    return code;
}

static int put_fields(bind_http_request *r, t_buffer *to, PyObject *pairs)
{
    int code = 0;
    for (Py_ssize_t i = 0; code == 0 && i < PySequence_Fast_GET_SIZE(pairs); i++)
        code = put_pair(r, to, PySequence_Fast_GET_ITEM(pairs, i));
    return code;
}

/* A status, or (status, reason) in a text as WSGI has it: "404 Not Found". */
static int put_status_line(bind_http_request *r, t_buffer *to, PyObject *status)
{
    t_text reason = {"", 0};
    long number = 0;
    if (PyLong_Check(status)) {
        number = PyLong_AsLong(status);
    } else if (bind_http_read_text(status, &reason) == 0) {
        for (int i = 0; i < 3 && reason.size > 0 && *reason.at >= '0' && *reason.at <= '9'; i++) {
            number = number * 10 + (*reason.at++ - '0');
            reason.size--;
        }
        if (reason.size > 0 && *reason.at == ' ')
            reason.at++, reason.size--;
        else if (reason.size > 0)
            number = 0;
    }
    if (PyErr_Occurred())
        return -1;
    int code = t_begin_answer(&r->answer, to, (int)number, reason);
    if (code == T_BAD_FIELD)
        return refuse_part(to, PyExc_ValueError, "expected a status from 200 to 999, found %R",
                           status);
    if (code < 0)
        PyErr_NoMemory();
    return code;
}

/* Status line and fields, a list or tuple, into `to`, which is emptied if they are wrong.  `size`:
 * of the body, if the fields do not say it; or T_UNKNOWN. */
static int put_head(bind_http_request *r, t_buffer *to, PyObject *status, PyObject *pairs,
                    int64_t size)
{
    v_server *server = r->connection->server;
    int code = put_status_line(r, to, status);
    if (code == 0)
        code = put_fields(r, to, pairs);
    if (code == 0) {
        int goes_on = r->keeps_alive && !server->stops && bind_http_skip_body(r);
        if (r->answer.length == T_UNKNOWN && !r->answer.has_no_body)
            r->answer.length = size;
        code = t_end_fields(&r->answer, to, r->minor, goes_on, v_date(server));
        if (code < 0)
            PyErr_NoMemory();
    }
    if (code < 0)
        to->size = 0;
    return code;
}

/* An answer begins: with its head in `to`, which may be NULL for that of the server.  The buffer,
 * or NULL with an exception.  Fields that are no list run Python code, so they are read before the
 * client is asked for and anything is put anywhere; it may call start_response(), which replaces
 * the status. */
static t_buffer *begin_with_head(bind_http_request *r, t_buffer *to, PyObject *status,
                                 PyObject *fields, int64_t size)
{
    Py_INCREF(status);
    PyObject *pairs = PySequence_Fast(fields, "expected a list of (name, value)");
    int begins = pairs != NULL && bind_http_check_client(r) == 0;
    if (begins && r->begun) {
        PyErr_SetString(PyExc_RuntimeError, "the request is answered already");
        begins = 0;
    }
    if (begins && to == NULL)
        to = &r->connection->server->out;
    if (begins && put_head(r, to, status, pairs, size) < 0)
        begins = 0;
    Py_XDECREF(pairs);
    Py_DECREF(status);
    return begins ? to : NULL;
}

static int has_body(const bind_http_request *r)
{
    return r->method_known != T_HEAD_ONLY && !r->answer.has_no_body;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Sends now what the client takes: how much, or -1 with an exception. */
static Py_ssize_t send_some(bind_http_request *r, const char *from, size_t size, int more)
{
    long sent = v_send(r->connection, from, size, more);
    if (sent == -EAGAIN)
        return 0;
    if (sent >= 0)
        return (Py_ssize_t)sent;
    r->connection->ended = 1; /* the reactor may not have told it yet */
    bind_fail(S_E_SYSTEM + (int)sent, (PyObject *)r);
    return -1;
}

/* Whether what was taken waits for the client: then b"" is left. */
static int is_waiting(bind_http_request *r)
{
    return v_flush(r->connection) == 0;
}

/* Sends what lies in the server's buffer: what is left of it as bytes, or None. */
static PyObject *send_now(bind_http_request *r, int more)
{
    t_buffer *out = &r->connection->server->out;
    Py_ssize_t size = (Py_ssize_t)out->size, sent = send_some(r, out->bytes, out->size, more);
    PyObject *rest = NULL;
    if (sent == size && !is_waiting(r))
        rest = Py_NewRef(Py_None);
    else if (sent >= 0)
        rest = PyBytes_FromStringAndSize(out->bytes + sent, size - sent);
    out->size = 0;
    if (out->room > MOST_KEPT)
        t_release(out);
    return rest;
}

/* All has gone: the request has ended. */
static PyObject *end_if_gone(bind_http_request *r, PyObject *rest)
{
    if (rest == Py_None)
        bind_http_end(r, !r->answer.closes_at_end);
    return rest;
}

/* A body that is too large to be copied, behind its head: what is left of it. */
static PyObject *send_large(bind_http_request *r, PyObject *body)
{
    PyObject *rest = send_now(r, 1);
    if (rest == NULL)
        return NULL;
    if (rest != Py_None) {
        PyBytes_Concat(&rest, body);
        return rest;
    }
    Py_ssize_t size = PyBytes_GET_SIZE(body);
    Py_ssize_t sent = send_some(r, PyBytes_AS_STRING(body), (size_t)size, 0);
    if (sent < 0 || (sent == size && !is_waiting(r)))
        return sent < 0 ? NULL : end_if_gone(r, Py_NewRef(Py_None));
    PyObject *view = PyMemoryView_FromObject(body);
    PyObject *left = view != NULL ? PySequence_GetSlice(view, sent, size) : NULL;
    Py_XDECREF(view);
    return left;
}

/* Whether the application gets another request next. */
static int another_is_next(const bind_http_request *r)
{
    const bind_http_server *server = (const bind_http_server *)r->server;
    return r->connection != NULL && s_next_begins(server->server.s, server->handler);
}

/* The whole answer, in the server's buffer: None when all has gone, and the request has ended; else
 * what has not.  `more`: other answers are at hand, with which it may leave, and counts as gone. */
static PyObject *keep_or_send(bind_http_request *r, int more)
{
    int is_kept = more && v_keep_answer(r->connection);
    return end_if_gone(r, is_kept ? Py_NewRef(Py_None) : send_now(r, 0));
}

static PyObject *answer_held(bind_http_request *r, PyObject *const *parts, int more)
{
    PyObject *status = parts[0], *fields = parts[1], *data = parts[2];
    t_text body;
    if (bind_http_read_text(data, &body) < 0)
        return NULL;
    t_buffer *to = begin_with_head(r, NULL, status, fields, (int64_t)body.size);
    if (to == NULL)
        return NULL;
    int sends = has_body(r);
    if (sends && r->answer.length != (int64_t)body.size) {
        to->size = 0;
        return PyErr_Format(PyExc_ValueError, "Content-Length is %lld, the body has %zu bytes",
                            (long long)r->answer.length, body.size);
    }
    r->begun = 1;
    r->written = sends ? (int64_t)body.size : 0;
    if (sends && body.size > V_AT_ONCE && PyBytes_CheckExact(data))
        return send_large(r, data);
    if (t_reserve(to, body.size) < 0) {
        to->size = 0;
        return PyErr_NoMemory();
    }
    if (sends)
        t_put(to, body.at, body.size);
    return keep_or_send(r, more);
}

/* The code of the fields may take the body out of what the caller has it from. */
static PyObject *answer_with(bind_http_request *r, PyObject *const *parts, int more)
{
    PyObject *data = Py_NewRef(parts[2]), *rest = answer_held(r, parts, more);
    Py_DECREF(data);
    return rest;
}

/* _answer(status, fields, body): a whole answer. */
PyObject *bind_http_answer(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return bind_check_count("_answer", nargs, 3) == 0
               ? answer_with(SELF, args, another_is_next(SELF))
               : NULL;
}

PyObject *bind_http_answer_together(PyObject *self, PyObject *const *parts)
{
    return answer_with(SELF, parts, ((bind_http_server *)SELF->server)->server.gathers);
}

/* start_response(status, headers, exc_info=None) of WSGI: what _respond() answers with.  It returns
 * write(), which is the request: its Python type can be called. */
PyObject *bind_http_start_response(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames)
{
    static const char *const names[] = {"status", "headers", "exc_info", NULL};
    PyObject *values[] = {NULL, NULL, Py_None};
    if (bind_parse_arguments("start_response", names, 2, args, nargs, kwnames, values) < 0)
        return NULL;
    if (SELF->status != NULL && values[2] == Py_None) {
        PyErr_SetString(PyExc_AssertionError, "start_response() was called before");
        return NULL;
    }
    if (SELF->begun && PyTuple_Check(values[2]) && PyTuple_GET_SIZE(values[2]) == 3) {
        PyErr_SetObject(PyTuple_GET_ITEM(values[2], 0), PyTuple_GET_ITEM(values[2], 1));
        return NULL;
    }
    Py_XSETREF(SELF->status, Py_NewRef(values[0]));
    Py_XSETREF(SELF->fields, Py_NewRef(values[1]));
    return Py_NewRef(self);
}

static int check_started(const bind_http_request *r)
{
    if (r->status != NULL)
        return 0;
    PyErr_SetString(PyExc_AssertionError, "start_response() was not called");
    return -1;
}

/* _respond(parts): the whole answer of a WSGI application, as _answer(); NotImplemented: `parts` is
 * not a list of one, or the answer has begun by write(). */
PyObject *bind_http_respond(PyObject *self, PyObject *body)
{
    if (!PyList_CheckExact(body) || PyList_GET_SIZE(body) != 1 || SELF->begun)
        return Py_NewRef(Py_NotImplemented);
    if (check_started(SELF) < 0)
        return NULL;
    PyObject *const parts[] = {SELF->status, SELF->fields, PyList_GET_ITEM(body, 0)};
    return answer_with(SELF, parts, another_is_next(SELF));
}

/* ---- in parts -------------------------------------------------------------------------------- */

static int begin_in_parts(bind_http_request *r, PyObject *status, PyObject *fields)
{
    if (begin_with_head(r, &r->head, status, fields, T_UNKNOWN) == NULL)
        return -1;
    r->begun = 1;
    r->left = r->answer.length;
    return 0;
}

/* _begin(status, fields): what _write() and _finish() send is the body.  Without arguments: those
 * of start_response(). */
PyObject *bind_http_begin(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *const *with = nargs > 0 ? args : &SELF->status;
    if ((nargs > 0 ? bind_check_count("_begin", nargs, 2) : check_started(SELF)) < 0 ||
        begin_in_parts(SELF, with[0], with[1]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int may_write(const bind_http_request *r, size_t size)
{
    if (bind_http_check_client(r) < 0)
        return 0;
    if (!r->begun)
        PyErr_SetString(PyExc_RuntimeError, "the answer has not begun");
    else if (r->left != T_UNKNOWN && has_body(r) && (int64_t)size > r->left)
        PyErr_Format(PyExc_ValueError, "the body is longer than its Content-Length, %lld",
                     (long long)r->answer.length);
    else
        return 1;
    return 0;
}

/* The head, if it has not gone, and a part of the body. */
static int put_part(bind_http_request *r, t_buffer *to, t_text part)
{
    if (t_reserve(to, r->head.size + part.size + 32) < 0)
        return -1;
    t_put(to, r->head.bytes, r->head.size);
    t_release(&r->head);
    if (part.size == 0 || !has_body(r))
        return 0;
    if (r->answer.is_chunked)
        t_begin_chunk(to, part.size);
    t_put(to, part.at, part.size);
    if (r->answer.is_chunked)
        t_end_chunk(to);
    r->written += (int64_t)part.size;
    if (r->left != T_UNKNOWN)
        r->left -= (int64_t)part.size;
    return 0;
}

/* _respond_part(data): the answer of a WSGI application begins, of which this is the first part. If
 * it is the only one, as its Content-Length says, the answer is whole, as _answer(); if not,
 * NotImplemented, and _write() sends it. */
PyObject *bind_http_respond_part(PyObject *self, PyObject *data)
{
    t_text part;
    if (bind_http_read_text(data, &part) < 0 || check_started(SELF) < 0 ||
        begin_in_parts(SELF, SELF->status, SELF->fields) < 0)
        return NULL;
    if ((int64_t)part.size != SELF->left || part.size > V_AT_ONCE || !has_body(SELF))
        return Py_NewRef(Py_NotImplemented);
    if (put_part(SELF, &SELF->connection->server->out, part) < 0)
        return PyErr_NoMemory();
    return keep_or_send(SELF, another_is_next(SELF));
}

/* _write(data): a part of the body, with the head if that has not gone.  None, or what is left. */
PyObject *bind_http_write(PyObject *self, PyObject *data)
{
    t_text part;
    if (bind_http_read_text(data, &part) < 0 || !may_write(SELF, part.size))
        return NULL;
    if (put_part(SELF, &SELF->connection->server->out, part) < 0)
        return PyErr_NoMemory();
    return send_now(SELF, 0);
}

/* _finish(): the body is over.  As _answer(). */
PyObject *bind_http_finish(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!may_write(SELF, 0))
        return NULL;
    t_buffer *to = &SELF->connection->server->out;
    if (put_part(SELF, to, (t_text){"", 0}) < 0 ||
        (SELF->answer.is_chunked && has_body(SELF) && t_end_chunks(to) < 0)) {
        to->size = 0;
        return PyErr_NoMemory();
    }
    if (SELF->left > 0 && has_body(SELF))
        SELF->answer.closes_at_end = 1; /* the client learns so that something is missing */
    return end_if_gone(SELF, to->size > 0 ? send_now(SELF, 0) : Py_NewRef(Py_None));
}

/* ---- waiting for the client ------------------------------------------------------------------ */

static s_sched *wait_for_client(bind_http_request *r)
{
    s_sched *s = s_self();
    if (s == NULL || bind_http_check_client(r) < 0)
        return NULL;
    r->connection->waits = s_now(s) + LIMIT;
    return s;
}

/* _send(data): waits until the client has taken it. */
PyObject *bind_http_send(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = bind_check_count("_send", nargs, 1) == 0 ? wait_for_client(SELF) : NULL;
    if (s == NULL)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, bind_http_send);
    PyObject *done = i_send_all(s, SELF->connection->desc, Py_NewRef(args[0]), &site, &code);
    return bind_result(done, code, self);
}

/* _push(data): sends what the client takes now, by TLS: how many bytes of it were taken, or -1 when
 * all of them were and have gone. */
PyObject *bind_http_push(PyObject *self, PyObject *data)
{
    Py_buffer view;
    if (bind_http_check_client(SELF) < 0 || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t sent = view.len > 0 ? send_some(SELF, view.buf, (size_t)view.len, 0) : 0;
    int is_over = sent == view.len && !is_waiting(SELF);
    PyBuffer_Release(&view);
    return sent < 0 ? NULL : PyLong_FromSsize_t(is_over ? -1 : sent);
}

/* _wait(): until the client takes more. */
PyObject *bind_http_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = bind_check_count("_wait", nargs, 0) == 0 ? wait_for_client(SELF) : NULL;
    if (s == NULL)
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, bind_http_wait);
    PyObject *done = i_wait_ready(s, SELF->connection->desc, P_WRITE, &site, &code);
    return bind_result(done, code, self);
}

/* _send_file(fd, offset, count): waits until it has taken some of that: how much. */
PyObject *bind_http_send_file(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = bind_check_count("_send_file", nargs, 3) == 0 ? wait_for_client(SELF) : NULL;
    if (s == NULL)
        return NULL;
    int file = (int)PyLong_AsLong(args[0]);
    int64_t offset = PyLong_AsLongLong(args[1]);
    Py_ssize_t count = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred())
        return NULL;
    c_call_site site = BIND_SITE(self, args, nargs, bind_http_send_file);
    PyObject *sent = i_send_file(s, SELF->connection->desc, file, offset, count, &site, &code);
    return bind_result(sent, code, self);
}

/* _sent(count): it has, and so many bytes of them are of the body and were not counted before. */
PyObject *bind_http_sent(PyObject *self, PyObject *count)
{
    int64_t bytes = PyLong_AsLongLong(count);
    if (PyErr_Occurred() || bind_http_check_client(SELF) < 0)
        return NULL;
    SELF->connection->waits = 0;
    SELF->written += bytes;
    if (SELF->left > 0)
        SELF->left -= bytes;
    Py_RETURN_NONE;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* _done(): what _answer() or _finish() has left has gone; or nothing was answered, and the
 * connection ends. */
PyObject *bind_http_done(PyObject *self, PyObject *unused)
{
    (void)unused;
    bind_http_end(SELF, SELF->begun && !SELF->answer.closes_at_end);
    Py_RETURN_NONE;
}

/* _abort(): the client learns that it will get no answer, or no more of it. */
PyObject *bind_http_abort(PyObject *self, PyObject *unused)
{
    (void)unused;
    bind_http_end(SELF, 0);
    Py_RETURN_NONE;
}
