/* The GIL: its priority for threads that come back from I/O.
 *
 * A thread that wants the GIL waits for five milliseconds before it asks the thread that has it to
 * drop it at the next safepoint.  For two threads that compute that is right.  A thread that comes
 * back from a wait for the world outside usually needs it for microseconds only, and somebody waits
 * for the answer.  So such a thread asks at once (c_io_return).
 *
 * How to ask.  The request is that of the interpreter: a flag of all threads up to 3.12, since then
 * a bit of the holder's own.  Whoever drops the GIL on request waits until another thread has it.
 * So nobody may ask who does not go on to take it.
 *
 * Going first.  The thread spins for SPIN, in which a computing thread reaches its next safepoint,
 * and then sleeps, until the drop wakes it before all others (gil_turns.c).  It asks again whenever
 * somebody else has got the GIL, or nothing has happened for AGAIN.  What it does not do is take
 * the GIL: PyEval_RestoreThread() does.  After as long as the interpreter would have waited it
 * leaves the rest to that.
 *
 * Whom to ask.  Threads that compute, not those that are back from I/O themselves and about to
 * leave: asking them would cost two wake-ups more and win nothing.  So whoever comes back leaves
 * its mark (returned: the last two, because of two threads that answer each other one may have had
 * to drop the GIL and take it again), and while the holder is one of them it is given BURST.  And
 * nobody is asked for PATIENCE: the thread that has just woken us may be about to sleep.  Where no
 * thread computes nobody is asked, and it costs four loads.
 *
 * A thread that was woken by another one comes back from no wait for the world outside.  It asks
 * threads that compute all the same, because it may be part of an answer.  Its waker, and others
 * that were woken lately, it asks now and then only (base/b_partners.h); meanwhile it waits like
 * others.
 *
 * The share.  What a thread takes in this way it spends of the share (base/b_share.h): from the
 * moment it got the GIL until it leaves Python again, but no more than LONGEST_HOLD, because then
 * it has had to drop the GIL like others; and SWITCH_COST, for the time until the other one runs
 * again.  While the share is used up, the thread sleeps like others until there is some again, and
 * takes the GIL if it is free before.
 *
 * Nobody pays for waiting.  Between the two moments a thread may wait for a lock of the standard
 * library, or have been asked itself.  Ten threads of a server would pay for ten waits at once, and
 * use up the share by waiting.  That another thread has had the GIL meanwhile is seen from the
 * number of its switches; then the thread pays for the processor time that it took.  Reading that
 * is a system call, so what it paid by the clock before is subtracted from the next reading: the
 * first one counts too much, but never more than the clock says.
 *
 * Contention.  A thread that leaves Python for microseconds often finds the GIL free when it
 * returns, because whoever was interrupted is still on its way to it, and nobody is asked.  So for
 * CONTENDED after anybody was asked, a thread pays in that case too, with the time that it was away
 * if that was short.  If the share is used up it first gives others a CHANCE to take the GIL.
 * Where nobody waits for the GIL nobody was interrupted, and it does neither; a count that is not
 * known is taken for somebody.
 *
 * Invariants.  `asking` counts the threads between their look at `share` and the request.  A hold
 * belongs to its OS thread, and only that one touches it.  A thread whose wait for the GIL ends
 * here calls PyEval_RestoreThread() at once: gil_turns.c counts on it.
 *
 * The end.  The thread that ends the interpreter would wait for ever if a thread asked it to drop
 * the GIL that then is not allowed to take it any more.  So before that, nobody may ask, and what
 * was asked of the ending thread is withdrawn; the interpreter itself does the same.  A daemon
 * thread may come back when its thread state has been freed: it is compared, never read.
 *
 * Sub-interpreters may have a GIL of their own, and their threads are not told from others without
 * reading thread states.  While there is one, nobody asks.
 *
 * Fork.  The child has one thread, which has the GIL, and the locks are as new.
 *
 * Handoff and preemption (sched/) see threads that wait for the GIL, as before: a thread that spins
 * here does so while somebody has the GIL.
 *
 * Threads.  Any.  `guard` covers the bucket; it is the last lock taken.
 *
 * Rejected: a lower switch interval while a thread waits (it is seen by sys.getswitchinterval(),
 * and threads that compute interrupt each other as often); taking the GIL by hand (all that
 * PyEval_RestoreThread() does besides would have to be copied); the number of waiters, looked at by
 * a thread of ours (no better than a lower interval).
 */
