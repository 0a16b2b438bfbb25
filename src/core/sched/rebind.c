/* Binding again: how a run of a Stackless tasklet ends before its time, and how a new one begins.
 *
 * The object outlives its runs.  Between them it has ended, keeps the function that it is bound to
 * as wait.value, and is in its owner's list of the dead.
 *
 * A call is made, and an old one dropped, with Python code running on the way.  Meanwhile the
 * tasklet is claimed: for all others it has ended, and no other thread may begin it.  The rule of
 * owner.c holds for both ends of a claim: on the owner's thread, or while all others are stopped.
 *
 * Most tasklets are made, set up and ended by one thread, so that way is in one piece
 * (s_set_up).
 */
#include "sched/internal.h"

void s_unbound_init(s_sched *s, s_tasklet *t)
{
    t->wait.task = t;
    t->state = S_DONE;
    t->saved_as = S_LIVE;
    t->started = 1;
    s_registry_add(s, t);
}

/* ---- claims ------------------------------------------------------------------------------ */

typedef struct {
    s_tasklet *t;
    int alive, code, was_queued;
    PyObject **func;
} claim;

static int may_claim_living(const claim *c)
{
    const s_tasklet *t = c->t;
    if (!c->alive)
        return S_E_ALIVE;
    int lost = t->owner == &s_detached_owner && t->state == S_BLOCKED && t->queued;
    if (!lost && t->state != S_PAUSED)
        return S_E_BLOCKED;
    int is_current = t->owner != NULL && t->owner->current == t;
    return t->saved_as == S_C_STACK || t->is_main || is_current ? S_E_STUCK : S_OK;
}

/* What it would call next: new, or NULL.  A dead one gives away what it keeps as its tempval. */
static inline PyObject *take_bound_function(s_tasklet *t)
{
    PyObject *func = t->wait.value;
    int gives = B_LIKELY(t->state == S_DONE);
    if (!gives && t->saved_as == S_NOT_STARTED && t->state == S_PAUSED)
        func = t->func;
    if (func == NULL || func == Py_None)
        return NULL;
    if (!gives)
        return Py_NewRef(func);
    t->wait.value = NULL;
    return func;
}

static B_INLINE void claim_if_free(claim *c)
{
    s_tasklet *t = c->t;
    c->code = t->held ? S_E_ALIVE : t->state != S_DONE ? may_claim_living(c) : S_OK;
    if (c->code < 0)
        return;
    if (c->func != NULL && *c->func == NULL) {
        *c->func = take_bound_function(t);
        if (*c->func == NULL) {
            c->code = S_E_UNBOUND;
            return;
        }
    }
    if (t->state == S_BLOCKED) {
        s_dequeue(&t->wait.link);
        c->was_queued = 1;
    }
    t->held = t->started = 1;
    t->state = S_DONE;
}

static void claim_while_stopped(void *arg)
{
    claim_if_free(arg);
}

/* The queue that it waited in has owned it. */
static B_INLINE int end_claim(const claim *c)
{
    if (B_UNLIKELY(c->was_queued))
        Py_DECREF((PyObject *)c->t);
    return c->code;
}

static B_NOINLINE int claim_elsewhere(s_tasklet *t, int alive, PyObject **func)
{
    claim c = {t, alive, S_OK, 0, func};
    c_while_world_stopped(claim_while_stopped, &c);
    return end_claim(&c);
}

static B_INLINE int claim_for_new_run(const s_sched *here, s_tasklet *t, int alive, PyObject **func)
{
    if (B_UNLIKELY(t->owner != here))
        return claim_elsewhere(t, alive, func);
    claim c = {t, alive, S_OK, 0, func};
    claim_if_free(&c);
    return end_claim(&c);
}

int s_claim_for_rebinding(s_tasklet *t, int alive, PyObject **func)
{
    return claim_for_new_run(s_self_here(), t, alive, func);
}

void s_release_claim(s_tasklet *t)
{
    t->held = 0;
}

/* ---- a run that ends, a run that begins ------------------------------------------------ */

void s_unbind(s_tasklet *t)
{
    if (t->saved_as != S_LIVE) { /* it had not ended when it was claimed */
        s_clear(t);
        t->saved_as = S_LIVE;
        t->kind = NULL;
        s_registry_list_again(t);
    }
    s_forget_run(t);
    Py_CLEAR(t->func);
    Py_CLEAR(t->error);
}

typedef struct {
    s_tasklet *t;
    int code;
} new_run;

/* From the dead to the others. */
static void begin_while_stopped(void *arg)
{
    new_run *b = arg;
    s_sched *s = b->t->owner;
    if (s->ended || s->ending) {
        b->code = S_E_THREAD;
        return;
    }
    b->t->state = S_PAUSED;
    b->t->started = 0;
    s_registry_move(b->t, s);
}

static B_NOINLINE int begin_elsewhere(s_tasklet *t)
{
    new_run b = {t, S_OK};
    c_while_world_stopped(begin_while_stopped, &b);
    s_release_claim(t);
    return b.code;
}

int s_begin_run(s_tasklet *t)
{
    if (B_UNLIKELY(t->owner != s_self_here()))
        return begin_elsewhere(t);
    t->state = S_PAUSED;
    t->started = 0;
    s_registry_list_again(t);
    s_release_claim(t);
    return S_OK;
}

/* Of a run that has ended nothing is left but the name of its function and how it ended. */
static B_INLINE int make_call_of_claimed(s_sched *s, s_tasklet *t, PyObject *func, PyObject *args,
                                         PyObject *kwnames)
{
    if (B_UNLIKELY(t->func != NULL || t->error != NULL)) {
        Py_CLEAR(t->func);
        Py_CLEAR(t->error);
    }
    t->saved_as = S_NOT_STARTED;
    PyObject *context = t->c.context;
    int code = s_make_call(s->ts, t, func, args, kwnames);
    if (B_UNLIKELY(context != NULL))
        Py_XSETREF(t->c.context, context);
    return code;
}

/* Without the call it still is bound to the function.  Returns the code. */
static B_COLD int give_claim_up(s_tasklet *t, PyObject *func, int code)
{
    s_unbind(t);
    Py_XSETREF(t->wait.value, Py_NewRef(func));
    s_release_claim(t);
    return code;
}

int s_rebind(s_sched *s, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames)
{
    s_unbind(t);
    Py_CLEAR(t->wait.value);
    int code = make_call_of_claimed(s, t, func, args, kwnames);
    if (B_LIKELY(code == S_OK))
        code = s_begin_run(t);
    return code < 0 ? give_claim_up(t, func, code) : S_OK;
}

int s_set_up(s_sched *s, s_tasklet *t, PyObject *args, PyObject *kwnames)
{
    PyObject *func = NULL;
    int code = claim_for_new_run(s, t, 0, &func);
    if (B_UNLIKELY(code < 0))
        return code;
    code = make_call_of_claimed(s, t, func, args, kwnames);
    if (B_LIKELY(code == S_OK && t->owner == s)) {
        t->started = 0;
        t->wait.value = c_new_none();
        s_ready(s, (s_tasklet *)Py_NewRef((PyObject *)t));
        s_registry_list_alive(s, t);
        s_release_claim(t);
        Py_DECREF(func);
        return S_OK;
    }
    if (code == S_OK)
        code = s_begin_run(t);
    code = code < 0 ? give_claim_up(t, func, code) : s_insert(s, t);
    Py_DECREF(func);
    return code == S_E_DEAD || code == S_E_BLOCKED ? S_OK : code; /* another thread was faster */
}
