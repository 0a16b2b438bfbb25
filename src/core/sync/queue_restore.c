/* What a snapshot needs of a queue: copying what it holds, filling an empty one, and restoring
 * waits.  As chan/restore.c does it for channels.
 *
 * The parts are copied under the guard, because other threads may change them.  A tasklet that was
 * built from a snapshot does its operation without waiting, if it can, and is runnable then; else
 * it enters the end of the queue.  Either way that owns a new reference to it.
 */
#include "sync/gate.h"

static Py_ssize_t copy_items(const y_queue *queue, PyObject **found)
{
    for (Py_ssize_t i = 0; found != NULL && i < queue->count; i++)
        found[i] = Py_NewRef(queue->items[(queue->first + i) % queue->room]);
    return queue->count;
}

/* Main tasklets, and so plain threads, stay behind. */
static Py_ssize_t copy_waiting(const b_link *waiters, PyObject **found)
{
    Py_ssize_t count = 0;
    for (b_link *at = waiters->next; at != waiters; at = at->next) {
        s_tasklet *t = B_CONTAINER(at, s_wait, link)->task;
        if (t->owner != NULL && t->owner->main == t)
            continue;
        if (found != NULL)
            found[count] = Py_NewRef((PyObject *)t);
        count++;
    }
    return count;
}

static Py_ssize_t copy_queue_part(const y_queue *queue, enum y_queue_part part, PyObject **found)
{
    if (part == Y_ITEMS)
        return copy_items(queue, found);
    return copy_waiting(part == Y_GETTERS   ? &queue->gate.waiters
                        : part == Y_PUTTERS ? &queue->putters
                                            : &queue->joiners,
                        found);
}

Py_ssize_t y_queue_contents(y_queue *queue, enum y_queue_part part, PyObject ***found)
{
    c_lock_take(&queue->gate.guard);
    Py_ssize_t count = copy_queue_part(queue, part, NULL);
    *found = PyMem_RawMalloc((size_t)(count + 1) * sizeof(**found));
    if (*found != NULL)
        copy_queue_part(queue, part, *found);
    c_lock_give(&queue->gate.guard);
    return *found ? count : S_E_MEMORY;
}

int y_queue_restore(s_sched *s, y_queue *queue, PyObject *items, Py_ssize_t tasks, int shut)
{
    int code = S_OK;
    Py_ssize_t most = queue->most;
    queue->most = PY_SSIZE_T_MAX; /* an item that came back may have filled it beyond that */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items) && code == S_OK; i++)
        Py_XDECREF(y_queue_put(s, queue, PyTuple_GET_ITEM(items, i), INT64_MIN, NULL, &code));
    queue->most = most;
    queue->tasks = tasks;
    queue->shut = (char)shut;
    return code;
}

static void wait_again(s_tasklet *t, b_link *waiters, const s_wait_kind *kind, y_queue *queue,
                       PyObject *item)
{
    t->wait.value = Py_XNewRef(item);
    s_enqueue(t, waiters, kind, queue);
    t->owner->tasklet_waits++;
    Py_INCREF((PyObject *)t);
}

/* It does not wait: its call returns `value` (stolen). */
static int resume_with_result(s_sched *s, s_tasklet *t, PyObject *value)
{
    s_deadline_drop(s, t);
    Py_XSETREF(t->wait.value, value);
    Py_INCREF((PyObject *)t);
    s_ready(s, t);
    return S_OK;
}

int y_queue_get_as(s_sched *s, s_tasklet *t, y_queue *queue, int64_t until)
{
    int code = s_deadline_set(s, t, until), waits;
    if (code < 0)
        return code;
    Py_CLEAR(t->wait.value);
    do {
        PyObject *item = y_queue_get(s, queue, INT64_MIN, NULL, &code);
        if (item != NULL)
            return resume_with_result(s, t, item);
        if (code != S_E_NO_ITEM) {
            s_deadline_drop(s, t);
            return code;
        }
        c_lock_take(&queue->gate.guard);
        if ((waits = queue->count == 0 && !queue->shut))
            wait_again(t, &queue->gate.waiters, &y_queue_getting, queue, NULL);
        c_lock_give(&queue->gate.guard);
    } while (!waits);
    return S_OK;
}

int y_queue_put_as(s_sched *s, s_tasklet *t, y_queue *queue, PyObject *item, int64_t until)
{
    int code = s_deadline_set(s, t, until), waits;
    if (code < 0)
        return code;
    Py_CLEAR(t->wait.value);
    do {
        PyObject *done = y_queue_put(s, queue, item, INT64_MIN, NULL, &code);
        if (done != NULL)
            return resume_with_result(s, t, done);
        if (code != S_E_NO_ROOM) {
            s_deadline_drop(s, t);
            return code;
        }
        c_lock_take(&queue->gate.guard);
        if ((waits = queue->count >= queue->most && !queue->shut))
            wait_again(t, &queue->putters, &y_queue_putting, queue, item);
        c_lock_give(&queue->gate.guard);
    } while (!waits);
    return S_OK;
}

int y_queue_join_as(s_sched *s, s_tasklet *t, y_queue *queue)
{
    Py_CLEAR(t->wait.value);
    c_lock_take(&queue->gate.guard);
    int waits = queue->tasks > 0;
    if (waits)
        wait_again(t, &queue->joiners, &y_queue_joining, queue, NULL);
    c_lock_give(&queue->gate.guard);
    return waits ? S_OK : resume_with_result(s, t, c_new_none());
}
