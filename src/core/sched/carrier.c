/* The threads that carry a scheduler in turn, and their lives between tasklets.
 *
 * The protocol is in handoff.c; here are the threads.  Home is the one that the scheduler began on;
 * the others come from a pool of ours, with thread states of their own, and go back when idle.
 *
 * The base.  Each carrier has a stack on which it runs no tasklet: a pooled thread its own, home
 * one of ours, because main uses the thread's.  Whoever leaves a tasklet's stack for another
 * carrier switches to the base first, and only there the scheduler departs or the thread detaches:
 * a stack that was given back may be used by others then.  While the scheduler is at the base the
 * idler is current, as in the dispatcher.  It settles there: `heading`, the tasklet that was
 * chosen, or else the next one, runs here, or the scheduler departs to where that runs, or the
 * tasklet is put aside because somebody sits where it is kept.
 *
 * Thread-locals.  A thread that runs the scheduler, or sits, has those of home.  It forgets them at
 * its base, and when the handoff is turned off: with the last reference to them home's thread ends,
 * and with it the scheduler.
 *
 * Turns.  A program of threads goes to and fro between home and the reserve, a turn each, and the
 * other thread sleeps meanwhile.  Where nobody has sat in C lately the thread that departs sleeps
 * without a spin, and the other one wakes on the same processor (plat/processors_linux.c): to wake
 * an idle one takes up to 0.1 ms on a virtual machine.
 *
 * Threads.  A record belongs to one scheduler at a time (`all`), is reused, and is never freed.
 * The protocol's lock is held for a step, and the monitor reads under it what is freed only after
 * one.  All else is done attached, by the thread that the scheduler is at.
 */
#include "sched/carrier.h"

#include <errno.h>

#include "base/track.h"
#include "cpython/gil.h"
#include "sched/internal.h"
#include "sched/scheduler.h"
#include "sched/sitter.h"

#define SECOND INT64_C(1000000000)
#define RESERVE_TIME SECOND /* how long one stays that nothing keeps */
#define MOMENT INT64_C(1000000)
#define SHORT_TURN INT64_C(40000)   /* two wake-ups on one processor, and little between them */
#define WAITS_FOR_GIL (50 * MOMENT) /* the most that a thread does, beside a few that compute */

/* ---- beginning ---------------------------------------------------------------------------- */

static void *run_carrier(p_work *work);

/* There is no thread for it after all. */
static void cancel_call(s_carrier_thread *c)
{
    s_carriers *all = c->all;
    p_lock_take(&all->lock);
    s_handoff_cancel_call(&all->protocol, &c->carrier);
    p_lock_give(&all->lock);
    s_carrier_release(c);
}

/* 0, or -1: the called carrier, a new one, has no thread. */
static int start_carrier_thread(s_carrier_thread *c, int (*launch)(s_carrier_thread *c))
{
    c->work.run = run_carrier;
    if (launch(c) == 0)
        return 0;
    cancel_call(c);
    return -1;
}

/* A new carrier for the scheduler to go to; the present one, if there can be none. */
static s_carrier *start_carrier(s_carriers *all)
{
    s_carrier_thread *c = all->process == p_process_id() ? s_carrier_obtain(all) : NULL;
    if (c == NULL)
        return &all->s->at->carrier;
    p_lock_take(&all->lock);
    int invited = s_handoff_invite(&all->protocol, &c->carrier);
    p_lock_give(&all->lock);
    if (!invited)
        s_carrier_release(c);
    int beside = s_any_handoff(all->s); /* this thread may run on beside it */
    int started =
        invited && start_carrier_thread(c, beside ? s_carrier_launch : s_carrier_launch_here) == 0;
    return started ? &c->carrier : &all->s->at->carrier;
}

/* ---- arriving and departing ------------------------------------------------------------ */

void s_share_blocked_signals(s_sched *s)
{
    if (s->at == NULL)
        return;
    p_signals_read(&s->carriers->signals);
    s->at->masked = ++s->carriers->masks;
}

/* The scheduler is here, by the protocol; its idler becomes current.  The guests may detach. */
static void take_over(s_carrier_thread *c)
{
    s_sched *s = c->all->s;
    s_scheduler_arrived(c);
    s->stack = c->base;
    s_become_idle(s);
    s_report_moved(s);
}

