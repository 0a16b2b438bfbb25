/* Handoff: a tasklet that sits in a C call keeps its thread, and the scheduler goes on in another.
 *
 * A C call that waits with the GIL released would stop every tasklet of its thread.  So scheduler
 * and thread come apart, as P and M do in Go.  Only the scheduler moves, by a few stores: what is
 * ready, waits or sleeps belongs to it and does not notice.
 *
 * Words.  A *carrier* is an OS thread that can run the scheduler: the thread that it began on, its
 * *home*, or one of ours from the pool.  The *base* of a carrier is where its thread stands when it
 * runs no tasklet: a stack of its own, and a sleep.  A *sitter* is a tasklet that was current when
 * the scheduler was taken from its thread: it is inside C, or on its way to the *meeting*, where it
 * stops and becomes a tasklet like others.  *Apart* are tasklets that shall not sit on a thread
 * that keeps hard ones: threads that are tasklets, and those of which a call was handed over
 * lately.
 *
 * Where the scheduler is:   at a carrier, whose thread runs the current tasklet or the dispatcher;
 *                           idle, at home, which sleeps;
 *                           in transit: given to a carrier whose thread is not awake yet.
 * What a carrier is:        FREE, RUNS, SITS, WAITS or LOST (handoff.h).
 * What a tasklet is to a thread:
 *   soft        only frames: it runs wherever the scheduler is.
 *   kept        hard: on the stack and under the thread state of one carrier; it runs only there.
 *   current     on the carrier that RUNS.
 *   sitter      on one that SITS: blocked, and what would end its wait waits for the meeting.
 *   aside       kept by a carrier that SITS: ready, but its thread is not.  It is ready again when
 *               the sitter has met.
 * A thread state always holds what belongs to the tasklet that is current or sits there, else what
 * belongs to its base, so nothing is saved or loaded when a scheduler is taken.
 *
 * Taking.  The monitor thread, which knows no Python, sees that the same tasklet has been current
 * for a slice (0.2 ms where that call was handed over lately) on a thread that is detached, and
 * that something could run: a tasklet, a timer, a descriptor, mail.  If some thread has the GIL or
 * waits for it, the detached one may merely wait for it: then it must also have come to no
 * safepoint for 50 ms, by which time it has had the GIL beside a few threads that compute: any one
 * of those that wait may get it, but ten turns of 5 ms are seldom all another's.  The monitor calls
 * one carrier: home if it is at its base, else the reserve, else a new thread.  It may be wrong in
 * all of this.  The called thread attaches, holds the other one so that it does not run, looks
 * again, and takes or declines.  One carrier is called at a time.  Not taken is:
 *   - what is in transit: its current tasklet seems to run on a detached thread, but does not;
 *   - what is idle: nothing is to be done;
 *   - what is `forbidden`: something keeps the scheduler in a C variable while it is detached (the
 *     sleep of an idle scheduler, a poll, the wait for a mutex of the interpreter), or `trap`
 *     is up;
 *   - what is closed, and everything once the interpreter ends;
 *   - a current tasklet inside nopreempt(), pinned() or an atomic section; an import, a collection
 *     or a destructor, whose locks and order belong to the thread; one with an event loop, an own
 *     C stack (fixed_stack.c) or a trace function: their state is in the thread state;
 *   - a thread that waits for the GIL at a safepoint (RESUME, a jump backwards): it sits in no
 *     call.  Taking there would be safe, and useless.
 *
 * The meeting.  When the call returns only its tail runs, until the first of these; from there on
 * nothing of the scheduler can be touched without it.  The thread stops at
 *   - its next safepoint: its own bit of the eval breaker is set when it is taken, and a pending
 *     call of ours is in the queue as long as it sits.  Another thread that is called puts the call
 *     back; when a thread stops serving the queue every sitter's bit is set again.  3.12 has no bit
 *     for each thread: there the monitor thread looks every millisecond whether a sitter runs, and
 *     makes that one look.  Until then it runs as a thread beside the others.  Where it must not,
 *     because something was thrown into it or its scheduler has ended, an asynchronous exception
 *     stops it at once.  An exception that a signal handler or the call has set is put away and
 *     comes back with the tasklet;
 *   - its next operation of loomlet, through s_self() or s_self_if_any(); or, where a function of
 *     ours has called other code since it asked, through s_meet_again();
 *   - the end of its function: the dispatcher finds that the scheduler is not here;
 *   - the end of its thread, and of the interpreter.
 * It never stops in a deallocator or inside an operation: those use s_self_here(), which is
 * NULL on the thread of a sitter, as on any other thread without a scheduler.  Nor does it stop
 * while its call runs a sub-interpreter, whose code uses the same patched functions, but under
 * another thread state.
 * At the meeting the sitter is saved, softly where its instruction allows that, else on its stack,
 * and sent to the scheduler as mail, which also ends its sleep.  Then the thread goes to its base.
 * A second call before the meeting (map() over C functions) changes nothing: it sits on.
 *
 * Idleness.  Where somebody sits and nothing is ready home sleeps at its base, and the scheduler is
 * *idle* there: nobody uses it.  A sitter that comes to the meeting then takes it from home by the
 * same few stores, and goes on where it is, without being saved: to wake home, which would wake the
 * sitter's thread again, takes 0.1 ms where processors are idle.  Home finds that out when
 * something wakes it, or when the scheduler comes back, and is at its base.
 *
 * Which scheduler is this thread's?  Three functions (scheduler.h) answer, and only they read the
 * thread-local pointer, which is NULL while the scheduler is elsewhere:
 *   - s_self(): the thread's scheduler, made if need be; a sitter's thread meets it first;
 *   - s_self_if_any(): the same, but NULL for a thread that has none;
 *   - s_self_here(): what is here at this moment; it never waits.  It is for code that cannot have
 *     lost the scheduler (the dispatcher, the inside of an operation) or must not wait
 *     (deallocators).
 * An operation asks once, when it begins.  The scheduler cannot be taken inside it: there it is
 * attached, or taking is forbidden.  What replaces a function of the interpreter calls the original
 * in between, which may be handed over like any other C call: so each function that such code calls
 * with its scheduler begins with s_meet_again().
 *
 * Travelling.  When the next tasklet is kept elsewhere, the scheduler goes there: in transit, the
 * other thread is woken, this one goes to its base *and detaches only there*, because the stack
 * that it leaves may be used by others at once.  Where somebody sits on that thread the tasklet is
 * put aside and another one is chosen.  Anything soft runs at home as soon as home is at its base,
 * so threads of ours are seen only while somebody sits at home, and hard tasklets, most of which
 * are kept at home (event loops, waits for locks, the caller of run()), wait least.  Main is soft
 * like others: run() begins its function on a stack of ours (guests/run.c).  A tasklet that is
 * apart runs on a carrier that keeps nothing, from the *reserve*: those that have come to their
 * base with nothing kept and stay for a while, the last one first.  There it may sit, and home
 * takes the scheduler back without a new thread.  (One such carrier was too few: where threads wait
 * hard by turns nearly each wait began a thread anew, and that took longer than the wait.)
 *
 * Ends.  A thread ends, and its scheduler with it, only at home: main's thread runs there.  It is
 * closed then; sitters that do not come back, and tasklets that survived being killed, are lost:
 * their threads stop at the meeting for ever.  When the interpreter ends other threads stop
 * wherever they ask for the GIL, so a closed scheduler goes nowhere, and what is kept elsewhere
 * never runs again.  Fork: in the child only the thread that forked exists.  It is home there, the
 * scheduler is here, and its tasklet is current, even one that sat; what was kept, sat or ran on
 * other threads is gone.  (A fork is meant to be made at home; a sitter can make one in its tail,
 * within C.)
 *
 * Without a GIL.  The same steps, and all threads that are attached run beside each other.
 *   - Each step is done under the protocol's lock, and asks again what may have changed since it
 *     was looked at: who departs whether the other one still stands there, who leaves whether it
 *     has been called, or the scheduler has come.  A new carrier to which the scheduler shall go
 *     is `invited`, and so does not leave before.
 *   - A detached thread may attach at any moment.  So whoever looks at a sitter, or at one that may
 *     become one, holds its thread first (cpython/carried_thread.c), which is one store; and from
 *     then on neither detaches nor runs Python code until it lets go.  That is a take, and the
 *     reading of a sitter's frames.  A thread that cannot be held is attached: nobody sits there.
 *   - Detached is not always in a call.  A thread waits for a lock of ours or for the world to stop
 *     (c_lock_waits_), or for a lock of the interpreter's, anywhere inside an operation of ours
 *     (s_begin_operation): then nothing is taken.  To wait attached would be no way out: the
 *     interpreter hands a lock to a thread that has waited for it detached, and that cannot attach
 *     while the world is about to stop, which waits for us.
 *   - After the take the tail of the call truly runs beside the scheduler, which is why it comes to
 *     no scheduler (its pointer is NULL) before it has met.  It may pass the first safepoints,
 *     because only one thread at a time serves pending calls: what it does there is what any
 *     thread of the program could do.
 *   - At the meeting the thread state is given back to the base first.  Then, in one step, the
 *     carrier waits and the mail is sent, so that nobody finds a thread that is at its base and a
 *     sitter that is nowhere (idle.c).  From there on the tasklet may run elsewhere: the thread
 *     touches it no more, and frees its stack only when it stands on its base.
 *   - Others change what belongs to a thread only while that is held: the thread-locals of a sitter
 *     that sits on when the handoff is turned off.
 *   - A collection is a stop of the world.  It waits for who holds, as for any attached thread, and
 *     finds sitters either in their calls or at a safepoint.
 *
 * Rejected.
 *   Moving the tasklets one by one to another scheduler: O(n), and no ready or hard one can move.
 *   A thread that stands by for each scheduler: a wake-up per slice, for calls that seldom block.
 *   Two states, home and away, without transit: a scheduler that was given to a sleeping thread
 *   was taken from it again, and two threads ran it.
 *   A call that stays in the pending queue where all threads look at one flag (3.12): as long as
 *   anything is in it, every thread stops at every safepoint.
 *   Taking at the meeting what another tasklet's call sits on at that moment: most calls are short,
 *   and each would have to meet in turn.
 *   Stopping the returning thread until the scheduler is free, without saving the sitter: its stack
 *   would be the second one in use under one scheduler, and a kill could not reach it.
 *   Without a GIL, a stop of the world for each take: O(threads), and a collection would have to
 * end first. A scheduler that stays where it was taken to: event loops and waits for locks would be
 * two thread switches away at each turn, 60 times a switch.
 */
