/* Preemption: a tasklet that does not switch is made to.
 *
 * Slices.  One watchdog thread per process, which knows no Python, looks at each
 * scheduler that has slices twice per slice: is the same tasklet current, and has
 * the count of switches not moved?  What has run for a slice that way is asked,
 * through the breaker, to stop at its next check.  So nothing is counted and no
 * clock is read when tasklets switch by themselves.  The request is served on the
 * scheduler's own thread, between two instructions of Python code: the tasklet goes
 * to the tail and the next one runs, if there is one besides it.  Where a function
 * begins or jumps back that is a soft switch, and the interpreter's check is forgotten
 * (cpython/safepoint.c); elsewhere a hard one, and the C stack with the check on it is kept.
 * So nothing may be left to do here behind the switch but for a hard one: what a check
 * sets, it sets before.
 *
 * Longest delay.  A tasklet that begins between two looks is first seen up to half
 * a slice later and asked a slice after that.  One that begins by a preemption is
 * counted from that moment, so spinning tasklets have exactly a slice each.
 *
 * Ticks.  While a run() with a timeout is effective the breaker calls at every check
 * and this counts down.  No clock and no thread takes part: the same program is
 * interrupted at the same place in every run.  What a check is depends on the
 * version (cpython/README.md).
 *
 * Withheld.  Where a tasklet must not be interrupted (held_back) the request stays:
 * t->due is set, and s_deliver_due asks again when an atomic section ends.  Elsewhere the
 * next check (ticks) or the next slice (slices) tries again.  Ticks also wait until
 * no C caller is half done.
 *
 * Stalls.  A request that is served late was held up by one call of C.  The time
 * from the request to its service is told to s_hook.stalled, in the tasklet, at the
 * line of that call, when it has returned: Python code cannot run before.  A call that
 * released the GIL is told too, because the other tasklets of the thread waited just the
 * same.
 * One that goes on, or is withheld, is reported besides (stall_report.c).
 *
 * Where asking may have to wait for the GIL (3.11) another thread does it, so that the
 * watchdog goes on while C code keeps the GIL.
 *
 * Threads.  `watch_lock` guards the list and what the watchdog reads of a record;
 * what it samples of a scheduler is read without a lock and may be stale: then the
 * service, which looks again, finds that the tasklet has switched meanwhile and does
 * nothing.  `asking` is held while requests are made, and none is made while somebody
 * forks: a count, because what else runs before a fork may let other tasklets run.
 * Records are never freed (a call may be on its way to one), only used again.
 *
 * Rejected: an interval timer with a signal, which interrupts system calls and
 * reaches any thread; counting in the switch path; reading the clock at each
 * switch, 20 ns of 90.
 */
#include "sched/guests/preempt.h"

#include <string.h>

#include "sched/guests/stackless_run.h"
#include "sched/guests/stall.h"
#include "sched/internal.h"

/* What tells that the same tasklet has run on. */
typedef struct {
    const s_tasklet *current;
    unsigned long switches, sleeps;
} stretch;

enum { NOT_WANTED, WANTED, OVERDUE };

struct s_preempt {
    c_interrupt breaker; /* first: it is what the call is handed */
    s_sched *s;          /* NULL: free */
    struct s_preempt *next;

    int64_t slice; /* 0: no slices.  This and the next under watch_lock */
    int64_t look_at, since;
    stretch seen;
    int ask;

    int wanted; /* atomic: this and the next are between the watchdog and the service */
    int64_t asked_at;
    stretch asked;
    s_stall stall;
    int64_t preempted_at; /* by a preemption, at that count of switches */
    unsigned long preempted;
    int64_t delays[S_DELAYS];
    int delayed;
    int sleeping, dozing;
    unsigned long sleeps;

    int64_t ticks, left; /* 0: no ticks */
    int total;
    stretch counted;
    int64_t checks, checks_left; /* a slice by count; 0: none */
};
typedef struct s_preempt s_preempt;