/* Two threads take turns, unless somebody may sit in C beside the scheduler, or tasklets that keep
 * a stack switch so fast that their threads had better stay awake. */
static int will_take_turns(const s_carrier_thread *c, const s_tasklet *next)
{
    int fast = next != NULL && next->saved_as == S_C_STACK && c->slept < SHORT_TURN;
    return !s_any_handoff(c->all->s) && !fast;
}

/* It goes to `to`, where it runs `next` first, unless that is NULL: 1.  0: choose again. */
static int depart_to(s_carrier_thread *c, s_carrier *to, s_tasklet *next)
{
    s_carriers *all = c->all;
    int turns = will_take_turns(c, next);
    p_lock_take(&all->lock);
    int departed = s_handoff_depart(&all->protocol, to);
    if (departed) {
        all->s->heading = next;
        if (next != NULL)
            next->state = S_RUNNING;
        all->s->ts = NULL; /* this one may be freed from now on */
    }
    p_lock_give(&all->lock);
    if (!departed)
        return 0;
    c_state_load(c->ts, &c->base_state);
    s_forget_locals(c);
    s_self_set(NULL);
    c->wakes = s_carrier_of(to);
    c->takes_turns = turns;
    return 1;
}

/* Handlers of signals run at home: 1 when the scheduler has departed for that. */
static int settle_signals(s_carrier_thread *c, s_sched *s)
{
    if (c == c->all->home && c_signal_waits(c->ts)) {
        s->trap++;
        s_handle_signals(s);
        s->trap--;
    }
    return s_deliver_signals(s) && depart_to(c, &c->all->home->carrier, NULL);
}

/* The tasklet that runs here now, or NULL: the scheduler has departed. */
static s_tasklet *settle_next(s_carrier_thread *c)
{
    s_carriers *all = c->all;
    s_sched *s = all->s;
    s_tasklet *next = s->heading;
    s->heading = NULL;
    if (next == NULL && settle_signals(c, s))
        return NULL;
    for (;;) {
        if (next == NULL)
            next = s_next(s);
        s_carrier *where = s_route(all, next);
        if (where == &c->carrier && s_must_leave(s, next))
            where = start_carrier(all);
        if (where == &c->carrier && next != s->idler) {
            s_set_hurries(s, next);
            return next;
        }
        if (where == NULL) {
            next->state = S_READY;
            b_append(&s_keeper_of(all, next)->aside, &next->wait.link);
            s->tasklet_waits++;
            next = NULL;
        } else if (where == &c->carrier) {
            if (c == all->home && !s_idle_at_home(s)) {
                c_state_load(c->ts, &c->base_state);
                return NULL;
            }
            next = NULL;
        } else if (depart_to(c, where, next != s->idler ? next : NULL)) {
            return NULL;
        }
    }
}

/* ---- standing at the base ---------------------------------------------------------------- */

static s_base_step look_at_base(s_carrier_thread *c)
{
    p_lock_take(&c->all->lock);
    s_base_step step = s_handoff_look(&c->carrier);
    p_lock_give(&c->all->lock);
    return step;
}

static int try_leave(s_carrier_thread *c, int over)
{
    p_lock_take(&c->all->lock);
    int left = s_handoff_leave(&c->carrier, over);
    p_lock_give(&c->all->lock);
    return left;
}

/* The called thread has the GIL.  It may be what the other one waits for: somebody does, or, where
 * that is unknown, it took long to get. */
static int may_wait_for_gil(const s_carriers *all)
{
    int waiters = c_gil_waiters();
    return all->unserved < WAITS_FOR_GIL &&
           (waiters < 0 ? p_now() - all->called_at > 2 * MOMENT : waiters > 0);
}

static void decide_call(s_carrier_thread *c)
{
    s_handoff *h = &c->all->protocol;
    p_lock_take(&c->all->lock);
    s_carrier_thread *from = may_wait_for_gil(c->all) ? NULL : s_try_take(c);
    if (from == NULL)
        s_handoff_decline(h, &c->carrier);
    p_lock_give(&c->all->lock);
    if (from == NULL)
        return;
    take_over(c);
    c_interrupt_await(&from->bell);
}

/* It stands at its base; as home of `s` it may sleep there where an idle scheduler does.  It may be
 * awake, and `s` have ended. */
