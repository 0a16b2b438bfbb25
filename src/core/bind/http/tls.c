/* TLS of connections: the module ssl of Python, between two buffers in memory.
 *
 * What the client sends is received once, put into the one and read out of the object in clear;
 * what is written in clear is taken out of the other and sent.  So a request costs one receive and
 * one send, as without TLS.  The methods are those of the C type below ssl.SSLObject, and are
 * called from the reactor: no Python code runs there.
 *
 * `out` are bytes that the client has not taken yet.  While there are some, nothing more is taken.
 *
 * Rejected: the object that reads from a socket itself (three calls of the system for each request,
 * and an exception for each that finds nothing).
 */
#include "bind/http/http.h"

#include <errno.h>

#include "serve/wire.h"

#define RECEIVED 32768
#define AT_ONCE 65536

typedef struct {
    PyObject *wrapper, *object; /* ssl.SSLObject, and what is below it */
    PyObject *incoming, *outgoing;
    PyObject *out; /* bytes; or NULL */
    size_t out_at;
    unsigned char is_open; /* the handshake is over */
    unsigned char is_dry;  /* the last receive has taken all that had come */
} tls_state;

static struct {
    PyObject *bio, *want_read, *zero_return, *eof;
    PyObject *write, *read, *pending, *do_handshake, *shutdown, *wrap_bio, *object;
} names;

