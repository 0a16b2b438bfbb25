/* Switching: from one tasklet to another.
 *
 * A soft switch stores the frames (cpython room), forgets the C stack and calls the dispatcher at
 * the stack's top again; the next tasklet runs on the same stack.  A hard switch keeps the C stack
 * with the tasklet and continues either on the next one's kept stack or on a fresh one.  Which of
 * the two is decided per switch by c_soft_point_find; no caller can tell the difference.
 *
 * The dispatcher is the base of each pooled stack: it runs the current tasklet until its function
 * has returned, ends it, and takes the next.  A tasklet that was suspended softly continues under
 * whichever dispatcher picks it.
 *
 * A kept stack belongs to one thread.  While a scheduler is handed over (handoff.c) the next
 * tasklet may run in another thread than the one that leaves: then the stack is left for the base
 * of the thread, which sees to it (carrier.c).
 *
 * Rule: between choosing `next` and running it nothing may fail and no Python code may run.
 */
#include "base/track.h"
#include "sched/carrier.h"
#include "sched/internal.h"

#define SCRIBBLED 16384

s_carrier_hooks s_carrier_hook;

static B_INLINE void make_current(s_sched *s, s_tasklet *t)
{
    s->current = t;
    t->state = S_RUNNING;
    t->since = s->coarse_now;
    c_state_load(s->ts, &t->c);
}

/* Takes what the tasklet was woken with. */
static PyObject *take_delivery(s_tasklet *t)
{
    PyObject *value = t->wait.value, *error = t->error;
    t->wait.value = NULL;
    if (B_UNLIKELY(error != NULL)) {
        s_failure_arrives(t, error, value);
        t->error = NULL;
        Py_XDECREF(value);
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
        return NULL;
    }
    return value;
}

static PyObject *run_current_at_safepoint(s_sched *s, s_tasklet *t)
{
    PyObject *error = t->error;
    t->error = NULL;
    Py_CLEAR(t->wait.value);
    return c_resume_at_safepoint(s->ts, &t->c, error);
}

static PyObject *start_current(s_sched *s, s_tasklet *t)
{
    t->started = 1;
    if (B_UNLIKELY(t->error != NULL))
        return take_delivery(t);
    Py_CLEAR(t->wait.value);
    return c_start(s->ts, &t->c, t->func, t->args, t->kwnames);
}

static void run_handlers(s_sched *s, s_tasklet *main);

/* Main goes on behind a call.  There the interpreter looks for signals, so that what a handler
 * raises comes out of that call; behind one that was left softly we look.  On main's frames. */
static B_COLD void look_for_signals(s_sched *s, s_tasklet *main)
{
    PyObject *value = main->wait.value;
    if (!main->is_main || main->error != NULL || !c_signal_waits(s->ts))
        return;
    main->wait.value = NULL;
    c_call_on_frames(s->ts, &main->c);
    if (s_run_signal_handlers(s) < 0) {
        Py_CLEAR(value);
        main->error = PyErr_GetRaisedException();
    }
    c_leave_frames(s->ts, &main->c);
    main->wait.value = value;
}

/* The call that it left softly goes on, on its frames; what it waited for may have failed. */
static B_COLD void run_rest(s_sched *s, s_tasklet *t)
{
    PyObject *rest = t->wait.value, *error = t->error, *value = NULL;
    t->wait.value = t->error = NULL;
    c_call_on_frames(s->ts, &t->c);
    if (error == NULL) {
        value = ((s_rest *)rest)->run(s, (s_rest *)rest);
        if (s_self_here() == NULL) /* its last call was handed over */
            s_carrier_hook.meet();
        error = PyErr_GetRaisedException();
    }
    Py_XDECREF(rest);
    c_leave_frames(s->ts, &t->c);
    t->wait.value = value;
    t->error = error;
}

/* Python code may run: destructors of what other receivers of the exception have left in it. */
static B_COLD void bring_failure(s_sched *s, s_tasklet *t, PyObject *error, PyObject *value)
{
    c_call_on_frames(s->ts, &t->c);
    s_failure_arrives(t, error, value);
    c_leave_frames(s->ts, &t->c);
}

