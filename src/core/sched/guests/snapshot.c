/* Snapshots of tasklets: taken and restored.
 *
 * What is taken is what a switch would keep: the frames, the handled exception, the context, and
 * what the call that is under way will return.  The context is the tasklet's own: those that it has
 * entered by context.run() are among the values of its frames, and entered anew.  Scopes and
 * deadlines are the caller's business.
 *
 * Restoring uses what the Stackless API has for a tasklet that is bound again: the ended one is
 * claimed, filled, and released paused.  If the frames do not fit it stays ended.
 */
#include "sched/guests/snapshot.h"
#include "sched/internal.h"

int s_snapshot_obstacle(const s_sched *s, const s_tasklet *t)
{
    if (t == s->current)
        return S_OBSTACLE_CURRENT;
    if (t->is_main)
        return S_OBSTACLE_MAIN;
    if (t->state == S_DONE)
        return S_OBSTACLE_ENDED;
    if (t->owner != s || t->state == S_RUNNING)
        return S_OBSTACLE_THREAD;
    PyObject *context;
    if (t->saved_as == S_FRAMES_UNFINISHED ||
        (s_is_soft(t) && !c_outermost_context(&t->c, &context)))
        return S_OBSTACLE_C_STACK;
    if (t->saved_as == S_NOT_STARTED || s_is_soft(t))
        return S_OBSTACLE_NONE;
    if (t->why == C_PREEMPTED)
        return S_OBSTACLE_PREEMPTED;
    return t->why == C_OPCODE && c_is_traced(&t->c) ? S_OBSTACLE_TRACED : S_OBSTACLE_C_STACK;
}

int s_snapshot_take(s_tasklet *t, s_snapshot *snapshot)
{
    PyObject *context = t->c.context, *value = t->wait.value;
    if (s_is_soft(t))
        c_outermost_context(&t->c, &context);
    if (t->error != NULL && value != NULL && PyObject_TypeCheck(value, s_hook.type))
        value = NULL; /* the tasklet whose failure it raises */
    *snapshot = (s_snapshot){.func = Py_XNewRef(t->func),
                             .context = Py_XNewRef(context),
                             .value = Py_XNewRef(value),
                             .error = Py_XNewRef(t->error)};
    if (t->saved_as == S_NOT_STARTED) {
        snapshot->args = Py_XNewRef(t->args);
        snapshot->kwnames = Py_XNewRef(t->kwnames);
        return S_OK;
    }
    snapshot->handled = Py_XNewRef(t->c.exc_root.value);
    snapshot->frames = c_frames_read(&t->c);
    if (snapshot->frames != NULL)
        return S_OK;
    s_snapshot_clear(snapshot);
    return S_E_SET;
}

void s_snapshot_clear(s_snapshot *snapshot)
{
    PyObject **field = (PyObject **)snapshot;
    for (size_t i = 0; i < sizeof(*snapshot) / sizeof(*field); i++)
        Py_CLEAR(field[i]);
}

int s_find_generator_tasklet(s_sched *s, PyObject *gen, s_tasklet **found)
{
    s_tasklet **all = NULL;
    Py_ssize_t count = c_generator_is_running(gen) ? s_tasklets(s, &all) : 0;
    *found = NULL;
    if (count < 0)
        return (int)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (*found == NULL && s_is_soft(all[i]) && c_generator_is_running_in(&all[i]->c, gen))
            *found = all[i];
        else
            Py_DECREF((PyObject *)all[i]);
    }
    PyMem_RawFree(all);
    return S_OK;
}

/* ---- restoring ----------------------------------------------------------------------- */

/* It has been unbound. */
static void fill_tasklet(s_tasklet *t, const s_snapshot *snapshot)
{
    t->func = Py_XNewRef(snapshot->func);
    t->c.context = Py_XNewRef(snapshot->context);
    c_context_enter_again(&t->c);
    t->c.exc_root.value = Py_XNewRef(snapshot->handled);
}

