/* Whose a tasklet is: the rolls of a scheduler, and how a tasklet gets another home.
 *
 * A scheduler keeps two rolls, which own nothing: of its tasklets, and of its Stackless
 * tasklets that have ended and may begin again.
 *
 * Rule.  State and home of a tasklet change on its home thread, or while all other
 * threads are stopped (c_while_world_stopped).  So what a thread has seen of a tasklet holds
 * until it reaches a point where it could lose the GIL, and all threads meet under the
 * same conditions with a GIL and without.
 *
 *   s_change_owner  decides and moves while the others are stopped.  It refuses a tasklet that
 *             its thread is about to run, that C frames hold, or that a partner has
 *             claimed (blocked, but in no queue any more).
 *   s_claim_for_rebinding    A call is made, and an old one dropped, with Python code running on
 * the way.  Meanwhile the tasklet is held: to everybody else it has ended, and nobody else may
 * begin it.
 *
 * Rejected: a lock per tasklet, which the run queue would have to take at each switch.
 */
#include "sched/guests/stackless_run.h"
#include "sched/internal.h"

static uint64_t last_id;

uint64_t s_new_id(void)
{
    return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

/* ---- the rolls ---------------------------------------------------------------------- */

static b_link *roll_of(s_sched *s, const s_tasklet *t)
{
    return t->state == S_DONE ? &s->dead : &s->all;
}

/* Native ones leave the roll when they end, and are counted. */
static void write_in(s_sched *s, s_tasklet *t)
{
    s->natives += !t->stackless;
    b_append(roll_of(s, t), &t->all);
}

static void strike(s_sched *s, s_tasklet *t)
{
    s->natives -= !t->stackless;
    b_unlink(&t->all);
}

/* While we wait for the lock the tasklet's home may change. */
static s_sched *lock_roll(s_tasklet *t)
{
    for (;;) {
        s_sched *s = t->owner;
        c_lock_take(&s->all_lock);
        if (t->owner == s)
            return s;
        c_lock_give(&s->all_lock);
    }
}

static void sign(s_tasklet *t)
{
    s_sched *s = lock_roll(t);
    if (!b_linked(&t->all))
        write_in(s, t);
    c_lock_give(&s->all_lock);
}

void s_registry_add(s_sched *s, s_tasklet *t)
{
    c_allow_try_incref((PyObject *)t);
    if (t->id == 0)
        t->id = s_new_id();
    t->owner = s;
    t->since = s->coarse_now;
    sign(t);
}

void s_registry_remove(s_tasklet *t)
{
    if (t->owner == NULL)
        return;
    s_sched *s = lock_roll(t);
    if (b_linked(&t->all))
        strike(s, t);
    c_lock_give(&s->all_lock);
}

void s_registry_add_dead(s_tasklet *t)
{
    s_registry_remove(t);
    sign(t);
}

void s_adopt(s_sched *s, s_tasklet *t)
{
    if (t->owner == s)
        return;
    s_registry_remove(t);
    t->owner = s;
    sign(t);
}

void s_registry_move(s_tasklet *t, s_sched *to)
{
    if (b_linked(&t->all))
        strike(t->owner, t);
    t->owner = to;
    write_in(to, t);
}

void s_run_on_owner(const s_tasklet *t, void (*work)(void *arg), void *arg)
{
    if (t->owner == s_self_)
        work(arg);
    else
        c_while_world_stopped(work, arg);
}

/* ---- another home -------------------------------------------------------------------- */

static int is_current(const s_tasklet *t)
{
    return t->owner != NULL && t->owner->current == t;
}

static int may_move(const s_tasklet *t)
{
    if (t->state == S_READY || t->state == S_RUNNING || t->held)
        return S_E_BLOCKED;
    if (t->saved_as == S_C_STACK || t->is_main || is_current(t) || s_is_run_caller(t))
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

static void rehome(void *arg)
{
    move *m = arg;
    m->code = m->to->ended || m->to->ending ? S_E_THREAD : may_move(m->t);
    if (m->code == S_OK)
        s_registry_move(m->t, m->to);
}

/* What is about to run here is in the cache of another core. */
static void fetch(const s_tasklet *t)
{
    for (size_t at = 0; at < sizeof(*t); at += B_CACHE_LINE)
        B_PREFETCH((const char *)t + at);
}

int s_change_owner(s_sched *s, s_tasklet *t)
{
    move m = {t, s, S_OK};
    if (t->owner == s)
        return S_OK;
    int here = s == s_self_;
    if (here)
        fetch(t);
    c_while_world_stopped(rehome, &m);
    if (m.code == S_OK && here && s_is_soft(t))
        c_state_prefetch(&t->c);
    return m.code;
}

/* ---- a run that ends, a run that begins ------------------------------------------------ */

typedef struct {
    s_tasklet *t;
    int alive, code, was_queued;
    PyObject **func;
} grip;

static int may_hold(const grip *g)
{
    const s_tasklet *t = g->t;
    if (t->held || (t->state != S_DONE && !g->alive))
        return S_E_ALIVE;
    if (t->state == S_DONE)
        return S_OK;
    int lost = t->owner == &s_detached_owner && t->state == S_BLOCKED && t->queued;
    if (!lost && t->state != S_PAUSED)
        return S_E_BLOCKED;
    return t->saved_as == S_C_STACK || t->is_main || is_current(t) ? S_E_STUCK : S_OK;
}

/* What it would call next: borrowed, or NULL. */
static PyObject *bound_to(const s_tasklet *t)
{
    PyObject *func = t->state == S_PAUSED && t->saved_as == S_NOT_STARTED ? t->func : t->wait.value;
    return func != Py_None ? func : NULL;
}

static void hold(void *arg)
{
    grip *g = arg;
    s_tasklet *t = g->t;
    if ((g->code = may_hold(g)) < 0)
        return;
    if (g->func != NULL && *g->func == NULL) {
        PyObject *found = bound_to(t);
        if (found == NULL) {
            g->code = S_E_UNBOUND;
            return;
        }
        *g->func = Py_NewRef(found);
    }
    if (t->state == S_BLOCKED) {
        s_dequeue(&t->wait.link);
        g->was_queued = 1;
    }
    t->held = t->started = 1;
    t->state = S_DONE;
}

int s_claim_for_rebinding(s_tasklet *t, int alive, PyObject **func)
{
    grip g = {t, alive, S_OK, 0, func};
    s_run_on_owner(t, hold, &g);
    if (g.was_queued)
        Py_DECREF((PyObject *)t);
    return g.code;
}

void s_release_claim(s_tasklet *t)
{
    t->held = 0;
}

static void begin(void *arg)
{
    move *m = arg;
    s_sched *s = m->t->owner;
    if (s->ended || (s->ending && s != s_self_)) {
        m->code = S_E_THREAD;
        return;
    }
    m->t->state = S_PAUSED;
    m->t->started = 0;
    if (s != s_self_)
        s_registry_move(m->t, s);
}

int s_begin_run(s_tasklet *t)
{
    move m = {t, NULL, S_OK};
    s_run_on_owner(t, begin, &m);
    if (m.code == S_OK && t->owner == s_self_)
        s_registry_add_dead(t); /* from the dead to the others */
    s_release_claim(t);
    return m.code;
}
