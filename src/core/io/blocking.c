/* A call that a worker makes for a tasklet.  See blocking.h. */
#include "io/blocking.h"
#include "base/b_check.h"
#include "io/pools.h"

#define SECOND INT64_C(1000000000)
#define LONGEST 250000000 /* between two looks at signals */

typedef struct {
    p_work work;
    b_link waiters; /* of s_wait, the tasklet until it is claimed; this and `function` under lock */
    c_lock lock;
    int references; /* atomic */
    PyObject *function, *kwnames, *context;
    Py_ssize_t nargs, count; /* positional arguments; and with the named ones */
    PyObject *args[];        /* after one that is the callee's to use */
} blocking_call;

static int64_t exit_time = 300 * SECOND; /* atomic */

static void release_call(blocking_call *call)
{
    if (__atomic_sub_fetch(&call->references, 1, __ATOMIC_ACQ_REL) == 0)
        PyMem_Free(call);
}

/* ---- the wait ------------------------------------------------------------------- */

static void call_arrived(s_tasklet *t)
{
    blocking_call *call = t->on;
    t->on = NULL;
    t->owner->call_waits--;
    release_call(call);
}

static int leave_call(s_tasklet *t)
{
    blocking_call *call = t->on;
    if (call == NULL || !s_leave_queue(t, &call->lock))
        return 0;
    call_arrived(t);
    return 1;
}

static PyObject *called_function(s_tasklet *t)
{
    blocking_call *call = t->on;
    if (call == NULL)
        return NULL;
    c_lock_take(&call->lock);
    PyObject *function = Py_XNewRef(call->function);
    c_lock_give(&call->lock);
    return function;
}

static const s_wait_kind waiting_for_call = {.name = "run_blocking",
                                             .detach = leave_call,
                                             .object = called_function,
                                             .arrived = call_arrived};

/* ---- making a call ---------------------------------------------------------------- */

static void *run_call(p_work *work);

/* A copy of the running context, for one call alone. */
static PyObject *new_context(s_sched *s)
{
    PyObject *context;
    if (c_context_copy(s->ts, &context) < 0)
        return NULL;
    return context != NULL ? context : PyContext_New();
}

static blocking_call *new_call(s_sched *s, PyObject *function, PyObject *const *args,
                               Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t count = nargs + (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0);
    blocking_call *call = c_malloc(sizeof(*call) + (size_t)(count + 1) * sizeof(*args));
    PyObject *context = call != NULL ? new_context(s) : NULL;
    if (context == NULL) {
        PyMem_Free(call);
        return NULL;
    }
    *call = (blocking_call){
        .work.run = run_call, .references = 2, .nargs = nargs, .count = count, .context = context};
    call->function = Py_NewRef(function);
    call->kwnames = Py_XNewRef(kwnames);
    for (Py_ssize_t i = 0; i < count; i++)
        call->args[i + 1] = Py_NewRef(args[i]);
    b_list_init(&call->waiters);
    return call;
}

/* Drops the parts of a call; another thread may be asking what is waited for. */
static void clear_call(blocking_call *call)
{
    c_lock_take(&call->lock);
    PyObject *function = call->function;
    call->function = NULL;
    c_lock_give(&call->lock);
    if (function == NULL)
        return; /* in the child of a fork: its worker was just doing this */
    Py_DECREF(function);
    for (Py_ssize_t i = 1; i <= call->count; i++)
        Py_DECREF(call->args[i]);
    Py_CLEAR(call->kwnames);
    Py_CLEAR(call->context);
}

PyObject *i_run_blocking(s_sched *s, PyObject *function, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames, const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = s_may_block(s);
    blocking_call *call = *code == S_OK ? new_call(s, function, args, nargs, kwnames) : NULL;
    if (call == NULL) {
        if (*code == S_OK)
            *code = PyErr_Occurred() ? S_E_SET : S_E_MEMORY;
        return NULL;
    }
    c_lock_take(&call->lock);
    s_enqueue(me, &call->waiters, &waiting_for_call, call);
    c_lock_give(&call->lock);
    s->call_waits++;
    *code = i_pool_submit(I_CALLS, &call->work);
    if (*code == S_OK)
        return s_suspend(s, site);
    leave_call(me);
    me->kind = NULL;
    me->state = S_RUNNING;
    clear_call(call);
    release_call(call);
    return NULL;
}

/* ---- on a worker ------------------------------------------------------------------ */

static int call_is_wanted(blocking_call *call)
{
    c_lock_take(&call->lock);
    int wanted = !b_list_empty(&call->waiters);
    c_lock_give(&call->lock);
    return wanted;
}

