/* What code that looks at all threads finds of those that are tasklets, or does to them.
 *
 * The interpreter's own functions see one thread of the system, with the frames, the handled
 * exception and the trace functions of the tasklet that runs.  These are divided: what belongs to a
 * thread that is a tasklet goes to its ident, what belongs to main to the ident of the thread of
 * the system.  Only the scheduler of the calling thread is looked at: the tasklets of others run
 * meanwhile.  The threads that carry it (sched/carrier.h) are none of the program's: what runs
 * there, or sits in C, is listed with the others, by what it was when the scheduler left it.
 *
 * Raising.  PyThreadState_SetAsyncExc() by ctypes stops a thread from outside.  A tasklet gets the
 * exception as by Tasklet.throw(), at once where it waits; one that stops itself, at its next
 * safepoint.
 */
#include "patch/thread.h"
#include "plat/plat.h"
#include "sched/carrier.h"
#include "sched/guests/preempt.h"
#include "sched/guests/trace.h"
#include "sched/sitter.h"

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

/* The scheduler of the calling thread, if any thread is a tasklet now, or the scheduler may be in
 * another one; or NULL. */
static s_sched *scheduler_with_threads(void)
{
    s_sched *s = s_self_if_any();
    int divided =
        s != NULL && s->ts == c_thread_state() && (patch_thread_count() > 0 || s->at != NULL);
    return divided ? s : NULL;
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
    if (!s_suspend_sitter(t))
        return 0;
    PyObject *value = table->of_suspended(s->ts, &t->c);
    s_release_sitter(t);
    return add_value(table, t->identity->key, value);
}

/* Takes the value of a thread of the system out of the table: new, or NULL. */
static PyObject *pop_value(thread_table *table, unsigned long thread)
{
    PyObject *ident = PyLong_FromUnsignedLong(thread);
    PyObject *value = ident ? Py_XNewRef(PyDict_GetItemWithError(table->by_ident, ident)) : NULL;
    if (value != NULL && PyDict_DelItem(table->by_ident, ident) < 0)
        Py_CLEAR(value);
    Py_XDECREF(ident);
    return value;
}

static void forget_carriers(s_sched *s, thread_table *table)
{
    for (const s_carrier_thread *c = s_first_carrier(); c != NULL; c = c->next) {
        if (c->all == s->carriers && c->ts != NULL)
            Py_XDECREF(pop_value(table, c_thread_ident(c->ts)));
    }
}

/* What the running tasklet has goes to its own ident, what main has to the thread's. */
static int divide_running(s_sched *s, thread_table *table)
{
    PyObject *value = pop_value(table, PyThread_get_thread_ident());
    PyObject *home = PyLong_FromUnsignedLong(s->thread_id);
    int main_runs = !s_is_thread(s->current), code = -1;
    if (s->at != NULL)
        forget_carriers(s, table);
    if (home != NULL && !PyErr_Occurred())
        code = add_value(table, main_runs ? home : s->current->identity->key, value);
    else
        Py_XDECREF(value);
    if (code == 0 && !main_runs)
        code = add_value(table, home, table->of_suspended(s->ts, &s->main->c));
    Py_XDECREF(home);
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
    int code = S_OK, sits = t->state == S_BLOCKED && t->kind == &s_sitting;
    if (t != s->current && t->state != S_DONE && !sits)
        code = s_trace_set(s, t, wanted->which, wanted->function);
    return code < 0 ? -(patch_raise(s, code) == NULL) : 0;
}

/* The functions of another thread state are removed as those of the calling thread. */
static void remove_trace_of(PyThreadState *other, PyThreadState *ts)
{
    c_trace mine = {{NULL}}, theirs = {{NULL}};
    c_trace_swap(other, &theirs);
    c_trace_swap(ts, &mine);
    c_trace_swap(ts, &theirs);
    c_trace_remove(ts);
    c_trace_swap(ts, &mine);
}

/* The interpreter has set it in every thread state, also where no tasklet runs or sits. */
static void remove_trace_at_bases(s_sched *s)
{
    for (const s_carrier_thread *c = s_first_carrier(); c != NULL; c = c->next) {
        if (c->all == s->carriers && c->ts != NULL && c->carrier.state == S_CARRIER_WAITS)
            remove_trace_of(c->ts, s->ts);
    }
}

int patch_threads_set_trace(int which, PyObject *function)
{
    trace_setting wanted = {which, function};
    s_sched *s = scheduler_with_threads();
    if (s == NULL)
        return 0;
    remove_trace_at_bases(s);
    int code = set_trace_unless_running(s, s->main, &wanted);
    return code < 0 ? -1 : each_thread(s, set_trace_unless_running, &wanted);
}

/* ---- raising -----------------------------------------------------------------------------------
 */

/* new, or NULL without an exception */
static s_tasklet *find_by_id(s_sched *s, uint64_t id)
{
    s_tasklet **found = NULL, *wanted = NULL;
    Py_ssize_t count = s_tasklets(s, &found);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (found[i]->id == id)
            wanted = found[i];
        else
            Py_DECREF((PyObject *)found[i]);
    }
    if (count >= 0)
        PyMem_RawFree(found);
    return wanted;
}

s_tasklet *patch_thread_find(unsigned long ident)
{
    s_tasklet *found = NULL;
    uint64_t id = p_ident_owner(ident);
    const s_sched *s = id != 0 ? s_first_scheduler() : NULL;
    for (; s != NULL && found == NULL; s = s->next)
        found = find_by_id((s_sched *)s, id);
    return found;
}

/* The tasklet that is that thread: new.  NULL if that is no tasklet, or main while it runs, which
 * the interpreter finds by itself. */
static s_tasklet *find_thread_or_main(unsigned long ident)
{
    s_sched *mine = s_self_if_any();
    if (!p_ident_is_ours(ident))
        return mine != NULL && mine->thread_id == ident && s_is_thread(mine->current)
                   ? (s_tasklet *)Py_NewRef((PyObject *)mine->main)
                   : NULL;
    return patch_thread_find(ident);
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
    s_tasklet *t = find_thread_or_main(ident);
    if (t == NULL)
        return PyThreadState_SetAsyncExc(ident, exception);
    PyObject *error = exception != NULL ? make_exception(exception) : NULL;
    int count = error != NULL ? throw_into_thread(t, error) : exception == NULL;
    Py_DECREF((PyObject *)t);
    return count;
}
