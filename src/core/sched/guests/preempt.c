/* Preemption: a tasklet that does not switch is made to.
 *
 * Slices.  The monitor thread (preempt_monitor.c) requests that a tasklet yields which has run for
 * a slice.  The request is served on the scheduler's own thread, between two instructions of Python
 * code: the tasklet goes to the tail and the next one runs, if there is another one.  Where a
 * function begins or jumps back that is a soft switch, and the interpreter's safepoint is abandoned
 * (cpython/safepoint.c); elsewhere a hard one, and the C stack with the safepoint on it is kept. So
 * after the switch nothing may be left to do here but for a hard one.
 *
 * Budgets.  While a run() with a budget is effective the interpreter calls at every safepoint and
 * the budget is counted down.  No clock and no thread takes part: the same program is interrupted
 * at the same place in every run.  What a safepoint is depends on the version (cpython/README.md).
 *
 * Withheld.  Where a tasklet must not be interrupted (is_held_back) the request stays: t->due is
 * set, and s_deliver_due makes it again when an atomic section ends.  Elsewhere the next safepoint
 * (budgets) or the next slice tries again.  A budget also waits until no C caller is half done.
 *
 * Below C code.  A tasklet may be interrupted below any C code that calls Python: that code stays
 * on the tasklet's C stack, and what it holds is as safe there as in a thread that lost the GIL.
 * It is different where a library keeps state per thread that must change in the order of its calls
 * (pybind11 does, and ends the process otherwise): an interruption by the clock would let another
 * tasklet call it in between, in a program that has no wait there.  Such a library is recognised by
 * a thread-local word that points into one of its frames on this stack (plat/stack_words_elf.c);
 * below it the request stays.  An explicit wait there works, because that word goes with the stack
 * at each hard switch.
 *
 * Softly, please.  A tasklet that keeps a stack runs in one thread only, and waits while another
 * one sits in C there.  So where a scheduler may be handed over (handoff.c) one that cannot be left
 * softly at this safepoint is asked again at the next ones, some hundred times.
 *
 * Stalls.  A request that is served late was held up by one call of C.  The time from the request
 * to its service is passed to s_preempt_hook.stalled, in the tasklet, at the line of that call,
 * when it has returned: Python code cannot run before.  With it goes whether another tasklet waits
 * to run by then: only that is worth a warning.  A call that released the GIL is reported
 * too, because the other tasklets of the thread waited just the same.  A call that does not end, or
 * a request that stays withheld, is reported besides (debug/stall_report.c).
 */
#include "sched/guests/preempt.h"

#include <string.h>

#include "sched/carrier.h"
#include "sched/guests/preempt_monitor.h"
#include "sched/internal.h"

#define MOST_ASKED 500

int64_t s_stall_after = 500000000;
s_preempt_hooks s_preempt_hook;

/* ---- serving --------------------------------------------------------------------------- */

/* Whether C code is below the running Python code whose library keeps what it does per thread in
 * the order of its calls; its name is kept for the report of a stall. */
static int is_below_library(const s_sched *s)
{
    char *name = s->preempt->stall.library;
    name[0] = 0;
    return __atomic_load_n(&p_stack_words_wanted, __ATOMIC_RELAXED) &&
           p_stack_words_find(s_stack_base(s), name, P_LIBRARY_NAME);
}

static int is_counting(const s_preempt *p)
{
    return p->budget.safepoints || p->slice_safepoints;
}

static int is_held_back(const s_sched *s)
{
    const s_tasklet *t = s->current;
    return s->trap || t->stackless.atomic || t->nopreempt || t == s->idler ||
           t->state != S_RUNNING || c_is_finalizing() || !c_is_interruptible(s->ts) ||
           is_below_library(s);
}

/* 0, or -1 with what was thrown into it meanwhile. */
static int outcome_of_yield(PyObject *done, int moved)
{
    Py_XDECREF(done);
    if (done != NULL || !PyErr_Occurred())
        return 0;
    if (!moved)
        PyErr_Clear(); /* no memory for a stack: it continues */
    return moved ? -1 : 0;
}

