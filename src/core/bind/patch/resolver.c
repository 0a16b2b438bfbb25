/* getaddrinfo and the other functions of the socket module that look up names.
 *
 * The C library's lookups cannot let others run: they read files, ask servers and block in their
 * own code.  So they are made on another thread while the tasklet waits, which is soft: getaddrinfo
 * as bind/net/resolver.c says, the originals of the others on a thread of the pool (io/blocking.h).
 * A wait that is ended leaves a lookup that continues alone, and its result is dropped.
 *
 * A host that is an address already is parsed here, without waiting.  A thousand connections to an
 * address start no threads.
 */
#include "bind/net/resolver.h"
#include "bind/patch/patch.h"
#include "io/blocking.h"

static c_replaced_function addrinfo_original, nameinfo_original, by_name_original;
static c_replaced_function by_name_ex_original, by_addr_original;

/* Whether the first argument needs no lookup. */
static int host_is_address(PyObject *const *args, Py_ssize_t nargs)
{
    const char *host = NULL;
    if (nargs > 0 && PyUnicode_Check(args[0]))
        host = PyUnicode_AsUTF8(args[0]);
    else if (nargs > 0 && PyBytes_Check(args[0]))
        host = PyBytes_AS_STRING(args[0]);
    else
        return nargs == 0 || args[0] == Py_None;
    PyErr_Clear();
    return host != NULL && p_is_address(host);
}

static PyObject *resolve_by_original(s_sched *s, const c_replaced_function *kept,
                                     PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                                     const c_call_site *site)
{
    int code;
    if (s == NULL)
        return PyObject_Vectorcall(kept->original, args, (size_t)nargs, kwnames);
    PyObject *found = i_run_blocking(s, kept->original, args, nargs, kwnames, site, &code);
    return bind_result(found, code, (PyObject *)s->current);
}

static PyObject *socket_getaddrinfo(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    int given = nargs == 0 && kwnames != NULL; /* the host is among the names */
    s_sched *s = given || !host_is_address(args, nargs) ? patch_scheduler() : NULL;
    c_call_site site =
        BIND_SITE(module, args, bind_argument_count(nargs, kwnames), socket_getaddrinfo);
    if (s == NULL || kwnames != NULL)
        return resolve_by_original(s, &addrinfo_original, args, nargs, kwnames, &site);
    return bind_resolve_name(s, addrinfo_original.original, args, nargs, &site);
}

static PyObject *socket_getnameinfo(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    c_call_site site = BIND_SITE(module, args, nargs, socket_getnameinfo);
    return resolve_by_original(patch_scheduler(), &nameinfo_original, args, nargs, NULL, &site);
}

static PyObject *socket_gethostbyname(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = host_is_address(args, nargs) ? NULL : patch_scheduler();
    c_call_site site = BIND_SITE(module, args, nargs, socket_gethostbyname);
    return resolve_by_original(s, &by_name_original, args, nargs, NULL, &site);
}

static PyObject *socket_gethostbyname_ex(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    c_call_site site = BIND_SITE(module, args, nargs, socket_gethostbyname_ex);
    return resolve_by_original(patch_scheduler(), &by_name_ex_original, args, nargs, NULL, &site);
}

static PyObject *socket_gethostbyaddr(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    c_call_site site = BIND_SITE(module, args, nargs, socket_gethostbyaddr);
    return resolve_by_original(patch_scheduler(), &by_addr_original, args, nargs, NULL, &site);
}

static const c_function_replacement functions[] = {
    {"getaddrinfo", METH_VARARGS | METH_KEYWORDS, BIND_FN(socket_getaddrinfo), &addrinfo_original},
    {"getnameinfo", METH_VARARGS, BIND_FN(socket_getnameinfo), &nameinfo_original},
    {"gethostbyname", METH_VARARGS, BIND_FN(socket_gethostbyname), &by_name_original},
    {"gethostbyname_ex", METH_VARARGS, BIND_FN(socket_gethostbyname_ex), &by_name_ex_original},
    {"gethostbyaddr", METH_VARARGS, BIND_FN(socket_gethostbyaddr), &by_addr_original},
};

#define COUNT (sizeof(functions) / sizeof(*functions))

int bind_patch_resolver(int install)
{
    if (install)
        return c_functions_replace("_socket", functions, COUNT);
    c_functions_restore(functions, COUNT);
    return 0;
}
