/* run() and schedule() of the Stackless API, and which tasklet is woken when no other can run.
 *
 * A caller of run() waits like any blocked tasklet, in the list `run_callers` of its scheduler,
 * innermost first, by its own wait node.  So whatever may end a wait (a kill, a throw, an insert
 * from elsewhere) takes it out by `detach`, and no C code of run() needs to run again: what it
 * returns is stored by whatever wakes it.  To a reader it is `paused`, for the run queue does not
 * hold it.  Only a budget needs memory, the small run_call at t->on.
 *
 * Invariants.  Taking an outer caller out puts the inner ones into the run queue first; their run()
 * returns None when they run.  At most one call is effective, the outermost that has a budget; its
 * safepoints are counted from its beginning until it leaves the list, whatever the reason.
 *
 * An empty run queue wakes the innermost caller, or the main tasklet if that is paused.  With
 * `threadblock` the thread sleeps first (idle.c), as long as some other thread could send it
 * something.  When nothing can come any more, the tasklet that blocked last gets the error, and if
 * that ends it, main; after an end it is main at once.  Which API's error that is depends on what
 * is waited for: if the one that blocked last is in a wait of the native API, or main is, the
 * native rule decides (idle.c).  A tasklet that the native API has spawned leaves the error to
 * main.
 *
 * Expiry.  A hard one happens at the interpreter's safepoint (preempt.c): the current tasklet keeps
 * its C stack, is paused, and run() returns it.  A soft one only marks the call as due; the next
 * pick of the run queue returns its caller instead, and a partner that is switched to directly
 * passes it by.
 *
 * Failures.  An exception of a Stackless tasklet is raised in the innermost caller of run(),
 * otherwise in main, which runs next and keeps its place in the ring.
 *
 * Rejected: a state of its own for callers of run(), because every operation on blocked tasklets
 * (kill, throw, deadlines, the collector) would need the case.
 */
#include "sched/guests/stackless_run.h"

#include "sched/guests/preempt.h"
#include "sched/internal.h"

s_stackless_hooks s_stackless_hook;
int s_pickle_flags;

typedef struct {
    int flags;
    int effective, due;
} run_call;

static run_call *call_of(const s_tasklet *t)
{
    return t->on;
}

static s_tasklet *innermost_caller(const s_sched *s)
{
    b_link *link = b_first(&s->stackless.run_callers);
    return link != NULL ? s_of_link(link) : NULL;
}

static void take_out_caller(s_sched *s, s_tasklet *t)
{
    run_call *call = call_of(t);
    s_dequeue(&t->wait.link);
    t->on = NULL;
    if (call->effective)
        s_budget_end(s);
    PyMem_Free(call);
}

static void wake_run_caller(s_sched *s, s_tasklet *t, PyObject *value)
{
    take_out_caller(s, t);
    Py_XSETREF(t->wait.value, value);
    s_wake(s, t);
}

static int run_detach(s_tasklet *t)
{
    s_sched *s = t->owner;
    if (!t->queued)
        return 0;
    while (innermost_caller(s) != t)
        wake_run_caller(s, innermost_caller(s), Py_NewRef(Py_None));
    take_out_caller(s, t);
    return 1;
}

const s_wait_kind s_calling_run = {
    .name = "run", .detach = run_detach, .stackless = 1, .insertable = 1};

s_tasklet *s_run_effective_caller(const s_sched *s)
{
    for (b_link *at = s->stackless.run_callers.next; at != &s->stackless.run_callers;
         at = at->next) {
        if (call_of(s_of_link(at))->effective)
            return s_of_link(at);
    }
    return NULL;
}

static int expire_budget(s_sched *s, const c_call_site *safepoint);

static int start_budget(s_sched *s, int64_t budget, int flags)
{
    s_budget wanted = {.safepoints = budget,
                       .total = (flags & S_RUN_TOTAL) != 0,
                       .ignore_nesting = (flags & S_RUN_IGNORE_NESTING) != 0,
                       .expire = expire_budget};
    return s_budget_begin(s, &wanted);
}

static int begin_call(s_sched *s, s_tasklet *me, int64_t budget, int flags)
{
    run_call *call = c_malloc(sizeof(*call));
    if (call == NULL)
        return S_E_MEMORY;
    *call = (run_call){flags, budget > 0 && s_run_effective_caller(s) == NULL, 0};
    if (call->effective && start_budget(s, budget, flags) < 0) {
        PyMem_Free(call);
        return S_E_MEMORY;
    }
    Py_XSETREF(me->wait.value, Py_NewRef(Py_None));
    me->kind = &s_calling_run;
    me->on = call;
    me->state = S_BLOCKED;
    me->queued = 1;
    b_prepend(&s->stackless.run_callers, &me->wait.link);
    return S_OK;
}

