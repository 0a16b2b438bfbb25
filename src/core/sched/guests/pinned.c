/* Pinned tasklets: they run at home, the thread that run() was called in, and are not taken there.
 *
 * So what such a tasklet calls is never called in another thread, nor beside the call of another
 * pinned one.  The kernel knows t->pinned in two places: where a tasklet runs (apart.c), and
 * whether it may be left in a call (sitter.c).
 *
 * A tasklet becomes pinned wherever it is, and goes home by a switch, which must be soft: a stack
 * that it keeps elsewhere holds it there.  It goes by way of the idler, because the scheduler would
 * not leave this thread for a tasklet that is current and alone.
 */
#include "sched/guests/pinned.h"

#include <limits.h>

#include "sched/internal.h"

/* An exception came before it was at home: it does not enter. */
static void refuse_pin(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)s, (void)unused;
    t->pinned--;
}

static const s_wait_kind going_home = {.name = "pinned", .refused = refuse_pin};

PyObject *s_pin(s_sched *s, const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = S_OK;
    if (me->pinned == UCHAR_MAX)
        *code = S_E_TOO_DEEP;
    else if (s->away && s->trap)
        *code = S_E_TRAPPED;
    if (*code < 0)
        return NULL;
    me->pinned++;
    if (!s->away)
        return Py_NewRef(Py_True);
    me->kind = &going_home;
    Py_XSETREF(me->wait.value, Py_NewRef(Py_True));
    s_ready(s, me);
    PyObject *done = s_transfer(s, s->idler, site); /* even if nothing else is ready */
    if (done == NULL || !s->away)
        return done;
    Py_DECREF(done);
    me->pinned--;
    *code = S_E_AWAY;
    return NULL;
}

int s_unpin(s_tasklet *t)
{
    if (t->pinned == 0)
        return S_E_NOT_PINNED;
    t->pinned--;
    return S_OK;
}
