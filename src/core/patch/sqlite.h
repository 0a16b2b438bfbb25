/* SQLite connections that wait for others let other tasklets run: the contract.  See sqlite.c. */
#ifndef LOOMLET_PATCH_SQLITE_H
#define LOOMLET_PATCH_SQLITE_H

#include "cpython/builtin_sqlite.h"
#include "patch/patch.h"

/* How a try of a call waits for other connections. */
typedef enum {
    PATCH_SQLITE_WAITS, /* as SQLite does: the thread sleeps */
    PATCH_SQLITE_SUMS,  /* not at all; what it would have slept is added up */
    PATCH_SQLITE_FAILS, /* not at all, and its timeout is known */
} patch_sqlite_mode;

/* A call of execute(), executemany() or commit().  Lies on the C stack of the call. */
typedef struct patch_sqlite_call {
    PyObject *self, *connection;
    PyCFunction original;
    PyObject *const *args; /* NULL: it is commit() */
    Py_ssize_t nargs;
    PyObject *rows; /* of executemany(), else NULL */

    patch_sqlite_mode mode;
    int must_wait;                          /* it has waited, or must, as SQLite does */
    int refused;                            /* SQLite was about to wait in this try */
    int64_t slept, slept_before;            /* milliseconds, by sqlite_library.c */
    int timeout;                            /* the connection's own, in milliseconds; once known */
    void *database;                         /* the sqlite3 object, as long as a try runs */
    PyThreadState *ts;                      /* of the thread */
    const void *frame;                      /* the caller's */
    struct patch_sqlite_call *next, **link; /* of those that are in progress in this thread */
} patch_sqlite_call;

/* The call by the original; while that is busy, the tasklet waits beside it and tries again.  The
 * caller has asked patch_scheduler(). */
PyObject *patch_sqlite_run(patch_sqlite_call *call);
/* Whose exceptions say that a connection is busy; set before the first call. */
extern PyObject *patch_sqlite_error;

/* ---- sqlite_library.c ---------------------------------------------------------------- */

/* Finds the functions of SQLite that the module (which is in that file; NULL: in the program) uses,
 * and verifies by a new connection where it keeps its sqlite3 object: whether all is as expected.
 * Leaves no exception. */
int patch_sqlite_find(const char *path, const c_sqlite_types *types);
/* SQLite sleeps by a function of ours from now on, or by its own again. */
void patch_sqlite_take_sleep(void);
void patch_sqlite_give_sleep(void);

/* A try begins and ends in this thread. */
void patch_sqlite_enter(patch_sqlite_call *call);
void patch_sqlite_leave(patch_sqlite_call *call);
/* The connection's own timeout, if it is so long that it is better not to add it up, and the call
 * can do without; else 0. */
int patch_sqlite_long_timeout(const patch_sqlite_call *call);
/* The database refuses to wait for this call, or waits for its own timeout again. */
void patch_sqlite_refuse(patch_sqlite_call *call);
void patch_sqlite_put_back(const patch_sqlite_call *call);
/* The call cannot be tried again: it waits as SQLite does from now on, for its own timeout. */
void patch_sqlite_must_wait(patch_sqlite_call *call);

/* ---- sqlite_rows.c ------------------------------------------------------------------- */

/* An iterator over `rows` for a call that may be tried again; NULL with an exception. */
PyObject *patch_sqlite_rows_new(PyObject *rows, patch_sqlite_call *call);
/* The next try gets the first row once more. */
void patch_sqlite_rows_again(PyObject *rows);

#endif