int64_t s_stall_after = 500000000;

static p_lock watch_lock, asking;
static s_preempt *records;
static p_parker parker = {1}, asker_parker = {1};
static p_thread watchdog, asker;
static int watching, asking_apart, stopping, stopped, forking;

static stretch take_stretch(const s_preempt *p)
{
    const s_sched *s = p->s;
    return (stretch){__atomic_load_n(&s->current, __ATOMIC_RELAXED),
                     __atomic_load_n(&s->count_soft, __ATOMIC_RELAXED) +
                         __atomic_load_n(&s->count_hard, __ATOMIC_RELAXED),
                     __atomic_load_n(&p->sleeps, __ATOMIC_RELAXED)};
}

static int same(const stretch *a, const stretch *b)
{
    return a->current == b->current && a->switches == b->switches && a->sleeps == b->sleeps;
}

/* A test's order of events must not depend on the time it takes. */
static int is_simulated(const s_sched *s)
{
    return __atomic_load_n(&s->virtual_now, __ATOMIC_RELAXED) >= 0 ||
           __atomic_load_n(&s->random, __ATOMIC_RELAXED) != 0;
}

/* ---- the watchdog thread ------------------------------------------------------------- */

/* The scheduler sleeps: its record is looked at again when it wakes. */
static int doze(s_preempt *p)
{
    if (!__atomic_load_n(&p->sleeping, __ATOMIC_SEQ_CST))
        return 0;
    __atomic_store_n(&p->dozing, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&p->sleeping, __ATOMIC_SEQ_CST);
}

