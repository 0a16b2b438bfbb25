/* queue.SimpleQueue: get, put and put_nowait.
 *
 * It is written in C, on a lock of the system that knows no tasklets.  So a tasklet calls
 * get_nowait(), and when the queue is empty waits beside it (sync/notify_queue.h); each put
 * notifies.  OS threads wait inside the queue as ever; an item is for whichever comes first.
 *
 * put() may be called in the midst of get(), by a finalizer or a signal handler, and never waits.
 * It keeps notifying after uninstall(): a tasklet may still wait.
 *
 * The other classes of `queue` are Python over builtin locks, which know tasklets.
 */
#include "patch/patch.h"
#include "sync/notify_queue.h"

patch_queue_methods patch_queue_originals;

/* An item, or NULL; *empty: only because there is none. */
static PyObject *get_without_waiting(const c_method_call *call, int *empty)
{
    c_method_call now = {.self = call->self, .cls = call->cls};
    PyObject *item = c_call_original(&patch_queue_originals.get_nowait, &now);
    *empty = item == NULL && PyErr_ExceptionMatches(patch_queue_originals.empty);
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
