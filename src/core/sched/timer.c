/* Time: the scheduler's clock, its timers, sleeping, and deadlines of waits.
 *
 * The clock is the monotonic one, or a virtual one that stands still and jumps
 * to the next timer when nothing else can run (idle.c): programs then see exact
 * times and tests need no waiting.
 */
#include "sched/guests/snapshot.h"
#include "sched/internal.h"

int64_t s_now(s_sched *s)
{
    return s->virtual_now >= 0 ? s->virtual_now : p_now();
}

int s_timer_arm(s_sched *s, s_timer *timer, int64_t when)
{
    if (c_out_of_memory() || b_heap_push(&s->timers, &timer->node, when) < 0)
        return S_E_MEMORY;
    return S_OK;
}

void s_timer_disarm(s_sched *s, s_timer *timer)
{
    b_heap_remove(&s->timers, &timer->node);
}

void s_timers_fire(s_sched *s)
{
    int64_t now = s_now(s);
    b_timer *first;
    while ((first = b_heap_first(&s->timers)) != NULL && first->when <= now) {
        s_timer *timer = B_CONTAINER(first, s_timer, node);
        b_heap_remove(&s->timers, first);
        timer->fire(s, timer);
    }
}

/* The deadline of a wait has come. */
static void expire(s_sched *s, s_timer *timer)
{
    s_tasklet *t = timer->owner;
    if (t->state != S_BLOCKED)
        return;
    if (t->kind->late != NULL) {
        PyObject *value = Py_NewRef(t->kind->late);
        if (s_interrupt(s, t, NULL))
            t->wait.value = value;
        else
            Py_DECREF(value);
        return;
    }
    PyObject *error = s_hook.error(S_E_TIMEOUT, (PyObject *)t);
    if (error == NULL)
        error = PyErr_GetRaisedException();
    s_interrupt(s, t, error);
}

static int deadline_new(s_sched *s, s_tasklet *t, int64_t when, void (*fire)(s_sched *, s_timer *))
{
    s_timer *timer = c_calloc(sizeof(*timer));
    if (timer == NULL)
        return S_E_MEMORY;
    timer->fire = fire;
    timer->owner = t;
    if (s_timer_arm(s, timer, when) < 0) {
        PyMem_Free(timer);
        return S_E_MEMORY;
    }
    t->timer = timer;
    Py_INCREF((PyObject *)t); /* whoever has a deadline is never garbage */
    return S_OK;
}

int s_deadline_set(s_sched *s, s_tasklet *t, int64_t when)
{
    return when == S_FOREVER ? S_OK : deadline_new(s, t, when, expire);
}

void s_deadline_drop(s_sched *s, s_tasklet *t)
{
    if (t->timer == NULL)
        return;
    s_timer_disarm(s, t->timer);
    PyMem_Free(t->timer);
    t->timer = NULL;
    Py_DECREF((PyObject *)t);
}

static int sleep_detach(s_tasklet *t)
{
    (void)t;
    return 1;
}

static PyObject *sleep_object(s_tasklet *t)
{
    return PyFloat_FromDouble((double)t->timer->node.when / 1e9);
}

static const s_wait_kind sleeping = {
    .name = "sleep", .detach = sleep_detach, .object = sleep_object};

static void wake_sleeper(s_sched *s, s_timer *timer)
{
    s_tasklet *t = timer->owner;
    Py_XSETREF(t->wait.value, Py_NewRef(Py_None));
    s_wake(s, t);
}

PyObject *s_sleep(s_sched *s, int64_t nanoseconds, const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = s_may_block(s);
    if (*code < 0)
        return NULL;
    if (nanoseconds <= 0)
        return s_schedule(s, site);
    int64_t now = s_now(s);
    int64_t when = nanoseconds > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + nanoseconds;
    *code = deadline_new(s, me, when, wake_sleeper);
    if (*code < 0)
        return NULL;
    me->kind = &sleeping;
    me->on = NULL;
    me->state = S_BLOCKED;
    return s_suspend(s, site);
}

int64_t s_deadline_left(s_sched *s, const s_tasklet *t)
{
    if (t->timer == NULL)
        return S_FOREVER;
    int64_t left = t->timer->node.when - s_now(s);
    return left > 0 ? left : 0;
}

int s_sleep_again(s_sched *s, s_tasklet *t, int64_t nanoseconds)
{
    int code = deadline_new(s, t, s_now(s) + nanoseconds, wake_sleeper);
    if (code < 0)
        return code;
    t->kind = &sleeping;
    t->on = NULL;
    t->state = S_BLOCKED;
    Py_INCREF((PyObject *)t);
    return S_OK;
}
