/* Sitters: a scheduler is taken from the thread of a tasklet that sits in C, and they meet again.
 *
 * The protocol and its reasons are in handoff.c.
 *
 * Taking, in the thread of the carrier that was called, attached: the other thread is detached, and
 * held so.  What the protocol does not know is asked here: may this tasklet be left at this place?
 * The sitter counts as blocked from then on, and its frames are saved, so that reports can show
 * them; they are those that run on when its call returns.
 *
 * The meeting, in the sitter's thread.  If the scheduler is idle at home the sitter picks it up and
 * goes on: nothing was saved that it needs.  Else it is suspended there, softly where the bell
 * finds it at a soft safepoint, else on the stack that it has; it is sent to the scheduler as
 * woken, and the thread goes to its base.  The bell's call is on that stack then, and what it has
 * taken from the interpreter's queue is given up and taken again as at a preemption.
 *
 * An exception that is thrown into a sitter waits in t->error.  The bell raises it when the
 * tasklet runs again; at another meeting point, or in code that must not be found half done, it is
 * thrown once more.
 *
 * The end of a run waits for the calls of all sitters, as it waits for tasklets that clean up; but
 * not for those of daemons, for which the end of a program does not wait either.  Such a sitter may
 * meet the scheduler in a later run, and ends then; or never.
 */
#include "sched/sitter.h"

#include "base/track.h"
#include "sched/internal.h"
#include "sched/scheduler.h"

/* ---- sitting ------------------------------------------------------------------------------- */

static int never_leaves(s_tasklet *t)
{
    (void)t;
    return 0;
}

/* It has met: what was put aside for it may run.  Its thread has left the scheduler by now if it
 * keeps nothing. */
static void sitter_arrived(s_tasklet *t)
{
    s_carrier_thread *c = t->on;
    s_carriers *all = t->owner->carriers;
    p_lock_take(&all->lock);
    if (c->carrier.serves == &all->protocol)
        b_append_all(&all->s->ready, &c->aside);
    p_lock_give(&all->lock);
    all->sitting -= !t->daemon;
    s_tasklet *awaiter = all->awaiter;
    if (all->sitting > 0 || awaiter == NULL)
        return;
    all->awaiter = NULL;
    awaiter->wait.value = Py_NewRef(Py_None);
    s_wake(all->s, awaiter);
}

const s_wait_kind s_sitting = {.name = "C call", .detach = never_leaves, .arrived = sitter_arrived};

int s_is_daemon_sitter(const s_tasklet *t)
{
    return t->daemon && t->state == S_BLOCKED && t->kind == &s_sitting;
}

/* ---- taking -------------------------------------------------------------------------------- */

/* Nothing on the thread's own stack leaves the thread: it may have other C stacks there. */
static int may_sit(const s_sched *s)
{
    const s_tasklet *t = s->current;
    const int bound =
        t->on_thread_stack ? S_HAS_LOOP : S_HAS_LOOP | S_HAS_FIXED_STACK | S_HAS_FIBERS;
    return t != s->idler && t->state == S_RUNNING && !t->nopreempt && !t->pinned &&
           !t->stackless.atomic && !(t->attached & bound);
}

static int may_be_left(const s_sched *s)
{
    return !s->trap && !s->untakeable && !*s->at->lock_waits && !s_is_in_operation(s) &&
           may_sit(s) && !c_trace_is_set(s->ts) && c_is_in_call(s->ts) &&
           c_is_interruptible(s->ts) && !c_is_finalizing();
}

/* The current tasklet of the scheduler, whose thread is held, sits from now on. */
static s_carrier_thread *take_from_sitter(s_carrier_thread *c)
{
    s_carriers *all = c->all;
    s_sched *s = all->s;
    s_carrier_thread *from = s->at;
    s_tasklet *t = s->current;
    t->kind = &s_sitting;
    t->on = from;
    t->state = S_BLOCKED;
    c_state_save(s->ts, &t->c); /* before its interval is noted, with the line where it sits */
    s_end_interval(s, t);
    from->stack = s->stack;
    from->aside_reported = 0;
    all->sitting += !t->daemon;
    all->seated++;
    s_learn_apart(s, t);
    s_handoff_take(&all->protocol, &c->carrier, t);
    all->takes++;
    *from->self = NULL;
    s->ts = c->ts;
    s->current = s->idler;
    return from;
}

