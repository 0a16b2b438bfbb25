/* Turns: who comes second, of one thread, waits until the first one's call on an object is over.
 *
 * For objects whose own lock belongs to an OS thread.  A turn lies on the C stack of a call that
 * may wait; whoever wants the same object queues there and is woken when it ends, to look again.
 *
 * Threads.  Turns are the thread's own; other threads do not see them.
 */
#include "sync/object_mutex.h"

static __thread b_link turns;
static c_lock guard; /* what s_leave_queue wants: all of it is one thread's */

static int leave(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

static PyObject *wanted(s_tasklet *t)
{
    return Py_NewRef((PyObject *)t->on);
}

static const s_wait_kind waiting = {.name = "turn", .detach = leave, .object = wanted};

void y_object_mutex_begin(y_object_mutex *turn, PyObject *object)
{
    if (!b_linked(&turns))
        b_list_init(&turns);
    turn->object = object;
    b_list_init(&turn->waiters);
    b_append(&turns, &turn->link);
}

void y_object_mutex_end(s_sched *s, y_object_mutex *turn)
{
    b_unlink(&turn->link);
    for (b_link *at; (at = b_first(&turn->waiters)) != NULL;) {
        s_tasklet *t = s_dequeue(at);
        t->wait.value = Py_NewRef(Py_True);
        s_wake(s, t);
    }
}

int y_object_mutex_any(void)
{
    return b_linked(&turns) && !b_list_empty(&turns);
}

static y_object_mutex *find(const PyObject *object)
{
    for (b_link *at = turns.next; at != &turns; at = at->next) {
        y_object_mutex *turn = B_CONTAINER(at, y_object_mutex, link);
        if (turn->object == object)
            return turn;
    }
    return NULL;
}

PyObject *y_object_mutex_wait(s_sched *s, PyObject *object, int *code)
{
    y_object_mutex *turn;
    while ((turn = find(object)) != NULL) {
        *code = s_may_block(s);
        if (*code < 0)
            return NULL;
        s_enqueue(s->current, &turn->waiters, &waiting, object);
        PyObject *done = s_suspend(s, NULL);
        *code = S_E_SET;
        if (done == NULL)
            return NULL;
        Py_DECREF(done);
    }
    *code = S_OK;
    return Py_NewRef(Py_True);
}
