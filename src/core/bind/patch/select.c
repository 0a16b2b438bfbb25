/* select.select, poll.poll and epoll.poll: their arguments, and installing.
 *
 * What they do is in patch/select.c.  A call that need not wait goes to the original.
 */
#include "bind/patch/patch.h"
#include "cpython/builtin_socket.h"
#include "patch/thread.h"

#define LONGEST (INT_MAX * (int64_t)1000000) /* ns; the original refuses more */
#define ORIGINAL(name) (patch_select_originals.name)

static PyTypeObject *poll_type, *epoll_type;

/* ---- select(r, w, x, timeout=None) ------------------------------------------------------- */

/* What can be read more than once. */
static PyObject *as_sequence(PyObject *given)
{
    return PySequence_Fast(given, "arguments 1-3 must be sequences");
}

static PyObject *select_select(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t timeout;
    PyObject *lists[3] = {NULL, NULL, NULL};
    s_sched *s = nargs == 3 || nargs == 4 ? patch_scheduler() : NULL;
    if (s == NULL || bind_patch_timeout(nargs == 4 ? args[3] : NULL, 1e9, &timeout) < 0 ||
        timeout == 0) {
        PyCFunction original = ORIGINAL(select).builtin->ml_meth;
        return ((patch_fast_call)(void (*)(void))original)(module, args, nargs);
    }
    for (int i = 0; i < 3 && (i == 0 || lists[i - 1] != NULL); i++)
        lists[i] = as_sequence(args[i]);
    c_call_site site = BIND_SITE(module, args, nargs, select_select);
    if (lists[2] != NULL)
        return patch_select(s, lists, timeout, &site);
    Py_XDECREF(lists[0]);
    Py_XDECREF(lists[1]);
    return NULL;
}

/* ---- poll.poll(timeout=None), in milliseconds ------------------------------------------------ */

/* Whether a number is below 0: that is no timeout either. */
static int is_negative_timeout(PyObject *value)
{
    double number = 0;
    if (value != NULL && (PyFloat_Check(value) || PyIndex_Check(value)))
        number = PyFloat_AsDouble(value);
    PyErr_Clear();
    return number < 0;
}

static PyObject *poll_poll(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t timeout = 0;
    PyObject *given = nargs == 1 && !is_negative_timeout(args[0]) ? args[0] : NULL;
    s_sched *s = nargs <= 1 ? patch_scheduler() : NULL;
    if (s == NULL || bind_patch_timeout(given, 1e6, &timeout) < 0 || timeout == 0 ||
        timeout > LONGEST)
        return ((patch_fast_call)(void (*)(void))ORIGINAL(poll))(self, args, nargs);
    c_call_site site = BIND_SITE(self, args, nargs, poll_poll);
    return patch_poll(s, timeout, &site);
}

/* ---- epoll.poll(timeout=None, maxevents=-1) ---------------------------------------------- */

/* An event loop of asyncio in a main tasklet that is alone waits in the original: threads that it
 * or a handler of a signal starts are threads of the system. */
static s_sched *poll_scheduler(void)
{
    s_sched *s = patch_scheduler();
    return s != NULL && s_waits_as_thread(s) && patch_event_loop_running() ? NULL : s;
}

static PyObject *epoll_poll(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    static const char *const names[] = {"timeout", "maxevents", NULL};
    int64_t timeout = 0;
    PyObject *values[2] = {NULL, NULL};
    s_sched *s = poll_scheduler();
    int known =
        s != NULL && bind_parse_arguments("poll", names, 0, args, nargs, kwnames, values) == 0;
    PyErr_Clear();
    if (known && is_negative_timeout(values[0]))
        values[0] = NULL;
    if (!known || bind_patch_timeout(values[0], 1e9, &timeout) < 0 || timeout == 0 ||
        timeout > LONGEST)
        return ((patch_keyword_call)(void (*)(void))ORIGINAL(epoll_poll))(self, args, nargs,
                                                                          kwnames);
    c_call_site site = BIND_SITE(self, args, bind_argument_count(nargs, kwnames), epoll_poll);
    return patch_epoll(s, values[1], timeout, &site);
}

/* ---- installing ------------------------------------------------------------------------ */

static const c_function_replacement functions[] = {
    {"select", METH_FASTCALL, BIND_FN(select_select), &ORIGINAL(select)}};
static const c_method_replacement poll_methods[] = {
    {"poll", METH_FASTCALL, BIND_FN(poll_poll), &ORIGINAL(poll)},
};
static const c_method_replacement epoll_methods[] = {
    {"poll", METH_FASTCALL | METH_KEYWORDS, BIND_FN(epoll_poll), &ORIGINAL(epoll_poll)},
    {"close", METH_NOARGS, patch_epoll_close, &ORIGINAL(epoll_close)},
};

static int find_poll_types(PyObject *module)
{
    PyObject *epoll = PyObject_GetAttrString(module, "epoll");
    Py_XSETREF(epoll_type, (PyTypeObject *)epoll);
    Py_XSETREF(poll_type, epoll ? c_poll_find(module) : NULL);
    return poll_type ? patch_select_prepare() : -1;
}

static int replace_select(PyObject *module)
{
    if (find_poll_types(module) < 0 || c_methods_replace(poll_type, poll_methods, 1) < 0 ||
        c_methods_replace(epoll_type, epoll_methods, 2) < 0)
        return -1;
    return c_functions_replace("select", functions, 1);
}

int bind_patch_select(int install)
{
    if (install) {
        PyObject *module = PyImport_ImportModule("select");
        int code = module ? replace_select(module) : -1;
        Py_XDECREF(module);
        return code;
    }
    c_functions_restore(functions, 1);
    if (ORIGINAL(poll) != NULL)
        c_methods_restore(poll_type, poll_methods, 1);
    if (ORIGINAL(epoll_poll) != NULL)
        c_methods_restore(epoll_type, epoll_methods, 2);
    return 0;
}