s_carrier_thread *s_try_take(s_carrier_thread *c)
{
    s_carriers *all = c->all;
    PyThreadState *ts = all->s->ts;
    s_carrier_thread *from = NULL;
    if (!all->on || ts == NULL || !c_thread_suspend(ts))
        return NULL;
    if (s_handoff_may_take(&all->protocol, &c->carrier) && may_be_left(all->s))
        from = take_from_sitter(c);
    c_thread_release(ts);
    return from;
}

void s_scheduler_arrived(s_carrier_thread *c)
{
    s_carriers *all = c->all;
    s_sched *s = all->s;
    s_self_set(s);
    if (c->masked != all->masks)
        s_use_blocked_signals(c);
    if (c != all->home)
        c_thread_locals_share(c->ts, all->home->ts);
    p_lock_take(&all->lock);
    s->ts = c->ts;
    p_lock_give(&all->lock);
    all->begun_at = 0;
    s->at = c;
    s->away = c != all->home;
    s->travels = s->away || s_any_apart(s);
    s->soft = s_soft_mode(s, s->soft);
    s->budget = 1;
}

/* ---- meeting --------------------------------------------------------------------------------- */

/* The sitter, which was saved, goes to the scheduler. */
static void send_home(s_carrier_thread *c, s_tasklet *t, int hard)
{
    s_carriers *all = c->all;
    c_interrupt_cancel(&c->bell);
    c_state_load(c->ts, &c->base_state);
    p_lock_take(&all->lock);
    int awaited = s_handoff_meet(&c->carrier, hard) && s_post_woken(all->s, t);
    all->seated--;
    p_lock_give(&all->lock);
    s_forget_locals(c);
    if (awaited)
        c->wakes_scheduler = all->s;
}

/* Nothing has stopped it. */
static void go_on(s_sched *s, const s_carrier_thread *c, s_tasklet *t)
{
    s->stack = c->stack;
    s->current = t;
    t->state = S_RUNNING;
    s_note_picked_up(s);
    t->since = s->coarse_now;
    s_report_moved(s);
    s_set_hurries(s, t);
    s_arrive(t);
    t->kind = NULL;
}

/* The scheduler is idle: the sitter, which nothing has saved, goes on with it here. */
static int pick_up(s_carrier_thread *c, s_tasklet *t)
{
    s_carriers *all = c->all;
    if (t == NULL || t->attached)
        return 0;
    p_lock_take(&all->lock);
    int here = s_handoff_pick_up(&c->carrier);
    if (here) {
        *all->home->self = NULL;
        all->seated--;
    }
    p_lock_give(&all->lock);
    if (!here)
        return 0;
    all->pick_ups++;
    c_interrupt_cancel(&c->bell);
    s_scheduler_arrived(c);
    go_on(all->s, c, t);
    return 1;
}

/* Its scheduler has ended: nothing runs the tasklet again. */
static B_NORETURN void stop_for_ever(s_carrier_thread *c)
{
    PyEval_SaveThread();
    for (;;)
        p_park(&c->parker, S_FOREVER);
}

/* Returns when the scheduler is here and runs the tasklet again; what was thrown into it is still
 * in t->error. */
static s_tasklet *stop_hard(s_carrier_thread *c)
{
    s_tasklet *t = c->carrier.sitter;
    if (pick_up(c, t))
        return t;
    PyObject *pending = PyErr_GetRaisedException();
    B_CHECK(t != NULL || c->carrier.state == S_CARRIER_LOST);
    if (t == NULL)
        stop_for_ever(c);
    p_stack *mine = c->stack;
    s_sched *s = c->all->s;
    c_hard_state kept;
    p_stack_words *words = s_stack_words_of(s, mine);
    c_hard_suspend(c->ts, &t->c, &kept, -1);
    t->stack = mine;
    t->saved_as = S_C_STACK;
    mine->keeper = c;
    send_home(c, t, 1);
    s_go_to_base(c, &mine->sp, &mine->fake);
    track_enter(mine->fake);
    c_hard_resume(c->ts, &t->c, &kept);
    if (words != NULL)
        p_stack_words_restore(words);
    Py_CLEAR(t->wait.value);
    PyErr_SetRaisedException(pending);
    return t;
}