#include "sched/handoff.h"

#include "base/b_check.h"

void s_handoff_begin(s_handoff *h, s_carrier *home)
{
    *h = (s_handoff){.at = home, .home = home};
    *home = (s_carrier){.serves = h, .state = S_CARRIER_RUNS};
}

/* ---- taking ------------------------------------------------------------------------------ */

static int stands_at_base(const s_handoff *h, const s_carrier *c)
{
    return c->serves == h && c->state == S_CARRIER_WAITS;
}

int s_handoff_call(s_handoff *h, s_carrier *c)
{
    if (h->called != NULL || (c->state != S_CARRIER_FREE && !stands_at_base(h, c)))
        return 0;
    c->serves = h;
    c->state = S_CARRIER_WAITS;
    h->called = c;
    return 1;
}

static void forget_call(s_handoff *h, const s_carrier *c)
{
    if (h->called == c)
        h->called = NULL;
    if (h->invited == c)
        h->invited = NULL;
}

void s_handoff_cancel_call(s_handoff *h, s_carrier *c)
{
    forget_call(h, c);
    s_handoff_leave(c, 1);
}

int s_handoff_may_take(const s_handoff *h, const s_carrier *by)
{
    B_CHECK(stands_at_base(h, by));
    return !h->in_transit && !h->idle && !h->forbidden && !h->closed;
}