static int find_names(void)
{
    PyObject *ssl = PyImport_ImportModule("ssl");
    if (ssl == NULL)
        return -1;
    names.bio = PyObject_GetAttrString(ssl, "MemoryBIO");
    names.want_read = PyObject_GetAttrString(ssl, "SSLWantReadError");
    names.zero_return = PyObject_GetAttrString(ssl, "SSLZeroReturnError");
    names.eof = PyObject_GetAttrString(ssl, "SSLEOFError");
    Py_DECREF(ssl);
    names.write = PyUnicode_InternFromString("write");
    names.read = PyUnicode_InternFromString("read");
    names.pending = PyUnicode_InternFromString("pending");
    names.do_handshake = PyUnicode_InternFromString("do_handshake");
    names.shutdown = PyUnicode_InternFromString("shutdown");
    names.wrap_bio = PyUnicode_InternFromString("wrap_bio");
    names.object = PyUnicode_InternFromString("_sslobj");
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void drop_tls(void *state)
{
    tls_state *tls = state;
    Py_XDECREF(tls->object);
    Py_XDECREF(tls->wrapper);
    Py_XDECREF(tls->incoming);
    Py_XDECREF(tls->outgoing);
    Py_XDECREF(tls->out);
    PyMem_Free(tls);
}

static int make_object(tls_state *tls, PyObject *context)
{
    tls->incoming = PyObject_CallNoArgs(names.bio);
    tls->outgoing = PyObject_CallNoArgs(names.bio);
    if (tls->incoming == NULL || tls->outgoing == NULL)
        return -1;
    PyObject *args[] = {context, tls->incoming, tls->outgoing, Py_True}; /* on the server's side */
    tls->wrapper = PyObject_VectorcallMethod(names.wrap_bio, args, 4, NULL);
    tls->object = tls->wrapper != NULL ? PyObject_GetAttr(tls->wrapper, names.object) : NULL;
    return tls->object != NULL ? 0 : -1;
}

static void *begin_tls(v_connection *c)
{
    bind_http_server *server = c->server->owner;
    if (names.object == NULL && find_names() < 0) {
        PyErr_WriteUnraisable(server->tls);
        return NULL;
    }
    tls_state *tls = c_calloc(sizeof(*tls));
    if (tls != NULL && make_object(tls, server->tls) < 0) {
        PyErr_WriteUnraisable(server->tls);
        drop_tls(tls);
        tls = NULL;
    }
    return tls;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* Bytes that were made for the client are to be sent: 0, or -errno. */
static int take_outgoing(tls_state *tls)
{
    PyObject *made = PyObject_CallMethodNoArgs(tls->outgoing, names.read);
    if (made == NULL) {
        PyErr_Clear();
        return -ENOMEM;
    }
    if (PyBytes_GET_SIZE(made) == 0) {
        Py_DECREF(made);
        return 0;
    }
    if (tls->out != NULL) {
        PyObject *rest =
            PyBytes_FromStringAndSize(PyBytes_AS_STRING(tls->out) + tls->out_at,
                                      PyBytes_GET_SIZE(tls->out) - (Py_ssize_t)tls->out_at);
        Py_XSETREF(tls->out, rest);
        if (rest != NULL)
            PyBytes_ConcatAndDel(&tls->out, made);
        else
            Py_DECREF(made);
    } else {
        tls->out = made;
    }
    tls->out_at = 0;
    PyErr_Clear();
    return tls->out != NULL ? 0 : -ENOMEM;
}

static int flush_tls(v_connection *c)
{
    tls_state *tls = c->tls;
    while (tls->out != NULL) {
        size_t left = (size_t)PyBytes_GET_SIZE(tls->out) - tls->out_at;
        long sent = p_send(i_desc_fd(c->desc), PyBytes_AS_STRING(tls->out) + tls->out_at, left);
        if (sent < 0)
            return sent == -EAGAIN ? 0 : (int)sent;
        tls->out_at += (size_t)sent;
        if ((size_t)sent == left)
            Py_CLEAR(tls->out);
    }
    return 1;
}

/* What was made goes out, as far as the client takes it: 0, or -errno. */
static int send_made(v_connection *c)
{
    int code = take_outgoing(c->tls);
    int done = code == 0 ? flush_tls(c) : code;
    return done < 0 ? done : 0;
}

static long send_tls(v_connection *c, const char *from, size_t size)
{
    tls_state *tls = c->tls;
    int done = tls->is_open ? flush_tls(c) : -EPIPE;
    if (done <= 0)
        return done == 0 ? -EAGAIN : done;
    Py_ssize_t part = (Py_ssize_t)(size < AT_ONCE ? size : AT_ONCE);
    PyObject *view = PyMemoryView_FromMemory((char *)from, part, PyBUF_READ);
    PyObject *taken =
        view != NULL ? PyObject_CallMethodOneArg(tls->object, names.write, view) : NULL;
    Py_XDECREF(view);
    if (taken == NULL) {
        PyErr_Clear();
        return -EPIPE;
    }
    part = PyLong_AsSsize_t(taken);
    Py_DECREF(taken);
    int code = send_made(c);
    return code < 0 ? code : part;
}

static void end_tls(v_connection *c)
{
    tls_state *tls = c->tls;
    if (!tls->is_open)
        return;
    PyObject *done = PyObject_CallMethodNoArgs(tls->object, names.shutdown);
    Py_XDECREF(done);
    PyErr_Clear(); /* the other side has not ended yet */
    send_made(c);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* The exception: 1 when more has to come first, 0 at the end, -EPROTO for all others. */
static int judge_exception(void)
{
    int wants = PyErr_ExceptionMatches(names.want_read);
    int ended = PyErr_ExceptionMatches(names.zero_return) || PyErr_ExceptionMatches(names.eof);
    PyErr_Clear();
    return wants ? 1 : ended ? 0 : -EPROTO;
}

/* Bytes of the client for the object: 1, 0 at their end, or -errno. */
static int take_in(tls_state *tls, const char *bytes, size_t size)
{
    PyObject *data = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    PyObject *done =
        data != NULL ? PyObject_CallMethodOneArg(tls->incoming, names.write, data) : NULL;
    Py_XDECREF(data);
    Py_XDECREF(done);
    if (done == NULL)
        PyErr_Clear();
    return done != NULL ? 1 : -ENOMEM;
}

static int receive_more(v_connection *c)
{
    tls_state *tls = c->tls;
    char bytes[RECEIVED];
    if (tls->is_dry && !c->fresh)
        return -EAGAIN;
    c->fresh = 0;
    long got = p_receive(i_desc_fd(c->desc), bytes, sizeof(bytes));
    tls->is_dry = got > 0 && got < (long)sizeof(bytes);
    return got > 0 ? take_in(tls, bytes, (size_t)got) : (int)got;
}

/* 1 when it is over, 0 when more has to come, or -errno. */
static int shake_hands(v_connection *c)
{
    tls_state *tls = c->tls;
    PyObject *done = PyObject_CallMethodNoArgs(tls->object, names.do_handshake);
    int code = done != NULL ? 0 : judge_exception();
    Py_XDECREF(done);
    int sent = send_made(c);
    if (done == NULL)
        return code == 1 && sent == 0 ? 0 : code <= 0 ? -EPROTO : sent;
    tls->is_open = 1;
    v_enter_state(c, V_PARKED);
    return sent < 0 ? sent : 1;
}

/* Bytes in clear: how many, 0 at the end, -EAGAIN when more has to come, or -errno. */
static long read_clear(tls_state *tls, char *to, size_t room)
{
    PyObject *size = PyLong_FromSize_t(room);
    PyObject *view = PyMemoryView_FromMemory(to, (Py_ssize_t)room, PyBUF_WRITE);
    PyObject *args[] = {tls->object, size, view}, *got = NULL;
    if (size != NULL && view != NULL)
        got = PyObject_VectorcallMethod(names.read, args, 3, NULL);
    long count = got != NULL ? PyLong_AsLong(got) : judge_exception();
    if (got == NULL)
        count = count == 1 ? -EAGAIN : count;
    Py_XDECREF(got);
    Py_XDECREF(size);
    Py_XDECREF(view);
    return count;
}

/* Whether the object has anything to read from. */
static int has_input(tls_state *tls)
{
    PyObject *left = PyObject_GetAttr(tls->incoming, names.pending);
    PyObject *clear = PyObject_CallMethodNoArgs(tls->object, names.pending);
    int has =
        (left != NULL && PyLong_AsLong(left) > 0) || (clear != NULL && PyLong_AsLong(clear) > 0);
    Py_XDECREF(left);
    Py_XDECREF(clear);
    PyErr_Clear();
    return has;
}

static long receive_tls(v_connection *c, char *to, size_t room)
{
    tls_state *tls = c->tls;
    for (;;) {
        long got = -EAGAIN;
        if (tls->is_open && has_input(tls))
            got = read_clear(tls, to, room);
        if (got != -EAGAIN)
            return got;
        int more = receive_more(c);
        if (more <= 0)
            return more;
        int shaken = tls->is_open ? 1 : shake_hands(c);
        if (shaken < 0)
            return shaken;
    }
}

/* ---- for the application --------------------------------------------------------------------- */

int bind_http_decrypt(v_connection *c, t_text data)
{
    tls_state *tls = c->tls;
    int code = take_in(tls, data.at, data.size);
    while (code > 0 && has_input(tls)) {
        if (t_reserve(&c->in, AT_ONCE) < 0)
            return -ENOMEM;
        long got = read_clear(tls, c->in.bytes + c->in.size, c->in.room - c->in.size);
        if (got <= 0)
            return got == -EAGAIN ? 1 : (int)got;
        c->in.size += (size_t)got;
    }
    return code;
}

PyObject *bind_http_detach_tls(v_connection *c)
{
    tls_state *tls = c->tls;
    if (tls == NULL)
        return Py_NewRef(Py_None);
    PyObject *parts = PyTuple_Pack(3, tls->wrapper, tls->incoming, tls->outgoing);
    if (parts != NULL) {
        drop_tls(tls);
        c->tls = NULL;
    }
    return parts;
}

void bind_http_tls_init(void)
{
    v_tls_hook = (v_tls_hooks){begin_tls, receive_tls, send_tls, flush_tls, end_tls, drop_tls};
}
