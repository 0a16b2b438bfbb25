/* The object mutexes of a thread: a list, because few calls are under way.  See object_mutex.h. */
#include "sync/object_mutex.h"

static __thread b_link mutexes;
static c_lock guard; /* for s_leave_queue, which wants one: all mutexes here are one thread's */

static int object_mutex_detach(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

static PyObject *object_mutex_object(s_tasklet *t)
{
    return Py_NewRef((PyObject *)t->on);
}

static const s_wait_kind waiting_for_call = {
    .name = "acquire", .detach = object_mutex_detach, .object = object_mutex_object};

void y_object_mutex_begin(y_object_mutex *mutex, PyObject *object)
{
    if (!b_linked(&mutexes))
        b_list_init(&mutexes);
    mutex->object = object;
    b_list_init(&mutex->waiters);
    b_append(&mutexes, &mutex->link);
}

void y_object_mutex_end(s_sched *s, y_object_mutex *mutex)
{
    s_meet_again();
    b_unlink(&mutex->link);
    for (b_link *at; (at = b_first(&mutex->waiters)) != NULL;) {
        s_tasklet *t = s_dequeue(at);
        t->wait.value = Py_NewRef(Py_True);
        s_wake(s, t);
    }
}

int y_object_mutex_any(void)
{
    return b_linked(&mutexes) && !b_list_empty(&mutexes);
}

static y_object_mutex *find_mutex(const PyObject *object)
{
    for (b_link *at = mutexes.next; at != &mutexes; at = at->next) {
        y_object_mutex *mutex = B_CONTAINER(at, y_object_mutex, link);
        if (mutex->object == object)
            return mutex;
    }
    return NULL;
}

int y_object_mutex_is_taken(const PyObject *object)
{
    return y_object_mutex_any() && find_mutex(object) != NULL;
}

PyObject *y_object_mutex_wait(s_sched *s, PyObject *object, int *code)
{
    y_object_mutex *mutex;
    while ((mutex = find_mutex(object)) != NULL) {
        *code = s_may_block(s);
        if (*code < 0)
            return NULL;
        s_enqueue(s->current, &mutex->waiters, &waiting_for_call, object);
        PyObject *done = s_suspend(s, NULL);
        *code = S_E_SET;
        if (done == NULL)
            return NULL;
        Py_DECREF(done);
    }
    *code = S_OK;
    return Py_NewRef(Py_True);
}