/* The safepoint that called us, as a call site where the current tasklet may be left softly: not
 * while something is put away, which no address says. */
static c_call_site this_safepoint(const s_preempt *p, int put_away)
{
    return (c_call_site){.args = put_away ? NULL : p->interrupt.at, .kind = C_SAFEPOINT};
}

/* The safepoint goes on where it was left; it may have to wait for that, detached. */
static void resume_queue(s_preempt *p)
{
    p->s->untakeable++;
    c_interrupt_switch_back(&p->interrupt);
    p->s->untakeable--;
}

/* Whether a tasklet that runs alone had better run in another thread. */
static int must_move(const s_sched *s, const s_tasklet *t)
{
    return s_must_go_home(s, t) || (!t->is_main && s_must_leave(s, t));
}

/* The current tasklet goes to the tail, behind what has become ready during its slice: else that
 * waited for a slice more.  Returns when it runs again, unless it is left softly.  What
 * it was woken with is not ours: it is put away, which needs the C stack. */
static int yield_to_next(s_preempt *p)
{
    s_sched *s = p->s;
    s_tasklet *me = s->current;
    PyObject *value = me->wait.value, *error = me->error;
    c_call_site site = this_safepoint(p, value || error);
    unsigned long before = s->count_hard;
    p->preempted_at = p_now();
    p->preempted = s->count_soft + before + 1;
    me->wait.value = me->error = NULL;
    s_ready_after_all(s, me);
    int homewards = s_deliver_signals(s);
    s_tasklet *next = s_next_slow(s);
    if (homewards || (next == me && s->travels && must_move(s, me))) {
        b_prepend(&s->ready, &next->wait.link);
        next->state = S_READY;
        next = s->idler; /* which stands for going elsewhere */
    }
    int moves = next != me;
    if (moves)
        c_interrupt_switch_away(&p->interrupt);
    PyObject *done = s_transfer_at_safepoint(s, next, &site);
    if (moves)
        resume_queue(p);
    Py_XSETREF(me->wait.value, value);
    Py_XSETREF(me->error, error);
    return outcome_of_yield(done, !moves || s->count_hard != before);
}

/* Whether another tasklet could run now: it was held up. */
static int is_another_ready(s_sched *s)
{
    const b_timer *first = b_heap_first(&s->timers);
    if (!b_list_empty(&s->ready) || __atomic_load_n(&s->has_messages, __ATOMIC_RELAXED) ||
        (first != NULL && first->when <= s_now(s)))
        return 1;
    return s->io_waits > 0 && s_poll_now(s) > 0;
}

/* The reports below run Python code.  Meanwhile the thread does not serve the interpreter's queue
 * of calls: one that ends the interpreter waits for whoever does, keeps the GIL, and stops for
 * nobody who collects garbage. */
static void begin_report(s_sched *s)
{
    s->trap++;
    c_interrupt_switch_away(&s->preempt->interrupt);
}

static void end_report(s_sched *s)
{
    resume_queue(s->preempt);
    s->trap--;
}

static void report_late_service(s_sched *s, int64_t nanoseconds)
{
    if (s_preempt_hook.stalled == NULL || s->trap || s->current == s->idler)
        return;
    int another = is_another_ready(s);
    begin_report(s);
    s_preempt_hook.stalled(s->current, nanoseconds, another);
    end_report(s);
}

static void report_refused_thread(s_sched *s)
{
    begin_report(s);
    s_preempt_hook.thread_refused();
    end_report(s);
}

enum { SOFT_NEVER, SOFT_LATER, SOFT_HERE };

/* Whether the current tasklet can be left softly: at this safepoint, at a later one, or at none. */
static int when_soft(const s_preempt *p)
{
    s_sched *s = p->s;
    s_tasklet *t = s->current;
    c_call_site site = this_safepoint(p, 0);
    c_soft_point point;
    if (s->carriers == NULL || !s->carriers->on || !s->soft || t->on_thread_stack ||
        t->attached & S_ONLY_HARD)
        return SOFT_NEVER;
    int why = c_soft_point_find(s->ts, &t->c, &site, &point);
    return why == C_SOFT ? SOFT_HERE : why == C_NESTED ? SOFT_NEVER : SOFT_LATER;
}

