/* Trace and profile functions of each tasklet: sys.settrace() in one is seen in no other.
 *
 * While a tasklet runs, its functions are in the thread state, where the interpreter expects them;
 * it does not matter who has put them there: sys.settrace(), C code (a coverage tool), or either of
 * them before loomlet was imported.  A switch away moves them into a record, t->trace, and a switch
 * back moves them into the thread state again.  A tasklet without functions has no record.
 *
 * That a tasklet has functions is found out when it stops running: the fast way of a switch refuses
 * then, and the slow way reports it (`traced`).  While there is a record anywhere, all switches and
 * picks take the slow way (s_slow_switches), where they are reported.
 *
 * A tasklet that is spawned begins with its spawner's functions, as a thread does not; one of the
 * Stackless API and one that is a thread begin with none.
 */
#include "sched/guests/trace.h"

#include "sched/carrier.h"
#include "sched/internal.h"

static int attach_trace(s_tasklet *t)
{
    if (t->trace != NULL)
        return S_OK;
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

/* Without memory its functions stay on in the thread. */
static void find_functions(s_sched *s, s_tasklet *t)
{
    (void)s;
    attach_trace(t);
}

static void put_functions_away(s_sched *s, s_tasklet *t)
{
    int traced = c_trace_is_set(s->ts);
    c_trace_swap(s->ts, t->trace);
    if (!traced)
        detach_trace(t);
}

static void bring_functions_back(s_sched *s, s_tasklet *t)
{
    c_trace_swap(s->ts, t->trace);
}

/* No switch leads from a tasklet that has ended to the next one.  What the base of a thread picks
 * may run in another one, and is entered there. */
static void picked_after_end(s_sched *s, s_tasklet *next)
{
    int at_base = s->at != NULL && s->stack == s->at->base;
    if (next->trace != NULL && s->current == s->idler && !at_base)
        bring_functions_back(s, next);
}

static int inherit_functions(s_sched *s, s_tasklet *t)
{
    int code = attach_trace(t);
    return code == S_OK && c_trace_inherit(s->ts, t->trace) < 0 ? S_E_SET : code;
}

PyObject *s_trace_of(const s_tasklet *t, int which)
{
    if (t->owner != NULL && t->owner->current == t)
        return c_trace_object(t->owner->ts, which);
    return t->trace != NULL ? t->trace->object[which] : NULL;
}

int s_trace_set(s_sched *s, s_tasklet *t, int which, PyObject *function)
{
    if (t->trace == NULL && function == Py_None)
        return S_OK;
    if (attach_trace(t) < 0)
        return S_E_MEMORY;
    c_trace mine = {{NULL}};
    c_trace_swap(s->ts, &mine);
    c_trace_swap(s->ts, t->trace);
    int code = c_trace_set(s->ts, which, function);
    int on = c_trace_is_set(s->ts);
    c_trace_swap(s->ts, t->trace);
    c_trace_swap(s->ts, &mine);
    if (!on)
        detach_trace(t);
    return code < 0 ? S_E_SET : S_OK;
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
                               .leave = put_functions_away,
                               .enter = bring_functions_back,
                               .traced_spawn = inherit_functions,
                               .traced = find_functions,
                               .picked = picked_after_end,
                               .drop = drop_functions,
                               .visit = visit_functions};
