/* Where a tasklet runs: anywhere, where it keeps its stack, at home, or apart.
 *
 * A tasklet that sits in C keeps its thread, and with it all that are kept there: at home event
 * loops, and whatever waits below C code.  So some run only on a carrier that keeps nothing.
 * There they may sit, and home takes the scheduler back at once.  These are:
 *   - those that were started as threads, always.  What ends the call of a thread may come from
 *     main or from any other one, and would never come if that were kept where it sits.  A turn of
 *     main and a thread is two switches of the system's threads then, as it is without us; and each
 *     thread that waits hard keeps a carrier;
 *   - other tasklets that run a function of which a call was handed over lately.  For these the
 *     first such call may hold up what is kept at home; in return they and main take turns on one
 *     thread.
 *
 * A thread *begins* where the scheduler is, if that is at home.  What starts it waits until it says
 * that it runs, and Python code of threading comes to that without a wait.  So the new one runs
 * first, and when it has handed over the lock that is waited for, what waited; itself it is apart
 * from then on, or when it is left before.  A server that has several connections has started all
 * of their threads so, before it goes to where they run: to another thread and back takes longer
 * than to begin one.  After a millisecond they queue like others.
 *
 * The sitter that returns may keep the stack on which it sat, at home, and would sit there again.
 * So it leaves that at its next soft safepoint (s_report_leave_apart), even if it is alone.  So
 * does one that has begun.
 *
 * A function is known by the address of its code, in a small table without locks: what two of them
 * share in one slot is a hint, and a wrong hint costs a journey.  It is forgotten after a second
 * without another handoff, and after RUNS of its tasklets apart: when one call in so many waits it
 * may hold up the others, because each journey costs as much as some waits.  (A server of which a
 * call in the first requests was handed over took three times as long for each request of the next
 * second.)  Nothing is learned from a tasklet in code that releases the GIL for calls that do not
 * wait (`quick`): the system has merely run something else meanwhile.
 *
 * A pinned tasklet (guests/pinned.c) runs at home, as one does that keeps a stack there; so does
 * main when it runs handlers of signals (wake.c).  None of these is apart then, whatever its
 * function.  (Main was sent apart from home and back again until its function was forgotten: a
 * second in which each journey began a thread.)
 *
 * Attached, the scheduler's own thread.
 */
#include "sched/carrier.h"
#include "sched/internal.h"

#define SLOTS 256
#define LASTS 1000    /* coarse milliseconds */
#define RUNS 300      /* of tasklets of one function */
#define STINT 1000000 /* nanoseconds */

static struct {
    const void *function;
    uint32_t until;
    int left; /* how many more runs of such tasklets are apart */
} learned[SLOTS];

static const void *function_of(const s_tasklet *t)
{
    const void *code = c_code_key(t->func);
    return code != NULL ? code : t->func;
}

static size_t slot_of(const void *function)
{
    return (size_t)((uintptr_t)function >> 4) % SLOTS;
}

void s_learn_apart(s_sched *s, const s_tasklet *t)
{
    const void *function = t->func != NULL && !t->quick ? function_of(t) : NULL;
    if (function == NULL)
        return;
    uint32_t until = s_coarse_ms(p_now()) + LASTS;
    __atomic_store_n(&learned[slot_of(function)].function, function, __ATOMIC_RELAXED);
    __atomic_store_n(&learned[slot_of(function)].until, until, __ATOMIC_RELAXED);
    __atomic_store_n(&learned[slot_of(function)].left, RUNS, __ATOMIC_RELAXED);
    s->carriers->apart_until = until;
}

int s_any_handoff(const s_sched *s)
{
    return (int32_t)(s->carriers->apart_until - s->coarse_now) > 0;
}

int s_any_apart(const s_sched *s)
{
    return (s->any_apart && s->carriers->on) || s_any_handoff(s);
}

int s_may_handoff(const s_sched *s, const s_tasklet *t)
{
    if (t->on_thread_stack || t->pinned || t->func == NULL || !s_any_handoff(s))
        return 0;
    const void *function = function_of(t);
    size_t slot = slot_of(function);
    uint32_t until = __atomic_load_n(&learned[slot].until, __ATOMIC_RELAXED);
    return __atomic_load_n(&learned[slot].function, __ATOMIC_RELAXED) == function &&
           __atomic_load_n(&learned[slot].left, __ATOMIC_RELAXED) > 0 &&
           (int32_t)(until - s->coarse_now) > 0;
}