#include "cpython/layout.h"

#include <errno.h>

#include "base/b_partners.h"
#include "base/b_share.h"
#include "cpython/gil.h"
#include "cpython/gil_wakes.h"

#ifndef Py_GIL_DISABLED

#define PATIENCE 2000
#define SPIN 3000
#define AGAIN 200000
#define BURST 100000
#define SWITCH_COST 10000
#define LONGEST_HOLD 5000000
#define CONTENDED 20000000
#define CHANCE 100000
#define SHORT_ABSENCE 200000
#define HALF (B_SHARE_WHOLE / 2)

/* What the thread has to pay for. */
typedef struct {
    int64_t since;         /* it went first then, and has not left since; or 0 */
    int64_t left;          /* it had gone first, and left then; or 0 */
    int64_t away;          /* for how long it had left before `since`, if that was short */
    unsigned long turn;    /* of the GIL, when the thread got it; or UNKNOWN_TURN */
    int64_t worked;        /* its processor time, when it was read last */
    int64_t paid_by_clock; /* since then */
} paid_hold;

#define UNKNOWN_TURN ((unsigned long)-1)

const int c_has_gil = 1;

static __thread paid_hold hold;
static p_lock guard;
static b_share bucket = {HALF, 0, 0};
static int64_t share = HALF;  /* atomic: of the bucket; 0: nobody asks */
static int ended;             /* atomic: the share stays 0 */
static int asking;            /* atomic */
static int64_t contended;     /* atomic: until when; or 0 */
static uintptr_t returned[2]; /* atomic: thread states, only compared; the last one first */
static b_partners partners;
static c_gil_counts counts;              /* atomic; `spent`: guarded */
static __thread int was_woken_by_thread; /* and waits for the GIL */

/* Another thread has had the GIL when it is another number. */
static unsigned long gil_turn(void)
{
    return __atomic_load_n(&gil_of_interpreter()->switch_number, __ATOMIC_RELAXED);
}

static int may_ask(void)
{
    return __atomic_load_n(&share, __ATOMIC_SEQ_CST) > 0;
}

/* A sub-interpreter may have a GIL of its own: beside one, nobody asks. */
static int is_only_interpreter(void)
{
    return PyInterpreterState_Head() == PyInterpreterState_Main();
}

static int is_burst(uintptr_t holder)
{
    return holder == __atomic_load_n(&returned[0], __ATOMIC_RELAXED) ||
           holder == __atomic_load_n(&returned[1], __ATOMIC_RELAXED);
}

int c_gil_is_taken(void)
{
    return gil_is_taken(gil_of_interpreter());
}

int c_gil_waiters(void)
{
    return gil_waiters(gil_of_interpreter());
}

void c_gil_spin(int64_t until)
{
    struct _gil_runtime_state *gil = gil_of_interpreter();
    int64_t now = p_now(), patience = may_ask() ? now + PATIENCE : until;
    while (gil_is_taken(gil) && now < until && (now < patience || is_burst(gil_holder(gil)))) {
        p_relax();
        now = p_now();
    }
}

/* ---- what it costs ------------------------------------------------------------------- */

static void spend_share(int64_t took)
{
    p_lock_take(&guard);
    b_share_spend(&bucket, took);
    counts.spent += took;
    p_lock_give(&guard);
}

/* Processor time that the thread has not paid for, if it took less than that. */
static int64_t unpaid_work(int64_t most)
{
    int64_t worked = p_thread_time(), took = worked - hold.worked - hold.paid_by_clock;
    hold.worked = worked;
    hold.paid_by_clock = 0;
    if (took < 0)
        return 0;
    return took < most ? took : most;
}

