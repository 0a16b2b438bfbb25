/* run() of the Stackless face, and who is woken when nothing else can run.
 *
 * A caller of run() waits like any blocked tasklet, in the list `watches` of its
 * scheduler, innermost first, by its own queue place.  So whatever may end a
 * wait (a kill, a throw, an insert from elsewhere) takes it out by `detach`, and
 * no C code of run() needs to run again: what it returns is stored by whoever
 * wakes it.  To a reader it is `paused`, for the run queue does not hold it.
 * Only a timeout needs memory, the small s_watch at t->on.
 *
 * Invariants.  Taking an outer caller out puts the inner ones into the run queue
 * first; their run() returns None when they get a turn.  At most one watch is
 * effective, the outermost that has a timeout; the ticks are counted from its
 * beginning until it leaves the list, whatever the reason.
 *
 * An empty run queue wakes the innermost caller, or the main tasklet if that is
 * paused.  With `threadblock` the thread sleeps first (idle.c), as long as some
 * other thread could send it something.  When nothing can come any more, the
 * tasklet that blocked last gets the error, on the initial thread the blocked
 * main tasklet instead; after an end it is always main.  What is waited for tells
 * which face's error that is, not who waits: who blocks last in a wait of the native
 * face, or should be told while in one, leaves it to the native rule (idle.c).
 *
 * Expiry.  A hard one happens inside the interpreter's check (preempt.c): the
 * current tasklet keeps its C stack, is paused, and run() returns it.  A soft
 * one only marks the watch as due; the next pick of the run queue returns its
 * caller instead, and a partner that is switched to directly passes it by.
 *
 * Failures.  An exception of a Stackless tasklet is raised in the innermost
 * caller of run(), otherwise in main, which runs next and keeps its place in
 * the ring.
 *
 * Rejected: a state of its own for run() callers, because every operation on
 * blocked tasklets (kill, throw, deadlines, the collector) would need the case.
 */
#include "sched/guests/stackless_run.h"

#include "sched/guests/preempt.h"
#include "sched/internal.h"

typedef struct {
    int flags;
    int effective, due;
} s_watch;

static s_watch *watch_of(const s_tasklet *t)
{
    return t->on;
}

static s_tasklet *first(const s_sched *s)
{
    b_link *link = b_first(&s->watches);
    return link != NULL ? s_of_link(link) : NULL;
}

static void pop(s_sched *s, s_tasklet *t)
{
    s_watch *watch = watch_of(t);
    s_dequeue(&t->wait.link);
    t->on = NULL;
    if (watch->effective)
        s_budget_end(s);
    PyMem_Free(watch);
}

static void pop_to_queue(s_sched *s, s_tasklet *t, PyObject *value)
{
    pop(s, t);
    Py_XSETREF(t->wait.value, value);
    s_wake(s, t);
}

static int detach(s_tasklet *t)
{
    s_sched *s = t->owner;
    if (!t->queued)
        return 0;
    while (first(s) != t)
        pop_to_queue(s, first(s), Py_NewRef(Py_None));
    pop(s, t);
    return 1;
}

const s_wait_kind s_calling_run = {.name = "run", .detach = detach, .stackless = 1};

s_tasklet *s_run_effective_caller(const s_sched *s)
{
    for (b_link *at = s->watches.next; at != &s->watches; at = at->next) {
        if (watch_of(s_of_link(at))->effective)
            return s_of_link(at);
    }
    return NULL;
}

int s_run_ignores_nesting(const s_sched *s)
{
    s_tasklet *t = s_run_effective_caller(s);
    return t != NULL && watch_of(t)->flags & S_RUN_IGNORE_NESTING;
}

static int begin(s_sched *s, s_tasklet *me, int64_t ticks, int flags)
{
    s_watch *watch = c_malloc(sizeof(*watch));
    if (watch == NULL)
        return S_E_MEMORY;
    *watch = (s_watch){flags, ticks > 0 && s_run_effective_caller(s) == NULL, 0};
    if (watch->effective && s_budget_begin(s, ticks, (flags & S_RUN_TOTAL) != 0) < 0) {
        PyMem_Free(watch);
        return S_E_MEMORY;
    }
    Py_XSETREF(me->wait.value, Py_NewRef(Py_None));
    me->kind = &s_calling_run;
    me->on = watch;
    me->state = S_BLOCKED;
    me->queued = 1;
    b_prepend(&s->watches, &me->wait.link);
    return S_OK;
}

PyObject *s_run_until_idle(s_sched *s, int64_t ticks, int flags, const c_call_site *site, int *code)
{
    *code = S_OK;
    s->watched = 1;
    s_read_inbox(s);
    if (b_list_empty(&s->ready) && !(flags & S_RUN_THREADBLOCK))
        return Py_NewRef(Py_None);
    *code = s_may_block(s);
    if (*code == S_OK)
        *code = begin(s, s->current, ticks, flags);
    return *code < 0 ? NULL : s_suspend(s, site);
}

