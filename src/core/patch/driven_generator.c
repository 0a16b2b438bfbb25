/* A generator that yields what it waits for, and is driven from here: psycopg's operations.
 *
 * It yields P_READ, P_WRITE or both for one descriptor, and is sent what is ready, 0 when the
 * interval is over.  The call drives it until it has to wait, waits, drives it once more, and
 * returns what it returns: a query of a database is one call with one wait, which is soft where the
 * caller's frames allow it.  If the generator wants to wait again the call returns the object that
 * stands for it; then the caller calls patch_generator_go_on, in a loop in Python.  So every wait
 * is soft, however many there are; in one call only the first one could be.
 *
 * A descriptor can usually be written to at once.  So that is checked before a wait begins.
 *
 * The interval.  psycopg wakes its generators from time to time, and looks whether somebody has
 * closed the descriptor, which no poller tells.  The caller does that too: it gets an object that
 * is late.
 *
 * Handoff.  What the library does in the generator is short, though it releases the GIL for it.  So
 * a handoff there, which comes where the machine is busy, teaches nothing (s_tasklet.quick).
 *
 * Rejected: all waits in one call (from the second on they would be hard); a registration with the
 * poller that lasts for the connection's life (its library closes the descriptor unseen, and then
 * another one with the same number is not registered).
 */
#include "patch/soft_call.h"

typedef struct {
    patch_soft_call soft;
    PyObject *generator;
    int64_t interval; /* ns */
    int fd;
    unsigned wanted; /* P_READ, P_WRITE */
    int late;        /* the wait has ended because the interval was over, or the number closed */
} driven_generator;

static int visit_driven(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((driven_generator *)self)->generator);
    return 0;
}

static void dealloc_driven(PyObject *self)
{
    driven_generator *g = (driven_generator *)self;
    PyObject_GC_UnTrack(self);
    patch_soft_call_end(&g->soft);
    Py_XDECREF(g->generator);
    PyObject_GC_Del(self);
}

PyTypeObject patch_generator_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.DrivenGenerator",
    .tp_basicsize = sizeof(driven_generator),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = visit_driven,
    .tp_dealloc = dealloc_driven,
};

/* ---- driving ------------------------------------------------------------------------------ */

static unsigned what_is_ready(const driven_generator *g)
{
    unsigned ready = 0;
    for (unsigned what = P_READ; what <= P_WRITE; what++) {
        if (g->wanted & what && p_check_ready(g->fd, what) == 0)
            ready |= what;
    }
    return ready;
}

/* Takes what the generator has yielded (stolen): 0 or -1. */
static int note_wanted(driven_generator *g, PyObject *yielded)
{
    long wanted = PyLong_AsLong(yielded);
    Py_DECREF(yielded);
    if (wanted >= P_READ && wanted <= (P_READ | P_WRITE)) {
        g->wanted = (unsigned)wanted;
        return 0;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "bad poll status: %ld", wanted);
    return -1;
}

/* Its library sends and receives with the GIL released, on a socket that does not block. */
static PySendResult send_to_generator(s_tasklet *me, PyObject *generator, PyObject *sent,
                                      PyObject **yielded)
{
    int nested = me->quick;
    me->quick = 1;
    PySendResult how = PyIter_Send(generator, sent, yielded);
    me->quick = nested != 0;
    return how;
}

/* Sends `sent` (stolen) and so on: 1 with the result of the call, or NULL.  0: it has to wait. */
static int drive_until_wait(s_sched *s, driven_generator *g, PyObject *sent, PyObject **result)
{
    s_tasklet *me = s->current;
    unsigned ready;
    do {
        PyObject *yielded = NULL;
        PySendResult how = send_to_generator(me, g->generator, sent, &yielded);
        Py_XDECREF(sent);
        *result = how == PYGEN_RETURN ? yielded : NULL;
        if (how != PYGEN_NEXT || note_wanted(g, yielded) < 0)
            return 1;
        ready = g->wanted & P_WRITE ? what_is_ready(g) : 0;
        sent = ready != 0 ? PyLong_FromLong((long)ready) : NULL;
    } while (ready != 0);
    return 0;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static PyObject *drive_after_wait(patch_soft_call *soft, PyObject *woken)
{
    driven_generator *g = (driven_generator *)soft;
    PyObject *result;
    g->late = woken != Py_True;
    if (g->late)
        return Py_NewRef(g);
    unsigned ready = g->wanted == P_READ ? P_READ : what_is_ready(g);
    return drive_until_wait(soft->s, g, PyLong_FromLong((long)ready), &result) ? result
                                                                               : Py_NewRef(g);
}

/* Steals `g`. */
static PyObject *wait_for_generator(s_sched *s, driven_generator *g, const c_call_site *site)
{
    s_meet_again();
    patch_soft_call_begin(&g->soft, s, (PyObject *)g);
    g->soft.request = (i_external_request){g->fd, g->wanted, g->generator};
    return patch_soft_call_wait(&g->soft, patch_deadline(s, g->interval), site);
}

/* Drives it, and waits where it has to.  Steals `g`. */
static PyObject *drive_and_wait(s_sched *s, driven_generator *g, PyObject *sent,
                                const c_call_site *site)
{
    PyObject *result;
    if (!drive_until_wait(s, g, sent, &result))
        return wait_for_generator(s, g, site);
    Py_DECREF(g);
    return result;
}

PyObject *patch_generator_begin(s_sched *s, PyObject *generator, int fd, int64_t interval,
                                const c_call_site *site)
{
    driven_generator *g = patch_soft_call_new(&patch_generator_type, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->soft.go_on = drive_after_wait;
    g->generator = Py_NewRef(generator);
    g->fd = fd;
    g->interval = interval;
    PyObject_GC_Track(g);
    return drive_and_wait(s, g, Py_NewRef(Py_None), site);
}

PyObject *patch_generator_go_on(s_sched *s, PyObject *self, const c_call_site *site)
{
    driven_generator *g = (driven_generator *)Py_NewRef(self);
    if (!g->late)
        return wait_for_generator(s, g, site);
    g->late = 0;
    return drive_and_wait(s, g, PyLong_FromLong(0), site);
}

int patch_generator_is_waiting(PyObject *self)
{
    return b_linked(&((driven_generator *)self)->soft.mutex.link);
}

int patch_generator_is_late(PyObject *self)
{
    return ((driven_generator *)self)->late;
}

unsigned patch_generator_wanted(PyObject *self)
{
    return ((driven_generator *)self)->wanted;
}
