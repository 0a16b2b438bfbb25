/* The environ of WSGI (PEP 3333) and the scope of ASGI: a copy of what all requests of a server
 * have in common, and what the request says.
 *
 * Most requests are GET by HTTP/1.1 without a query, so the common part says that already, and it
 * is put only where a request differs: to put an item costs as much as to copy twenty.
 *
 * Texts are the bytes as Latin-1.  Fields with the same name are joined by a comma.  A field
 * whose name has an underscore is left out: it would have the key of one with a hyphen, which a
 * proxy may have checked.
 */
#include "bind/http/http.h"
#include "bind/http/names.h"
#include "http/chars.h"
#include "http/path.h"

/* The keys of every request, and the methods that have a name of their own, made once. */
static struct {
    PyObject *method, *path, *query, *protocol, *input, *remote, *old;
    PyObject *methods[T_CONNECT + 1];
} known;

static int make_keys(void)
{
    known.method = PyUnicode_InternFromString("REQUEST_METHOD");
    known.path = PyUnicode_InternFromString("PATH_INFO");
    known.query = PyUnicode_InternFromString("QUERY_STRING");
    known.protocol = PyUnicode_InternFromString("SERVER_PROTOCOL");
    known.input = PyUnicode_InternFromString("wsgi.input");
    known.remote = PyUnicode_InternFromString("REMOTE_ADDR");
    known.old = PyUnicode_InternFromString("HTTP/1.0");
    for (int i = T_OTHER_METHOD + 1; i <= T_CONNECT; i++)
        known.methods[i] = PyUnicode_InternFromString(t_method_name((t_method)i));
    return PyErr_Occurred() || bind_http_make_names() < 0 ? -1 : 0;
}

/* Steals the value; NULL is an error that is set. */
static int put_item(PyObject *environ, PyObject *key, PyObject *value)
{
    int code = value != NULL ? PyDict_SetItem(environ, key, value) : -1;
    Py_XDECREF(value);
    return code;
}

static PyObject *latin_text(const char *at, size_t size)
{
    return PyUnicode_DecodeLatin1(at, (Py_ssize_t)size, NULL);
}

static PyObject *text_of_method(const bind_http_request *r)
{
    if (r->method_known != T_OTHER_METHOD)
        return Py_NewRef(known.methods[r->method_known]);
    return latin_text(bind_http_bytes(r) + r->method.at, r->method.size);
}

/* The key of a field; NULL without an exception: left out. */
static PyObject *key_of(const char *name, size_t size)
{
    const bind_http_name *found = bind_http_find_name(name, size);
    if (found != NULL)
        return Py_NewRef(found->key);
    if (size > BIND_HTTP_MOST_NAME || memchr(name, '_', size) != NULL)
        return NULL;
    return bind_http_environ_key(name, size);
}

static PyObject *joined_values(PyObject *first, PyObject *second)
{
    return PyUnicode_FromFormat("%U,%U", first, second);
}

