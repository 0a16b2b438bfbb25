/* What one tasklet may do to another: insert, remove, run, throw, join.
 *
 * Operations on a tasklet of another thread become letters to that thread, but
 * for those that need its result here, which are refused.  A tasklet that is
 * thrown into leaves whatever it waits for, runs at once and raises there; the
 * caller goes on when it has ended or blocked again.
 */
#include "sched/internal.h"

int s_insert(s_sched *s, s_tasklet *t)
{
    if (t->state == S_DONE)
        return S_E_DEAD;
    if (t->state == S_BLOCKED)
        return S_E_BLOCKED;
    if (t->home != s)
        return s_post(t->home, S_ASK_INSERT, t, NULL);
    if (t->state != S_PAUSED && t->state != S_NEW)
        return S_OK;
    if (t->wait.value == NULL)
        t->wait.value = Py_NewRef(Py_None);
    Py_INCREF((PyObject *)t);
    s_ready(s, t);
    return S_OK;
}

int s_remove(s_sched *s, s_tasklet *t)
{
    if (t->home != s)
        return S_E_THREAD;
    if (t->state == S_BLOCKED)
        return S_E_BLOCKED;
    if (t == s->current)
        return S_E_CURRENT;
    if (t->state != S_READY)
        return S_OK;
    s_read_mail(s);
    b_unlink(&t->wait.link);
    t->state = S_PAUSED;
    Py_DECREF((PyObject *)t);
    return S_OK;
}

/* Takes `t` out of its queue, so that the caller owns it and can run it now. */
static int claim(s_sched *s, s_tasklet *t)
{
    s_read_mail(s);
    switch (t->state) {
    case S_BLOCKED:
        if (!t->kind->detach(t))
            return 0;
        s_deadline_drop(s, t);
        return 1;
    case S_READY:
        b_unlink(&t->wait.link);
        return 1;
    default:
        Py_INCREF((PyObject *)t);
        return 1;
    }
}

PyObject *s_run_before_me_with(s_sched *s, s_tasklet *t, PyObject *mine, const c_site *site)
{
    s_tasklet *me = s->current;
    me->wait.value = mine;
    me->state = S_READY;
    b_prepend(&s->ready, &me->wait.link);
    return s_transfer(s, t, site);
}

PyObject *s_run_before_me(s_sched *s, s_tasklet *t, const c_site *site)
{
    return s_run_before_me_with(s, t, Py_NewRef(Py_None), site);
}

/* From now on only its holders keep the current tasklet; our reference goes at
 * the first pick after the switch (s_next_slow). */
static void pause_current(s_sched *s)
{
    s_tasklet *me = s->current;
    Py_CLEAR(s->leaving);
    Py_XSETREF(me->wait.value, Py_NewRef(Py_None));
    me->state = S_PAUSED;
    s->leaving = me;
    s->budget = 1;
}

PyObject *s_pause(s_sched *s, const c_site *site, int *code)
{
    *code = s_may_block(s);
    if (*code < 0)
        return NULL;
    pause_current(s);
    return s_suspend(s, site);
}

int s_move(s_sched *s, s_tasklet *t, unsigned long thread_id)
{
    if (t->home != s)
        return S_E_THREAD;
    if (t->state != S_PAUSED && t->state != S_NEW)
        return t->state == S_DONE ? S_E_DEAD : S_E_BLOCKED;
    if (t->kept != S_SOFT && t->kept != S_FRESH)
        return S_E_STUCK;
    s_sched *target = s_sched_of_thread(thread_id);
    if (target == NULL)
        return S_E_THREAD;
    s_adopt(target, t);
    return S_OK;
}

PyObject *s_run_now(s_sched *s, s_tasklet *t, int stay, const c_site *site, int *code)
{
    *code = S_OK;
    if (t->state == S_DONE)
        *code = S_E_DEAD;
    else if (t->state == S_BLOCKED)
        *code = S_E_BLOCKED;
    else if (t->home != s)
        *code = stay ? s_post(t->home, S_ASK_RUN, t, NULL) : S_E_THREAD;
    else if (s->trap)
        *code = S_E_TRAPPED;
    else if (t != s->current) {
        claim(s, t);
        if (t->wait.value == NULL && t->error == NULL)
            t->wait.value = Py_NewRef(Py_None);
        if (stay)
            return s_run_before_me(s, t, site);
        pause_current(s);
        return s_transfer(s, t, site);
    }
    return *code < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *s_throw(s_sched *s, s_tasklet *t, PyObject *error, const c_site *site, int *code)
{
    *code = S_OK;
    if (t == s->current) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
        *code = S_E_SET;
        return NULL;
    }
    if (t->state == S_DONE)
        *code = S_E_DEAD;
    else if (t->home != s)
        return (*code = s_post(t->home, S_ASK_THROW, t, error)) < 0 ? NULL : Py_NewRef(Py_None);
    else if (s->trap)
        *code = S_E_TRAPPED;
    if (*code < 0) {
        Py_DECREF(error);
        return NULL;
    }
    if (!claim(s, t)) /* its wake-up is on the way: the exception follows it */
        return (*code = s_post(s, S_ASK_THROW, t, error)) < 0 ? NULL : Py_NewRef(Py_None);
    Py_CLEAR(t->wait.value);
    Py_XSETREF(t->error, error);
    t->kind = NULL;
    return s_run_before_me(s, t, site);
}

/* ---- join ---------------------------------------------------------------- */

static int join_detach(s_tasklet *t)
{
    return s_leave_queue(t, &((s_tasklet *)t->on)->lock);
}

static PyObject *join_object(s_tasklet *t)
{
    return Py_NewRef((PyObject *)t->on);
}

static const s_wait_kind joining = {.name = "join", .detach = join_detach, .object = join_object};

static PyObject *outcome(s_tasklet *t, int want_result)
{
    if (t->failure != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(t->failure), t->failure);
        return NULL;
    }
    return Py_NewRef(want_result && t->result ? t->result : Py_None);
}

/* Queues me with the target, unless it has ended meanwhile: then 0. */
static int queue_join(s_tasklet *me, s_tasklet *t, int want_result)
{
    c_lock_take(&t->lock);
    int alive = t->state != S_DONE;
    if (alive) {
        if (!b_linked(&t->joiners))
            b_list_init(&t->joiners);
        Py_XSETREF(me->wait.value, want_result ? Py_NewRef(Py_None) : NULL);
        s_enqueue(me, &t->joiners, &joining, t);
    }
    c_lock_give(&t->lock);
    return alive;
}

PyObject *s_join(s_sched *s, s_tasklet *t, int64_t until, int want_result, const c_site *site,
                 int *code)
{
    s_tasklet *me = s->current;
    *code = S_OK;
    if (t->state == S_DONE)
        return outcome(t, want_result);
    if ((*code = t == me ? S_E_CURRENT : s_may_block(s)) < 0)
        return NULL;
    if ((*code = s_deadline_set(s, me, until)) < 0)
        return NULL;
    if (queue_join(me, t, want_result))
        return s_suspend(s, site);
    s_deadline_drop(s, me);
    return outcome(t, want_result);
}
