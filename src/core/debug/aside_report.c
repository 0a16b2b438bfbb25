/* Tasklets that wait for their thread are reported on stderr, once for each call that holds it.
 *
 * With handoff a tasklet that keeps a stack runs in one thread only (sched/handoff.c).  While
 * another one sits there in C it is put aside, ready, until that call returns: which may be never,
 * if what would end the call is the tasklet itself.  Nothing else shows that, because the thread
 * that has the scheduler sleeps or runs the others.
 *
 * The look for rings (ring_report.c) looks for them too; it is asked for when a tasklet is put
 * aside.  The report comes as late as that of a stall: it is one, of a few tasklets.
 */
#include "debug/debug.h"
#include "sched/carrier.h"

d_wait_handler *d_report_aside;

static int append_to_list(PyObject *list, s_tasklet *t)
{
    return list != NULL ? PyList_Append(list, (PyObject *)t) : -1;
}

/* The sitter, and those that wait until it has met; NULL with an exception. */
static PyObject *list_aside(s_carrier_thread *c, s_tasklet *sitter)
{
    PyObject *list = PyList_New(0);
    int code = append_to_list(list, sitter);
    for (b_link *at = c->aside.next; code == 0 && at != &c->aside; at = at->next)
        code = append_to_list(list, B_CONTAINER(at, s_tasklet, wait.link));
    if (code < 0)
        Py_CLEAR(list);
    return list;
}

/* How long the sitter has run and sat, in coarse milliseconds; may be -1, by another clock. */
static int32_t time_of_sitter(const s_sched *s, const s_tasklet *sitter)
{
    return (int32_t)(s->coarse_now - sitter->since);
}

/* 1: it has sat too shortly for a report. */
static int report_aside(const s_sched *s, s_carrier_thread *c, s_tasklet *sitter, int64_t after)
{
    if (time_of_sitter(s, sitter) < (int32_t)s_coarse_ms(after))
        return 1;
    c->aside_reported = 1;
    PyObject *list = list_aside(c, sitter);
    if (list != NULL)
        d_report_aside(list);
    PyErr_Clear();
    Py_XDECREF(list);
    return 0;
}

int d_find_aside(s_sched *s)
{
    int64_t after = __atomic_load_n(&d_report_after, __ATOMIC_RELAXED);
    int again = 0;
    if (s->carriers == NULL || after == 0 || d_report_aside == NULL)
        return 0;
    for (s_carrier_thread *c = s_first_carrier(); c != NULL; c = c->next) {
        if (c->all != s->carriers || c->aside_reported || b_list_empty(&c->aside))
            continue;
        s_tasklet *sitter = s_sitter_on(c);
        if (sitter != NULL)
            again |= report_aside(s, c, sitter, after);
        Py_XDECREF((PyObject *)sitter);
    }
    return again;
}
