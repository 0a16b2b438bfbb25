/* What a snapshot needs of a queue: copying what it holds, filling an empty one, and restoring
 * waits.  As chan/restore.c does it for channels.
 *
 * The parts are copied under the guard, because other threads may change them.  A tasklet that was
 * built from a snapshot does its operation without waiting, if it can, and is runnable then; else
 * it enters the end of the queue.  Either way that owns a new reference to it.
 */
#include "sched/guests/snapshot.h"
#include "sync/gate.h"

static const b_link *waiters_of(const y_queue *queue, enum y_queue_part part)
{
    if (part == Y_GETTERS)
        return &queue->gate.waiters;
    return part == Y_PUTTERS ? &queue->putters : &queue->joiners;
}

Py_ssize_t y_queue_contents(y_queue *queue, enum y_queue_part part, PyObject ***found)
{
    c_lock_take(&queue->gate.guard);
    Py_ssize_t count =
        part == Y_ITEMS ? s_copy_ring(queue->items, queue->first, queue->count, queue->room, found)
                        : s_copy_waiters(waiters_of(queue, part), found);
    c_lock_give(&queue->gate.guard);
    return count;
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

/* It does not wait: its call returns `value` (stolen), or it cannot wait: `code`, if that is NULL.
 */
static int end_restored_wait(s_sched *s, s_tasklet *t, PyObject *value, int code)
{
    if (value == NULL) {
        s_deadline_drop(s, t);
        return code;
    }
    s_resume_with(s, t, value, NULL);
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
        if (item != NULL || code != S_E_NO_ITEM)
            return end_restored_wait(s, t, item, code);
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
        if (done != NULL || code != S_E_NO_ROOM)
            return end_restored_wait(s, t, done, code);
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
    return waits ? S_OK : end_restored_wait(s, t, c_new_none(), S_OK);
}