/* One run of such a tasklet begins. */
static void count_run(const s_tasklet *t)
{
    size_t slot = slot_of(function_of(t));
    int left = __atomic_load_n(&learned[slot].left, __ATOMIC_RELAXED);
    __atomic_store_n(&learned[slot].left, left - 1, __ATOMIC_RELAXED);
}

void s_set_hurries(s_sched *s, const s_tasklet *t)
{
    s->hurries = s->away && s_may_handoff(s, t);
    if (!s->hurries)
        return;
    count_run(t);
    s_report_hurries(s);
}

static int begins_at_home(const s_sched *s, const s_tasklet *t)
{
    return t->begins && !s->away && (t->saved_as == S_NOT_STARTED || t->saved_as == S_LIVE);
}

int s_is_apart(const s_sched *s, const s_tasklet *t)
{
    int is_thread = t->apart && s->carriers->on && !begins_at_home(s, t);
    return !t->pinned && (is_thread || s_may_handoff(s, t));
}

void s_refresh_apart(s_sched *s)
{
    if (s->at == NULL || s->travels || !s_any_apart(s))
        return;
    s->travels = 1;
    s->soft = s_soft_mode(s, s->soft);
}

void s_set_apart(s_sched *s, s_tasklet *t)
{
    t->apart = 1;
    s->any_apart = 1;
    s_refresh_apart(s);
}

/* It is the next one, unless others have waited for that long enough. */
static void put_first(s_sched *s, s_tasklet *t)
{
    int64_t begun = s->carriers->begun_at;
    if (t->owner != s || t->state != S_READY || (begun != 0 && p_now() - begun > STINT))
        return;
    b_unlink(&t->wait.link);
    b_prepend(&s->ready, &t->wait.link);
}

void s_begin_apart(s_sched *s, s_tasklet *t)
{
    if (s->carriers != NULL && s->carriers->on && s->soft && !s->only_hard && !s->away) {
        t->begins = 1;
        put_first(s, t);
    }
    s_set_apart(s, t);
}

void s_has_begun(s_sched *s, s_tasklet *starter)
{
    s_tasklet *t = s->current;
    t->begins = 0;
    put_first(s, starter);
    if (s->carriers->begun_at == 0)
        s->carriers->begun_at = p_now();
    if (s->travels && s_must_leave(s, t))
        s_report_leave_apart(s);
}

/* ---- where it runs ---------------------------------------------------------------------- */

s_carrier_thread *s_keeper_of(s_carriers *all, const s_tasklet *t)
{
    if (t->saved_as != S_C_STACK)
        return t->pinned || t->saved_as == S_FRAMES_CALLED || (t->is_main && all->s->signalled)
                   ? all->home
                   : NULL;
    s_carrier_thread *keeper = t->stack->keeper;
    return keeper != NULL ? keeper : all->home;
}

s_carrier *s_route(s_carriers *all, const s_tasklet *t)
{
    s_carrier_thread *keeper = s_keeper_of(all, t);
    if (all->process != p_process_id()) /* the child of a fork, before it knows that */
        return keeper == NULL || keeper == all->s->at ? &all->s->at->carrier : NULL;
    int apart = keeper == NULL && s_is_apart(all->s, t);
    p_lock_take(&all->lock);
    s_carrier *where = s_handoff_route(&all->protocol, keeper ? &keeper->carrier : NULL, apart);
    p_lock_give(&all->lock);
    return where;
}

int s_must_leave(const s_sched *s, const s_tasklet *t)
{
    return s->at->carrier.kept > 0 && s_keeper_of(s->carriers, t) == NULL && s_is_apart(s, t);
}

int s_belongs_here(s_sched *s, const s_tasklet *t)
{
    if (t == s->idler)
        return 0;
    if (!s->away && !s_any_apart(s)) {
        s->travels = 0;
        s->soft = s_soft_mode(s, s->soft);
    }
    return !s_must_leave(s, t) && s_route(s->carriers, t) == &s->at->carrier;
}

int s_must_go_home(const s_sched *s, const s_tasklet *t)
{
    return s->away && s_is_home_free(s) && !s_is_apart(s, t);
}

int s_may_share(s_sched *s, const s_tasklet *t)
{
    return s_belongs_here(s, t) && !s_is_apart(s, t);
}