/* At the next safepoint, for the `asked`th time. */
static void ask_again(s_preempt *p, int wanted, int asked)
{
    p->asked = asked;
    __atomic_store_n(&p->wanted, wanted, __ATOMIC_RELEASE);
    c_interrupt_repeat(&p->interrupt, 1);
}

/* How often it was asked. */
static int stop_asking(s_preempt *p)
{
    int asked = p->asked;
    p->asked = 0;
    if (asked)
        c_interrupt_repeat(&p->interrupt, is_counting(p));
    return asked;
}

static int serve_request(s_preempt *p, int wanted)
{
    s_sched *s = p->s;
    int asked = stop_asking(p);
    s_progress present = s_progress_of(p);
    int64_t requested_at = __atomic_exchange_n(&p->requested_at, 0, __ATOMIC_RELAXED);
    if (wanted == S_WANTED && !s_is_same_progress(&present, &p->requested))
        return 0;
    int64_t late = requested_at ? p_now() - requested_at : 0;
    if (requested_at)
        p->delays[p->delayed++ % S_DELAYS] = late;
    if (late >= s_stall_after)
        report_late_service(s, late);
    if (s->carriers != NULL && !s->trap && s_take_refused_thread())
        report_refused_thread(s);
    if (p->slice == 0 || s_is_simulated(s))
        return 0;
    s->current->due = (unsigned char)is_held_back(s);
    if (s->current->due)
        return 0;
    if (asked < MOST_ASKED && when_soft(p) == SOFT_LATER) {
        ask_again(p, wanted, asked + 1);
        return 0;
    }
    s_stall_over(&p->stall);
    return yield_to_next(p);
}

/* The current tasklet has returned from C on the stack where it sat, or is a thread that has begun:
 * it goes where its next call holds up nobody, if that is soft. */
static int serve_leaving(s_preempt *p)
{
    s_sched *s = p->s;
    int asked = stop_asking(p);
    if (p->slice == 0 || s_is_simulated(s) || !s->travels || !s_must_leave(s, s->current))
        return 0;
    int when = is_held_back(s) ? SOFT_LATER : when_soft(p);
    if (when == SOFT_LATER && asked < MOST_ASKED)
        ask_again(p, S_WANTED_APART, asked + 1);
    return when == SOFT_HERE ? yield_to_next(p) : 0;
}

/* ---- counting safepoints --------------------------------------------------------------- */

static int may_budget_expire(const s_preempt *p)
{
    const s_sched *s = p->s;
    const s_tasklet *t = s->current;
    if (is_held_back(s))
        return 0;
    return t->stackless.ignore_nesting || p->budget.ignore_nesting ||
           c_nesting_level(s->ts, &t->c, 1) == 0;
}

static int count_safepoint(s_preempt *p)
{
    s_sched *s = p->s;
    s_progress present = s_progress_of(p);
    if (!p->budget.total && !s_is_same_progress(&present, &p->last_counted))
        p->left = p->budget.safepoints;
    p->last_counted = present;
    if (--p->left > 0)
        return 0;
    p->left = 1;
    s->current->due = (unsigned char)!may_budget_expire(p);
    if (s->current->due)
        return 0;
    if (!p->budget.total)
        p->left = p->budget.safepoints;
    c_call_site site = this_safepoint(p, 0);
    c_interrupt_switch_away(&p->interrupt);
    int code = p->budget.expire(s, &site);
    resume_queue(p);
    return code;
}

static int count_slice(s_preempt *p)
{
    if (--p->slice_left > 0)
        return 0;
    p->slice_left = 1;
    if (is_held_back(p->s))
        return 0;
    p->slice_left = p->slice_safepoints;
    return yield_to_next(p);
}

