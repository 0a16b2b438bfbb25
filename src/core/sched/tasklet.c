/* The life of a tasklet: made, ended, visited by the collector, freed.
 *
 * End.  The result or the exception stays with the tasklet for join() and result(); its frames'
 * memory, context and function are freed at once.  An exception that no tasklet waits for is handed
 * to the error handler while the tasklet still is the current one.  What is destroyed afterwards
 * may run Python code, so the idler becomes current first: the dead tasklet's data stack is gone.
 */
#include "heap/heap.h"
#include "sched/internal.h"

static B_INLINE int make_first_chunk(PyThreadState *ts, s_tasklet *t)
{
    size_t size = h_chunk_size(c_code_key(t->func), c_chunk_size_for(t->func));
    void *chunk = c_chunk_new(size);
    if (chunk == NULL)
        return S_E_MEMORY;
    if (s_torture & S_TORTURE_ALLOC)
        memset(chunk, SCRIBBLE, size);
    c_state_init(ts, &t->c, chunk, size);
    return S_OK;
}

void s_chunk_outgrown(s_tasklet *t)
{
    h_chunk_outgrown(c_code_key(t->func), c_chunk_size(&t->c));
}

/* A bound method and the like start as their function: a C frame less, so it can be soft. */
static B_INLINE int pass_arguments(s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames)
{
    c_call call = {Py_NewRef(func), Py_NewRef(args), Py_XNewRef(kwnames)};
    int code = c_unwrap(&call) < 0 ? S_E_SET : S_OK;
    t->func = call.func;
    t->args = call.args;
    t->kwnames = call.kwnames;
    return code;
}

static B_INLINE int prepare_call(PyThreadState *ts, s_tasklet *t, PyObject *func, PyObject *args,
                                 PyObject *kwnames)
{
    int code = pass_arguments(t, func, args, kwnames);
    return code == S_OK ? make_first_chunk(ts, t) : code;
}

int s_call_init(PyThreadState *ts, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames)
{
    return prepare_call(ts, t, func, args, kwnames);
}

int s_make_call(PyThreadState *ts, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames)
{
    t->wait.task = t;
    int code = prepare_call(ts, t, func, args, kwnames);
    if (code < 0)
        return code;
    return c_context_copy(ts, &t->c.context) < 0 ? S_E_SET : S_OK;
}

int s_tasklet_init(s_sched *s, s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwnames)
{
    int code = s_make_call(s->ts, t, func, args, kwnames);
    if (code == S_OK)
        s_registry_add(s, t);
    return code;
}

s_tasklet *s_spawn(s_sched *s, PyObject *func, PyObject *args, PyObject *kwnames, int *code)
{
    s_tasklet *t = (s_tasklet *)s_hook.type->tp_alloc(s_hook.type, 0);
    *code = t != NULL ? s_tasklet_init(s, t, func, args, kwnames) : S_E_SET;
    if (B_UNLIKELY(c_trace_is_set(s->ts)) && *code == S_OK)
        *code = s_report_traced_spawn(s, t);
    if (*code < 0) {
        Py_CLEAR(t);
    } else {
        t->spawner = c_caller_code(s->ts, &t->spawned_at);
        s_ready(s, (s_tasklet *)Py_NewRef((PyObject *)t));
    }
    return t;
}

s_tasklet *s_new_for(s_sched *to, PyObject *func, PyObject *args, PyObject *kwnames, int *code)
{
    PyThreadState *ts = c_thread_state();
    s_tasklet *t = (s_tasklet *)s_hook.type->tp_alloc(s_hook.type, 0);
    *code = t != NULL ? s_make_call(ts, t, func, args, kwnames) : S_E_SET;
    if (*code == S_OK && s_self_here() != NULL && c_trace_is_set(ts))
        *code = s_report_traced_spawn(s_self_here(), t);
    if (*code < 0) {
        Py_CLEAR(t);
        return t;
    }
    t->spawner = c_caller_code(ts, &t->spawned_at);
    t->state = S_PAUSED;
    t->owner = to;
    return t;
}

int s_main_init(s_sched *s, s_tasklet *t)
{
    t->wait.task = t;
    t->owner = s;
    t->started = t->is_main = t->on_thread_stack = 1;
    t->since = s->coarse_now;
    c_state_never_soft(&t->c);
    t->state = S_RUNNING;
    t->saved_as = S_LIVE;
    return S_OK;
}

static int is_saved(const s_tasklet *t)
{
    return s_is_soft(t) || t->saved_as == S_C_STACK;
}

