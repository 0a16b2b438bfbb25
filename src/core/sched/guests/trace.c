/* Trace and profile functions of each tasklet: sys.settrace() in one is seen in no other.
 *
 * A tasklet that has called sys.settrace or sys.setprofile owns a record, t->trace.  While it runs,
 * its functions are in the thread state and the record holds what was there before; a switch away
 * swaps the two, a switch back does so again.  While no tasklet has functions of its own, the
 * thread state is as if tasklets did not exist: what C code sets there (a coverage tool) or what
 * was on before loomlet was imported (a debugger) stays on for every tasklet of the thread.
 *
 * While there is a record anywhere, switches and picks take the slow way (s_slow_switches), where
 * they are reported.  The record is made when a function is set, so a switch allocates nothing.
 */
#include "sched/guests/trace.h"

#include "sched/internal.h"

static int attach_trace(s_tasklet *t)
{
    t->trace = c_calloc(sizeof(*t->trace));
    if (t->trace == NULL)
        return S_E_MEMORY;
    t->attached |= S_HAS_TRACE;
    s_slow_switches(1);
    return S_OK;
}

static void detach_trace(s_tasklet *t)
{
    PyMem_Free(t->trace);
    t->trace = NULL;
    t->attached &= (unsigned char)~S_HAS_TRACE;
    s_slow_switches(-1);
}

int s_trace_prepare(s_sched *s)
{
    s_tasklet *t = s->current;
    if (t->trace != NULL)
        return S_OK;
    int code = attach_trace(t);
    if (code == S_OK)
        c_trace_swap(s->ts, t->trace);
    return code;
}

void s_trace_update(s_sched *s)
{
    s_tasklet *t = s->current;
    if (t->trace == NULL || c_trace_is_set(s->ts))
        return;
    c_trace_swap(s->ts, t->trace);
    detach_trace(t);
}

/* What is on in a thread that gets its scheduler may be its main tasklet's. */
static void adopt_thread_functions(s_sched *s)
{
    if (c_trace_is_known(s->ts))
        attach_trace(s->main);
}

static void swap_functions(s_sched *s, s_tasklet *t)
{
    c_trace_swap(s->ts, t->trace);
}

/* No switch leads from a tasklet that has ended to the next one. */
static void picked_after_end(s_sched *s, s_tasklet *next)
{
    if (next->trace != NULL && s->current == s->idler)
        swap_functions(s, next);
}

PyObject *s_trace_of(const s_tasklet *t, int which)
{
    if (t->trace == NULL)
        return NULL;
    if (t->owner != NULL && t->owner->current == t)
        return c_trace_object(t->owner->ts, which);
    return t->trace->object[which];
}

int s_trace_set(s_sched *s, s_tasklet *t, PyObject *(*set)(PyObject *function), PyObject *function)
{
    if (t->trace == NULL && function == Py_None)
        return S_OK;
    if (t->trace == NULL && attach_trace(t) < 0)
        return S_E_MEMORY;
    c_trace mine = {{NULL}};
    c_trace_swap(s->ts, &mine);
    c_trace_swap(s->ts, t->trace);
    PyObject *done = set(function);
    int on = c_trace_is_set(s->ts);
    c_trace_swap(s->ts, t->trace);
    c_trace_swap(s->ts, &mine);
    if (!on)
        detach_trace(t);
    Py_XDECREF(done);
    return done != NULL ? S_OK : S_E_SET;
}

/* While the interpreter ends, only that of the running one is taken off. */
static void drop_functions(s_sched *s, s_tasklet *t)
{
    PyThreadState *ts = s != NULL ? s->ts : c_thread_state();
    int running = s != NULL && s->current == t;
    if (!running && c_is_finalizing())
        return;
    PyObject *pending = PyErr_GetRaisedException();
    c_trace mine = {{NULL}};
    if (!running) {
        c_trace_swap(ts, &mine);
        c_trace_swap(ts, t->trace);
    }
    c_trace_remove(ts);
    c_trace_swap(ts, t->trace);
    if (!running)
        c_trace_swap(ts, &mine);
    detach_trace(t);
    PyErr_SetRaisedException(pending);
}

static int visit_functions(s_tasklet *t, visitproc visit, void *arg)
{
    Py_VISIT(t->trace->object[C_TRACE]);
    Py_VISIT(t->trace->object[C_PROFILE]);
    return 0;
}

const s_guest s_trace_guest = {.bit = S_HAS_TRACE,
                               .thread_begins = adopt_thread_functions,
                               .leave = swap_functions,
                               .enter = swap_functions,
                               .picked = picked_after_end,
                               .drop = drop_functions,
                               .visit = visit_functions};