static int serve_safepoint(c_interrupt *interrupt)
{
    s_preempt *p = (s_preempt *)interrupt;
    if (p->s != s_self_here()) /* it has just gone to another thread */
        return 0;
    if (p->budget.safepoints && count_safepoint(p) < 0)
        return -1;
    if (p->slice_safepoints && count_slice(p) < 0)
        return -1;
    int wanted = __atomic_exchange_n(&p->wanted, S_NOT_WANTED, __ATOMIC_ACQUIRE);
    if (wanted == S_WANTED_APART)
        return serve_leaving(p);
    return wanted ? serve_request(p, wanted) : 0;
}

/* ---- on and off ------------------------------------------------------------------------ */

/* Opens the interrupt for what is wanted, or closes it when nothing is. */
static void adjust_interrupt(s_preempt *p)
{
    int counting = is_counting(p);
    if (!p->slice && !counting) {
        c_interrupt_close(&p->interrupt);
        return;
    }
    c_interrupt_open(&p->interrupt, p->s->ts, serve_safepoint);
    c_interrupt_repeat(&p->interrupt, counting);
}

static s_preempt *preempt_of(s_sched *s)
{
    if (s->preempt == NULL)
        s->preempt = s_preempt_obtain(s);
    return s->preempt;
}

int s_slices_begin(s_sched *s, int64_t nanoseconds)
{
    if (s_slices_prepare() < 0)
        return S_E_SET;
    s_preempt *p = preempt_of(s);
    if (p == NULL)
        return S_E_MEMORY;
    int code = s_monitor_set_slice(p, nanoseconds);
    adjust_interrupt(p);
    return code;
}

void s_slices_end(s_sched *s)
{
    if (s->preempt == NULL)
        return;
    s->preempt->slice_safepoints = 0;
    s_monitor_set_slice(s->preempt, 0);
    adjust_interrupt(s->preempt);
}

int s_slices_counted(s_sched *s, int64_t safepoints)
{
    if (safepoints > 0 && s_slices_prepare() < 0)
        return S_E_SET;
    s_preempt *p = preempt_of(s);
    if (p == NULL)
        return S_E_MEMORY;
    p->slice_safepoints = p->slice_left = safepoints;
    adjust_interrupt(p);
    return S_OK;
}

int s_slices_delays(s_sched *s, int64_t *delays)
{
    s_preempt *p = s->preempt;
    int count = p == NULL ? 0 : p->delayed < S_DELAYS ? p->delayed : S_DELAYS;
    if (count > 0)
        memcpy(delays, p->delays, (size_t)count * sizeof(*delays));
    if (p != NULL)
        p->delayed = 0;
    return count;
}

int s_budget_begin(s_sched *s, const s_budget *budget)
{
    s_preempt *p = preempt_of(s);
    if (p == NULL)
        return S_E_MEMORY;
    p->budget = *budget;
    p->left = budget->safepoints;
    p->last_counted = s_progress_of(p);
    adjust_interrupt(p);
    return S_OK;
}

void s_budget_end(s_sched *s)
{
    if (s->preempt == NULL)
        return;
    s->preempt->budget.safepoints = 0;
    adjust_interrupt(s->preempt);
}

int s_has_slices(const s_sched *s)
{
    return s->preempt != NULL && s->preempt->slice != 0;
}

void s_deliver_due(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (!s->current->due || p == NULL || p->slice == 0)
        return;
    s->current->due = 0;
    __atomic_store_n(&p->wanted, S_OVERDUE, __ATOMIC_RELEASE);
    c_interrupt_request(&p->interrupt);
}

static void forget_thread(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (p == NULL)
        return;
    p->budget.safepoints = 0;
    s_slices_end(s);
    s_preempt_release(p);
}

static void follow_thread(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (p != NULL)
        adjust_interrupt(p);
}

static void look_soon(s_sched *s)
{
    if (s->preempt != NULL)
        s_monitor_look(s->preempt);
}

static void leave_soon(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (p != NULL && p->slice != 0)
        ask_again(p, S_WANTED_APART, 1);
}

const s_guest s_preempt_guest = {.thread_ending = forget_thread,
                                 .sleep = s_monitor_sleep,
                                 .wake = s_monitor_wake,
                                 .moved = follow_thread,
                                 .hurries = look_soon,
                                 .leave_apart = leave_soon};
