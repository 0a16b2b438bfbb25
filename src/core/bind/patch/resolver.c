/* Looking names up for tasklets: getaddrinfo and the other functions of the socket module.
 *
 * The C library's lookups cannot be made to let others run: they read files, ask servers and wait
 * in their own code.  So they are made on another thread while the tasklet waits, which is soft:
 * getaddrinfo as resolver.c tells, the originals of the others on a thread of the pool
 * (io/blocking.h). A wait that is ended leaves a lookup that goes on alone, and what it finds is
 * dropped.
 *
 * A host that is an address already is not looked up but read: that does not wait, and is
 * done here.  A thousand connections to an address start no threads.
 */
#include "bind/net/resolver.h"
#include "bind/patch/patch.h"
#include "io/blocking.h"

static c_replaced_function addrinfo, nameinfo, by_name, by_name_ex, by_addr;

/* Whether the first argument needs no lookup. */
static int is_address(PyObject *const *args, Py_ssize_t nargs)
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

static PyObject *look_up(s_sched *s, const c_replaced_function *kept, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames, const c_call_site *site)
{
    int code;
    if (s == NULL)
        return PyObject_Vectorcall(kept->original, args, (size_t)nargs, kwnames);
    PyObject *found = i_run_blocking(s, kept->original, args, nargs, kwnames, site, &code);
    return bind_result(found, code, (PyObject *)s->current);
}

static PyObject *getaddrinfo_(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    int given = nargs == 0 && kwnames != NULL; /* the host is among the names */
    s_sched *s = given || !is_address(args, nargs) ? bind_patch_sched() : NULL;
    c_call_site site = BIND_SITE(module, args, bind_argument_count(nargs, kwnames), getaddrinfo_);
    if (s == NULL || kwnames != NULL)
        return look_up(s, &addrinfo, args, nargs, kwnames, &site);
    return bind_resolve_name(s, addrinfo.original, args, nargs, &site);
}

static PyObject *getnameinfo_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    c_call_site site = BIND_SITE(module, args, nargs, getnameinfo_);
    return look_up(bind_patch_sched(), &nameinfo, args, nargs, NULL, &site);
}

static PyObject *gethostbyname_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = is_address(args, nargs) ? NULL : bind_patch_sched();
    c_call_site site = BIND_SITE(module, args, nargs, gethostbyname_);
    return look_up(s, &by_name, args, nargs, NULL, &site);
}

static PyObject *gethostbyname_ex(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    c_call_site site = BIND_SITE(module, args, nargs, gethostbyname_ex);
    return look_up(bind_patch_sched(), &by_name_ex, args, nargs, NULL, &site);
}

static PyObject *gethostbyaddr_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    c_call_site site = BIND_SITE(module, args, nargs, gethostbyaddr_);
    return look_up(bind_patch_sched(), &by_addr, args, nargs, NULL, &site);
}

static const c_function_replacement functions[] = {
    {"getaddrinfo", METH_VARARGS | METH_KEYWORDS, BIND_FN(getaddrinfo_), &addrinfo},
    {"getnameinfo", METH_VARARGS, BIND_FN(getnameinfo_), &nameinfo},
    {"gethostbyname", METH_VARARGS, BIND_FN(gethostbyname_), &by_name},
    {"gethostbyname_ex", METH_VARARGS, BIND_FN(gethostbyname_ex), &by_name_ex},
    {"gethostbyaddr", METH_VARARGS, BIND_FN(gethostbyaddr_), &by_addr},
};

#define COUNT (sizeof(functions) / sizeof(*functions))

int bind_patch_names(int install)
{
    if (install)
        return c_functions_replace("_socket", functions, COUNT);
    c_functions_restore(functions, COUNT);
    return 0;
}
