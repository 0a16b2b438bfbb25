/* What one tasklet may do to another: insert, remove, run, throw, join.
 *
 * Operations on a tasklet of another thread become letters to that thread, but
 * for those that need its result here, which are refused.  A tasklet that is
 * thrown into leaves whatever it waits for, runs at once and raises there; the
 * caller goes on when it has ended or blocked again.
 *
 * A tasklet that has paused itself by the native face waits to be inserted, for
 * ever if need be; its kind is s_pausing.  Every other paused one has none, and
 * such a main tasklet of the Stackless face goes on when nobody else can.
 */
#include "sched/guests/snapshot.h"
#include "sched/guests/stackless_run.h"
#include "sched/internal.h"

const s_wait_kind s_pausing = {.name = "pause"};

int s_insert(s_sched *s, s_tasklet *t)
{
    if (t->state == S_DONE)
        return S_E_DEAD;
    if (t->state == S_BLOCKED && !s_is_run_caller(t))
        return S_E_BLOCKED;
    if (t->owner != s)
        return s_post_message(t->owner, S_ASK_INSERT, t, NULL);
    if (t->state == S_BLOCKED) {
        s_interrupt(s, t, NULL);
        t->wait.value = Py_NewRef(Py_None);
        return S_OK;
    }
    if (t->state != S_PAUSED && t->state != S_NEW)
        return S_OK;
    if (t->wait.value == NULL)
        t->wait.value = Py_NewRef(Py_None);
    Py_INCREF((PyObject *)t);
    s_ready(s, t);
    return S_OK;
}

void s_unqueue(s_tasklet *t)
{
    b_unlink(&t->wait.link);
    t->state = S_PAUSED;
    if (t->kind != NULL && t->kind->refused == NULL)
        t->kind = NULL;
    Py_DECREF((PyObject *)t);
}

int s_remove(s_sched *s, s_tasklet *t)
{
    if (t->owner != s)
        return S_E_THREAD;
    if (t->state == S_BLOCKED)
        return S_E_BLOCKED;
    if (t == s->current)
        return S_E_CURRENT;
    s_read_inbox(s);
    if (t->owner == s && t->state == S_READY)
        s_unqueue(t);
    return S_OK;
}

/* Takes `t` out of its queue, so that the caller owns it and can run it now; it passes for
 * running meanwhile.  `place` is what it stood behind in the run queue, or the tail. */
static int claim(s_sched *s, s_tasklet *t, b_link **place)
{
    *place = t->state == S_READY ? t->wait.link.prev : s->ready.prev;
    switch (t->state) {
    case S_BLOCKED:
        if (!t->kind->detach(t))
            return 0;
        s_deadline_drop(s, t);
        return 1;
    case S_READY:
        b_unlink(&t->wait.link);
        break;
    case S_RUNNING: /* claimed by who has called us, at the end of a chain */
        return 0;
    default:
        Py_INCREF((PyObject *)t);
    }
    t->state = S_RUNNING;
    return 1;
}

PyObject *s_run_before_me_with(s_sched *s, s_tasklet *t, PyObject *mine, const c_call_site *site)
{
    s_tasklet *me = s->current;
    me->wait.value = mine;
    me->kind = NULL;
    me->state = S_READY;
    b_prepend(&s->ready, &me->wait.link);
    return s_transfer(s, t, site);
}

PyObject *s_run_before_me(s_sched *s, s_tasklet *t, const c_call_site *site)
{
    return s_run_before_me_with(s, t, Py_NewRef(Py_None), site);
}

PyObject *s_run_after_me_with(s_sched *s, s_tasklet *t, PyObject *mine, const c_call_site *site)
{
    s_tasklet *me = s->current;
    Py_XSETREF(me->wait.value, mine);
    me->kind = NULL;
    s_ready(s, me);
    return s_transfer(s, t, site);
}

/* From now on only its holders keep the current tasklet; our reference goes at
 * the first pick after the switch (s_next_slow). */
static void pause_current(s_sched *s, PyObject *mine, const s_wait_kind *kind)
{
    s_tasklet *me = s->current;
    Py_CLEAR(s->leaving);
    Py_XSETREF(me->wait.value, mine);
    me->state = S_PAUSED;
    me->kind = kind;
    s->leaving = me;
    s->budget = 1;
}

/* The next one is chosen, so no Python code runs before the switch: what somebody else
 * holds anyway need not wait for the next pick. */
static PyObject *leave_for(s_sched *s, s_tasklet *next, const c_call_site *site)
{
    if (s->leaving == s->current && next != s->current && s_hook.switching == NULL &&
        c_decref_shared((PyObject *)s->current))
        s->leaving = NULL;
    return s_transfer(s, next, site);
}

static PyObject *pause_with(s_sched *s, PyObject *mine, const s_wait_kind *kind,
                            const c_call_site *site, int *code)
{
    *code = s_may_block(s);
    if (*code < 0) {
        Py_DECREF(mine);
        return NULL;
    }
    pause_current(s, mine, kind);
    return leave_for(s, s_next_slow(s), site);
}

