/* The monitor thread of time slices: finds the tasklets that have run for a slice.
 *
 * One thread per process, which knows no Python.  It samples each scheduler that has slices twice
 * per slice: is the same tasklet current, and has the count of switches not moved?  A tasklet that
 * has run for a slice that way is requested to yield, through an interrupt of the interpreter;
 * preempt.c serves the request.  So nothing is counted and no clock is read when tasklets switch by
 * themselves.
 *
 * Longest delay.  A tasklet that begins between two samples is first seen up to half a slice later
 * and requested a slice after that.  One that begins by a preemption is counted from that moment,
 * so spinning tasklets have exactly a slice each.
 *
 * Sleep.  A scheduler that sleeps is not sampled, and after a while nobody looks at it until it
 * wakes: then it wakes the monitor.  Not at once, because one that sleeps between any two of a
 * thousand requests a second would wake the monitor a thousand times.
 *
 * Where a request may have to wait for the GIL (3.11) another thread makes it, the requester, so
 * that the monitor continues while C code keeps the GIL.
 *
 * Threads.  `samples_lock` guards the list and what the monitor reads of a record; what it samples
 * of a scheduler is read without a lock and may be stale: then the service, which looks again,
 * finds that the tasklet has switched meanwhile and does nothing.  `requests_lock` is held while
 * requests are made, and by the C library's fork() itself, so that no request is half made in the
 * child.  Not where a request may wait for the GIL, which the thread has that forks: there the
 * interpreter makes its locks anew in the child, and a request is one store.  Records are never
 * freed (an interrupt may be on its way to one), only reused.
 *
 * Rejected: an interval timer with a signal, which interrupts system calls and reaches any thread;
 * counting in the switch path; reading the clock at each switch, 20 ns of 90; no requests from
 * os.register_at_fork(before=...) on: what else runs before the fork may wait for a tasklet that
 * waits for its slice.
 */
#include "sched/guests/preempt_monitor.h"

#include "sched/carrier.h"
#include "sched/guests/preempt.h"
#include "sched/internal.h"

/* A call is looked at after that time if one like it was handed over lately. */
#define HURRY 200000

/* Slices that a scheduler sleeps before it rests. */
#define RESTS 2

/* How often the threads of sitters are reminded of the meeting, where they must be. */
#define RING INT64_C(1000000)

static p_lock samples_lock, requests_lock;
static s_preempt *samples;
static p_parker parker = {1}, requester_parker = {1};
static p_thread monitor, requester;
static int monitoring, has_requester, stopping, stopped, sees_forks;

static int is_sleeping(const s_preempt *p)
{
    return __atomic_load_n(&p->sleeping, __ATOMIC_SEQ_CST);
}

/* Whether it has slept so long that nobody looks at it until it wakes. */
static int has_slept_long(s_preempt *p, int64_t now)
{
    unsigned long sleeps = __atomic_load_n(&p->sleeps, __ATOMIC_RELAXED);
    if (p->slept_from == 0 || sleeps != p->last_sleep) {
        p->last_sleep = sleeps;
        p->slept_from = now;
    }
    if (now - p->slept_from < RESTS * p->slice)
        return 0;
    __atomic_store_n(&p->unwatched, 1, __ATOMIC_SEQ_CST);
    return is_sleeping(p);
}

/* How long no safepoint has served a request; 0 where none was made. */
static int64_t unserved_for(const s_preempt *p, int64_t now)
{
    int64_t asked = __atomic_load_n(&p->requested_at, __ATOMIC_RELAXED);
    return asked != 0 ? now - asked : 0;
}