static void look(s_preempt *p, int64_t now)
{
    stretch present = take_stretch(p);
    __atomic_store_n(&p->s->coarse_now, s_coarse_ms(now), __ATOMIC_RELAXED);
    if (!same(&present, &p->seen) || __atomic_load_n(&p->s->trap, __ATOMIC_RELAXED)) {
        p->seen = present;
        p->since = present.switches == p->preempted ? p->preempted_at : now;
        __atomic_store_n(&p->asked_at, 0, __ATOMIC_RELAXED);
        s_stall_over(&p->stall);
    } else if (now - p->since >= p->slice - p->slice / 4 && !is_simulated(p->s)) {
        int64_t never = 0;
        s_stall_note(&p->stall, p->s, present.current, p->since, now);
        p->since = now;
        p->asked = present;
        __atomic_store_n(&p->ask, 1, __ATOMIC_RELEASE);
        __atomic_compare_exchange_n(&p->asked_at, &never, now, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        __atomic_store_n(&p->wanted, WANTED, __ATOMIC_RELEASE);
    }
    p->look_at += p->slice / 2;
    if (p->look_at <= now)
        p->look_at = now + p->slice / 2;
}

/* Looks at every scheduler whose time it is; the time of the next look. */
static int64_t look_at_all(int64_t now)
{
    int64_t next = S_FOREVER;
    for (s_preempt *p = records; p != NULL; p = p->next) {
        if (p->slice == 0 || doze(p))
            continue;
        if (__atomic_exchange_n(&p->dozing, 0, __ATOMIC_SEQ_CST) || p->look_at <= now)
            look(p, now);
        next = p->look_at < next ? p->look_at : next;
    }
    return next;
}

static void ask_all(void)
{
    p_lock_take(&asking);
    int held = __atomic_load_n(&forking, __ATOMIC_SEQ_CST);
    for (s_preempt *p = held ? NULL : records; p != NULL; p = p->next) {
        if (__atomic_exchange_n(&p->ask, 0, __ATOMIC_ACQ_REL))
            c_interrupt_request(&p->breaker);
    }
    p_lock_give(&asking);
}

static void report_all(int64_t now)
{
    for (s_preempt *p = records; s_stall_hook.report != NULL && p != NULL; p = p->next)
        s_stall_hook.report(&p->stall, now);
}

static int is_stopping(void)
{
    p_lock_take(&watch_lock);
    int stop = stopping;
    p_lock_give(&watch_lock);
    return stop;
}

/* The thread that asks where the watchdog must not: where that may wait for the GIL. */
static void ask(void)
{
    for (;;) {
        p_park_prepare(&asker_parker);
        if (is_stopping())
            return;
        ask_all();
        p_park(&asker_parker, S_FOREVER);
    }
}

static void have_asked(void)
{
    int wanted = 0;
    for (s_preempt *p = records; p != NULL; p = p->next)
        wanted |= __atomic_load_n(&p->ask, __ATOMIC_RELAXED);
    if (wanted)
        p_unpark(&asker_parker);
}

static void watch(void)
{
    for (;;) {
        p_park_prepare(&parker);
        p_lock_take(&watch_lock);
        int64_t next = look_at_all(p_now());
        int stop = stopping;
        p_lock_give(&watch_lock);
        if (stop)
            return;
        if (c_interrupt_request_waits)
            have_asked();
        else
            ask_all();
        report_all(p_now());
        p_park(&parker, next);
    }
}

/* ---- serving --------------------------------------------------------------------------- */

static int held_back(const s_sched *s)
{
    const s_tasklet *t = s->current;
    return s->trap || t->atomic || t->nopreempt || t == s->idler || t->state != S_RUNNING ||
           c_is_finalizing() || !c_is_interruptible(s->ts);
}

/* 0, or -1 with what was thrown into it meanwhile. */
static int outcome(PyObject *done, int moved)
{
    Py_XDECREF(done);
    if (done != NULL || !PyErr_Occurred())
        return 0;
    if (!moved)
        PyErr_Clear(); /* no memory for a stack: it goes on */
    return moved ? -1 : 0;
}

/* The check that called us, as a place where the current tasklet may be left softly. */
static c_call_site this_check(const s_preempt *p)
{
    return (c_call_site){.args = p->breaker.at, .kind = C_SAFEPOINT};
}

/* The current tasklet goes to the tail; returns when it goes on, unless it is left softly.
 * Its mail slot is not ours: it is put away, which needs the C stack. */
static int yield_core(s_preempt *p)
{
    s_sched *s = p->s;
    s_tasklet *me = s->current;
    c_call_site site = this_check(p);
    PyObject *value = me->wait.value, *error = me->error;
    unsigned long before = s->count_hard;
    p->preempted_at = p_now();
    p->preempted = s->count_soft + before + 1;
    me->wait.value = me->error = NULL;
    s_ready(s, me);
    s_tasklet *next = s_next_slow(s);
    int moves = next != me;
    if (moves)
        c_interrupt_switch_away(&p->breaker);
    PyObject *done = s_transfer_at_safepoint(s, next, value || error ? NULL : &site);
    if (moves)
        c_interrupt_switch_back(&p->breaker);
    Py_XSETREF(me->wait.value, value);
    Py_XSETREF(me->error, error);
    return outcome(done, !moves || s->count_hard != before);
}

static void tell_stall(s_sched *s, int64_t nanoseconds)
{
    if (s_hook.stalled == NULL || s->trap || s->current == s->idler)
        return;
    s->trap++;
    s_hook.stalled(s->current, nanoseconds);
    s->trap--;
}

static int serve(s_preempt *p, int wanted)
{
    s_sched *s = p->s;
    stretch present = take_stretch(p);
    int64_t asked_at = __atomic_exchange_n(&p->asked_at, 0, __ATOMIC_RELAXED);
    if (wanted == WANTED && !same(&present, &p->asked))
        return 0;
    int64_t late = asked_at ? p_now() - asked_at : 0;
    if (asked_at)
        p->delays[p->delayed++ % S_DELAYS] = late;
    if (late >= s_stall_after)
        tell_stall(s, late);
    if (p->slice == 0 || is_simulated(s))
        return 0;
    s->current->due = (unsigned char)held_back(s);
    if (s->current->due)
        return 0;
    s_stall_over(&p->stall);
    return yield_core(p);
}

/* ---- counting checks ------------------------------------------------------------------- */

static int may_expire(const s_sched *s)
{
    const s_tasklet *t = s->current;
    if (held_back(s))
        return 0;
    return t->ignore_nesting || s_run_ignores_nesting(s) || c_nesting_level(s->ts, &t->c, 1) == 0;
}

static int tick(s_preempt *p)
{
    s_sched *s = p->s;
    stretch present = take_stretch(p);
    if (!p->total && !same(&present, &p->counted))
        p->left = p->ticks;
    p->counted = present;
    if (--p->left > 0)
        return 0;
    p->left = 1;
    s->current->due = (unsigned char)!may_expire(s);
    if (s->current->due)
        return 0;
    if (!p->total)
        p->left = p->ticks;
    c_call_site site = this_check(p);
    c_interrupt_switch_away(&p->breaker);
    int code = s_run_expired(s, &site);
    c_interrupt_switch_back(&p->breaker);
    return code;
}

static int counted_slice(s_preempt *p)
{
    if (--p->checks_left > 0)
        return 0;
    p->checks_left = 1;
    if (held_back(p->s))
        return 0;
    p->checks_left = p->checks;
    return yield_core(p);
}

static int check(c_interrupt *breaker)
{
    s_preempt *p = (s_preempt *)breaker;
    if (p->ticks && tick(p) < 0)
        return -1;
    if (p->checks && counted_slice(p) < 0)
        return -1;
    int wanted = __atomic_exchange_n(&p->wanted, NOT_WANTED, __ATOMIC_ACQUIRE);
    return wanted ? serve(p, wanted) : 0;
}

/* ---- on and off ------------------------------------------------------------------------ */

static s_preempt *obtain(s_sched *s)
{
    p_lock_take(&watch_lock);
    s_preempt *p = records;
    while (p != NULL && p->s != NULL)
        p = p->next;
    if (p != NULL) {
        p->s = s;
    } else if (!c_out_of_memory() && (p = PyMem_RawCalloc(1, sizeof(*p))) != NULL) {
        p->s = s;
        p->next = records;
        __atomic_store_n(&records, p, __ATOMIC_RELEASE);
    }
    p_lock_give(&watch_lock);
    return p;
}

/* Opens the breaker and says what it is for, or closes it when it is for nothing. */
static void adjust(s_preempt *p)
{
    int ticking = p->ticks || p->checks;
    if (!p->slice && !ticking) {
        c_interrupt_close(&p->breaker);
        return;
    }
    c_interrupt_open(&p->breaker, p->s->ts, check);
    c_interrupt_repeat(&p->breaker, ticking);
}

static s_preempt *record_of(s_sched *s)
{
    if (s->preempt == NULL)
        s->preempt = obtain(s);
    return s->preempt;
}

/* 0, or -1 when no thread is to be had.  Under watch_lock. */
static int start_watching(void)
{
    if (stopped)
        return 0;
    if (!asking_apart && c_interrupt_request_waits && p_thread_start(&asker, ask) < 0)
        return -1;
    asking_apart = c_interrupt_request_waits;
    if (!watching && p_thread_start(&watchdog, watch) < 0)
        return -1;
    watching = 1;
    p_unpark(&parker);
    return 0;
}

static int set_slice(s_preempt *p, int64_t nanoseconds)
{
    p_lock_take(&watch_lock);
    p->slice = nanoseconds;
    p->seen = (stretch){NULL, 0, 0};
    p->look_at = 0;
    s_stall_over(&p->stall);
    int code = nanoseconds ? start_watching() : 0;
    if (code < 0)
        p->slice = 0;
    p_lock_give(&watch_lock);
    return code < 0 ? S_E_MEMORY : S_OK;
}

int s_slices_begin(s_sched *s, int64_t nanoseconds)
{
    if (s_slices_prepare() < 0)
        return S_E_SET;
    s_preempt *p = record_of(s);
    if (p == NULL)
        return S_E_MEMORY;
    int code = set_slice(p, nanoseconds);
    adjust(p);
    return code;
}

void s_slices_end(s_sched *s)
{
    if (s->preempt == NULL)
        return;
    s->preempt->checks = 0;
    set_slice(s->preempt, 0);
    adjust(s->preempt);
}

int s_slices_counted(s_sched *s, int64_t checks)
{
    if (checks > 0 && s_slices_prepare() < 0)
        return S_E_SET;
    s_preempt *p = record_of(s);
    if (p == NULL)
        return S_E_MEMORY;
    p->checks = p->checks_left = checks;
    adjust(p);
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

int s_budget_begin(s_sched *s, int64_t ticks, int total)
{
    s_preempt *p = record_of(s);
    if (p == NULL)
        return S_E_MEMORY;
    p->ticks = p->left = ticks;
    p->total = total;
    p->counted = take_stretch(p);
    adjust(p);
    return S_OK;
}

void s_budget_end(s_sched *s)
{
    if (s->preempt == NULL)
        return;
    s->preempt->ticks = 0;
    adjust(s->preempt);
}

void s_deliver_due(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (!s->current->due || p == NULL || p->slice == 0)
        return;
    s->current->due = 0;
    __atomic_store_n(&p->wanted, OVERDUE, __ATOMIC_RELEASE);
    c_interrupt_request(&p->breaker);
}

void s_slices_sleep(s_sched *s)
{
    if (s->preempt != NULL)
        __atomic_store_n(&s->preempt->sleeping, 1, __ATOMIC_SEQ_CST);
}

void s_slices_wake(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (p == NULL)
        return;
    __atomic_store_n(&p->sleeps, p->sleeps + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->sleeping, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->dozing, __ATOMIC_SEQ_CST))
        p_unpark(&parker);
}

void s_slices_forget(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (p == NULL)
        return;
    p->ticks = 0;
    s_slices_end(s);
    p_lock_take(&watch_lock);
    s->preempt = NULL;
    p->s = NULL;
    p_lock_give(&watch_lock);
}

void s_slices_stop(void)
{
    p_lock_take(&watch_lock);
    int running = watching, apart = asking_apart;
    watching = asking_apart = 0;
    stopping = stopped = 1;
    p_lock_give(&watch_lock);
    c_interrupt_shut_down();
    p_unpark(&parker);
    p_unpark(&asker_parker);
    Py_BEGIN_ALLOW_THREADS if (running) p_thread_join(&watchdog);
    if (apart)
        p_thread_join(&asker);
    Py_END_ALLOW_THREADS
}

/* Detached, because whoever asks may want to be attached for that. */
void s_slices_before_fork(void)
{
    Py_BEGIN_ALLOW_THREADS p_lock_take(&asking);
    __atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
    p_lock_give(&asking);
    Py_END_ALLOW_THREADS
}

/* The child has no watchdog thread, and only the scheduler of the thread that forked. */
static void begin_again(void)
{
    watching = asking_apart = forking = 0;
    if (s_stall_hook.after_fork != NULL)
        s_stall_hook.after_fork();
    parker.word = asker_parker.word = 1;
    watch_lock.word = asking.word = 0;
    for (s_preempt *p = records; p != NULL; p = p->next) {
        if (p->s != NULL && p->s == s_self_) {
            if (p->slice)
                start_watching();
            continue;
        }
        p->slice = p->ticks = p->checks = 0;
        c_interrupt_forget(&p->breaker);
    }
    c_interrupt_after_fork();
}

/* Without the lock: who holds it may be waiting for the GIL, which we have. */
void s_slices_after_fork(int in_child)
{
    if (in_child) {
        begin_again();
        return;
    }
    if (__atomic_load_n(&forking, __ATOMIC_RELAXED) > 0)
        __atomic_fetch_sub(&forking, 1, __ATOMIC_SEQ_CST);
}
