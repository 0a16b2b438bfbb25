/* What the files of requests have in common: whose client it is, and how a request ends. */
#include "bind/http/http.h"
#include "http/path.h"

void bind_http_end(bind_http_request *r, int keep)
{
    v_connection *c = r->connection;
    if (c != NULL && c->server->notes)
        bind_http_note_request(r);
    r->connection = NULL;
    Py_CLEAR(r->task);
    Py_CLEAR(r->gone);
    t_release(&r->head);
    if (c != NULL)
        v_done(c, keep);
}

int bind_http_check_client(const bind_http_request *r)
{
    if (r->connection != NULL)
        return 0;
    PyErr_SetString(PyExc_ConnectionError, "the request has ended: there is no client any more");
    return -1;
}

PyObject *bind_http_peer(const bind_http_request *r)
{
    char text[P_PEER];
    v_connection *c = r->connection;
    if (c == NULL)
        return PyUnicode_FromString("");
    if (c->peer_text == NULL) {
        p_peer_text(&c->peer, text);
        c->peer_text = PyUnicode_FromString(text);
    }
    return Py_XNewRef(c->peer_text);
}

PyObject *bind_http_client(const bind_http_request *r)
{
    if (r->connection == NULL || r->connection->peer.family == 0)
        Py_RETURN_NONE;
    PyObject *client = PyTuple_New(2);
    PyObject *address = client != NULL ? bind_http_peer(r) : NULL;
    PyObject *port = address != NULL ? PyLong_FromLong(r->connection->peer.port) : NULL;
    if (port == NULL) {
        Py_XDECREF(address);
        Py_XDECREF(client);
        return NULL;
    }
    PyTuple_SET_ITEM(client, 0, address);
    PyTuple_SET_ITEM(client, 1, port);
    return client;
}

PyObject *bind_http_decode_path(const bind_http_request *r, bind_http_decode decode)
{
    const char *at = bind_http_bytes(r) + r->path.at;
    char room[1024], *out = r->path.size <= sizeof(room) ? room : PyMem_Malloc(r->path.size);
    if (out == NULL)
        return PyErr_NoMemory();
    int64_t count = t_decode_path((t_text){at, r->path.size}, out);
    PyObject *decoded = count >= 0 ? decode(out, (Py_ssize_t)count, "replace")
                                   : PyUnicode_DecodeLatin1(at, (Py_ssize_t)r->path.size, NULL);
    if (out != room)
        PyMem_Free(out);
    return decoded;
}

PyObject *bind_http_path(const bind_http_request *r)
{
    return bind_http_decode_path(r, PyUnicode_DecodeUTF8);
}

int bind_http_read_text(PyObject *value, t_text *text)
{
    if (PyBytes_CheckExact(value)) {
        *text = (t_text){PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value)};
        return 0;
    }
    if (PyUnicode_Check(value) && PyUnicode_KIND(value) == PyUnicode_1BYTE_KIND) {
        *text = (t_text){PyUnicode_DATA(value), (size_t)PyUnicode_GET_LENGTH(value)};
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "expected a str of Latin-1 or bytes, found %R", value);
    return -1;
}