static PyObject *run_current(s_sched *s, s_tasklet *t)
{
    unsigned char kept = t->saved_as;
    t->saved_as = S_LIVE;
    PyThreadState *ts = s->ts;
    if (B_UNLIKELY(kept != S_FRAMES || c_signal_waits_for(ts))) {
        if (kept == S_NOT_STARTED)
            return start_current(s, t);
        if (kept == S_FRAMES_AT_SAFEPOINT)
            return run_current_at_safepoint(s, t);
        if (kept == S_FRAMES_UNFINISHED)
            run_rest(s, t);
        else if (kept == S_FRAMES_CALLED)
            run_handlers(s, t);
        look_for_signals(s, t);
        ts = s->ts;
    }
    PyObject *value = t->wait.value, *error = t->error;
    t->wait.value = t->error = NULL;
    if (B_UNLIKELY(error != NULL))
        bring_failure(s, t, error, value);
    return c_resume(ts, &t->c, value, error);
}

static void run_base(void);
static B_NORETURN void leave_for_kept(s_sched *s, s_tasklet *next);
static B_NORETURN void leave_while_travelling(s_sched *s, s_tasklet *next);

static void run_dispatcher(void)
{
    s_sched *s = s_self_here();
    void *cell[8];
    track_enter(NULL);
    c_stack_base_init(s->ts, cell);
    for (;;) {
        c_stack_base_enter(s->ts, cell);
        s_tasklet *t = s->current;
        PyObject *result = run_current(s, t);
        if (B_UNLIKELY(s->current != t))
            s_carrier_hook.meet_at_end();
        if (B_UNLIKELY(t->is_main))
            s_report_main_ended(s, t, result);
        else
            s_finish(s, t, result);
        s_tasklet *next = s_next(s);
        make_current(s, next);
        if (B_UNLIKELY(s->travels))
            leave_while_travelling(s, next);
        if (next->saved_as == S_C_STACK)
            leave_for_kept(s, next);
    }
}

/* Continues with the current, hard-suspended tasklet; `save` receives our stack pointer. */
static inline void jump_to_kept(s_sched *s, s_tasklet *next, void **save, void **fake)
{
    p_stack *stack = next->stack;
    next->stack = NULL;
    next->saved_as = S_LIVE;
    s->stack = stack;
    c_stack_limits_use(s->ts, stack);
    track_leave(fake, stack->low, stack->size);
    p_switch(save, stack->sp);
}

/* Forgets what is on the present stack and continues with the current tasklet there. */
static inline B_NORETURN void restart_on_stack(p_stack *stack)
{
    track_abandon(stack->low, stack->size);
    track_leave(NULL, stack->low, stack->size);
    p_abandon(stack, run_dispatcher);
}

void s_go_to_base(s_carrier_thread *c, void **save, void **fake)
{
    p_stack *base = c->base;
    void *sp = c->base_sp;
    c_thread_enter_base(c->ts);
    c_stack_limits_use(c->ts, base);
    track_leave(fake, base->low, base->size);
    if (sp != NULL)
        p_switch(save, sp);
    else
        p_start(save, base, run_base);
}

/* `next`, which is current, runs in another thread, or not now: the base sees to it. */
static B_COLD void settle_at_base(s_sched *s, s_tasklet *next, void **save, void **fake)
{
    s->heading = next == s->idler ? NULL : next;
    if (next->attached)
        s_report_undo_enter(s, next);
    s_become_idle(s);
    s->stack = s->at->base;
    s_go_to_base(s->at, save, fake);
}

/* Leaves the present stack for good: the current tasklet `next` has kept its own. */
static B_NORETURN B_NOINLINE void leave_for_kept(s_sched *s, s_tasklet *next)
{
    p_stack *mine = s->stack;
    void *forgotten;
    s_stack_give(s, mine);
    track_abandon(mine->low, mine->size);
    if (next->stack->keeper == s->at)
        jump_to_kept(s, next, &forgotten, NULL);
    else
        settle_at_base(s, next, &forgotten, NULL);
    __builtin_unreachable();
}

/* While the scheduler travels: whether the current tasklet `next` runs here. */
static B_COLD int may_run_here(s_sched *s, const s_tasklet *next)
{
    if (next->saved_as != S_C_STACK)
        return s_belongs_here(s, next);
    return next->stack->keeper == s->at;
}

/* While the scheduler travels: a stack is kept here from now on (1), or runs again (-1).  What home
 * keeps is not counted. */
static B_COLD void count_kept(s_sched *s, int change)
{
    if (s->away)
        s_handoff_keep(&s->carriers->protocol, change);
}

