/* SQLite connections that wait for others: execute(), executemany() and commit().
 *
 * A busy connection sleeps in C, with the whole thread; the tasklet that it waits for cannot run.
 * Here the original is called so that it does not sleep (sqlite_library.c).  If it fails only
 * because the connection was busy, the tasklet pauses, as long as the connection's own timeout
 * allows, and calls it again with the same arguments.
 *
 * Invariants.
 * - The call is tried again only if SQLite was about to wait in it, and nothing of it has been
 *   done.  Where SQLite refuses to wait, the error is raised at once, as without loomlet.
 * - The connection has its own timeout, and no handler of ours, whenever the tasklet is between two
 *   tries.  So another tasklet may use it, or close it, meanwhile.
 * - Of executemany() only the first row is executed by tries.  Before the second one is taken, the
 *   connection gets its own timeout back, and waits as SQLite does.
 * - The first try learns the timeout, without changing the connection; only a long timeout is known
 *   before.  A call that finds nothing in its way costs an entry in a list.
 *
 * Nothing reports that a database is free, so the pauses grow to 20 ms, which is what another
 * process notices too.  Audit hooks, trace callbacks and adapters see each try.
 *
 * Threads.  The ones that SQLite allows: a connection belongs to one, unless the program says
 * otherwise.  A try may be handed over, so the scheduler is asked for again after each.
 *
 * Rejected: waiting inside the busy handler, where another tasklet of the thread can enter the same
 * connection in the middle of a statement; it loses writes (docs/decisions/sqlite.md).
 */
#include "patch/sqlite.h"

#define PAUSE_FIRST 500000
#define PAUSE_LONGEST 20000000
#define BUSY 5 /* SQLITE_BUSY, in the low byte of a code */
#define BUSY_SNAPSHOT (BUSY | 2 << 8)

PyObject *patch_sqlite_error;

static PyObject *call_sqlite_original(const patch_sqlite_call *call)
{
    s_leave_operation();
    if (call->args == NULL)
        return call->original(call->self, NULL);
    return ((patch_fast_call)(void (*)(void))call->original)(call->self, call->args, call->nargs);
}

/* ---- tries ------------------------------------------------------------------------------- */

static PyObject *make_first_try(patch_sqlite_call *call)
{
    call->mode = PATCH_SQLITE_SUMS;
    patch_sqlite_enter(call);
    PyObject *done = call_sqlite_original(call);
    patch_sqlite_leave(call);
    return done;
}

/* As without loomlet: the thread waits. */
static PyObject *make_last_try(patch_sqlite_call *call)
{
    call->mode = PATCH_SQLITE_WAITS;
    call->must_wait = 1;
    if (call->rows != NULL)
        patch_sqlite_rows_again(call->rows);
    return call_sqlite_original(call);
}

static int has_same_connection(const patch_sqlite_call *call)
{
    return call->self == call->connection || c_sqlite_connection(call->self) == call->connection;
}

static PyObject *make_next_try(patch_sqlite_call *call)
{
    call->database = c_sqlite_database(call->connection);
    if (call->database == NULL || !has_same_connection(call))
        return make_last_try(call);
    call->mode = PATCH_SQLITE_FAILS;
    call->refused = 0;
    if (call->rows != NULL)
        patch_sqlite_rows_again(call->rows);
    patch_sqlite_enter(call);
    patch_sqlite_refuse(call);
    PyObject *done = call_sqlite_original(call);
    if (call->mode == PATCH_SQLITE_FAILS)
        patch_sqlite_put_back(call);
    patch_sqlite_leave(call);
    return done;
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* Whether the exception that is set, which stays set, says that the database is busy. */
static int is_busy_error(void)
{
    if (!PyErr_ExceptionMatches(patch_sqlite_error))
        return 0;
    PyObject *error = PyErr_GetRaisedException();
    PyObject *number = PyObject_GetAttrString(error, "sqlite_errorcode");
    long code = number != NULL ? PyLong_AsLong(number) : 0;
    Py_XDECREF(number);
    PyErr_Clear();
    PyErr_SetRaisedException(error);
    return (code & 0xff) == BUSY && code != BUSY_SNAPSHOT;
}

static int may_try_again(const patch_sqlite_call *call)
{
    return call->refused && !call->must_wait && is_busy_error();
}

static PyObject *wait_and_try(patch_sqlite_call *call)
{
    s_sched *s = patch_scheduler();
    int64_t until = s != NULL ? patch_deadline(s, call->timeout * (int64_t)1000000) : 0;
    for (int64_t pause = PAUSE_FIRST; s != NULL; s = patch_scheduler()) {
        int64_t left = until - s_now(s);
        if (left <= 0)
            return NULL;
        PyErr_Clear();
        if (patch_may_block(s) < 0 || patch_pause(s, pause < left ? pause : left) < 0)
            return NULL;
        PyObject *done = make_next_try(call);
        if (done != NULL || !may_try_again(call))
            return done;
        pause = pause * 2 < PAUSE_LONGEST ? pause * 2 : PAUSE_LONGEST;
    }
    PyErr_Clear();
    return make_last_try(call);
}

PyObject *patch_sqlite_run(patch_sqlite_call *call)
{
    call->database = c_sqlite_database(call->connection);
    Py_INCREF(call->connection);
    call->timeout = patch_sqlite_long_timeout(call);
    PyObject *done = call->timeout > 0 ? make_next_try(call) : make_first_try(call);
    if (done == NULL && may_try_again(call))
        done = wait_and_try(call);
    Py_DECREF(call->connection);
    return done;
}