int s_visit(s_tasklet *t, visitproc visit, void *arg)
{
    Py_VISIT(t->func);
    Py_VISIT(t->args);
    Py_VISIT(t->kwnames);
    Py_VISIT(t->error);
    Py_VISIT(t->name);
    if (t->attached) {
        int stop = s_report_visit(t, visit, arg);
        if (stop)
            return stop;
    }
    Py_VISIT(t->scope);
    Py_VISIT(t->wait.value);
    if (b_linked(&t->joiners)) {
        for (b_link *at = t->joiners.next; at != &t->joiners; at = at->next)
            Py_VISIT(B_CONTAINER(at, s_wait, link)->task);
    }
    if (t->state == S_BLOCKED && t->kind != NULL && t->kind->visit != NULL) {
        int stop = t->kind->visit(t, visit, arg);
        if (stop)
            return stop;
    }
    if (t->on_thread_stack || (t->started && !is_saved(t)))
        return 0;
    return c_state_visit(&t->c, t->started, visit, arg);
}

void s_free_state(s_tasklet *t)
{
    void *root = t->c.root;
    size_t size = root ? c_chunk_size(&t->c) : 0;
    c_state_clear(&t->c);
    if (root != NULL && s_torture & S_TORTURE_ALLOC)
        memset(root, SCRIBBLE, size);
    c_chunk_free(root, size);
}

/* Whether `t` was killed, as `waiter` sees it.  An exit exception ends its own tasklet only, unless
 * what ended it ends the waiter too: a cancel, the end of run(), or a collection, because what
 * joins a tasklet refers to it. */
static int was_killed_for(const s_tasklet *waiter, const s_tasklet *t)
{
    return s_hook.is_exit(t->failure) && !t->garbage && !waiter->cancelled &&
           !waiter->owner->killing;
}

PyObject *s_failure_for(const s_tasklet *waiter, s_tasklet *t)
{
    if (t->failure == NULL)
        return NULL;
    t->observed = 1;
    if (!was_killed_for(waiter, t))
        return s_failure_take(t);
    PyObject *error = s_hook.exited(t);
    return error != NULL ? error : PyErr_GetRaisedException();
}

void s_hand_outcome(s_tasklet *joiner, s_tasklet *t, int want_result)
{
    PyObject *value = want_result && t->result ? t->result : Py_None;
    if (t->failure != NULL)
        value = (PyObject *)t;
    Py_XSETREF(joiner->wait.value, Py_NewRef(value));
    Py_XSETREF(joiner->error, s_failure_for(joiner, t));
}

static void wake_joiners(s_sched *s, s_tasklet *t)
{
    if (!b_linked(&t->joiners))
        return;
    for (;;) {
        c_lock_take(&t->lock);
        b_link *at = b_first(&t->joiners);
        s_tasklet *joiner = at != NULL ? s_dequeue(at) : NULL;
        c_lock_give(&t->lock);
        if (joiner == NULL)
            return;
        s_hand_outcome(joiner, t, joiner->wait.value != NULL); /* result(), not join() */
        s_wake(s, joiner);
    }
}

/* Ends the tasklet without a report. */
static int is_silent(const s_tasklet *t, PyObject *failure)
{
    return s_hook.is_exit(failure) || (t->attached && s_report_is_silent(t, failure));
}

/* Ends the program, not a tasklet. */
static int is_for_main(PyObject *failure)
{
    return PyErr_GivenExceptionMatches(failure, PyExc_KeyboardInterrupt) ||
           PyErr_GivenExceptionMatches(failure, PyExc_SystemExit);
}

/* Stores how it ended.  A failure that no tasklet waits for goes to the error handler, or to the
 * main tasklet. */
static B_COLD void store_failure(s_sched *s, s_tasklet *t)
{
    PyObject *failure = PyErr_GetRaisedException();
    int silent = is_silent(t, failure);
    int has_observer = t->owned || (b_linked(&t->joiners) && !b_list_empty(&t->joiners));
    Py_CLEAR(t->args);
    Py_CLEAR(t->kwnames);
    s_failure_keep(t, failure);
    if (silent || has_observer)
        return;
    s->reporting = s->trap;
    if (t->stackless_rules)
        s_report_failed(s, t, failure);
    else if (is_for_main(failure))
        s_raise_in(s, s->main, Py_NewRef(failure));
    else
        s_hook.failed(t, failure);
    s->reporting = 0;
}

static inline void store_outcome(s_sched *s, s_tasklet *t, PyObject *result)
{
    if (B_UNLIKELY(result == NULL)) {
        store_failure(s, t);
        return;
    }
    Py_CLEAR(t->args);
    Py_CLEAR(t->kwnames);
    t->result = result;
}

/* The idler becomes current: no tasklet's data stack is in use. */
void s_become_idle(s_sched *s)
{
    s->current = s->idler;
    s->idler->since = s->coarse_now;
    c_state_load(s->ts, &s->idler->c);
}