static PyObject *call_in_context(blocking_call *call)
{
    if (PyContext_Enter(call->context) < 0)
        return NULL;
    size_t nargs = (size_t)call->nargs | PY_VECTORCALL_ARGUMENTS_OFFSET;
    PyObject *value = PyObject_Vectorcall(call->function, call->args + 1, nargs, call->kwnames);
    PyObject *error = value == NULL ? PyErr_GetRaisedException() : NULL;
    if (PyContext_Exit(call->context) < 0)
        PyErr_Clear(); /* the function has entered one and not left it */
    if (error != NULL)
        PyErr_SetRaisedException(error);
    return value;
}

static s_tasklet *claim_caller(blocking_call *call)
{
    c_lock_take(&call->lock);
    b_link *at = b_first(&call->waiters);
    s_tasklet *t = at != NULL ? s_dequeue(at) : NULL;
    c_lock_give(&call->lock);
    return t;
}

/* Ends a call (stolen) with a value or an error (both stolen): the scheduler to wake, or NULL. */
static s_sched *deliver_outcome(blocking_call *call, PyObject *value, PyObject *error)
{
    s_sched *owner = NULL;
    s_tasklet *t = claim_caller(call);
    if (t != NULL) {
        t->wait.value = value;
        t->error = error;
        owner = s_wake_on_owner(t);
    } else {
        Py_XDECREF(value);
        Py_XDECREF(error);
    }
    release_call(call);
    return owner;
}

static s_sched *make_call_and_deliver(blocking_call *call)
{
    PyObject *value = NULL, *error = NULL;
    if (call_is_wanted(call)) {
        value = call_in_context(call);
        if (value == NULL)
            error = PyErr_GetRaisedException();
    }
    clear_call(call);
    return deliver_outcome(call, value, error);
}

static void *run_call(p_work *work)
{
    i_pool_attach();
    s_sched *owner = make_call_and_deliver(B_CONTAINER(work, blocking_call, work));
    i_pool_detach();
    return owner;
}

/* Ends a call that is not made: the tasklet gets the error of a code. */
static s_sched *fail_call(blocking_call *call, int code)
{
    clear_call(call);
    PyObject *error = s_hook.error(code, NULL);
    return deliver_outcome(call, NULL, error != NULL ? error : PyErr_GetRaisedException());
}

/* ---- the pool of calls --------------------------------------------------------------- */

i_blocking_limits i_blocking_configure(i_blocking_limits wanted)
{
    int64_t exit_before = __atomic_load_n(&exit_time, __ATOMIC_RELAXED);
    if (wanted.exit >= 0)
        __atomic_store_n(&exit_time, wanted.exit, __ATOMIC_RELAXED);
    p_pool_limits limits = {wanted.threads, wanted.idle};
    limits = p_pool_configure(&i_pools[I_CALLS], limits);
    return (i_blocking_limits){limits.threads, limits.idle_time, exit_before};
}

int i_blocking_threads(int *idle)
{
    return p_pool_threads(&i_pools[I_CALLS], idle);
}

static int64_t count_idle(int *idle)
{
    return p_pool_idle(&i_pools[I_CALLS], idle);
}

static void refuse_calls(void)
{
    p_work *next;
    for (p_work *work = p_pool_close(&i_pools[I_CALLS]); work != NULL; work = next) {
        next = work->next;
        s_sched *owner = fail_call(B_CONTAINER(work, blocking_call, work), S_E_EXITING);
        if (owner != NULL)
            s_wake_thread(owner);
    }
}

static int await_workers(int64_t until)
{
    PyThreadState *ts = PyEval_SaveThread();
    int left = p_pool_await_end(&i_pools[I_CALLS], until);
    PyEval_RestoreThread(ts);
    return left;
}

int i_blocking_close(void)
{
    int left, idle, code = 0;
    int64_t now, until = p_now() + __atomic_load_n(&exit_time, __ATOMIC_RELAXED);
    refuse_calls();
    left = i_blocking_threads(&idle);
    while (left > 0 && code == 0 && (now = p_now()) < until) {
        left = await_workers(now + LONGEST < until ? now + LONGEST : until);
        code = PyErr_CheckSignals();
    }
    return code < 0 ? -1 : left;
}

/* The worker that had the call is not here: its reference is ours. */
static void fail_forked_call(s_tasklet *t)
{
    blocking_call *call = t->on;
    if (t->state != S_BLOCKED || t->kind != &waiting_for_call || call == NULL || !t->queued)
        return;
    memset(&call->lock, 0, sizeof(call->lock));
    fail_call(call, S_E_FORKED);
}

void i_blocking_after_fork(s_sched *s)
{
    p_pool_after_fork(&i_pools[I_CALLS]);
    if (s != NULL)
        s_for_each_tasklet(s, fail_forked_call);
}

void i_blocking_init(void)
{
    s_hook.resting = count_idle;
}