static void join_reserve(s_handoff *h, s_carrier *c)
{
    c->in_reserve = 1;
    c->below = h->reserve;
    h->reserve = c;
}

static void leave_reserve(s_handoff *h, s_carrier *c)
{
    s_carrier **at = &h->reserve;
    if (!c->in_reserve)
        return;
    while (*at != c)
        at = &(*at)->below;
    *at = c->below;
    c->in_reserve = 0;
    c->below = NULL;
}

/* The scheduler comes to a carrier that stands at its base. */
static void settle_at(s_handoff *h, s_carrier *c)
{
    forget_call(h, c);
    leave_reserve(h, c);
    c->state = S_CARRIER_RUNS;
    h->at = c;
    h->in_transit = 0;
}

void s_handoff_take(s_handoff *h, s_carrier *by, void *sitter)
{
    s_carrier *from = h->at;
    B_CHECK(from->state == S_CARRIER_RUNS && s_handoff_may_take(h, by));
    from->state = S_CARRIER_SITS;
    from->sitter = sitter;
    settle_at(h, by);
}

void s_handoff_decline(s_handoff *h, s_carrier *c)
{
    forget_call(h, c);
}

/* ---- meeting ------------------------------------------------------------------------------ */

int s_handoff_meet(s_carrier *c, int hard)
{
    if (c->state == S_CARRIER_LOST)
        return 0;
    B_CHECK(c->state == S_CARRIER_SITS);
    c->sitter = NULL;
    c->kept += hard != 0;
    c->state = S_CARRIER_WAITS;
    return 1;
}

