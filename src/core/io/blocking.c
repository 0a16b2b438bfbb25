/* Jobs: a call that a thread of the pool makes for a tasklet that waits.  See blocking.h. */
#include "io/blocking.h"

static void release(i_job *job)
{
    if (__atomic_sub_fetch(&job->shares, 1, __ATOMIC_ACQ_REL) == 0)
        PyMem_Free(job);
}

/* ---- the wait ------------------------------------------------------------------- */

static void arrived(s_tasklet *t)
{
    i_job *job = t->on;
    t->on = NULL;
    t->home->job_waits--;
    release(job);
}

static int leave(s_tasklet *t)
{
    i_job *job = t->on;
    if (job == NULL || !s_leave_queue(t, &job->lock))
        return 0;
    arrived(t);
    return 1;
}

static PyObject *function_of(s_tasklet *t)
{
    i_job *job = t->on;
    if (job == NULL)
        return NULL;
    c_lock_take(&job->lock);
    PyObject *function = Py_XNewRef(job->function);
    c_lock_give(&job->lock);
    return function;
}

static const s_wait_kind waiting = {
    .name = "run_blocking", .detach = leave, .object = function_of, .arrived = arrived};

/* ---- making one --------------------------------------------------------------------- */

/* A copy of the running context, for a job alone. */
static PyObject *new_context(s_sched *s)
{
    PyObject *context = c_context_copy(s->ts);
    return context != NULL || PyErr_Occurred() ? context : PyContext_New();
}

static i_job *new_job(s_sched *s, PyObject *function, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames)
{
    Py_ssize_t count = nargs + (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0);
    i_job *job = c_malloc(sizeof(*job) + (size_t)(count + 1) * sizeof(*args));
    PyObject *context = job != NULL ? new_context(s) : NULL;
    if (context == NULL) {
        PyMem_Free(job);
        return NULL;
    }
    *job = (i_job){.shares = 2, .nargs = nargs, .count = count, .context = context};
    job->function = Py_NewRef(function);
    job->kwnames = Py_XNewRef(kwnames);
    for (Py_ssize_t i = 0; i < count; i++)
        job->args[i + 1] = Py_NewRef(args[i]);
    b_list_init(&job->waiters);
    return job;
}

/* The call's parts go; somebody may just be asking what is waited for. */
static void drop_call(i_job *job)
{
    c_lock_take(&job->lock);
    PyObject *function = job->function;
    job->function = NULL;
    c_lock_give(&job->lock);
    if (function == NULL)
        return; /* in the child of a fork: its thread was just doing this */
    Py_DECREF(function);
    for (Py_ssize_t i = 1; i <= job->count; i++)
        Py_DECREF(job->args[i]);
    Py_CLEAR(job->kwnames);
    Py_CLEAR(job->context);
}

PyObject *i_run_blocking(s_sched *s, PyObject *function, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames, const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = s_may_block(s);
    i_job *job = *code == S_OK ? new_job(s, function, args, nargs, kwnames) : NULL;
    if (job == NULL) {
        if (*code == S_OK)
            *code = PyErr_Occurred() ? S_E_SET : S_E_MEMORY;
        return NULL;
    }
    c_lock_take(&job->lock);
    s_enqueue(me, &job->waiters, &waiting, job);
    c_lock_give(&job->lock);
    s->job_waits++;
    *code = i_pool_submit(job);
    if (*code == S_OK)
        return s_suspend(s, site);
    leave(me);
    me->kind = NULL;
    me->state = S_RUNNING;
    drop_call(job);
    release(job);
    return NULL;
}

/* ---- on a thread of the pool ------------------------------------------------------------- */

static int is_wanted(i_job *job)
{
    c_lock_take(&job->lock);
    int wanted = !b_list_empty(&job->waiters);
    c_lock_give(&job->lock);
    return wanted;
}

static PyObject *make_call(i_job *job)
{
    if (PyContext_Enter(job->context) < 0)
        return NULL;
    size_t nargs = (size_t)job->nargs | PY_VECTORCALL_ARGUMENTS_OFFSET;
    PyObject *value = PyObject_Vectorcall(job->function, job->args + 1, nargs, job->kwnames);
    PyObject *error = value == NULL ? PyErr_GetRaisedException() : NULL;
    if (PyContext_Exit(job->context) < 0)
        PyErr_Clear(); /* the function has entered one and not left it */
    if (error != NULL)
        PyErr_SetRaisedException(error);
    return value;
}

static s_tasklet *claim(i_job *job)
{
    c_lock_take(&job->lock);
    b_link *at = b_first(&job->waiters);
    s_tasklet *t = at != NULL ? s_dequeue(at) : NULL;
    c_lock_give(&job->lock);
    return t;
}

/* Steals both. */
static s_sched *deliver(i_job *job, PyObject *value, PyObject *error)
{
    s_sched *home = NULL;
    s_tasklet *t = claim(job);
    if (t != NULL) {
        t->wait.value = value;
        t->error = error;
        home = s_wake_on_owner(t);
    } else {
        Py_XDECREF(value);
        Py_XDECREF(error);
    }
    release(job);
    return home;
}

s_sched *i_job_run(i_job *job)
{
    PyObject *value = NULL, *error = NULL;
    if (is_wanted(job)) {
        value = make_call(job);
        if (value == NULL)
            error = PyErr_GetRaisedException();
    }
    drop_call(job);
    return deliver(job, value, error);
}

static PyObject *failure(int code)
{
    PyObject *error = s_hook.error(code, NULL);
    return error != NULL ? error : PyErr_GetRaisedException();
}

s_sched *i_job_fail(i_job *job, int code)
{
    drop_call(job);
    return deliver(job, NULL, failure(code));
}

/* ---- fork --------------------------------------------------------------------------------- */

/* The thread that had the job is not here: its share is ours. */
static void tell(s_tasklet *t)
{
    i_job *job = t->on;
    if (t->state != S_BLOCKED || t->kind != &waiting || job == NULL || !t->queued)
        return;
    memset(&job->lock, 0, sizeof(job->lock));
    i_job_fail(job, S_E_FORKED);
}

void i_jobs_after_fork(s_sched *s)
{
    s_for_each_tasklet(s, tell);
}
