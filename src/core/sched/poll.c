/* Descriptors: when the poller is read, and sleeping in it.
 *
 * A scheduler gets a poller when one of its tasklets first waits for a descriptor (s_poll_begin,
 * called by the io room) and keeps it until its thread ends.  What the events mean is the io room's
 * business (s_hook.io_ready); here is only when to read them.
 *
 * One wait.  A thread with a poller always sleeps in it, never on its parker: descriptors, the
 * first timer, messages (the wakeup descriptor) and signals end the same sleep.  A thread without
 * one sleeps on its parker, and that path costs one load more.
 *
 * Busy.  While tasklets are ready all the time the poller is read, without sleeping, with the inbox
 * and the timers: every 61 picks, or after fewer when those have taken longer than LONG, down to
 * one.  Reading without a result costs a system call, so it happens at most once in 50 us; all
 * together bounds the delay of an event to about LONG or one run of a tasklet, and the cost for
 * programs that only switch to about one part in a hundred.  With a virtual clock or a seed it is
 * read each time: what a test does must not depend on the time it takes.  While no tasklet waits
 * nothing is read.
 *
 * All at once.  What is ready is read until nothing is left (or MOST events): a server that takes
 * 64 of a thousand requests at a time does not know how many there are, and lets the oldest wait.
 *
 * Time.  A virtual clock jumps when nothing can run; a descriptor that is ready already can, so the
 * poller is read before.  Data on its way from another process do not hold up virtual time.
 *
 * Deadlock.  The world outside can always make a descriptor ready: while one is waited for there is
 * no deadlock, here or in a thread that waits for this one.
 *
 * Threads.  All on the scheduler's own thread, but s_wake_thread, which any thread may call.  The
 * wakeup descriptor is written under wakeup_lock, and the poller is opened and closed under it, so
 * that no descriptor number that has been reused is written to.  The sleeper does not take that
 * lock.
 *
 * Fork.  The set is shared with the parent, so the child closes its copy and opens a new one; the
 * io room then adds what is waited for.
 */
#include <errno.h>

#include "cpython/gil.h"
#include "sched/internal.h"

#define EVENTS 64
#define MOST 4096
#define PAUSE 50000
#define LONG 500000
#define FEW 4 /* waits: one may be for the answer of a peer */

static uint64_t last_poller;

/* 0, or -1 with errno. */
static int open_poller(s_sched *s)
{
    p_lock_take(&s->wakeup_lock);
    int code = p_poller_open(&s->poller), why = errno;
    if (code == 0)
        __atomic_store_n(&s->polls, __atomic_add_fetch(&last_poller, 1, __ATOMIC_RELAXED),
                         __ATOMIC_SEQ_CST);
    p_lock_give(&s->wakeup_lock);
    errno = why;
    return code;
}

int s_poll_begin(s_sched *s)
{
    if (B_LIKELY(s->polls != 0) || open_poller(s) == 0)
        return S_OK;
    return S_E_SYSTEM - errno;
}

void s_poll_end(s_sched *s)
{
    if (s->polls == 0)
        return;
    p_lock_take(&s->wakeup_lock);
    s->polls = 0;
    p_poller_close(&s->poller);
    p_lock_give(&s->wakeup_lock);
}

void s_wake_poller(s_sched *to)
{
    p_lock_take(&to->wakeup_lock);
    if (to->polls)
        p_poller_wake(&to->poller);
    p_lock_give(&to->wakeup_lock);
}

int s_poll_now(s_sched *s)
{
    p_event events[EVENTS];
    int all = 0, count;
    do {
        count = p_poller_wait(&s->poller, events, EVENTS, 0, 0);
        if (count > 0) {
            s_hook.io_ready(s, events, count);
            all += count;
        }
    } while (count == EVENTS && all < MOST);
    return all > 0 ? all : count;
}

/* How many picks there are until the next look, by how long the last ones have taken.  While nobody
 * waits for a descriptor it grows again (queue.c). */
static void keep_pace(s_sched *s, int64_t now)
{
    int64_t took = now - s->io_asked;
    s->io_asked = now;
    if (took > LONG && s->pace > 1)
        s->pace /= 2;
    else if (took < LONG / 4)
        s->pace = s->pace < s->picks / 2 ? 2 * s->pace : s->picks;
    s->budget = s->pace;
}

void s_poll_if_due(s_sched *s)
{
    if (s->virtual_now < 0 && s->random == 0) {
        int64_t now = p_now();
        keep_pace(s, now);
        if (now - s->io_looked < PAUSE)
            return;
        s->io_looked = now;
    }
    s_poll_now(s);
}

/* Among many descriptors the next event is nobody's answer: a spin would burn processor time. */
static int wait_in_poller(s_sched *s, p_event *events, int room, int64_t until)
{
    if (s->io_waits > FEW)
        return p_poller_wait(&s->poller, events, room, 0, until);
    int64_t spin = b_spin_time(&s->spin), began = p_now();
    int count = p_poller_wait(&s->poller, events, room, spin, until);
    int crowded = s->poller.crowded || p_woken_here(&s->poller.parker);
    if (spin > 0 && !crowded)
        c_gil_spin(began + spin);
    b_spin_learn(&s->spin, spin, p_now() - began, crowded);
    return count;
}

void s_poll_sleep(s_sched *s, int64_t until)
{
    p_event events[EVENTS];
    PyThreadState *ts = c_io_leave();
    int count = wait_in_poller(s, events, EVENTS, until);
    int by_thread = count <= 0 && __atomic_load_n(&s->by_thread, __ATOMIC_RELAXED);
    c_io_return_woken(ts, p_woken_here(&s->poller.parker), by_thread);
    s_report_wake(s);
    if (count > 0)
        s_hook.io_ready(s, events, count);
    if (count == EVENTS)
        s_poll_now(s);
}

void s_poll_peek(s_sched *s, int64_t until)
{
    wait_in_poller(s, NULL, 0, until);
}

void s_poll_after_fork(s_sched *s, int is_mine)
{
    s->wakeup_lock.word = 0;
    if (s->polls == 0)
        return;
    s->polls = 0;
    p_poller_close(&s->poller);
    if (!is_mine)
        return;
    open_poller(s);
    s_hook.io_after_fork(s);
}
