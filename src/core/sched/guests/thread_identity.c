/* What a tasklet has that code of the standard library expects a thread to have.
 *
 * The record, t->identity, is made when the first such thing is asked for: values of
 * threading.local, or being a thread with an ident of its own.  So a switch knows nothing of it,
 * and a tasklet that needs nothing of the kind pays for one pointer.
 *
 * Two numbers.  get_ident() of a thread returns an address, at which C code may look (plat), and
 * which another has some time after its end, as that of any thread.  Locks are owned by a number
 * made of the tasklet's id, which is never another's; so a lock that was left behind stays known as
 * held by nobody, and finding out who holds one needs no table.
 *
 * When the tasklet has ended, it gives up all of it while it still is the current one: the values
 * of its locals are destroyed as its own, and a tasklet that joins the thread runs afterwards.
 */
#include "sched/guests/thread_identity.h"

#include "plat/plat.h"
#include "sched/internal.h"

int s_threads_are_tasklets;
s_identity_handler *s_identity_dropped;

s_identity *s_identity_make(s_tasklet *t)
{
    if (t->identity != NULL)
        return t->identity;
    s_identity *identity = c_calloc(sizeof(*identity));
    PyObject *key = identity ? PyLong_FromUnsignedLongLong(s_identity_number(t)) : NULL;
    if (key == NULL) {
        PyMem_Free(identity);
        PyErr_NoMemory();
        return NULL;
    }
    identity->key = key;
    t->attached |= S_HAS_IDENTITY;
    return t->identity = identity;
}

s_identity *s_identity_make_thread(s_tasklet *t)
{
    uintptr_t ident = p_ident_take(t->id);
    s_identity *identity = ident != 0 ? s_identity_make(t) : NULL;
    PyObject *key = identity != NULL ? PyLong_FromUnsignedLongLong(ident) : NULL;
    if (key == NULL) {
        if (ident != 0)
            p_ident_give(ident);
        PyErr_NoMemory();
        return NULL;
    }
    Py_SETREF(identity->key, key);
    identity->ident = ident;
    return identity;
}

static int visit_identity(s_tasklet *t, visitproc visit, void *arg)
{
    const s_identity *identity = t->identity;
    Py_VISIT(identity->locals);
    Py_VISIT(identity->end);
    Py_VISIT(identity->handle);
    return 0;
}

static void free_identity(s_tasklet *t)
{
    s_identity *identity = t->identity;
    t->identity = NULL;
    t->attached &= (unsigned char)~S_HAS_IDENTITY;
    Py_XDECREF(identity->locals);
    Py_XDECREF(identity->end);
    Py_XDECREF(identity->handle);
    Py_DECREF(identity->key);
    if (identity->ident != 0)
        p_ident_give(identity->ident);
    PyMem_Free(identity);
}

/* Destructors of its values run on its own stack, which can wait for a lock. */
static void drop_identity(s_sched *s, s_tasklet *t)
{
    PyObject *pending = PyErr_GetRaisedException();
    int running = s != NULL && s->current == t;
    if (running)
        s->reporting = s->trap;
    if (s_identity_dropped != NULL && !c_is_finalizing())
        s_identity_dropped(t);
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

/* A thread ends silently by SystemExit. */
static int is_silent_for_thread(const s_tasklet *t, PyObject *failure)
{
    return s_is_thread(t) && PyErr_GivenExceptionMatches(failure, PyExc_SystemExit);
}

const s_guest s_identity_guest = {.bit = S_HAS_IDENTITY,
                                  .is_silent = is_silent_for_thread,
                                  .drop = drop_identity,
                                  .visit = visit_identity};