static void wake_at_base(s_carrier_thread *c, s_sched *s)
{
    p_unpark(&c->parker);
    if (!__atomic_load_n(&c->idles, __ATOMIC_SEQ_CST))
        return;
    p_unpark(&s->parker);
    s_wake_thread(s);
}

static void wake_others(s_carrier_thread *c)
{
    if (c->takes_turns)
        p_processors_confine(&c->wakes->processors);
    if (c->wakes != NULL)
        wake_at_base(c->wakes, c->all->s);
    if (c->wakes_scheduler != NULL)
        s_wake_thread(c->wakes_scheduler);
    c->wakes = NULL;
    c->takes_turns = 0;
    c->wakes_scheduler = NULL;
}

static void sleep_at_base(s_carrier_thread *c, int64_t until)
{
    PyThreadState *ts = PyEval_SaveThread();
    int turn_ends = c->takes_turns;
    int64_t began = p_now();
    wake_others(c);
    if (turn_ends)
        p_park(&c->parker, until);
    else
        p_park_adaptive(&c->parker, &c->spin, until, c_gil_spin);
    c->slept = p_now() - began;
    p_processors_restore(&c->processors);
    PyEval_RestoreThread(ts);
}

/* How long one sleeps that nothing wakes: the reserve, until it is needed no more. */
static int64_t end_of_sleep(const s_carrier_thread *c)
{
    return c->carrier.in_reserve ? p_now() + RESERVE_TIME : S_FOREVER;
}

/* A sitter that has met softly has left its stack. */
static void free_spent_stack(s_carrier_thread *c)
{
    if (c->spent != NULL)
        p_stack_free(c->spent);
    c->spent = NULL;
}

/* What runs here next; NULL: a pooled thread leaves. */
static s_tasklet *await_tasklet(s_carrier_thread *c)
{
    int over = 0; /* it was the reserve for long enough */
    free_spent_stack(c);
    for (;;) {
        s_tasklet *next = c->carrier.state == S_CARRIER_RUNS ? settle_next(c) : NULL;
        if (next != NULL)
            return next;
        p_park_prepare(&c->parker);
        switch (look_at_base(c)) {
        case S_BASE_ARRIVED:
            p_park_cancel(&c->parker);
            take_over(c);
            break;
        case S_BASE_DECIDE:
            p_park_cancel(&c->parker);
            decide_call(c);
            break;
        case S_BASE_SLEEP:
            if (try_leave(c, over)) {
                wake_others(c);
                return NULL;
            }
            int64_t until = end_of_sleep(c);
            sleep_at_base(c, until);
            over = p_now() >= until;
        }
    }
}

static void stand_at_base(s_carrier_thread *c)
{
    s_tasklet *next;
    while ((next = await_tasklet(c)) != NULL) {
        if (s_run_from_base(c, next))
            continue;
        s_ready(c->all->s, next); /* without a stack for it: later, when one may be free */
        p_park_prepare(&c->parker);
        sleep_at_base(c, p_now() + MOMENT);
    }
}

/* ---- the life of a pooled carrier ------------------------------------------------------------ */

static void carry_scheduler(s_carrier_thread *c)
{
    PyEval_RestoreThread(c->ts);
    s_carrier_here_ = c;
    c->self = s_self_cell();
    p_processors_begin(&c->processors);
    c->lock_waits = c_lock_waits_cell();
    c_stack_limits_of_thread(c->ts, &c->own_stack);
    c_state_save(c->ts, &c->base_state);
    c->base = &c->own_stack;
    s_hang_bell(c);
    stand_at_base(c);
    PyThreadState *ts = c->ts;
    c_interrupt_forget_thread(ts);
    c_with_end_thread();
    s_carrier_here_ = NULL;
    s_carrier_release(c);
    c_thread_state_end(ts);
}

/* The scheduler is on its way to this carrier and cannot turn back. */
static int is_awaited(s_carrier_thread *c)
{
    p_lock_take(&c->all->lock);
    const s_handoff *h = &c->all->protocol;
    int awaited = h->in_transit && h->at == &c->carrier;
    p_lock_give(&c->all->lock);
    return awaited;
}