static void sample_scheduler(s_preempt *p, int64_t now)
{
    s_progress present = s_progress_of(p);
    __atomic_store_n(&p->s->coarse_now, s_coarse_ms(now), __ATOMIC_RELAXED);
    int hurries = __atomic_load_n(&p->s->hurries, __ATOMIC_RELAXED);
    if (!s_is_same_progress(&present, &p->seen) || __atomic_load_n(&p->s->trap, __ATOMIC_RELAXED)) {
        p->seen = present;
        p->since = present.switches == p->preempted ? p->preempted_at : now;
        __atomic_store_n(&p->requested_at, 0, __ATOMIC_RELAXED);
        s_stall_over(&p->stall);
    } else if (now - p->since >= p->slice - p->slice / 4 && !s_is_simulated(p->s)) {
        int64_t never = 0;
        s_call_carrier(p->s, unserved_for(p, now));
        s_stall_note(&p->stall, p->s, present.current, p->since, now);
        p->since = now;
        p->requested = present;
        __atomic_store_n(&p->request, 1, __ATOMIC_RELEASE);
        __atomic_compare_exchange_n(&p->requested_at, &never, now, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        __atomic_store_n(&p->wanted, S_WANTED, __ATOMIC_RELEASE);
    }
    if (hurries && now - p->since >= HURRY && !s_is_simulated(p->s))
        s_call_carrier(p->s, unserved_for(p, now));
    int64_t period = hurries && p->slice > HURRY ? HURRY / 2 : p->slice / 2;
    if (period > RING && c_interrupt_any())
        period = RING;
    p->sample_at += period;
    if (p->sample_at <= now || hurries)
        p->sample_at = now + period;
}

/* Samples every scheduler whose time it is; returns the time of the next sample. */
static int64_t sample_all(int64_t now)
{
    int64_t next = S_FOREVER;
    for (s_preempt *p = samples; p != NULL; p = p->next) {
        int sleeps = p->slice != 0 && is_sleeping(p);
        if (p->slice == 0 || (sleeps && has_slept_long(p, now)))
            continue;
        int due = __atomic_exchange_n(&p->unwatched, 0, __ATOMIC_SEQ_CST) || p->sample_at <= now;
        if (due && sleeps)
            p->sample_at = now + p->slice / 2;
        else if (due)
            sample_scheduler(p, now);
        next = p->sample_at < next ? p->sample_at : next;
    }
    return next;
}

static void request_all(void)
{
    p_lock_take(&requests_lock);
    for (s_preempt *p = samples; p != NULL; p = p->next) {
        if (__atomic_exchange_n(&p->request, 0, __ATOMIC_ACQ_REL))
            c_interrupt_request(&p->interrupt);
    }
    c_interrupt_ring();
    p_lock_give(&requests_lock);
}

static void report_stalls(int64_t now)
{
    for (s_preempt *p = samples; s_stall_hook.report != NULL && p != NULL; p = p->next)
        s_stall_hook.report(&p->stall, now);
}

static int is_stopping(void)
{
    p_lock_take(&samples_lock);
    int stop = stopping;
    p_lock_give(&samples_lock);
    return stop;
}

/* The thread that makes the requests where the monitor must not: where that may wait for the GIL.
 */
static void requester_main(void)
{
    for (;;) {
        p_park_prepare(&requester_parker);
        if (is_stopping())
            return;
        request_all();
        p_park(&requester_parker, S_FOREVER);
    }
}

static void wake_requester(void)
{
    int wanted = 0;
    for (s_preempt *p = samples; p != NULL; p = p->next)
        wanted |= __atomic_load_n(&p->request, __ATOMIC_RELAXED);
    if (wanted)
        p_unpark(&requester_parker);
}

static void monitor_main(void)
{
    for (;;) {
        p_park_prepare(&parker);
        p_lock_take(&samples_lock);
        int64_t next = sample_all(p_now());
        int stop = stopping;
        p_lock_give(&samples_lock);
        if (stop)
            return;
        if (c_interrupt_request_waits)
            wake_requester();
        else
            request_all();
        report_stalls(p_now());
        p_park(&parker, next);
    }
}

/* ---- samples --------------------------------------------------------------------------- */

s_preempt *s_preempt_obtain(s_sched *s)
{
    p_lock_take(&samples_lock);
    s_preempt *p = samples;
    while (p != NULL && p->s != NULL)
        p = p->next;
    if (p != NULL) {
        p->s = s;
    } else if (!c_out_of_memory() && (p = PyMem_RawCalloc(1, sizeof(*p))) != NULL) {
        p->s = s;
        p->next = samples;
        __atomic_store_n(&samples, p, __ATOMIC_RELEASE);
    }
    p_lock_give(&samples_lock);
    return p;
}

void s_preempt_release(s_preempt *p)
{
    p_lock_take(&samples_lock);
    p->s->preempt = NULL;
    p->s = NULL;
    p_lock_give(&samples_lock);
}

static void hold_requests(void)
{
    p_lock_take(&requests_lock);
}

static void release_requests(void)
{
    p_lock_give(&requests_lock);
}

static int see_forks(void)
{
    if (!sees_forks && !c_interrupt_request_waits && p_at_fork(hold_requests, release_requests) < 0)
        return -1;
    sees_forks = 1;
    return 0;
}

/* 0, or -1 when the system cannot start a thread.  Under samples_lock. */
static int start_monitor(void)
{
    if (stopped)
        return 0;
    if (see_forks() < 0)
        return -1;
    if (!has_requester && c_interrupt_request_waits &&
        p_thread_start(&requester, requester_main) < 0)
        return -1;
    has_requester = c_interrupt_request_waits;
    if (!monitoring && p_thread_start(&monitor, monitor_main) < 0)
        return -1;
    monitoring = 1;
    p_unpark(&parker);
    return 0;
}

int s_monitor_set_slice(s_preempt *p, int64_t nanoseconds)
{
    p_lock_take(&samples_lock);
    p->slice = nanoseconds;
    p->seen = (s_progress){NULL, 0, 0};
    p->preempted_at = p_now(); /* `preempted` may be a count of the record's last scheduler */
    p->sample_at = 0;
    s_stall_over(&p->stall);
    int code = nanoseconds ? start_monitor() : 0;
    if (code < 0)
        p->slice = 0;
    p_lock_give(&samples_lock);
    return code < 0 ? S_E_MEMORY : S_OK;
}

void s_monitor_look(s_preempt *p)
{
    if (p->slice == 0)
        return;
    p_lock_take(&samples_lock);
    p->sample_at = 0;
    p_lock_give(&samples_lock);
    p_unpark(&parker);
}

void s_monitor_sleep(s_sched *s)
{
    if (s->preempt != NULL)
        __atomic_store_n(&s->preempt->sleeping, 1, __ATOMIC_SEQ_CST);
}

void s_monitor_wake(s_sched *s)
{
    s_preempt *p = s->preempt;
    if (p == NULL)
        return;
    __atomic_store_n(&p->sleeps, p->sleeps + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->sleeping, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->unwatched, __ATOMIC_SEQ_CST))
        p_unpark(&parker);
}