/* Leaves the present stack for good; where `next`, which is current, runs is to be asked. */
static B_NORETURN B_COLD void leave_while_travelling(s_sched *s, s_tasklet *next)
{
    p_stack *mine = s->stack;
    void *forgotten;
    int here = may_run_here(s, next);
    if (next->saved_as == S_C_STACK) {
        count_kept(s, -here);
        leave_for_kept(s, next);
    }
    if (here) {
        s_set_hurries(s, next);
        restart_on_stack(mine);
    }
    s_stack_give(s, mine);
    track_abandon(mine->low, mine->size);
    settle_at_base(s, next, &forgotten, NULL);
    __builtin_unreachable();
}

/* Runs the current tasklet, which keeps no stack, on a fresh one. */
static inline void start_on_stack(s_sched *s, p_stack *fresh, void **save, void **fake)
{
    s->stack = fresh;
    c_stack_limits_use(s->ts, fresh);
    track_leave(fake, fresh->low, fresh->size);
    p_start(save, fresh, run_dispatcher);
}

int s_run_from_base(s_carrier_thread *c, s_tasklet *next)
{
    s_sched *s = c->all->s;
    c_state passed = {0};
    c_hard_state kept;
    p_stack *fresh = next->saved_as == S_C_STACK ? NULL : s_stack_take(s);
    if (fresh == NULL && next->saved_as != S_C_STACK)
        return 0;
    c_hard_suspend(c->ts, &passed, &kept, -1);
    make_current(s, next);
    if (next->attached)
        s_report_enter(s, next);
    if (fresh == NULL) {
        count_kept(s, -1);
        jump_to_kept(s, next, &c->base_sp, &c->base_fake);
    } else {
        start_on_stack(s, fresh, &c->base_sp, &c->base_fake);
    }
    track_enter(c->base_fake);
    passed.finalizers_suppressed = 0;
    c_hard_resume(c->ts, &passed, &kept);
    return 1;
}

/* What the base of a thread is that has a stack of ours for it. */
static void run_base(void)
{
    track_enter(NULL);
    s_carrier_hook.stand_at_base(s_carrier_here_);
}

/* Returns when the tasklet that has just kept `mine` runs again.  `fresh`: for one that keeps none;
 * NULL: it does not run here. */
static B_COLD void suspend_while_travelling(s_sched *s, s_tasklet *next, p_stack *mine,
                                            p_stack *fresh)
{
    int kept = next->saved_as == S_C_STACK;
    count_kept(s, 1);
    if (fresh != NULL) {
        start_on_stack(s, fresh, &mine->sp, &mine->fake);
    } else if (kept && next->stack->keeper == s->at) {
        count_kept(s, -1);
        jump_to_kept(s, next, &mine->sp, &mine->fake);
    } else {
        settle_at_base(s, next, &mine->sp, &mine->fake);
    }
}

/* The tasklet runs again on `mine`, the stack that it kept. */
static B_INLINE PyObject *continue_on_stack(s_sched *s, s_tasklet *me, p_stack *mine,
                                            c_hard_state *kept, p_stack_words *words)
{
    track_enter(mine->fake);
    c_hard_resume(s->ts, &me->c, kept);
    if (B_UNLIKELY(words != NULL))
        p_stack_words_restore(words);
    if (B_UNLIKELY(me->attached & S_ONLY_HARD))
        s_report_resume(s, me);
    return take_delivery(me);
}

static PyObject *suspend_hard(s_sched *s, s_tasklet *me, s_tasklet *next, p_stack *fresh, int top)
{
    c_hard_state kept;
    p_stack *mine = s->stack;
    p_stack_words *words = s_stack_words_save(s);
    s->count_hard++;
    c_hard_suspend(s->ts, &me->c, &kept, top);
    me->stack = mine;
    me->saved_as = S_C_STACK;
    mine->keeper = s->at;
    s_end_interval(s, me);
    make_current(s, next);
    if (B_UNLIKELY(s->travels))
        suspend_while_travelling(s, next, mine, fresh);
    else if (next->saved_as != S_C_STACK)
        start_on_stack(s, fresh, &mine->sp, &mine->fake);
    else if (B_LIKELY(next->stack->keeper == mine->keeper))
        jump_to_kept(s, next, &mine->sp, &mine->fake);
    else
        settle_at_base(s, next, &mine->sp, &mine->fake);
    return continue_on_stack(s, me, mine, &kept, words);
}

PyObject *s_leave_stack(s_sched *s, s_tasklet *me, p_stack *fresh, c_hard_state *kept)
{
    p_stack *mine = s->stack;
    p_stack_words *words = s_stack_words_save(s);
    mine->keeper = s->at;
    c_state_load(s->ts, &me->c);
    start_on_stack(s, fresh, &mine->sp, &mine->fake);
    return continue_on_stack(s, me, mine, kept, words);
}