static void *run_carrier(p_work *work)
{
    s_carrier_thread *c = B_CONTAINER(work, s_carrier_thread, work);
    p_signals before;
    p_processors_restore(&c->processors);
    while ((c->ts = c_thread_state_new()) == NULL && is_awaited(c)) {
        p_park_prepare(&c->parker);
        p_park(&c->parker, p_now() + MOMENT);
    }
    if (c->ts == NULL) {
        cancel_call(c);
        return NULL;
    }
    p_signals_read(&before);
    s_use_blocked_signals(c);
    carry_scheduler(c);
    p_signals_use(&before);
    return NULL;
}

/* ---- calling ----------------------------------------------------------------------------- */

/* Whether anything but the current tasklet could run, now or by itself. */
static int could_run(const s_sched *s)
{
    return !b_list_empty(&s->ready) || __atomic_load_n(&s->has_messages, __ATOMIC_RELAXED) ||
           s->timers.used > 0 || s->io_waits > 0 || s->completions > 0;
}

/* Under the lock: one that stands ready, or a new one; NULL: none is needed or possible. */
static s_carrier_thread *choose_carrier(s_carriers *all, int64_t unserved)
{
    s_handoff *h = &all->protocol;
    if (unserved < WAITS_FOR_GIL && (c_gil_is_taken() || c_gil_waiters() > 0))
        return NULL;
    if (!all->on || all->s->ts == NULL || h->called != NULL || h->in_transit || h->closed ||
        !c_thread_is_detached(all->s->ts) || !could_run(all->s))
        return NULL;
    if (all->home->carrier.state == S_CARRIER_WAITS)
        return all->home;
    return h->reserve != NULL ? s_carrier_of(h->reserve) : s_carrier_obtain(all);
}

void s_call_carrier(s_sched *s, int64_t unserved)
{
    s_carriers *all = s->carriers;
    if (all == NULL)
        return;
    p_lock_take(&all->lock);
    s_carrier_thread *c = choose_carrier(all, unserved);
    int is_new = c != NULL && c->carrier.state == S_CARRIER_FREE;
    if (c != NULL && s_handoff_call(&all->protocol, &c->carrier)) {
        __atomic_store_n(&all->called_at, p_now(), __ATOMIC_RELAXED);
        all->unserved = unserved;
    }
    p_lock_give(&all->lock);
    if (c == NULL)
        return;
    if (is_new)
        start_carrier_thread(c, s_carrier_launch);
    else
        wake_at_base(c, s);
}

s_handoffs s_handoff_count(const s_sched *s)
{
    const s_carriers *all = s->carriers;
    if (all == NULL)
        return (s_handoffs){0};
    int64_t called_at = __atomic_load_n(&all->called_at, __ATOMIC_RELAXED);
    return (s_handoffs){all->takes, called_at, all->pick_ups};
}

/* ---- on, off, the end, fork ---------------------------------------------------------------- */

/* The thread's own record: S_OK, S_E_SET, S_E_MEMORY. */
static int become_home(s_sched *s, s_carriers *all)
{
    if (c_interrupt_throw_prepare() < 0)
        return S_E_SET;
    if (c_has_gil)
        p_condition_learn();
    s_carrier_thread *home = s_carrier_obtain(all);
    p_stack *base = home != NULL && !c_out_of_memory() ? p_stack_new() : NULL;
    if (base == NULL) {
        if (home != NULL)
            s_carrier_release(home);
        return S_E_MEMORY;
    }
    if (base->limits[0] == 0)
        c_stack_limits_init(s->ts, base);
    home->ts = s->ts;
    home->self = s_self_cell();
    p_processors_begin(&home->processors);
    home->lock_waits = c_lock_waits_cell();
    home->base = base;
    c_state_init_empty(s->ts, &home->base_state);
    p_lock_take(&all->lock); /* threads of a scheduler that was here before may look still */
    *all = (s_carriers){.lock = all->lock,
                        .s = s,
                        .home = home,
                        .masks = all->masks + 1,
                        .process = p_process_id()};
    s_handoff_begin(&all->protocol, &home->carrier);
    p_lock_give(&all->lock);
    home->carrier.kept = 1; /* the caller of run(); what else is kept here is not counted */
    p_signals_read(&all->signals);
    home->masked = all->masks;
    s_carriers_prepare_launch();
    s_carrier_hook = (s_carrier_hooks){stand_at_base, s_meet_at_end, s_meet, s_return_to_wait};
    s_carrier_here_ = s->at = home;
    s_hang_bell(home);
    return S_OK;
}