/* ---- the end of the process, and forks ------------------------------------------------- */

void s_slices_stop(void)
{
    p_lock_take(&samples_lock);
    int running = monitoring, requests = has_requester;
    monitoring = has_requester = 0;
    stopping = stopped = 1;
    p_lock_give(&samples_lock);
    c_interrupt_shut_down();
    p_unpark(&parker);
    p_unpark(&requester_parker);
    Py_BEGIN_ALLOW_THREADS if (running) p_thread_join(&monitor);
    if (requests)
        p_thread_join(&requester);
    Py_END_ALLOW_THREADS
}

/* The child has no monitor thread, and only the scheduler of the thread that forked.  Without the
 * locks: a thread that held one is gone. */
void s_slices_after_fork(void)
{
    monitoring = has_requester = 0;
    if (s_stall_hook.after_fork != NULL)
        s_stall_hook.after_fork();
    parker.word = requester_parker.word = 1;
    samples_lock.word = requests_lock.word = 0;
    for (s_preempt *p = samples; p != NULL; p = p->next) {
        if (p->s != NULL && p->s == s_self_here()) {
            if (p->slice)
                start_monitor();
            continue;
        }
        p->slice = p->budget.safepoints = p->slice_safepoints = 0;
        c_interrupt_forget(&p->interrupt);
    }
    c_interrupt_after_fork();
}