static void pay_hold(void)
{
    int64_t now = p_now(), took = now - hold.since;
    if (hold.turn != UNKNOWN_TURN && hold.turn == gil_turn())
        hold.paid_by_clock += took;
    else
        took = unpaid_work(took);
    took += hold.away;
    spend_share(took < LONGEST_HOLD ? took : LONGEST_HOLD);
    hold.since = 0;
    hold.left = now;
}

/* The thread does not have the GIL yet. */
static void begin_hold(int64_t now, int64_t away)
{
    if (hold.since != 0)
        return;
    hold.since = now;
    hold.away = away;
    hold.turn = UNKNOWN_TURN;
}

/* The GIL was free. */
static void begin_again(int64_t now)
{
    int is_short = hold.left != 0 && now - hold.left < SHORT_ABSENCE;
    begin_hold(now, is_short ? now - hold.left : 0);
}

/* It has. */
static void note_turn(void)
{
    if (B_LIKELY(hold.since == 0))
        return;
    hold.since = p_now();
    hold.turn = gil_turn();
}

/* ---- asking ------------------------------------------------------------------------------ */

/* The GIL's mutex is taken.  0: nobody asks any more. */
static int ask_holder(struct _gil_runtime_state *gil)
{
    __atomic_fetch_add(&asking, 1, __ATOMIC_SEQ_CST);
    int asks = may_ask();
    if (asks)
        gil_ask_holder(gil);
    __atomic_fetch_sub(&asking, 1, __ATOMIC_SEQ_CST);
    return asks;
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* A wait for the GIL. */
typedef struct {
    struct _gil_runtime_state *gil;
    uintptr_t asked; /* the holder that was asked last */
    int64_t began, now;
    int deferred;
    int by_thread; /* another thread has woken this one */
    c_turn turn;
} gil_wait;

static int64_t time_to_share(int64_t now)
{
    p_lock_take(&guard);
    int64_t time = b_share_wait(&bucket, now);
    p_lock_give(&guard);
    return time;
}

/* The holder was asked. */
static void note_asked(gil_wait *wait)
{
    uintptr_t holder = gil_holder(wait->gil);
    c_turn_begin(&wait->turn);
    if (wait->asked == holder)
        return;
    wait->asked = holder;
    if (wait->by_thread)
        b_partner_interrupt(&partners, holder, wait->now);
    __atomic_fetch_add(&counts.asked, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&contended, wait->now + CONTENDED, __ATOMIC_RELAXED);
    c_turns_contended(1);
    spend_share(SWITCH_COST);
}

/* For how long the holder may not be asked yet. */
static int64_t time_to_ask(gil_wait *wait)
{
    uintptr_t holder = gil_holder(wait->gil);
    int64_t time = time_to_share(wait->now);
    if (time == 0 && wait->by_thread)
        time = b_partner_wait(&partners, holder, wait->now);
    if (time > 0)
        c_turn_end(&wait->turn);
    else if (is_burst(holder) && wait->now - wait->began < BURST) {
        c_turn_begin(&wait->turn);
        time = wait->began + BURST - wait->now;
    }
    return time;
}

/* Asks if it may: until when to sleep then.  The GIL's mutex is taken. */
static int64_t ask_or_defer(gil_wait *wait)
{
    int64_t time = wait->asked == gil_holder(wait->gil) ? 0 : time_to_ask(wait);
    if (time > 0) {
        if (!wait->deferred++)
            __atomic_fetch_add(&counts.deferred, 1, __ATOMIC_RELAXED);
        return wait->now + (time < LONGEST_HOLD ? time : LONGEST_HOLD);
    }
    if (ask_holder(wait->gil))
        note_asked(wait);
    return wait->now + AGAIN;
}

/* Until the GIL is free, or another thread has it. */
static void spin_for_gil(gil_wait *wait)
{
    int64_t until = wait->now + SPIN;
    while (gil_is_taken(wait->gil) && gil_holder(wait->gil) == wait->asked && wait->now < until) {
        p_relax();
        wait->now = p_now();
    }
}

/* Asks, or sleeps: once. */
static void ask_or_sleep(gil_wait *wait, int64_t end)
{
    struct _gil_runtime_state *gil = wait->gil;
    uintptr_t asked = wait->asked;
    p_condition_enter(&gil->mutex);
    int taken = gil_is_taken(gil);
    int64_t until = taken ? ask_or_defer(wait) : 0;
    if (taken && wait->asked == asked)
        c_turn_sleep(&wait->turn, gil, until < end ? until : end);
    else
        p_condition_leave(&gil->mutex);
    wait->now = p_now();
    if (wait->asked != asked)
        spin_for_gil(wait);
}

static void await_gil(struct _gil_runtime_state *gil)
{
    int why = errno;
    gil_wait wait = {.gil = gil, .began = p_now(), .by_thread = was_woken_by_thread};
    wait.now = wait.began;
    while (gil_is_taken(gil) && wait.now - wait.began < PATIENCE) {
        p_relax();
        wait.now = p_now();
    }
    int64_t end = wait.began + (int64_t)gil->interval * 1000;
    int taken = gil_is_taken(gil);
    if (taken)
        c_turns_intercept(gil, await_gil, is_burst);
    while (taken && wait.now < end && may_ask()) {
        ask_or_sleep(&wait, end);
        taken = gil_is_taken(gil);
    }
    if (wait.asked || wait.turn.comes)
        begin_hold(wait.now, 0);
    if (taken)
        c_turn_end(&wait.turn);
    else
        c_turn_take(&wait.turn);
    errno = why;
}

/* The GIL is free, but a thread that was interrupted may be on its way to it. */
static void give_chance(struct _gil_runtime_state *gil)
{
    int64_t now = p_now(), end = now + CHANCE;
    if (now > __atomic_load_n(&contended, __ATOMIC_RELAXED)) {
        __atomic_store_n(&contended, 0, __ATOMIC_RELAXED);
        c_turns_contended(0);
        return;
    }
    if (gil_waiters(gil) == 0 && !c_turns_stands())
        return;
    int used_up = time_to_share(now) > 0;
    begin_again(now);
    while (used_up && !gil_is_taken(gil) && now < end) {
        p_yield();
        now = p_now();
    }
    if (used_up && gil_is_taken(gil)) {
        pay_hold();
        await_gil(gil);
    }
}

static B_INLINE int is_undisputed(void)
{
    return !gil_is_taken(gil_of_interpreter()) &&
           __atomic_load_n(&contended, __ATOMIC_RELAXED) == 0;
}

static B_NOINLINE void go_first(void)
{
    if (!may_ask() || !is_only_interpreter())
        return;
    struct _gil_runtime_state *gil = gil_of_interpreter();
    if (gil_is_taken(gil))
        await_gil(gil);
    else if (__atomic_load_n(&contended, __ATOMIC_RELAXED) != 0)
        give_chance(gil);
}

/* ---- woken from the same processor ----------------------------------------------------------- */

static int is_taken_for_a_moment(const struct _gil_runtime_state *gil)
{
    return gil_is_taken(gil) && is_burst(gil_holder(gil));
}

static void let_waker_leave(struct _gil_runtime_state *gil)
{
    c_turn unhurried = {0};
    int why = errno;
    if (gil_is_taken(gil))
        c_wake_yield();
    if (is_taken_for_a_moment(gil)) {
        p_condition_enter(&gil->mutex);
        if (gil_is_taken(gil))
            c_turn_sleep(&unhurried, gil, p_now() + (int64_t)gil->interval * 1000);
        else
            p_condition_leave(&gil->mutex);
    }
    errno = why;
}

/* ---- leaving and returning ------------------------------------------------------------------- */

PyThreadState *c_io_leave(void)
{
    c_wake_leave();
    if (B_UNLIKELY(hold.since != 0))
        pay_hold();
    return PyEval_SaveThread();
}

static void note_returned(const PyThreadState *ts)
{
    uintptr_t last = __atomic_load_n(&returned[0], __ATOMIC_RELAXED);
    if (last == (uintptr_t)ts)
        return;
    __atomic_store_n(&returned[1], last, __ATOMIC_RELAXED);
    __atomic_store_n(&returned[0], (uintptr_t)ts, __ATOMIC_RELAXED);
}

static B_NOINLINE void return_to_gil(PyThreadState *ts)
{
    if (!is_undisputed())
        go_first();
    note_returned(ts);
    PyEval_RestoreThread(ts);
    note_turn();
}

/* Where nobody computes this is all that it costs. */
void c_io_return(PyThreadState *ts)
{
    if (B_UNLIKELY(!is_undisputed() || hold.since != 0)) {
        return_to_gil(ts);
        return;
    }
    note_returned(ts);
    PyEval_RestoreThread(ts);
}

void c_io_return_woken(PyThreadState *ts, int here, int by_thread)
{
    if (here && may_ask() && is_only_interpreter())
        let_waker_leave(gil_of_interpreter());
    was_woken_by_thread = by_thread;
    if (by_thread)
        b_partner_note(&partners, (uintptr_t)ts, p_now());
    c_io_return(ts);
    was_woken_by_thread = 0;
}

int c_io_left(const PyThreadState *ts)
{
    if (!may_ask() || !is_only_interpreter())
        return 0;
    const struct _gil_runtime_state *gil = gil_of_interpreter();
    if (gil_is_taken(gil) && gil_holder(gil) == (uintptr_t)ts)
        return 0;
    if (hold.since != 0)
        pay_hold();
    return 1;
}

void c_io_returning(PyThreadState *ts)
{
    if (!is_undisputed())
        go_first();
    note_returned(ts);
}

/* ---- waking others -------------------------------------------------------------------------- */

void c_gil_wake(void (*wake)(void *what), void *what)
{
    struct _gil_runtime_state *gil = gil_of_interpreter();
    if (!may_ask() || !is_only_interpreter()) {
        wake(what);
        return;
    }
    c_turns_intercept(gil, await_gil, is_burst);
    int64_t now = p_now(), until = __atomic_load_n(&contended, __ATOMIC_RELAXED);
    b_partner_note(&partners, gil_holder(gil), now);
    c_wake(gil, now >= until && c_turns_may_postpone(), wake, what);
}

int64_t c_gil_wakes(void)
{
    return c_wakes_postponed();
}

/* ---- settings --------------------------------------------------------------------------- */

void c_gil_share_set(int64_t millionths)
{
    p_condition_learn();
    p_lock_take(&guard);
    b_share_begin(&bucket, millionths, p_now());
    p_lock_give(&guard);
    if (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST))
        __atomic_store_n(&share, millionths, __ATOMIC_SEQ_CST);
}

int64_t c_gil_share(void)
{
    return __atomic_load_n(&share, __ATOMIC_SEQ_CST);
}

void c_gil_counts_read(c_gil_counts *into)
{
    into->asked = __atomic_load_n(&counts.asked, __ATOMIC_RELAXED);
    into->deferred = __atomic_load_n(&counts.deferred, __ATOMIC_RELAXED);
    p_lock_take(&guard);
    into->spent = counts.spent;
    p_lock_give(&guard);
}

void c_gil_priority_end(void)
{
    __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&share, 0, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&asking, __ATOMIC_SEQ_CST) > 0)
        p_yield();
    c_turns_end();
    c_wakes_end();
    gil_withdraw_request(PyThreadState_Get());
}

void c_gil_priority_after_fork(void)
{
    guard.word = 0;
    c_turns_after_fork();
    __atomic_store_n(&asking, 0, __ATOMIC_SEQ_CST);
}

#endif
