/* What code that looks at all threads finds of those that are tasklets, or does to them.
 *
 * The interpreter's own functions see one thread of the system, with the frames, the handled
 * exception and the trace functions of the tasklet that runs.  These are divided: what belongs to a
 * thread that is a tasklet goes to its ident, what belongs to main to the ident of the thread of
 * the system.  Only the scheduler of the calling thread is looked at: the tasklets of others run
 * meanwhile.
 *
 * Raising.  PyThreadState_SetAsyncExc() by ctypes stops a thread from outside.  A tasklet gets the
 * exception as by Tasklet.throw(), at once where it waits; one that stops itself, at its next
 * safepoint.
 */
#include "patch/thread.h"
#include "sched/guests/preempt.h"
#include "sched/guests/trace.h"

/* Calls it for each tasklet of the scheduler that is a thread, until one call fails: 0, or -1 with
 * an exception. */
static int each_thread(s_sched *s, int (*call)(s_sched *s, s_tasklet *t, void *arg), void *arg)
{
    s_tasklet **found = NULL;
    int code = 0;
    Py_ssize_t count = s_tasklets(s, &found);
    if (count < 0) {
        patch_raise(s, (int)count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (code == 0 && s_is_thread(found[i]))
            code = call(s, found[i], arg);
        Py_DECREF((PyObject *)found[i]);
    }
    PyMem_RawFree(found);
    return code;
}

/* The scheduler of the calling thread, if any thread is a tasklet now; or NULL. */
static s_sched *scheduler_with_threads(void)
{
    s_sched *s = s_self_if_any();
    return s != NULL && s->ts == c_thread_state() && patch_thread_count() > 0 ? s : NULL;
}

static int append_ident(s_sched *s, s_tasklet *t, void *idents)
{
    (void)s;
    return PyList_Append(idents, t->identity->key);
}

PyObject *patch_thread_idents(void)
{
    s_sched *s = s_self_if_any();
    PyObject *idents = PyList_New(0);
    if (idents == NULL || s == NULL || patch_thread_count() == 0)
        return idents;
    if (each_thread(s, append_ident, idents) < 0)
        Py_CLEAR(idents);
    return idents;
}

/* ---- frames and handled exceptions ----------------------------------------------------------- */

/* By ident, and what a suspended tasklet has there: new, or NULL without an exception. */
typedef struct {
    PyObject *by_ident;
    PyObject *(*of_suspended)(PyThreadState *ts, const c_state *state);
} thread_table;

static int has_stopped_frames(s_sched *s, const s_tasklet *t)
{
    return t != s->current && t->started && t->state != S_DONE;
}

/* Takes over the value, which may be NULL. */
static int add_value(thread_table *table, PyObject *ident, PyObject *value)
{
    int code =
        value != NULL ? PyDict_SetItem(table->by_ident, ident, value) : -(PyErr_Occurred() != NULL);
    Py_XDECREF(value);
    return code;
}

static int add_suspended(s_sched *s, s_tasklet *t, void *arg)
{
    thread_table *table = arg;
    if (!has_stopped_frames(s, t))
        return 0;
    return add_value(table, t->identity->key, table->of_suspended(s->ts, &t->c));
}

/* What the running tasklet has goes to its own ident, what main has to the thread's. */
static int divide_running(s_sched *s, thread_table *table)
{
    if (!s_is_thread(s->current))
        return 0;
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *value = ident ? Py_XNewRef(PyDict_GetItemWithError(table->by_ident, ident)) : NULL;
    int code = ident == NULL || add_value(table, s->current->identity->key, value) < 0 ||
                       add_value(table, ident, table->of_suspended(s->ts, &s->main->c)) < 0
                   ? -1
                   : 0;
    Py_XDECREF(ident);
    return code;
}

static int divide_by_ident(thread_table *table)
{
    s_sched *s = scheduler_with_threads();
    if (s == NULL)
        return 0;
    return divide_running(s, table) < 0 ? -1 : each_thread(s, add_suspended, table);
}

int patch_thread_add_frames(PyObject *frames)
{
    return divide_by_ident(&(thread_table){frames, c_frame_object});
}

int patch_thread_add_errors(PyObject *exceptions)
{
    return divide_by_ident(&(thread_table){exceptions, c_caught_exception});
}

/* ---- trace functions ---------------------------------------------------------------------------
 */

typedef struct {
    int which;
    PyObject *function;
} trace_setting;

static int set_trace_unless_running(s_sched *s, s_tasklet *t, void *arg)
{
    const trace_setting *wanted = arg;
    int code = S_OK;
    if (t != s->current && t->state != S_DONE)
        code = s_trace_set(s, t, wanted->which, wanted->function);
    return code < 0 ? -(patch_raise(s, code) == NULL) : 0;
}

int patch_threads_set_trace(int which, PyObject *function)
{
    trace_setting wanted = {which, function};
    s_sched *s = scheduler_with_threads();
    if (s == NULL)
        return 0;
    int code = set_trace_unless_running(s, s->main, &wanted);
    return code < 0 ? -1 : each_thread(s, set_trace_unless_running, &wanted);
}

/* ---- raising -----------------------------------------------------------------------------------
 */

/* Its idents are those of no thread of the system, so an ended one is found nowhere: new, or NULL
 * without an exception. */
static s_tasklet *find_by_ident(s_sched *s, unsigned long ident)
{
    s_tasklet **found = NULL, *wanted = NULL;
    Py_ssize_t count = s_tasklets(s, &found);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (s_identity_number(found[i]) == ident)
            wanted = found[i];
        else
            Py_DECREF((PyObject *)found[i]);
    }
    if (count >= 0)
        PyMem_RawFree(found);
    return wanted;
}

