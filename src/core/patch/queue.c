/* queue.SimpleQueue: get, put and put_nowait.
 *
 * It is written in C, on a lock of the system that knows no tasklets.  So a tasklet calls
 * get_nowait(), and when the queue is empty waits beside it (sync/notify_queue.h); each put
 * notifies.  OS threads wait inside the queue as before; the first waiter gets an item.
 *
 * put() may be called in the midst of get(), by a finalizer or a signal handler, and never waits.
 * It keeps notifying after uninstall(): a tasklet may still wait.
 *
 * The other classes of `queue` are Python over builtin locks, which know tasklets.
 */
#include "patch/patch.h"
#include "sync/notify_queue.h"

patch_queue_methods patch_queue_originals;

/* Whether the exception that is set is Empty: that of the module that was patched, or that of
 * another copy of it, whose queues have the same methods. */
static int is_empty_error(const c_method_call *call)
{
    if (PyErr_ExceptionMatches(patch_queue_originals.empty))
        return 1;
    PyObject *error = PyErr_GetRaisedException();
    PyObject *module = error && call->cls ? PyType_GetModule(call->cls) : NULL;
    PyObject *empty = module ? PyObject_GetAttrString(module, "Empty") : NULL;
    int is_empty = empty != NULL && PyErr_GivenExceptionMatches(error, empty);
    Py_XDECREF(empty);
    PyErr_SetRaisedException(error);
    return is_empty;
}

/* An item, or NULL; *empty: only because there is none. */
static PyObject *get_without_waiting(const c_method_call *call, int *empty)
{
    c_method_call now = {.self = call->self, .cls = call->cls};
    PyObject *item = c_call_original(&patch_queue_originals.get_nowait, &now);
    *empty = item == NULL && is_empty_error(call);
    return item;
}

PyObject *patch_queue_get(s_sched *s, const c_method_call *call, int64_t timeout)
{
    int empty, code, late = 0;
    if (patch_may_block(s) < 0)
        return NULL;
    int64_t until = patch_deadline(s, timeout);
    for (;;) {
        uint64_t ticket = y_notify_ticket();
        PyObject *item = get_without_waiting(call, &empty);
        if (!empty || late)
            return item;
        PyErr_Clear();
        PyObject *notified = y_notify_wait(s, call->self, ticket, until, &code);
        if (notified == NULL)
            return patch_raise(s, code);
        Py_DECREF(notified);
        late = notified == Py_False;
    }
}

PyObject *patch_queue_put(PyCFunction original, PyObject *queue, PyObject *const *args,
                          Py_ssize_t nargs, PyObject *kwnames)
{
    s_sched *s;
    int ours = patch_in_our_interpreter(&s);
    PyObject *done = ((patch_keyword_call)(void (*)(void))original)(queue, args, nargs, kwnames);
    if (done != NULL && ours)
        y_notify_one(s, queue);
    return done;
}