static B_COLD void drop_guests(s_sched *s, s_tasklet *t)
{
    if (c_trace_is_set(s->ts))
        s_report_traced(s, t);
    if (t->attached)
        s_report_drop(s, t);
}

/* Whether it can be bound again: not if the caller has the last reference, and neither a weak one
 * nor a `__del__` can bring it back. */
static inline int may_be_bound_again(s_tasklet *t)
{
    return t->stackless_rules && (Py_REFCNT((PyObject *)t) > 1 || t->weakrefs != NULL ||
                                  Py_TYPE((PyObject *)t)->tp_dealloc != s_dealloc);
}

void s_finish(s_sched *s, s_tasklet *t, PyObject *result)
{
    s->trap++;
    s_end_interval(s, t);
    store_outcome(s, t, result);
    if (B_UNLIKELY(t->attached | c_trace_is_set(s->ts)))
        drop_guests(s, t);
    c_lock_take(&t->lock);
    t->state = S_DONE;
    c_lock_give(&t->lock);
    int again = may_be_bound_again(t);
    if (B_UNLIKELY(again))
        s_registry_list_again(t);
    else
        s_registry_remove(t);
    t->c.context = s->ts->context;
    s_become_idle(s);
    s_free_state(t);
    wake_joiners(s, t);
    if (t->owned)
        s_report_child_ended(s, t);
    if (B_UNLIKELY(t->failure != NULL) && Py_REFCNT((PyObject *)t) > 1 &&
        s_hook.is_exit(t->failure))
        s_failure_settle(s, t);
    Py_XSETREF(t->func, Py_XNewRef(c_function_name(t->func))); /* what its name is made of */
    Py_CLEAR(t->scope);
    if (B_UNLIKELY(again))
        s_forget_run(t);
    else if (!t->stackless_rules)
        Py_CLEAR(t->spawner);
    if (B_UNLIKELY(s_announcing))
        s_report_departed(s, t);
    Py_DECREF((PyObject *)t);
    s->trap--;
}

/* `listed`: it may be in the registry still. */
static B_INLINE void clear_execution(s_tasklet *t, int listed)
{
    if (t->is_main || (t->started && !s_is_soft(t) && t->state != S_DONE))
        return;
    if (s_is_soft(t)) {
        t->saved_as = S_LIVE;
        t->state = S_DONE;
        c_drop_frames(c_thread_state(), &t->c);
    }
    if (t->state != S_DONE) {
        t->state = S_DONE;
        t->started = 1;
    }
    if (listed)
        s_registry_remove(t);
    s_free_state(t);
    if (t->attached)
        s_report_drop(s_self_here(), t);
    s_failure_forget(t);
    Py_CLEAR(t->func);
    Py_CLEAR(t->args);
    Py_CLEAR(t->kwnames);
    Py_CLEAR(t->error);
    Py_CLEAR(t->scope);
    Py_CLEAR(t->wait.value);
}

void s_forget_frames(s_sched *s, s_tasklet *t)
{
    if (s_is_soft(t)) {
        c_discard_frames(s->ts, &t->c);
        void *root = t->c.root;
        size_t size = c_chunk_size(&t->c);
        c_state_clear(&t->c);
        c_state_init(s->ts, &t->c, root, size);
    }
    t->saved_as = S_NOT_STARTED;
    t->started = 0;
    t->pinned = 0;
    t->nopreempt = 0;
}

/* A wait queue owns its tasklets and releases only those that are still blocked, so a blocked one
 * leaves its queue before it is cleared. */
void s_clear(s_tasklet *t)
{
    if (s_is_soft(t) && s_waits_anywhere(t))
        s_leave_wait(t);
    clear_execution(t, 1);
}

static void free_fields(s_tasklet *t)
{
    if (t->owner != NULL)
        clear_execution(t, 0);
    if (t->attached)
        s_report_drop(s_self_here(), t);
    s_failure_forget(t);
    Py_CLEAR(t->result);
    Py_CLEAR(t->failure);
    Py_CLEAR(t->name);
    if (!t->stackless_rules)
        Py_CLEAR(t->spawner);
}

/* A tasklet that keeps a C stack cannot be freed, because nothing can drop what is on the stack. */
void s_dealloc(PyObject *self)
{
    s_tasklet *t = (s_tasklet *)self;
    if (t->saved_as != S_LIVE && PyObject_CallFinalizerFromDealloc(self) < 0) {
        if (t->saved_as == S_C_STACK)
            c_finalize_again(self);
        return;
    }
    PyObject_GC_UnTrack(self);
    s_registry_remove(t);
    if (t->saved_as == S_C_STACK)
        return;
    Py_TRASHCAN_BEGIN(self, s_dealloc) if (t->weakrefs != NULL) PyObject_ClearWeakRefs(self);
    free_fields(t);
    Py_TYPE(self)->tp_free(self);
    Py_TRASHCAN_END
}
