/* Which scheduler owns a tasklet, and how it gets another owner.
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
    if (t->state == S_BLOCKED && !(t->queued && s_waits_anywhere(t)))
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
