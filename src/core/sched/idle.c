/* Nothing is ready: sleep, and find out whether anything ever will be.
 *
 * The thread sleeps with the GIL released until a message, a signal, the first timer, or a
 * descriptor that a tasklet waits for (poll.c).  A sleep without another end lasts a quarter of a
 * second at most, because a signal may have been taken by another thread, and because a thread that
 * ends notifies no other: then signals and the deadlock rule are looked at again.
 *
 * Spin.  Before it sleeps the thread stays awake for a moment where that has been of use lately
 * (b_spin.h), with the GIL released, and then until the GIL is free.  Two threads that answer each
 * other, over a socket or through the pool, save two wake-ups for each message, which cost more
 * than the rest of it.
 *
 * Deadlock: this scheduler has no timer, no tasklet waits for a descriptor, and no other Python
 * thread is awake outside loomlet that could wake one.  Idle threads of the pool do not count as
 * awake (is_alone).  A scheduler whose tasklets wait for a function leaves it to the function's own
 * thread to find out: should that wait inside loomlet, it looks too.  The main tasklet gets the
 * error, because it is the one that can report it; the others stay as they are.
 *
 * A signal may come at any time.  While one has a handler written in Python, which may wake a
 * tasklet, there is no deadlock in any thread: the thread sleeps on.  The handler that raises
 * KeyboardInterrupt wakes none and does not count.  The Stackless API has its own rule, which knows
 * no signals.
 *
 * A main tasklet that is alone where threads are tasklets waits as it would without us: for a
 * handler of a signal, or for a library whose threads call Python.
 *
 * A scheduler whose tasklets wait for a completion is never asleep for ever: its sender is no
 * thread of Python's, and would not be counted.
 *
 * A virtual clock jumps to the first timer instead.  It lets other threads run each time: a thread
 * that is waited for by polling has no other chance.
 *
 * In the child of a fork that was made while the scheduler was at another thread (handoff.c) main
 * does not exist.  When nothing is left to do the process ends, as it does when a thread has forked
 * and ends.
 *
 * Home (handoff.c).  Where somebody sits the thread sleeps at its base, and whoever is back from C
 * may pick up the scheduler meanwhile.  From the moment at which that is allowed until the thread
 * has asked whether it still has the scheduler, it touches nothing but what it sleeps on.  It
 * leaves events of descriptors where they are, and does not know whether a poller is opened: so
 * what needs it at its base wakes both, and `idles` says whether it must.  Nobody else sleeps there
 * before, because a scheduler that is idle elsewhere goes home first.
 *
 * What must reach a tasklet while all sleep (a signal's exception, the deadlock) goes to the main
 * one.
 */
#include "cpython/gil.h"
#include "sched/carrier.h"
#include "sched/internal.h"

#define LONGEST 250000000

typedef struct {
    int left;       /* so many more may be awake */
    uint64_t wakes; /* how often all schedulers have woken */
    int again;      /* the second look */
} look_around;

static uint64_t wakes_of(const s_sched *s)
{
    return __atomic_load_n(&s->wakes, __ATOMIC_SEQ_CST);
}

/* A sleeper with messages has been woken but has not run yet.  In this order: it says that it is
 * awake before it reads its inbox.  The first look asks first how often it has woken, the second
 * one last. */
static int is_scheduler_awake(const s_sched *s, look_around *look)
{
    if (!look->again)
        look->wakes += wakes_of(s);
    int awake = __atomic_load_n(&s->has_messages, __ATOMIC_SEQ_CST) ||
                !__atomic_load_n(&s->asleep, __ATOMIC_SEQ_CST);
    if (look->again)
        look->wakes += wakes_of(s);
    return awake;
}

/* A scheduler goes from thread to thread, and is looked at with its own one. */
static int is_thread_awake(PyThreadState *other, look_around *look)
{
    const s_sched *s = NULL;
    int carrier = s_carrier_is_awake(other, &s);
    if (carrier >= 0)
        return carrier || (s != NULL && is_scheduler_awake(s, look));
    s = s_sched_of(other);
    return s == NULL || is_scheduler_awake(s, look);
}

/* Stops when more are awake than may be. */
static int count_awake(PyThreadState *other, void *arg)
{
    look_around *look = arg;
    return is_thread_awake(other, look) && --look->left < 0;
}

/* Whether nobody is awake, but for so many threads; *left: how many fewer those are.  Without a GIL
 * what wakes others may go from one that is looked at later to one that was looked at before.  So
 * they are looked at twice: who sleeps both times and has not woken has slept in between, as all
 * others have. */
static int all_sleep(s_sched *s, int idle, int *left)
{
    look_around first = {.left = idle}, second = {.left = idle, .again = 1};
    if (c_each_other_thread(s->ts, count_awake, &first))
        return 0;
    *left = first.left;
    if (!C_FREE_THREADED)
        return 1;
    return !c_each_other_thread(s->ts, count_awake, &second) && first.wakes == second.wakes;
}

/* The pool's idle threads are counted with the others and taken off again: none of them may have
 * been given work meanwhile, and one that has ended meanwhile is not taken off. */
static int is_alone(s_sched *s)
{
    int idle = 0, idle_then = 0, left;
    int64_t before = s_hook.resting != NULL ? s_hook.resting(&idle) : 0;
    if (!all_sleep(s, idle, &left))
        return 0;
    return s_hook.resting == NULL ||
           (s_hook.resting(&idle_then) == before && idle - left <= idle_then);
}

static void raise_pending_in_main(s_sched *s)
{
    s_raise_in(s, s->main, PyErr_GetRaisedException());
}

