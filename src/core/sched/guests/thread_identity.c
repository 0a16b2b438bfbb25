/* What a tasklet has that code of the standard library expects a thread to have.
 *
 * The record, t->identity, is made when the first such thing is asked for: values of
 * threading.local, or being a thread, with an identity of its own.  So a switch knows nothing of
 * it, and a tasklet that needs nothing of the kind pays for one pointer.
 *
 * When the tasklet has ended, it gives up all of it while it still is the current one: the values
 * of its locals are destroyed as its own, and whoever joins the thread goes on afterwards.
 */
#include "sched/events.h"
#include "sched/internal.h"

s_identity *s_identity_make(s_tasklet *t)
{
    if (t->identity != NULL)
        return t->identity;
    s_identity *own = c_calloc(sizeof(*own));
    PyObject *key = own ? PyLong_FromUnsignedLongLong(s_identity_number(t)) : NULL;
    if (key == NULL) {
        PyMem_Free(own);
        PyErr_NoMemory();
        return NULL;
    }
    own->key = key;
    t->attached |= S_HAS_IDENTITY;
    return t->identity = own;
}

static int visit_identity(s_tasklet *t, visitproc visit, void *arg)
{
    const s_identity *own = t->identity;
    Py_VISIT(own->locals);
    Py_VISIT(own->end);
    Py_VISIT(own->handle);
    return 0;
}

static void free_identity(s_tasklet *t)
{
    s_identity *own = t->identity;
    t->identity = NULL;
    t->attached &= (unsigned char)~S_HAS_IDENTITY;
    Py_XDECREF(own->locals);
    Py_XDECREF(own->end);
    Py_XDECREF(own->handle);
    Py_DECREF(own->key);
    PyMem_Free(own);
}

/* Destructors of its values run on its own stack, which can wait for a lock. */
static void drop_identity(s_sched *s, s_tasklet *t)
{
    PyObject *pending = PyErr_GetRaisedException();
    int running = s != NULL && s->current == t;
    if (running)
        s->reporting = s->trap;
    if (s_hook.leaves != NULL && !c_is_finalizing())
        s_hook.leaves(t);
    free_identity(t);
    if (running)
        s->reporting = 0;
    PyErr_SetRaisedException(pending);
}

/* Its frames cannot go, because no `finally` may run: a reference stays for ever. */
void s_retire(s_sched *s, s_tasklet *t)
{
    if (t->state == S_READY)
        b_unlink(&t->wait.link);
    else if (t->state != S_BLOCKED || !t->kind->detach(t))
        Py_INCREF((PyObject *)t);
    s_deadline_drop(s, t);
    t->kind = NULL;
    t->state = S_PAUSED;
    if (!t->is_main)
        s_registry_remove(t);
}

const s_guest s_identity_guest = {
    .bit = S_HAS_IDENTITY, .drop = drop_identity, .visit = visit_identity};
