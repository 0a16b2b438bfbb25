/* The object mutexes of a scheduler, in buckets by their object: see object_mutex.h. */
#include "sync/object_mutex.h"

static c_lock guard; /* for s_leave_queue, which wants one: a scheduler is in one thread */

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

void y_object_mutex_begin(s_sched *s, y_object_mutex *mutex, PyObject *object)
{
    mutex->object = object;
    b_list_init(&mutex->waiters);
    b_append(y_object_calls(s, object), &mutex->link);
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

static y_object_mutex *find_mutex(s_sched *s, const PyObject *object)
{
    b_link *calls = y_object_calls(s, object);
    for (b_link *at = calls->next; at != calls; at = at->next) {
        y_object_mutex *mutex = B_CONTAINER(at, y_object_mutex, link);
        if (mutex->object == object)
            return mutex;
    }
    return NULL;
}

int y_object_mutex_is_taken(s_sched *s, const PyObject *object)
{
    return find_mutex(s, object) != NULL;
}

PyObject *y_object_mutex_wait(s_sched *s, PyObject *object, int *code)
{
    y_object_mutex *mutex;
    while ((mutex = find_mutex(s, object)) != NULL) {
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