/* The tasklet that is that thread: new.  NULL if that is no tasklet, or main while it runs, which
 * the interpreter finds by itself. */
static s_tasklet *find_thread(unsigned long ident)
{
    s_tasklet *found = NULL;
    s_sched *mine = s_self_if_any();
    if (ident % 2 == 0)
        return mine != NULL && mine->thread_id == ident && s_is_thread(mine->current)
                   ? (s_tasklet *)Py_NewRef((PyObject *)mine->main)
                   : NULL;
    for (const s_sched *s = s_first_scheduler(); s != NULL && found == NULL; s = s->next)
        found = find_by_ident((s_sched *)s, ident);
    return found;
}

/* The exception that is raised for a class or an instance, or for the failure to make one: new, or
 * NULL with an exception. */
static PyObject *make_exception(PyObject *given)
{
    if (PyExceptionInstance_Check(given))
        return Py_NewRef(given);
    if (!PyExceptionClass_Check(given)) {
        PyErr_Format(PyExc_TypeError, "expected an exception class or instance, found %.100s",
                     Py_TYPE(given)->tp_name);
        return NULL;
    }
    PyObject *made = PyObject_CallNoArgs(given);
    return made != NULL ? made : PyErr_GetRaisedException();
}

/* A tasklet that is running looks at its next safepoint. */
static int throw_into_thread(s_tasklet *t, PyObject *error)
{
    s_sched *s = s_self_if_any();
    if (s_throw_later(s, t, error) < 0)
        return 0;
    if (s != NULL && t == s->current) {
        t->due = 1;
        s_deliver_due(s);
    }
    return 1;
}

int patch_thread_raise(unsigned long ident, PyObject *exception)
{
    s_tasklet *t = find_thread(ident);
    if (t == NULL)
        return PyThreadState_SetAsyncExc(ident, exception);
    PyObject *error = exception != NULL ? make_exception(exception) : NULL;
    int count = error != NULL ? throw_into_thread(t, error) : exception == NULL;
    Py_DECREF((PyObject *)t);
    return count;
}