long s_run_count(const s_sched *s)
{
    long count = s->current != s->idler;
    for (const b_link *at = s->ready.next; at != &s->ready; at = at->next)
        count++;
    return count;
}

/* ---- nothing is ready ------------------------------------------------------------- */

/* Whether what `t` waits for is of the Stackless face. */
static int waits_by_stackless(const s_sched *s, const s_tasklet *t)
{
    if (t->is_main && !s_follows_stackless(s, t))
        return 0;
    if (t->state == S_PAUSED)
        return t->kind != &s_pausing;
    return t->state == S_BLOCKED && t->kind != NULL && t->kind->stackless;
}

static int wake_paused(s_sched *s, s_tasklet *t)
{
    if (t->state != S_PAUSED)
        return 0;
    Py_INCREF((PyObject *)t);
    s_ready(s, t);
    return 1;
}

int s_run_wake_caller(s_sched *s)
{
    s_tasklet *t = first(s);
    if (t == NULL)
        return waits_by_stackless(s, s->main) && wake_paused(s, s->main);
    if (watch_of(t)->flags & S_RUN_THREADBLOCK)
        return 0;
    pop_to_queue(s, t, Py_NewRef(Py_None));
    return 1;
}

static int tell(s_sched *s, s_tasklet *t, int code)
{
    PyObject *error = s_hook.stackless_error(code);
    s_raise_in(s, t, error != NULL ? error : PyErr_GetRaisedException());
    return 1;
}

/* The last runnable tasklet has ended, and main waits for a channel. */
static int tell_after_end(s_sched *s)
{
    int sends = strcmp(s->main->kind->name, "send") == 0;
    return tell(s, s->main, sends ? S_E_NO_RECEIVER : S_E_NO_SENDER);
}

int s_run_deadlock(s_sched *s)
{
    s_tasklet *me = s->current, *main = s->main;
    int by_main = waits_by_stackless(s, main);
    if (first(s) != NULL) {
        pop_to_queue(s, first(s), Py_NewRef(Py_None));
        return 1;
    }
    if (me == s->idler)
        return by_main && tell_after_end(s);
    int main_waits = main->state == S_BLOCKED;
    if (!waits_by_stackless(s, me) || (main_waits && c_on_main_thread()))
        return by_main && tell(s, main, S_E_LAST);
    return tell(s, me, S_E_LAST);
}

/* ---- the time is over ---------------------------------------------------------------- */

/* The effective caller, taken out; its reference goes to us. */
static s_tasklet *take_effective(s_sched *s)
{
    s_tasklet *t = s_run_effective_caller(s);
    if (t != NULL) {
        detach(t);
        t->kind = NULL;
    }
    return t;
}

int s_run_expired(s_sched *s, const c_call_site *check)
{
    s_tasklet *t = s_run_effective_caller(s), *me = s->current;
    if (t == NULL)
        return 0;
    if (watch_of(t)->flags & S_RUN_SOFT) {
        watch_of(t)->due = 1;
        s->overdue = 1;
        s->budget = s->picks = 1;
        return 0;
    }
    take_effective(s);
    Py_XSETREF(t->wait.value, (PyObject *)me); /* with the scheduler's reference */
    Py_XSETREF(me->wait.value, Py_NewRef(Py_None));
    me->state = S_PAUSED;
    me->kind = NULL;
    PyObject *done = s_transfer_at_safepoint(s, t, check);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

s_tasklet *s_run_overdue(s_sched *s)
{
    s_tasklet *t = s->overdue ? s_run_effective_caller(s) : NULL;
    s->overdue = 0;
    s->picks = s_picks(s);
    return t != NULL && watch_of(t)->due ? take_effective(s) : NULL;
}

/* ---- failures ------------------------------------------------------------------------- */

/* Puts `t` in front of the run queue; in the ring it keeps its place. */
static void move_to_front(s_sched *s, s_tasklet *t, b_link *place)
{
    b_unlink(&t->wait.link);
    s_rotate_queue(s, place);
    b_prepend(&s->ready, &t->wait.link);
}

static void raise_in(s_sched *s, s_tasklet *t, PyObject *error)
{
    b_link *place = t->state == S_READY ? t->wait.link.prev : &s->ready;
    s_raise_in(s, t, error);
    if (t->state == S_READY)
        move_to_front(s, t, place);
}

/* Ends the program as the interpreter does at the end of a script. */
static void exit_program(PyObject *failure)
{
    PyErr_SetRaisedException(Py_NewRef(failure));
    PyErr_PrintEx(0);
}

void s_run_failed(s_sched *s, s_tasklet *t, PyObject *failure)
{
    if (PyErr_GivenExceptionMatches(failure, PyExc_SystemExit)) {
        if (c_on_main_thread())
            exit_program(failure);
        return;
    }
    PyObject *left = s_hook.handled(t, failure);
    if (left != NULL)
        raise_in(s, first(s) != NULL ? first(s) : s->main, left);
}