/* The arguments are in the frame since the start; their tuple may be freed once no object is freed
 * with it. */
static B_COLD void forget_args(s_tasklet *t)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t->args); i++) {
        if (Py_REFCNT(PyTuple_GET_ITEM(t->args, i)) < 2)
            return;
    }
    Py_CLEAR(t->args);
}

static B_INLINE void count_soft_leave(s_sched *s, s_tasklet *me)
{
    s->count_soft++;
    if (B_UNLIKELY(me->args != NULL))
        forget_args(me);
    if (B_UNLIKELY(c_state_grew(&me->c)))
        s_chunk_outgrown(me);
    s_end_interval(s, me);
}

/* The current tasklet has been saved softly, and `kept` says so. */
static inline B_NORETURN void leave_softly(s_sched *s, s_tasklet *me, s_tasklet *next)
{
    count_soft_leave(s, me);
    make_current(s, next);
    if (B_UNLIKELY(next->saved_as == S_C_STACK))
        leave_for_kept(s, next);
    restart_on_stack(s->stack);
}

/* There is no C stack: nothing has happened, the caller gets MemoryError. */
static PyObject *undo_switch(s_sched *s, s_tasklet *me, s_tasklet *next)
{
    next->state = S_READY;
    b_prepend(&s->ready, &next->wait.link);
    if (me->state == S_BLOCKED)
        me->kind->detach(me);
    else if (me->state == S_READY)
        b_unlink(&me->wait.link);
    else if (me->state == S_PAUSED)
        Py_INCREF((PyObject *)me);
    s_deadline_drop(s, me);
    me->state = S_RUNNING;
    Py_CLEAR(me->wait.value);
    return PyErr_NoMemory();
}

/* Torture: about every other soft switch is made hard. */
static int refuse_soft(s_sched *s)
{
    s->coin = s->coin * 1103515245u + 12345u;
    return s_torture & S_TORTURE_SWITCH && s->coin >> 16 & 1;
}

/* Torture: the next dispatcher runs on another stack, whose old content is gone. */
static void move_stack(s_sched *s)
{
    p_stack *mine = s->stack, *other = s_stack_take(s);
    if (other == NULL)
        return;
    track_abandon(other->low, other->size);
    memset((char *)other - SCRIBBLED, SCRIBBLE, SCRIBBLED);
    s->stack = other;
    c_stack_limits_use(s->ts, other);
    s_stack_give(s, mine);
    track_abandon(mine->low, mine->size);
}

/* A tasklet that a guest sees is never switched by the common way: s->soft is not 1. */
static B_COLD void report_switch(s_sched *s, s_tasklet *me, s_tasklet *next)
{
    s_report_leave(s, me);
    s_report_enter(s, next);
}

/* Main runs handlers of signals on top of its frames.  Returns only when its wait is over. */
static B_COLD void run_handlers(s_sched *s, s_tasklet *main)
{
    c_call_on_frames(s->ts, &main->c);
    int over = s_carrier_hook.return_to_wait(s);
    c_leave_frames(s->ts, &main->c); /* a handler may have waited, and was the innermost frame */
    if (over)
        return;
    main->saved_as = S_FRAMES;
    s_tasklet *next = s_next(s);
    if (B_UNLIKELY(main->attached | next->attached))
        report_switch(s, main, next);
    count_soft_leave(s, main);
    make_current(s, next);
    if (s->travels)
        leave_while_travelling(s, next);
    if (next->saved_as == S_C_STACK)
        leave_for_kept(s, next);
    restart_on_stack(s->stack);
}

/* In what way the current tasklet is suspended softly. */
static inline int way_of_leaving(s_sched *s, const c_call_site *site)
{
    if (site->kind == C_SAFEPOINT)
        return S_FRAMES_AT_SAFEPOINT;
    int unfinished = s->unfinished;
    s->unfinished = 0;
    return unfinished ? S_FRAMES_UNFINISHED : S_FRAMES;
}

/* Suspends `me` softly and leaves its stack; `point` says where. */
static B_NORETURN void leave_at_point(s_sched *s, s_tasklet *me, s_tasklet *next,
                                      const c_call_site *site, const c_soft_point *point)
{
    if (B_UNLIKELY(me->attached | next->attached))
        report_switch(s, me, next);
    c_suspend(s->ts, &me->c, point);
    if (s_torture & S_TORTURE_MOVE && next->saved_as != S_C_STACK)
        move_stack(s);
    me->saved_as = (unsigned char)way_of_leaving(s, site);
    if (B_UNLIKELY(s->travels)) {
        count_soft_leave(s, me);
        make_current(s, next);
        leave_while_travelling(s, next);
    }
    leave_softly(s, me, next);
}

