/* queue.SimpleQueue for tasklets: get, put and put_nowait.
 *
 * It is written in C, on a lock of the system that knows no tasklets.  So a tasklet asks by
 * get_nowait() and waits, when there is nothing, beside the queue (sync/notify_queue.h); each put
 * tells. OS threads wait inside the queue as ever; an item is for whoever comes first.
 *
 * put() may be called in the midst of get(), by a finalizer or a signal handler, and never waits.
 * It goes on telling when all else is stock again: a tasklet may be waiting.
 *
 * The other classes of `queue` are Python over stock locks, which know tasklets.
 */
#include "bind/patch/patch.h"
#include "sync/notify_queue.h"

typedef PyObject *(*named_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames);

static PyTypeObject *queue_type;
static PyObject *nothing_there; /* the exception Empty */
static struct {
    PyCFunction put, put_nowait;
    c_method_forms get, get_nowait;
} stock;

/* ---- getting -------------------------------------------------------------------------------- */

/* What there is, or NULL; *empty when it is only that there is nothing. */
static PyObject *look(const c_method_call *c, int *empty)
{
    c_method_call now = {.self = c->self, .cls = c->cls};
    PyObject *item = c_call_original(&stock.get_nowait, &now);
    *empty = item == NULL && PyErr_ExceptionMatches(nothing_there);
    return item;
}

static PyObject *get_until(s_sched *s, const c_method_call *c, int64_t until)
{
    int empty, code, late = 0;
    for (;;) {
        uint64_t seen = y_notify_ticket();
        PyObject *item = look(c, &empty);
        if (!empty || late)
            return item;
        PyErr_Clear();
        PyObject *news = y_notify_wait(s, c->self, seen, until, &code);
        if (news == NULL)
            return bind_result(NULL, code, (PyObject *)s->current);
        Py_DECREF(news);
        late = news == Py_False;
    }
}

/* Whether get() is asked to wait, and how long: 1; 0 when the original shall do it. */
static int wants_to_wait(const c_method_call *c, int64_t *timeout)
{
    static const char *const names[] = {"block", "timeout", NULL};
    PyObject *values[2] = {Py_True, NULL};
    int known = bind_parse_arguments("get", names, 0, c->args, c->nargs, c->kwnames, values) == 0 &&
                PyObject_IsTrue(values[0]) == 1 && bind_patch_timeout(values[1], 1e9, timeout) == 0;
    PyErr_Clear();
    return known && *timeout != 0;
}

static PyObject *get(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *kwnames)
{
    int64_t timeout, until;
    c_method_call c = {self, cls, args, nargs, kwnames};
    s_sched *s = bind_patch_sched();
    if (s == NULL || !wants_to_wait(&c, &timeout))
        return c_call_original(&stock.get, &c);
    return bind_patch_until(s, timeout, &until) < 0 ? NULL : get_until(s, &c, until);
}

/* ---- putting -------------------------------------------------------------------------------- */

static PyObject *put_by(PyCFunction original, PyObject *self, PyObject *const *args,
                        Py_ssize_t nargs, PyObject *kwnames)
{
    s_sched *s;
    int is_ours = bind_is_ours(&s);
    PyObject *done = ((named_call)(void (*)(void))original)(self, args, nargs, kwnames);
    if (done != NULL && is_ours)
        y_notify_one(s, self);
    return done;
}

static PyObject *put(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return put_by(stock.put, self, args, nargs, kwnames);
}

static PyObject *put_nowait(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    return put_by(stock.put_nowait, self, args, nargs, kwnames);
}

/* ---- installing ----------------------------------------------------------------------------- */

#define NAMED (METH_FASTCALL | METH_KEYWORDS)

static const c_method_replacement methods[] = {
    {"get", C_OF_CLASS, BIND_FN(get), &stock.get.of_class},
    {"get_nowait", C_OF_CLASS, NULL, &stock.get_nowait.of_class},
    {"put", NAMED, BIND_FN(put), &stock.put},
    {"put_nowait", NAMED, BIND_FN(put_nowait), &stock.put_nowait},
};

#define COUNT (sizeof(methods) / sizeof(*methods))

static int take(PyObject *module)
{
    PyObject *type = PyObject_GetAttrString(module, "SimpleQueue");
    Py_XSETREF(queue_type, (PyTypeObject *)type);
    Py_XSETREF(nothing_there, type ? PyObject_GetAttrString(module, "Empty") : NULL);
    return nothing_there ? c_methods_replace(queue_type, methods, COUNT) : -1;
}

int bind_patch_queues(int install)
{
    if (!install) {
        if (stock.put != NULL)
            c_methods_restore(queue_type, methods, 1);
        return 0;
    }
    PyObject *module = PyImport_ImportModule("_queue");
    int code = module ? take(module) : -1;
    Py_XDECREF(module);
    return code;
}