static int put_field(PyObject *environ, const char *bytes, const t_field *field)
{
    PyObject *key = key_of(bytes + field->name.at, field->name.size);
    if (key == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *value = latin_text(bytes + field->value.at, field->value.size);
    PyObject *before = value != NULL ? PyDict_GetItemWithError(environ, key) : NULL;
    if (before != NULL)
        Py_SETREF(value, joined_values(before, value));
    int code = PyErr_Occurred() && value != NULL ? -1 : put_item(environ, key, Py_XNewRef(value));
    Py_XDECREF(value);
    Py_DECREF(key);
    return code;
}

static int put_line(PyObject *environ, const bind_http_request *r, const char *bytes)
{
    if ((!r->minor && PyDict_SetItem(environ, known.protocol, known.old) < 0) ||
        (r->method_known != T_GET && put_item(environ, known.method, text_of_method(r)) < 0) ||
        (r->query.size > 0 &&
         put_item(environ, known.query, latin_text(bytes + r->query.at, r->query.size)) < 0))
        return -1;
    return put_item(environ, known.path, bind_http_decode_path(r, PyUnicode_DecodeLatin1));
}

/* With the request as wsgi.input: its Python type can be read from. */
PyObject *bind_http_environ(bind_http_request *r, PyObject *common)
{
    const t_field *fields = bind_http_fields(r);
    const char *bytes = bind_http_bytes(r);
    if (known.old == NULL && make_keys() < 0)
        return NULL;
    PyObject *environ = PyDict_Copy(common);
    int code = environ != NULL ? put_line(environ, r, bytes) : -1;
    if (code == 0)
        code = PyDict_SetItem(environ, known.input, (PyObject *)r);
    if (code == 0)
        code = put_item(environ, known.remote, bind_http_peer(r));
    for (uint32_t i = 0; code == 0 && i < r->count; i++)
        code = put_field(environ, bytes, &fields[i]);
    if (code < 0)
        Py_CLEAR(environ);
    return environ;
}

/* ---- ASGI ----------------------------------------------------------------------------------- */

static PyObject *lower_bytes(const char *at, size_t size)
{
    PyObject *bytes = PyBytes_FromStringAndSize(at, (Py_ssize_t)size);
    for (size_t i = 0; bytes != NULL && i < size; i++)
        PyBytes_AS_STRING(bytes)[i] = t_lower(at[i]);
    return bytes;
}

static PyObject *field_as_bytes(const char *bytes, const t_field *field)
{
    const bind_http_name *known = bind_http_find_name(bytes + field->name.at, field->name.size);
    PyObject *name = known != NULL ? Py_NewRef(known->bytes)
                                   : lower_bytes(bytes + field->name.at, field->name.size);
    PyObject *value =
        PyBytes_FromStringAndSize(bytes + field->value.at, (Py_ssize_t)field->value.size);
    PyObject *pair = name != NULL && value != NULL ? PyTuple_Pack(2, name, value) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(value);
    return pair;
}

/* _fields(): the same as a list of (name in small letters, value), both bytes, for ASGI. */
PyObject *bind_http_fields_as_bytes(PyObject *self, PyObject *unused)
{
    (void)unused;
    bind_http_request *r = (bind_http_request *)self;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < r->count; i++) {
        PyObject *pair = field_as_bytes(bind_http_bytes(r), &bind_http_fields(r)[i]);
        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static struct {
    PyObject *version, *method, *path, *raw_path, *query, *headers, *client, *state, *old;
} asgi;

static int make_asgi_keys(void)
{
    if (known.old == NULL && make_keys() < 0)
        return -1;
    asgi.version = PyUnicode_InternFromString("http_version");
    asgi.method = PyUnicode_InternFromString("method");
    asgi.path = PyUnicode_InternFromString("path");
    asgi.raw_path = PyUnicode_InternFromString("raw_path");
    asgi.query = PyUnicode_InternFromString("query_string");
    asgi.headers = PyUnicode_InternFromString("headers");
    asgi.client = PyUnicode_InternFromString("client");
    asgi.state = PyUnicode_InternFromString("state");
    asgi.old = PyUnicode_InternFromString("1.0");
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *bytes_of_span(const char *bytes, t_span span)
{
    return PyBytes_FromStringAndSize(bytes + span.at, (Py_ssize_t)span.size);
}

PyObject *bind_http_scope(bind_http_request *r, PyObject *common)
{
    const char *bytes = bind_http_bytes(r);
    if (asgi.old == NULL && make_asgi_keys() < 0)
        return NULL;
    PyObject *scope = PyDict_Copy(common);
    PyObject *state = scope != NULL ? PyDict_GetItemWithError(scope, asgi.state) : NULL;
    if (scope == NULL || (state != NULL && put_item(scope, asgi.state, PyDict_Copy(state)) < 0) ||
        (!r->minor && PyDict_SetItem(scope, asgi.version, asgi.old) < 0) ||
        (r->method_known != T_GET && put_item(scope, asgi.method, text_of_method(r)) < 0) ||
        put_item(scope, asgi.path, bind_http_path(r)) < 0 ||
        put_item(scope, asgi.raw_path, bytes_of_span(bytes, r->path)) < 0 ||
        put_item(scope, asgi.client, bind_http_client(r)) < 0 ||
        (r->query.size > 0 && put_item(scope, asgi.query, bytes_of_span(bytes, r->query)) < 0) ||
        put_item(scope, asgi.headers, bind_http_fields_as_bytes((PyObject *)r, NULL)) < 0)
        Py_CLEAR(scope);
    return scope;
}