PyObject *s_pause(s_sched *s, const c_call_site *site, int *code)
{
    return pause_with(s, Py_NewRef(Py_None), &s_pausing, site, code);
}

PyObject *s_pause_removed(s_sched *s, PyObject *mine, const c_call_site *site, int *code)
{
    return pause_with(s, mine, NULL, site, code);
}

/* The claimed `t` runs now. */
static PyObject *run_claimed(s_sched *s, s_tasklet *t, b_link *place, int how,
                             const c_call_site *site)
{
    s_tasklet *me = s->current;
    if (how == S_STAY)
        return s_run_before_me(s, t, site);
    if (how & S_STAY) {
        Py_XSETREF(me->wait.value, Py_NewRef(Py_None));
        s_ready(s, me);
    } else {
        pause_current(s, Py_NewRef(Py_None), how & S_RING ? NULL : &s_pausing);
    }
    if (how & S_RING)
        s_rotate_queue(s, place);
    return leave_for(s, t, site);
}

PyObject *s_run_now(s_sched *s, s_tasklet *t, int how, const c_call_site *site, int *code)
{
    b_link *place;
    *code = S_OK;
    s_read_inbox(s);
    if (t->state == S_DONE)
        *code = S_E_DEAD;
    else if (t->state == S_BLOCKED && !s_is_run_caller(t))
        *code = S_E_BLOCKED;
    else if (t->owner != s)
        *code = how & S_STAY ? s_post_message(t->owner, S_ASK_RUN, t, NULL) : S_E_THREAD;
    else if (s->trap)
        *code = S_E_TRAPPED;
    else if (t != s->current && !claim(s, t, &place))
        *code = S_E_TRAPPED;
    else if (t != s->current) {
        if (t->wait.value == NULL && t->error == NULL)
            t->wait.value = Py_NewRef(Py_None);
        return run_claimed(s, t, place, how, site);
    }
    return *code < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *s_throw(s_sched *s, s_tasklet *t, PyObject *error, int how, const c_call_site *site,
                  int *code)
{
    b_link *place;
    *code = S_OK;
    s_read_inbox(s);
    if (t == s->current) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
        *code = S_E_SET;
        return NULL;
    }
    if (t->state == S_DONE)
        *code = S_E_DEAD;
    else if (t->owner != s)
        return (*code = s_post_message(t->owner, S_ASK_THROW, t, error)) < 0 ? NULL
                                                                             : Py_NewRef(Py_None);
    else if (s->trap)
        *code = S_E_TRAPPED;
    if (*code < 0) {
        Py_DECREF(error);
        return NULL;
    }
    if (!claim(s, t, &place)) /* its wake-up is on the way: the exception follows it */
        return (*code = s_post_message(s, S_ASK_THROW, t, error)) < 0 ? NULL : Py_NewRef(Py_None);
    s_refuse(s, t);
    Py_XSETREF(t->error, error);
    t->kind = NULL;
    return run_claimed(s, t, place, how, site);
}

int s_throw_later(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->owner == s)
        s_read_inbox(s);
    if (t->owner != s || t->state == S_RUNNING)
        return s_post_message(t->owner, S_ASK_THROW, t, error);
    s_refuse(s, t);
    s_raise_in(s, t, error);
    return S_OK;
}

/* ---- join ---------------------------------------------------------------- */

static int join_detach(s_tasklet *t)
{
    return s_leave_queue(t, &((s_tasklet *)t->on)->lock);
}

static int join_target(const s_tasklet *t, int i, s_target *found)
{
    s_tasklet *joined = t->on;
    found->object = (PyObject *)joined;
    found->holder = joined->id;
    return i == 0;
}

static const s_wait_kind joining = {
    .name = "join", .detach = join_detach, .target = join_target, .anywhere = 1};

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

PyObject *s_join(s_sched *s, s_tasklet *t, int64_t until, int want_result, const c_call_site *site,
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

int s_join_again(s_sched *s, s_tasklet *t, s_tasklet *target, int want_result, int64_t until)
{
    int code = target == t ? S_E_SNAPSHOT : s_deadline_set(s, t, until);
    if (code < 0)
        return code;
    Py_INCREF((PyObject *)t);
    if (queue_join(t, target, want_result))
        return S_OK;
    s_deadline_drop(s, t);
    Py_XSETREF(t->error, Py_XNewRef(target->failure));
    PyObject *result = want_result && target->result ? target->result : Py_None;
    Py_XSETREF(t->wait.value, Py_NewRef(result));
    s_ready(s, t);
    return S_OK;
}

int s_request_interrupt(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->owner == s)
        return s_interrupt(s, t, error);
    int code = s_post_message(t->owner, S_ASK_INTERRUPT, t, error);
    return code < 0 ? code : 1;
}

int s_find_location(s_sched *s, s_tasklet *t, PyObject **code, int *line)
{
    if (t->state == S_RUNNING && s->current == t)
        return c_running_location(s->ts, code, line);
    int suspended = t->started && (t->saved_as != S_LIVE || t->state == S_BLOCKED);
    return suspended && c_suspended_location(&t->c, code, line);
}
