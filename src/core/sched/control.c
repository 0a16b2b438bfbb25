/* What one tasklet may do to another: insert, remove, run, throw.
 *
 * Operations on a tasklet of another thread become messages to that thread, except those that need
 * their result here, which are refused.  Those of the Stackless API are done at once, by the rule
 * of owner.c, because programs look, and that thread is woken for it; they become messages where
 * others are about to do something with that tasklet.
 *
 * A tasklet that is thrown into leaves whatever it waits for, runs at once and raises there; the
 * caller continues when it has ended or blocked again.
 *
 * A tasklet that has paused itself by the native API waits until it is inserted, for ever if need
 * be; its kind is s_pausing.  Every other paused one has none, and such a main tasklet of the
 * Stackless API runs when no other can.
 */
#include "sched/carrier.h"
#include "sched/internal.h"

const s_wait_kind s_pausing = {.name = "pause"};

/* ---- another thread's -------------------------------------------------------------------- */

typedef struct {
    s_tasklet *t;
    s_handler *change;
    PyObject *error, *before[2]; /* what it had as value and error, to be dropped afterwards */
    s_sched *changed;            /* whose run queue is another one now; NULL: nothing was done */
} remote_change;

/* It waits in a queue that nobody else uses at this moment. */
static int waits_in_free_queue(const s_tasklet *t)
{
    return t->state == S_BLOCKED && t->queued && t->timer == NULL && t->kind->lock != NULL &&
           c_lock_is_free(t->kind->lock(t));
}

/* It is paused or ready, or (`throws`) blocked, and nobody is about to do something with it. */
static int is_settled(const s_tasklet *t, int throws)
{
    const s_sched *s = t->owner;
    int quiet = t->state == S_READY ? b_linked(&t->wait.link) : t->state == S_PAUSED;
    return ((quiet && t->kind == NULL) || (throws && waits_in_free_queue(t))) && !t->held &&
           s->current != t && !s->closed && !s->ending;
}

static void change_if_settled(void *arg)
{
    remote_change *r = arg;
    s_tasklet *t = r->t;
    if (!is_settled(t, r->error != NULL))
        return;
    r->changed = t->owner;
    if (r->error != NULL) {
        r->before[0] = t->wait.value;
        r->before[1] = t->error;
        t->wait.value = t->error = NULL;
    }
    r->change(t->owner, t, r->error);
}

/* Does that to a tasklet of another thread, at once or soon.  Steals `error`, which may be NULL. */
static int change_there(s_tasklet *t, s_handler *change, PyObject *error)
{
    remote_change r = {t, change, error, {NULL}, NULL};
    if (t->stackless_rules)
        c_while_world_stopped(change_if_settled, &r);
    if (r.changed == NULL)
        return s_post_message(t->owner, change, t, error);
    Py_XDECREF(r.before[0]);
    Py_XDECREF(r.before[1]);
    __atomic_store_n(&r.changed->has_messages, 1, __ATOMIC_SEQ_CST);
    s_wake_thread(r.changed);
    return S_OK;
}

/* ---- insert, remove, run ----------------------------------------------------------------- */