/* The frames are checked first: nothing of the tasklet has changed when they do not fit. */
static int restore_frames(s_tasklet *t, const s_snapshot *snapshot, const char **wrong)
{
    size_t size;
    PyThreadState *ts = c_thread_state();
    if ((*wrong = c_frames_check(ts, snapshot->frames, &size)) != NULL)
        return S_E_SNAPSHOT;
    void *chunk = c_chunk_new(size);
    if (chunk == NULL)
        return S_E_MEMORY;
    s_unbind(t);
    c_state_init(ts, &t->c, chunk, size);
    int at_safepoint = c_frames_build(ts, &t->c, snapshot->frames);
    fill_tasklet(t, snapshot);
    t->saved_as = at_safepoint ? S_FRAMES_AT_SAFEPOINT : S_FRAMES;
    return S_OK;
}

static int restore_started(s_tasklet *t, const s_snapshot *snapshot, const char **wrong)
{
    int code = s_claim_for_rebinding(t, 0, NULL);
    if (code < 0)
        return code;
    code = restore_frames(t, snapshot, wrong);
    if (code < 0) {
        s_release_claim(t);
        return code;
    }
    code = s_begin_run(t);
    t->started = 1;
    return code;
}

static int restore_not_started(s_tasklet *t, const s_snapshot *snapshot)
{
    s_sched *s = s_self();
    int code = s != NULL ? s_claim_for_rebinding(t, 0, NULL) : S_E_SET;
    if (code == S_OK)
        code = s_rebind(s, t, snapshot->func, snapshot->args, snapshot->kwnames);
    if (code == S_OK && snapshot->context != NULL)
        Py_XSETREF(t->c.context, Py_NewRef(snapshot->context));
    return code;
}

int s_snapshot_restore(s_tasklet *t, const s_snapshot *snapshot, const char **wrong)
{
    *wrong = NULL;
    int code =
        snapshot->frames ? restore_started(t, snapshot, wrong) : restore_not_started(t, snapshot);
    if (code == S_OK) {
        Py_XSETREF(t->wait.value, Py_XNewRef(snapshot->value));
        Py_XSETREF(t->error, Py_XNewRef(snapshot->error));
    }
    return code;
}

/* ---- contents of channels and queues ------------------------------------------------------ */

static PyObject **new_references(Py_ssize_t count)
{
    return PyMem_RawMalloc((size_t)(count + 1) * sizeof(PyObject *));
}

Py_ssize_t s_copy_ring(PyObject *const *ring, Py_ssize_t first, Py_ssize_t count, Py_ssize_t room,
                       PyObject ***found)
{
    if ((*found = new_references(count)) == NULL)
        return S_E_MEMORY;
    for (Py_ssize_t i = 0; i < count; i++)
        (*found)[i] = Py_NewRef(ring[(first + i) % room]);
    return count;
}

/* Stores those that are copied into `found`, if given; how many these are. */
static Py_ssize_t copy_each_waiter(const b_link *queue, PyObject **found)
{
    Py_ssize_t count = 0;
    for (b_link *at = queue->next; at != queue; at = at->next) {
        s_tasklet *t = s_of_link(at);
        if (t->owner != NULL && t->owner->main == t)
            continue;
        if (found != NULL)
            found[count] = Py_NewRef((PyObject *)t);
        count++;
    }
    return count;
}

Py_ssize_t s_copy_waiters(const b_link *queue, PyObject ***found)
{
    if ((*found = new_references(copy_each_waiter(queue, NULL))) == NULL)
        return S_E_MEMORY;
    return copy_each_waiter(queue, *found);
}

void s_resume_with(s_sched *s, s_tasklet *t, PyObject *value, PyObject *error)
{
    s_deadline_drop(s, t);
    Py_XSETREF(t->wait.value, value);
    Py_XSETREF(t->error, error);
    t->kind = NULL;
    Py_INCREF((PyObject *)t);
    s_ready(s, t);
}