/* Those who sit still have the thread-locals of home.  One that is back from its call forgets them
 * where it meets. */
static void turn_off(s_carriers *all)
{
    all->on = 0;
    for (s_carrier_thread *c = s_first_carrier(); c != NULL; c = c->next) {
        c_thread_locals locals = {NULL, NULL, NULL};
        if (c->all != all || c == all->home)
            continue;
        p_lock_take(&all->lock);
        if (c->carrier.state == S_CARRIER_SITS && c_thread_suspend(c->ts)) {
            c_thread_locals_take(c->ts, &locals);
            c_thread_release(c->ts);
        }
        p_lock_give(&all->lock);
        c_thread_locals_drop(&locals);
    }
}

int s_handoff_turn_on(s_sched *s, int on)
{
    if (!on) {
        if (s->at != NULL)
            turn_off(s->carriers);
        return S_OK;
    }
    if (s->at != NULL) {
        s->carriers->on = 1;
        s_refresh_apart(s);
        return S_OK;
    }
    if (s->carriers == NULL && !c_out_of_memory())
        s->carriers = PyMem_RawCalloc(1, sizeof(*s->carriers));
    int code = s->carriers != NULL ? become_home(s, s->carriers) : S_E_MEMORY;
    if (code == S_OK) {
        s->carriers->on = 1;
        s_refresh_apart(s);
    }
    return code;
}

/* What other carriers keep never runs again; those that keep nothing leave. */
void s_carriers_end(s_sched *s)
{
    s_carriers *all = s->carriers;
    if (s->at == NULL)
        return;
    p_lock_take(&all->lock);
    s_handoff_close(&all->protocol);
    all->on = 0;
    for (s_carrier_thread *c = s_first_carrier(); c != NULL; c = c->next) {
        if (c->all != all || c == all->home)
            continue;
        if (c->carrier.state == S_CARRIER_SITS)
            c_interrupt_throw(&c->bell);
        if (c->carrier.state == S_CARRIER_SITS || c->carrier.kept > 0)
            s_handoff_lose(&c->carrier);
        p_unpark(&c->parker);
    }
    p_lock_give(&all->lock);
    c_interrupt_close(&all->home->bell);
    track_abandon(all->home->base->low, all->home->base->size);
    p_stack_free(all->home->base);
    s_carrier_release(all->home);
    s_carrier_here_ = s->at = NULL;
}

/* Whoever forked is home in the child, with its tasklet, even if it sat. */
static void settle_in_child(s_carrier_thread *me)
{
    s_carriers *all = me->all;
    s_sched *s = all->s;
    s_tasklet *sitter = me->carrier.state == S_CARRIER_SITS ? me->carrier.sitter : NULL;
    s_handoff_after_fork(&all->protocol, &me->carrier);
    *all = (s_carriers){
        .protocol = all->protocol, .s = s, .home = me, .process = p_process_id(), .on = all->on};
    p_signals_read(&all->signals);
    me->masked = all->masks;
    me->wakes = NULL;
    me->takes_turns = 0;
    me->wakes_scheduler = NULL;
    c_interrupt_cancel(&me->bell);
    p_processors_begin(&me->processors);
    s->at = me;
    s->ts = me->ts;
    s->away = s->untakeable = 0;
    s_self_set(s);
    if (sitter != NULL) {
        s->stack = me->stack;
        s->current = sitter;
        sitter->state = S_RUNNING;
        s_report_moved(s);
    }
}

void s_carriers_after_fork(void)
{
    s_carrier_thread *me = s_carrier_here_;
    s_carriers_unlock_after_fork();
    s_carriers_forget_pool();
    for (s_carrier_thread *c = s_first_carrier(); c != NULL; c = c->next) {
        c->parker.word = c->processors.lock.word = 0;
        c->idles = 0;
        if (c == me)
            continue;
        c_interrupt_forget(&c->bell);
        s_handoff_drop(&c->carrier);
        s_carrier_lose(c);
    }
    if (me != NULL)
        settle_in_child(me);
}