int s_insert(s_sched *s, s_tasklet *t)
{
    if (t->state == S_DONE)
        return S_E_DEAD;
    if (t->state == S_BLOCKED && !s_is_insertable(t))
        return S_E_BLOCKED;
    if (t->owner != s)
        return change_there(t, s_handle_insert, NULL);
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

int s_remove(s_sched *s, s_tasklet *t)
{
    if (t->owner != s)
        return t->stackless_rules ? change_there(t, s_handle_remove, NULL) : S_E_THREAD;
    if (t->state == S_BLOCKED)
        return S_E_BLOCKED;
    if (t == s->current)
        return S_E_CURRENT;
    s_read_inbox(s);
    if (t->owner == s && t->state == S_READY)
        s_unqueue(t);
    return S_OK;
}

/* Takes `t` out of its queue, so that the caller owns it and can run it now; it passes for running
 * meanwhile.  `error`: what it shall raise, or NULL; then S_KEEPS_ERROR too.  `behind` is what it
 * stood behind in the run queue, or the tail. */
static int claim_to_run(s_sched *s, s_tasklet *t, PyObject *error, b_link **behind)
{
    int detached;
    *behind = t->state == S_READY ? t->wait.link.prev : s->ready.prev;
    switch (t->state) {
    case S_BLOCKED:
        detached = error != NULL ? s_detach_for(t, error) : t->kind->detach(t);
        if (detached == 1)
            s_deadline_drop(s, t);
        return detached;
    case S_READY:
        b_unlink(&t->wait.link);
        break;
    case S_RUNNING: /* claimed at the other end of a chain of calls that led here */
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

/* From now on only the references of others keep the current tasklet; ours is dropped at the first
 * pick after the switch (s_next_slow). */
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

/* The next one is chosen, so no Python code runs before the switch: a reference that is not the
 * last one need not wait for the next pick. */
static PyObject *pause_and_run(s_sched *s, s_tasklet *next, const c_call_site *site)
{
    if (s->leaving == s->current && next != s->current && !s_announcing &&
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
    return pause_and_run(s, s_next_slow(s), site);
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
static PyObject *run_claimed(s_sched *s, s_tasklet *t, b_link *behind, int how,
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
        s_rotate_queue(s, behind);
    return pause_and_run(s, t, site);
}

PyObject *s_run_now(s_sched *s, s_tasklet *t, int how, const c_call_site *site, int *code)
{
    b_link *behind;
    *code = S_OK;
    s_read_inbox(s);
    if (t->state == S_DONE)
        *code = S_E_DEAD;
    else if (t->state == S_BLOCKED && !s_is_insertable(t))
        *code = S_E_BLOCKED;
    else if (t->owner != s)
        *code = how & S_STAY ? change_there(t, s_handle_run, NULL) : S_E_THREAD;
    else if (s->trap)
        *code = S_E_TRAPPED;
    else if (t != s->current && !claim_to_run(s, t, NULL, &behind))
        *code = S_E_TRAPPED;
    else if (t != s->current) {
        if (t->wait.value == NULL && t->error == NULL)
            t->wait.value = Py_NewRef(Py_None);
        return run_claimed(s, t, behind, how, site);
    }
    return *code < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *s_throw(s_sched *s, s_tasklet *t, PyObject *error, int how, const c_call_site *site,
                  int *code)
{
    b_link *behind;
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
        return (*code = change_there(t, s_handle_throw, error)) < 0 ? NULL : Py_NewRef(Py_None);
    else if (s->trap)
        *code = S_E_TRAPPED;
    if (*code < 0) {
        Py_DECREF(error);
        return NULL;
    }
    int claimed = claim_to_run(s, t, error, &behind);
    if (claimed == S_KEEPS_ERROR) {
        Py_DECREF(error);
        return Py_NewRef(Py_None);
    }
    if (!claimed) /* its wake-up is on the way: the exception follows it */
        return (*code = s_post_message(s, s_handle_throw, t, error)) < 0 ? NULL
                                                                         : Py_NewRef(Py_None);
    s_refuse(s, t);
    Py_XSETREF(t->error, error);
    t->kind = NULL;
    return run_claimed(s, t, behind, how, site);
}

/* The claimed `t` forgets its frames and ends with `error`, which is stolen, at its next step. */
static void discard_claimed(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (s_discard_must_undo(t))
        t->kind->discarded(s, t);
    else
        s_refuse(s, t);
    t->kind = NULL;
    Py_CLEAR(t->wait.value);
    s_forget_frames(s, t);
    Py_XSETREF(t->error, error);
    s_ready(s, t);
}

static void handle_discard(s_sched *s, s_tasklet *t, PyObject *error)
{
    b_link *behind;
    if (t->state != S_DONE && s_may_discard(s, t) == S_OK && claim_to_run(s, t, NULL, &behind))
        discard_claimed(s, t, error);
    else
        s_handle_throw(s, t, error);
}

int s_may_discard(const s_sched *s, const s_tasklet *t)
{
    if (t == s->current)
        return S_E_CURRENT;
    if (t->owner != s)
        return S_E_THREAD;
    return s_is_soft(t) || t->saved_as == S_NOT_STARTED ? S_OK : S_E_KEPT;
}

int s_discard_later(s_sched *s, s_tasklet *t, PyObject *error)
{
    b_link *behind;
    if (!claim_to_run(s, t, NULL, &behind)) /* its wake-up is on the way: this follows it */
        return s_post_message(s, handle_discard, t, error);
    discard_claimed(s, t, error);
    return S_OK;
}

int s_throw_later(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->owner == s)
        s_read_inbox(s);
    if (t->owner != s)
        return change_there(t, s_handle_throw, error);
    if (t->state == S_RUNNING)
        return s_post_message(s, s_handle_throw, t, error);
    s_raise_in(s, t, error);
    return S_OK;
}

/* ---- messages ------------------------------------------------------------------------ */

void s_handle_insert(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    if (t->state == S_PAUSED || s_is_insertable(t))
        s_insert(s, t);
}

void s_handle_remove(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)s, (void)unused;
    if (t->state == S_READY)
        s_unqueue(t);
}

void s_handle_run(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    if (s_is_insertable(t))
        s_insert(s, t);
    if (t->state == S_READY)
        b_unlink(&t->wait.link);
    else if (t->state == S_PAUSED)
        Py_INCREF((PyObject *)t);
    else
        return;
    t->state = S_READY;
    b_prepend(&s->ready, &t->wait.link);
}

static int has_saved_frames(const s_tasklet *t)
{
    return t->started && (t->saved_as != S_LIVE || t->state == S_BLOCKED);
}

int s_start_for(s_sched *to, s_tasklet *t)
{
    s_registry_add(to, t);
    return s_post_message(to, s_handle_insert, t, NULL);
}

int s_find_location(s_sched *s, s_tasklet *t, PyObject **code, int *line)
{
    if (t->state == S_RUNNING && s->current == t)
        return c_running_location(s->ts, code, line);
    if (!has_saved_frames(t) || !s_suspend_sitter(t))
        return 0;
    int found = c_suspended_location(&t->c, code, line);
    s_release_sitter(t);
    return found;
}

static void take_codes(const c_location *found, int count)
{
    for (int i = 0; i < count; i++)
        Py_INCREF(found[i].code);
}

int s_find_frames(s_sched *s, s_tasklet *t, c_location *found, int room)
{
    int more, count = 0;
    if (t->owner != s)
        return 0;
    if (t->state == S_RUNNING && s->current == t) {
        count = c_peek_frames(s->ts, &t->c, found, room, &more);
    } else if (has_saved_frames(t) && s_suspend_sitter(t)) {
        count = c_peek_frames(NULL, &t->c, found, room, &more);
        take_codes(found, count);
        s_release_sitter(t);
        return count;
    }
    take_codes(found, count);
    return count;
}
