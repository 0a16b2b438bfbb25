/* Which scheduler owns a tasklet, how it gets another owner, and how a new run of it begins.
 *
 * Rule.  State and owner of a tasklet change on its owner's thread, or while all other threads are
 * stopped (c_while_world_stopped).  So what a thread has seen of a tasklet holds until it reaches a
 * point where it could lose the GIL, and all threads meet under the same conditions with a GIL and
 * without.
 *
 * s_change_owner decides and moves while the others are stopped.  It refuses a tasklet that its
 * thread is about to run, that C frames hold, or that a partner has claimed (blocked, but in no
 * queue any more).
 *
 * Binding again (Stackless API).  A call is made, and an old one dropped, with Python code running
 * on the way.  Meanwhile the tasklet is claimed: for all others it has ended, and no other thread
 * may begin it.
 *
 * Rejected: a lock per tasklet, which the run queue would have to take at each switch.
 */
#include "sched/internal.h"

s_sched s_detached_owner = {
    .ready = {&s_detached_owner.ready, &s_detached_owner.ready},
    .all = {&s_detached_owner.all, &s_detached_owner.all},
    .stackless.dead = {&s_detached_owner.stackless.dead, &s_detached_owner.stackless.dead},
    .stackless.run_callers = {&s_detached_owner.stackless.run_callers,
                              &s_detached_owner.stackless.run_callers},
    .woken = {&s_detached_owner.woken, &s_detached_owner.woken},
    .messages_end = &s_detached_owner.messages,
    .closed = 1,
    .ended = 1};

void s_run_on_owner(const s_tasklet *t, void (*work)(void *arg), void *arg)
{
    if (t->owner == s_self_here())
        work(arg);
    else
        c_while_world_stopped(work, arg);
}

/* ---- another owner ------------------------------------------------------------------- */

static int is_current(const s_tasklet *t)
{
    return t->owner != NULL && t->owner->current == t;
}

static int may_move(const s_tasklet *t)
{
    if (t->state == S_READY || t->state == S_RUNNING || t->held)
        return S_E_BLOCKED;
    if (t->saved_as == S_C_STACK || t->is_main || is_current(t) || s_is_insertable(t))
        return S_E_STUCK;
    if (t->state == S_BLOCKED && (!t->queued || !t->kind->anywhere || t->timer != NULL))
        return S_E_BLOCKED;
    return S_OK;
}

typedef struct {
    s_tasklet *t;
    s_sched *to;
    int code;
} move;

static void move_to_owner(void *arg)
{
    move *m = arg;
    m->code = m->to->ended || m->to->ending ? S_E_THREAD : may_move(m->t);
    if (m->code == S_OK)
        s_registry_move(m->t, m->to);
}

/* What is about to run here is in the cache of another processor core. */
static void prefetch_tasklet(const s_tasklet *t)
{
    for (size_t at = 0; at < sizeof(*t); at += B_CACHE_LINE)
        B_PREFETCH((const char *)t + at);
}

int s_change_owner(s_sched *s, s_tasklet *t)
{
    move m = {t, s, S_OK};
    if (t->owner == s)
        return S_OK;
    int here = s == s_self_here();
    if (here)
        prefetch_tasklet(t);
    c_while_world_stopped(move_to_owner, &m);
    if (m.code == S_OK && here && s_is_soft(t))
        c_state_prefetch(&t->c);
    return m.code;
}

/* ---- a run that ends, a run that begins ------------------------------------------------ */

typedef struct {
    s_tasklet *t;
    int alive, code, was_queued;
    PyObject **func;
} claim;

static int may_claim(const claim *c)
{
    const s_tasklet *t = c->t;
    if (t->held || (t->state != S_DONE && !c->alive))
        return S_E_ALIVE;
    if (t->state == S_DONE)
        return S_OK;
    int lost = t->owner == &s_detached_owner && t->state == S_BLOCKED && t->queued;
    if (!lost && t->state != S_PAUSED)
        return S_E_BLOCKED;
    return t->saved_as == S_C_STACK || t->is_main || is_current(t) ? S_E_STUCK : S_OK;
}

/* What it would call next: borrowed, or NULL. */
static PyObject *bound_function(const s_tasklet *t)
{
    PyObject *func = t->state == S_PAUSED && t->saved_as == S_NOT_STARTED ? t->func : t->wait.value;
    return func != Py_None ? func : NULL;
}

static void claim_if_free(void *arg)
{
    claim *c = arg;
    s_tasklet *t = c->t;
    if ((c->code = may_claim(c)) < 0)
        return;
    if (c->func != NULL && *c->func == NULL) {
        PyObject *found = bound_function(t);
        if (found == NULL) {
            c->code = S_E_UNBOUND;
            return;
        }
        *c->func = Py_NewRef(found);
    }
    if (t->state == S_BLOCKED) {
        s_dequeue(&t->wait.link);
        c->was_queued = 1;
    }
    t->held = t->started = 1;
    t->state = S_DONE;
}

int s_claim_for_rebinding(s_tasklet *t, int alive, PyObject **func)
{
    claim c = {t, alive, S_OK, 0, func};
    s_run_on_owner(t, claim_if_free, &c);
    if (c.was_queued)
        Py_DECREF((PyObject *)t);
    return c.code;
}

void s_release_claim(s_tasklet *t)
{
    t->held = 0;
}

static void pause_new_run(void *arg)
{
    move *m = arg;
    s_sched *s = m->t->owner;
    if (s->ended || (s->ending && s != s_self_here())) {
        m->code = S_E_THREAD;
        return;
    }
    m->t->state = S_PAUSED;
    m->t->started = 0;
    if (s != s_self_here())
        s_registry_move(m->t, s);
}

int s_begin_run(s_tasklet *t)
{
    move m = {t, NULL, S_OK};
    s_run_on_owner(t, pause_new_run, &m);
    if (m.code == S_OK && t->owner == s_self_here())
        s_registry_add_dead(t); /* from the dead to the others */
    s_release_claim(t);
    return m.code;
}