/* 1 when a tasklet got the error; 0 when a signal handler may wake one. */
static int report_deadlock(s_sched *s)
{
    if (s_report_deadlock(s))
        return 1;
    if (c_has_signal_handler())
        return 0;
    s_tasklet *main = s->main;
    if (s_is_lost(main)) /* the child of a fork, and the tasklet that forked has ended */
        p_end_process(0);
    if (main->state == S_BLOCKED && main->kind->break_deadlock != NULL &&
        main->kind->break_deadlock(s, main))
        return 1;
    PyObject *error = s_hook.error(S_E_DEADLOCK, (PyObject *)s->main);
    if (error == NULL)
        raise_pending_in_main(s);
    else
        s_raise_in(s, s->main, error);
    return 1;
}

/* From now on whoever sends a message wakes this thread: 1, or 0 when there is one. */
static int announce_sleep(s_sched *s)
{
    __atomic_store_n(&s->by_thread, 0, __ATOMIC_RELAXED);
    if (s->polls)
        p_poller_prepare(&s->poller);
    else
        p_park_prepare(&s->parker);
    if (__atomic_load_n(&s->has_messages, __ATOMIC_SEQ_CST)) {
        if (s->polls)
            p_poller_cancel(&s->poller);
        else
            p_park_cancel(&s->parker);
        return 0;
    }
    s_report_sleep(s);
    return 1;
}

static void sleep_until(s_sched *s, int64_t until)
{
    if (!announce_sleep(s))
        return;
    if (s->polls) {
        s_poll_sleep(s, until);
        return;
    }
    PyThreadState *ts = c_io_leave();
    p_park_adaptive(&s->parker, &s->spin, until, c_gil_spin);
    c_io_return_woken(ts, p_woken_here(&s->parker),
                      __atomic_load_n(&s->by_thread, __ATOMIC_RELAXED));
    s_report_wake(s);
}

void s_handle_signals(s_sched *s)
{
    int waits = c_signal_waits(s->ts);
    if (waits && s_wake_for_signals(s))
        return;
    if ((waits ? c_run_signal_handlers(s->ts) : PyErr_CheckSignals()) < 0)
        raise_pending_in_main(s);
}

/* Whether to sleep, and until when. */
static int must_sleep(s_sched *s, int64_t *until)
{
    if (s->current != s->idler)
        c_state_save(s->ts, &s->current->c); /* shows where it waits */
    if (s->io_waits > 0 && s_poll_now(s) > 0)
        return 0;
    b_timer *first = b_heap_first(&s->timers);
    if (s->virtual_now >= 0 && first != NULL) {
        if (first->when > s->virtual_now)
            s->virtual_now = first->when;
        PyEval_RestoreThread(PyEval_SaveThread());
        return 0;
    }
    if (first == NULL && s->io_waits == 0 && s->completions == 0 && !s_waits_as_thread(s)) {
        __atomic_store_n(&s->asleep, 1, __ATOMIC_SEQ_CST);
        if (s->call_waits == 0 && is_alone(s) &&
            !__atomic_load_n(&s->has_messages, __ATOMIC_SEQ_CST) && report_deadlock(s)) {
            s->asleep = 0;
            return 0;
        }
    }
    *until = p_now() + LONGEST;
    if (first != NULL && first->when < *until)
        *until = first->when;
    return 1;
}

static void note_awake(s_sched *s)
{
    s_intervals_wake(s);
    __atomic_store_n(&s->wakes, s->wakes + 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&s->asleep, 0, __ATOMIC_SEQ_CST);
}

void s_idle(s_sched *s)
{
    int64_t until;
    if (!must_sleep(s, &until))
        return;
    s_intervals_sleep(s);
    sleep_until(s, until);
    note_awake(s);
    s_handle_signals(s);
}

/* ---- idle at home --------------------------------------------------------------------- */

static void sleep_as_home(s_sched *s, s_carrier_thread *home, int polls, int64_t until)
{
    PyThreadState *ts = c_io_leave();
    const p_parker *parker = polls ? &s->poller.parker : &s->parker;
    if (polls)
        s_poll_peek(s, until);
    else
        p_park_adaptive(&s->parker, &s->spin, until, c_gil_spin);
    int here = p_woken_here(parker), by_thread = __atomic_load_n(&s->by_thread, __ATOMIC_RELAXED);
    __atomic_store_n(&home->idles, 0, __ATOMIC_SEQ_CST);
    c_io_return_woken(ts, here, by_thread);
}

/* 1: the scheduler is still here. */
static int idle_until(s_sched *s, int64_t until)
{
    s_carriers *all = s->carriers;
    if (!announce_sleep(s))
        return 1;
    int polls = s->polls != 0;
    s->trap--;
    p_lock_take(&all->lock);
    __atomic_store_n(&all->home->idles, 1, __ATOMIC_SEQ_CST);
    s_handoff_begin_idle(&all->protocol);
    p_lock_give(&all->lock);
    sleep_as_home(s, all->home, polls, until);
    p_lock_take(&all->lock);
    int here = s_handoff_end_idle(&all->protocol);
    p_lock_give(&all->lock);
    if (!here)
        return 0;
    s->trap++;
    s_report_wake(s);
    return 1;
}

void s_note_picked_up(s_sched *s)
{
    s_report_wake(s);
    note_awake(s);
}

int s_idle_at_home(s_sched *s)
{
    int64_t until;
    s->trap++;
    if (must_sleep(s, &until)) {
        if (!idle_until(s, until))
            return 0;
        note_awake(s);
        s_handle_signals(s);
    }
    s->trap--;
    return 1;
}
