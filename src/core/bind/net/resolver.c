/* getaddrinfo() for tasklets: reads the arguments and calls the resolver of `io`.
 *
 * The arguments are read as _socket.getaddrinfo reads them, and the audit event is the same; the
 * lookup itself needs no Python (io/resolver.h).  Arguments that this file does not understand
 * (wrong types, names that cannot be encoded or are too long, numbers out of range) go to the
 * original function on a thread of the pool, which raises the right exception.
 */
#include "bind/net/resolver.h"
#include "io/blocking.h"
#include "io/resolver.h"

#include <limits.h>
#include <string.h>

#define LONGEST 1025 /* bytes of a name, with the final NUL */

typedef struct {
    i_resolve_query question;
    char host[LONGEST], service[LONGEST];
} lookup_request;

/* 1, or 0 if the text does not fit or contains a NUL. */
static int copy_name(char *to, const char **field, const char *text, Py_ssize_t size)
{
    if (text == NULL || size >= LONGEST || strlen(text) != (size_t)size)
        return 0;
    memcpy(to, text, (size_t)size + 1);
    *field = to;
    return 1;
}

static int read_host(lookup_request *r, PyObject *host)
{
    PyObject *encoded = PyUnicode_Check(host) ? PyUnicode_AsEncodedString(host, "idna", NULL)
                        : PyBytes_Check(host) ? Py_NewRef(host)
                                              : NULL;
    if (encoded == NULL)
        return host == Py_None;
    int read = copy_name(r->host, &r->question.host, PyBytes_AS_STRING(encoded),
                         PyBytes_GET_SIZE(encoded));
    Py_DECREF(encoded);
    return read;
}

static int read_service(lookup_request *r, PyObject *service)
{
    Py_ssize_t size = 0;
    if (service == Py_None)
        return 1;
    if (PyUnicode_Check(service)) {
        const char *text = PyUnicode_AsUTF8AndSize(service, &size);
        return copy_name(r->service, &r->question.service, text, size);
    }
    long number = PyLong_CheckExact(service) ? PyLong_AsLong(service) : -1;
    if (number == -1)
        return 0;
    snprintf(r->service, LONGEST, "%ld", number);
    r->question.service = r->service;
    return 1;
}

/* Family, type, protocol and flags: those that are given. */
static int read_numbers(lookup_request *r, PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        long number = PyLong_Check(args[i]) ? PyLong_AsLong(args[i]) : -1;
        if (number < 0 || number > INT_MAX)
            return 0;
        r->question.kind[i] = (int)number;
    }
    return 1;
}

static int read_request(lookup_request *r, PyObject *const *args, Py_ssize_t nargs)
{
    r->question = (i_resolve_query){0};
    int read = nargs >= 2 && nargs <= 6 && read_host(r, args[0]) && read_service(r, args[1]) &&
               read_numbers(r, args + 2, nargs - 2);
    PyErr_Clear();
    r->question.asked = read ? args[0] : NULL;
    return read;
}

PyObject *bind_resolve_name(s_sched *s, PyObject *original, PyObject *const *args, Py_ssize_t nargs,
                            const c_call_site *site)
{
    int code = S_E_SET;
    lookup_request r;
    PyObject *found = NULL;
    if (!read_request(&r, args, nargs)) {
        found = i_run_blocking(s, original, args, nargs, NULL, site, &code);
    } else {
        const int *kind = r.question.kind;
        if (PySys_Audit("socket.getaddrinfo", "OOiii", args[0], args[1], kind[0], kind[1],
                        kind[2]) == 0)
            found = i_resolve(s, &r.question, site, &code);
    }
    return bind_result(found, code, (PyObject *)s->current);
}

static PyObject *resolver_resolve_name(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (nargs < 1)
        return PyErr_Format(PyExc_TypeError, "_resolve_name() expected the original getaddrinfo");
    c_call_site site = BIND_SITE(module, args, nargs, resolver_resolve_name);
    return bind_resolve_name(s, args[0], args + 1, nargs - 1, &site);
}

/* _resolver_threads(): how many threads are busy with lookups, abandoned ones included. */
static PyObject *resolver_get_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(i_resolver_busy());
}

PyMethodDef bind_resolver_functions[] = {
    {"_resolve_name", BIND_FN(resolver_resolve_name), METH_FASTCALL, NULL},
    {"_resolver_threads", resolver_get_threads, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