/* Leaves softly where the rules allow it.  Else gives the reason, and in `top` the slots in use. */
static B_INLINE int refuse_or_leave(s_sched *s, s_tasklet *me, s_tasklet *next,
                                    const c_call_site *site, int *top)
{
    int why = C_NEVER;
    *top = -1;
    if (s->only_hard)
        return s->only_hard;
    if (me->on_thread_stack || site == NULL)
        return me->on_thread_stack ? C_MAIN : C_FROM_C;
    if (s->soft) {
        c_soft_point point;
        why = c_soft_point_find(s->ts, &me->c, site, &point);
        if (why == C_SOFT && !(s->soft == 2 && refuse_soft(s)))
            leave_at_point(s, me, next, site, &point);
        *top = point.top;
    } else {
        *top = c_call_top(s->ts, site);
    }
    return site->kind == C_SAFEPOINT ? C_PREEMPTED : why;
}

/* Every way but the most common one: rarer soft calls, and hard switching. */
static B_NOINLINE PyObject *transfer_slow(s_sched *s, s_tasklet *me, s_tasklet *next,
                                          const c_call_site *site)
{
    int top;
    if (B_UNLIKELY(s_announcing))
        s_report_announce(s, me, next);
    if (B_UNLIKELY(c_trace_is_set(s->ts)))
        s_report_traced(s, me);
    s->profiled |= c_trace_by_profiler(s->ts);
    int why = refuse_or_leave(s, me, next, site, &top);
    s->unfinished = 0;
    s->count_why[why]++;
    me->why = (unsigned char)why;
    if (why == C_NESTED && c_chunk_nearly_full(s->ts, &me->c))
        s_chunk_outgrown(me);
    p_stack *fresh = NULL;
    if (next->saved_as != S_C_STACK && (B_LIKELY(!s->travels) || s_may_share(s, next)) &&
        (fresh = s_stack_take(s)) == NULL)
        return undo_switch(s, me, next);
    if (B_UNLIKELY(me->attached | next->attached))
        report_switch(s, me, next);
    return suspend_hard(s, me, next, fresh, top);
}

PyObject *s_transfer(s_sched *s, s_tasklet *next, const c_call_site *site)
{
    s_tasklet *me = s->current;
    if (B_UNLIKELY(next == me)) {
        me->state = S_RUNNING;
        s_interval_continue(s, me);
        return take_delivery(me);
    }
    if (B_LIKELY(s->soft == 1 && site != NULL) && B_LIKELY(c_suspend_call(s->ts, &me->c, site))) {
        me->saved_as = S_FRAMES;
        leave_softly(s, me, next);
    }
    return transfer_slow(s, me, next, site);
}

PyObject *s_transfer_at_safepoint(s_sched *s, s_tasklet *next, const c_call_site *safepoint)
{
    s_tasklet *me = s->current;
    return next == me ? s_transfer(s, me, NULL) : transfer_slow(s, me, next, safepoint);
}

PyObject *s_suspend(s_sched *s, const c_call_site *site)
{
    return s_transfer(s, s_next(s), site);
}

PyObject *s_suspend_unfinished(s_sched *s, PyObject *rest, const c_call_site *site)
{
    s_tasklet *me = s->current;
    Py_XSETREF(me->wait.value, rest);
    s_tasklet *next = s_next(s); /* what the tasklet waits for may come already */
    if (next == me)
        return s_transfer(s, me, NULL);
    s->unfinished = 1;
    return transfer_slow(s, me, next, site);
}

PyObject *s_schedule(s_sched *s, const c_call_site *site)
{
    s_tasklet *me = s->current;
    if (B_LIKELY(--s->budget > 0)) {
        b_link *link = s->ready.next;
        if (link == &s->ready)
            return c_new_none();
        b_unlink(link);
        me->wait.value = c_new_none();
        s_ready(s, me);
        return s_transfer(s, s_of_link(link), site);
    }
    me->wait.value = c_new_none();
    s_ready(s, me);
    return s_transfer(s, s_next_slow(s), site);
}

PyObject *s_schedule_with(s_sched *s, PyObject *mine, const c_call_site *site)
{
    s_tasklet *me = s->current;
    Py_XSETREF(me->wait.value, mine);
    me->kind = NULL;
    s_ready(s, me);
    return s_transfer(s, s_next(s), site);
}