/* ---- idleness ------------------------------------------------------------------------------ */

void s_handoff_begin_idle(s_handoff *h)
{
    B_CHECK(h->at == h->home && h->home->state == S_CARRIER_RUNS);
    h->idle = !h->closed;
}

int s_handoff_end_idle(s_handoff *h)
{
    h->idle = 0;
    return h->home->state == S_CARRIER_RUNS;
}

int s_handoff_pick_up(s_carrier *c)
{
    s_handoff *h = c->serves;
    if (c->state != S_CARRIER_SITS || !h->idle)
        return 0;
    h->idle = 0;
    h->home->state = S_CARRIER_WAITS;
    c->sitter = NULL;
    settle_at(h, c);
    return 1;
}

/* ---- travelling --------------------------------------------------------------------------- */

s_carrier *s_handoff_route(const s_handoff *h, s_carrier *kept_at, int apart)
{
    s_carrier *empty = h->at->kept == 0 ? h->at : h->reserve;
    if (kept_at == h->at || (kept_at == NULL && h->closed))
        return h->at;
    if (kept_at != NULL)
        return stands_at_base(h, kept_at) && !h->closed ? kept_at : NULL;
    if (apart && empty != NULL)
        return empty;
    return stands_at_base(h, h->home) ? h->home : h->at;
}

int s_handoff_invite(s_handoff *h, s_carrier *c)
{
    if (c->state != S_CARRIER_FREE)
        return 0;
    c->serves = h;
    c->state = S_CARRIER_WAITS;
    h->invited = c;
    return 1;
}

/* It may have left, and have been called anew; its thread is in doubt then. */
static int stands_ready(const s_handoff *h, const s_carrier *to)
{
    int is_new = h->called == to && to != h->home && !to->in_reserve && to->kept == 0;
    return stands_at_base(h, to) && !is_new;
}

int s_handoff_depart(s_handoff *h, s_carrier *to)
{
    s_carrier *from = h->at;
    B_CHECK(from->state == S_CARRIER_RUNS && !h->closed);
    if (!stands_ready(h, to))
        return 0;
    from->state = S_CARRIER_WAITS;
    h->at = to;
    h->in_transit = 1;
    return 1;
}

s_base_step s_handoff_look(s_carrier *c)
{
    s_handoff *h = c->serves;
    if (h == NULL)
        return S_BASE_SLEEP;
    if (h->in_transit && h->at == c) {
        settle_at(h, c);
        return S_BASE_ARRIVED;
    }
    return h->called == c ? S_BASE_DECIDE : S_BASE_SLEEP;
}

int s_handoff_is_awake(const s_handoff *h, const s_carrier *c)
{
    return c->state == S_CARRIER_SITS || h->called == c || h->invited == c ||
           (h->in_transit && h->at == c);
}

int s_handoff_leave(s_carrier *c, int over)
{
    s_handoff *h = c->serves;
    if (h == NULL || c == h->home || c->kept > 0 || h->called == c || h->invited == c || h->at == c)
        return 0;
    B_CHECK(c->state == S_CARRIER_WAITS);
    if (!over && !h->closed) {
        if (!c->in_reserve)
            join_reserve(h, c);
        return 0;
    }
    leave_reserve(h, c);
    s_handoff_drop(c);
    return 1;
}

/* ---- ends ---------------------------------------------------------------------------------- */

void s_handoff_drop(s_carrier *c)
{
    *c = (s_carrier){.state = S_CARRIER_FREE};
}

void s_handoff_after_fork(s_handoff *h, s_carrier *me)
{
    B_CHECK(me->serves == h && (me->state == S_CARRIER_RUNS || me->state == S_CARRIER_SITS));
    me->state = S_CARRIER_RUNS;
    me->sitter = NULL;
    *h = (s_handoff){.at = me, .home = me, .closed = h->closed};
}

void s_handoff_close(s_handoff *h)
{
    B_CHECK(h->at == h->home && !h->in_transit);
    h->closed = 1;
    while (h->reserve != NULL)
        leave_reserve(h, h->reserve);
}

void s_handoff_lose(s_carrier *c)
{
    c->state = S_CARRIER_LOST;
    c->serves = NULL;
    c->sitter = NULL;
}