static void throw_again(s_sched *s, s_tasklet *t)
{
    PyObject *error = t->error;
    t->error = NULL;
    if (error != NULL)
        s_post_message(s, s_handle_throw, t, error);
}

void s_meet(void)
{
    s_carrier_thread *c = s_carrier_here_;
    s_tasklet *t = stop_hard(c);
    throw_again(c->all->s, t);
}

void s_meet_at_end(void)
{
    s_tasklet *t = stop_hard(s_carrier_here_);
    Py_CLEAR(t->error);
}

/* ---- the bell ----------------------------------------------------------------------------------
 */

/* Softly, where that is possible: does not return then. */
static void try_stop_softly(s_carrier_thread *c)
{
    s_tasklet *t = c->carrier.sitter;
    if (t == NULL)
        return;
    s_sched *s = c->all->s;
    c_call_site site = {.args = c->bell.at, .kind = C_SAFEPOINT};
    c_soft_point point;
    if (t->on_thread_stack || !s->soft || t->attached & S_ONLY_HARD || PyErr_Occurred() ||
        c_soft_point_find(c->ts, &t->c, &site, &point) != C_SOFT)
        return;
    p_stack *mine = c->stack;
    void *forgotten;
    c_suspend(c->ts, &t->c, &point);
    t->saved_as = S_FRAMES_AT_SAFEPOINT;
    c->spent = mine;
    send_home(c, t, 0);
    track_abandon(mine->low, mine->size);
    s_go_to_base(c, &forgotten, NULL);
}

/* What was thrown into the sitter is raised; an exception of its own, or else the one that it
 * handles, is the context of that. */
static int raise_thrown(s_tasklet *t)
{
    PyObject *error = t->error;
    t->error = NULL;
    if (error == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *pending = PyErr_GetRaisedException();
    if (pending == NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
        return -1;
    }
    PyException_SetContext(error, pending);
    PyErr_SetRaisedException(error);
    return -1;
}

/* It may ring late, when the sitter has met. */
static int answer_bell(c_interrupt *bell)
{
    s_carrier_thread *c = B_CONTAINER(bell, s_carrier_thread, bell);
    if (c != s_carrier_here_ || !s_must_meet())
        return 0;
    s_tasklet *t = c->carrier.sitter;
    s_sched *s = c->all->s;
    if (!pick_up(c, t)) {
        c_interrupt_switch_away(bell);
        try_stop_softly(c);
        t = stop_hard(c);
        s->untakeable++;
        c_interrupt_switch_back(bell);
        s->untakeable--;
    }
    if (!t->is_main && s_must_leave(s, t)) /* at home a signal ends main's calls */
        s_report_leave_apart(s);
    if (!c_is_interruptible(s->ts))
        throw_again(s, t);
    return raise_thrown(t);
}

static int meet_and_raise(c_interrupt *bell)
{
    (void)bell;
    B_CHECK(s_must_meet());
    return raise_thrown(stop_hard(s_carrier_here_));
}

void s_hang_bell(s_carrier_thread *c)
{
    c->bell.raise = meet_and_raise;
    c_interrupt_open(&c->bell, c->ts, answer_bell);
}

/* ---- waiting for all of them -------------------------------------------------------------------
 */

static int leave_await(s_tasklet *t)
{
    s_carriers *all = t->on;
    int waits = all->awaiter == t;
    all->awaiter = NULL;
    return waits;
}

static const s_wait_kind awaiting = {.name = "tasklets in C", .detach = leave_await};

int s_await_sitters(s_sched *s)
{
    s_carriers *all = s->carriers;
    while (all != NULL && all->sitting > 0) {
        s_tasklet *me = s->current;
        all->awaiter = me;
        me->kind = &awaiting;
        me->on = all;
        me->state = S_BLOCKED;
        PyObject *done = s_suspend(s, NULL);
        if (done == NULL)
            return S_E_SET;
        Py_DECREF(done);
    }
    return S_OK;
}