PyObject *s_run_until_idle(s_sched *s, int64_t budget, int flags, const c_call_site *site,
                           int *code)
{
    *code = S_OK;
    s->stackless.run_called = 1;
    s_read_inbox(s);
    if (b_list_empty(&s->ready) && !(flags & S_RUN_THREADBLOCK))
        return Py_NewRef(Py_None);
    *code = s_may_block(s);
    if (*code == S_OK)
        *code = begin_call(s, s->current, budget, flags);
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

/* Whether what `t` waits for is of the Stackless API. */
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

static int wake_innermost_caller(s_sched *s)
{
    s_tasklet *t = innermost_caller(s);
    if (t == NULL)
        return waits_by_stackless(s, s->main) && wake_paused(s, s->main);
    if (call_of(t)->flags & S_RUN_THREADBLOCK)
        return 0;
    wake_run_caller(s, t, Py_NewRef(Py_None));
    return 1;
}

static int raise_code_in(s_sched *s, s_tasklet *t, int code)
{
    PyObject *error = s_stackless_hook.error(code);
    s_raise_in(s, t, error != NULL ? error : PyErr_GetRaisedException());
    return 1;
}

/* The last runnable tasklet has ended, and main waits for a channel. */
static int raise_after_end(s_sched *s)
{
    int sends = strcmp(s->main->kind->name, "send") == 0;
    return raise_code_in(s, s->main, sends ? S_E_NO_RECEIVER : S_E_NO_SENDER);
}

/* Whether main is to get the error that `me` would get: it waits by the native API, or `me` was
 * spawned by that, and would end with a failure that nobody awaits. */
static int is_left_to_main(const s_sched *s, const s_tasklet *me)
{
    if (me == s->main || s->main->state != S_BLOCKED)
        return 0;
    return !me->stackless_rules || !waits_by_stackless(s, s->main);
}

static int report_stackless_deadlock(s_sched *s)
{
    s_tasklet *me = s->current, *main = s->main;
    int by_main = waits_by_stackless(s, main);
    if (innermost_caller(s) != NULL) {
        wake_run_caller(s, innermost_caller(s), Py_NewRef(Py_None));
        return 1;
    }
    if (me == s->idler)
        return by_main && raise_after_end(s);
    if (!waits_by_stackless(s, me) || is_left_to_main(s, me))
        return by_main && raise_code_in(s, main, S_E_LAST);
    return raise_code_in(s, me, S_E_LAST);
}

/* ---- the budget is used up ----------------------------------------------------------- */

/* The effective caller, taken out; its reference goes to us. */
static s_tasklet *take_effective(s_sched *s)
{
    s_tasklet *t = s_run_effective_caller(s);
    if (t != NULL) {
        run_detach(t);
        t->kind = NULL;
    }
    return t;
}

static int expire_budget(s_sched *s, const c_call_site *safepoint)
{
    s_tasklet *t = s_run_effective_caller(s), *me = s->current;
    if (t == NULL)
        return 0;
    if (call_of(t)->flags & S_RUN_SOFT) {
        call_of(t)->due = 1;
        s->overdue = 1;
        s->budget = s->picks = 1;
        return 0;
    }
    take_effective(s);
    Py_XSETREF(t->wait.value, (PyObject *)me); /* with the scheduler's reference */
    Py_XSETREF(me->wait.value, Py_NewRef(Py_None));
    me->state = S_PAUSED;
    me->kind = NULL;
    PyObject *done = s_transfer_at_safepoint(s, t, safepoint);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static s_tasklet *choose_overdue_caller(s_sched *s)
{
    s_tasklet *t = s_run_effective_caller(s);
    s->overdue = 0;
    s->picks = s_picks(s);
    return t != NULL && call_of(t)->due ? take_effective(s) : NULL;
}

/* ---- schedule() ----------------------------------------------------------------------- */

static int is_only_runnable(s_sched *s)
{
    s_read_inbox(s);
    return b_list_empty(&s->ready);
}

int s_stackless_may_switch(s_sched *s)
{
    if (b_list_empty(&s->ready) && is_only_runnable(s) && (s->trap || --s->budget > 0))
        return 0;
    int code = s_may_block(s);
    return code < 0 ? code : 1;
}

/* ---- failures ------------------------------------------------------------------------- */

/* Puts `t` in front of the run queue; in the ring it keeps its place. */
static void move_to_front(s_sched *s, s_tasklet *t, b_link *behind)
{
    b_unlink(&t->wait.link);
    s_rotate_queue(s, behind);
    b_prepend(&s->ready, &t->wait.link);
}

static void raise_in_front(s_sched *s, s_tasklet *t, PyObject *error)
{
    b_link *behind = t->state == S_READY ? t->wait.link.prev : &s->ready;
    s_raise_in(s, t, error);
    if (t->state == S_READY)
        move_to_front(s, t, behind);
}

/* Ends the program as the interpreter does at the end of a script. */
static void exit_program(PyObject *failure)
{
    PyErr_SetRaisedException(Py_NewRef(failure));
    PyErr_PrintEx(0);
}

static void raise_failure_in_caller(s_sched *s, s_tasklet *t, PyObject *failure)
{
    if (PyErr_GivenExceptionMatches(failure, PyExc_SystemExit)) {
        if (c_on_main_thread())
            exit_program(failure);
        return;
    }
    PyObject *left = s_stackless_hook.handled(t, failure);
    if (left != NULL)
        raise_in_front(s, innermost_caller(s) != NULL ? innermost_caller(s) : s->main, left);
}

static void init_thread(s_sched *s)
{
    s->stackless.pickle_flags = s_pickle_flags;
}

const s_guest s_stackless_run_guest = {.thread_begins = init_thread,
                                       .failed = raise_failure_in_caller,
                                       .queue_is_empty = wake_innermost_caller,
                                       .deadlock = report_stackless_deadlock,
                                       .overdue = choose_overdue_caller};
