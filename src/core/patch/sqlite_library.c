/* SQLite, the library: who waits in it, and what its waits do for the calls of sqlite.c.
 *
 * The library is the one that the module _sqlite3 is linked with.  A connection that is busy asks
 * its busy handler.  SQLite's own handler sleeps by xSleep of the VFS, until the timeout is over;
 * what it sleeps adds up to the timeout, to the millisecond.  xSleep is a function of ours:
 *   - for a call that SUMS it adds up, and returns at once;
 *   - for everybody else it is the original.
 * For a call that FAILS the handler itself is ours for the time of one try, and answers that the
 * connection shall not wait.
 *
 * To add up takes a look at the lock for every 100 ms, so a long timeout is read from the sqlite3
 * object before, and the first try FAILS too.  Where in that object it is, is found by trying; if
 * it is not found, long timeouts are added up as well.
 *
 * SQLite refuses to wait where that could be a deadlock; then neither of them is asked.
 *
 * Invariants.
 * - A statement may be executed again only if nothing of it has run: the database has no
 *   transaction open yet.  In another state, and in a statement with a pragma (one of which reports
 *   a busy database without an error), the wait is a true one, and the call is not tried again.
 *   A COMMIT that was busy has changed nothing, so it may be.
 * - A wait belongs to a call exactly if the thread's innermost Python frame is the one that made
 *   the call.  Python code that runs inside the call (rows, adapters, functions in SQL), and other
 *   tasklets that run meanwhile, have other frames.  A frame that has made a call lives as long as
 *   the call, so its address is not another's.
 * - Only whole milliseconds are added up: SQLite also sleeps when it looks for a snapshot (WAL), by
 *   39 microseconds times a square below 92 squared, or for one microsecond.
 * - One try may wait several times, each for the whole timeout.  The handler always begins with one
 *   millisecond; so one that comes after others begins a new sum, unless it is the last, which may
 *   be any remainder.
 *
 * Threads.  xSleep and the handler run without the GIL, in any thread that uses the library.  The
 * calls in progress are listed per thread, and calls stay with their thread.  SQLite's own lock of
 * the connection is held when the handler runs and when it is set, so a handler that another thread
 * runs does not outlive the call.  That lock may be another thread's that waits for the GIL, so it
 * is taken without the GIL.
 *
 * Rejected: reading short timeouts too and setting the handler for each call, which costs more than
 * adding up, and changes connections that nobody waits for; a PRAGMA before each call, three times
 * as slow as an insert into memory; comparing tasklets in place of frames, which takes Python code
 * inside the call for the call itself.
 */
#include <limits.h>

#include "patch/sqlite.h"

#define NOT_IN_TRANSACTION 0 /* SQLITE_TXN_NONE */
#define STEP 5               /* milliseconds that a handler of ours sleeps at a time */
#define LONG 10000           /* milliseconds of a timeout that is not added up */

/* struct sqlite3_vfs, version 1, which never changes. */
typedef struct sqlite_vfs {
    int version, file_size, longest_path;
    struct sqlite_vfs *next;
    const char *name;
    void *data;
    void (*open_to_randomness[9])(void);
    int (*sleep)(struct sqlite_vfs *vfs, int microseconds);
} sqlite_vfs;

typedef int busy_handler(void *arg, int count);
typedef int sleep_function(sqlite_vfs *vfs, int microseconds);

static int (*set_busy_handler)(void *database, busy_handler *handler, void *arg);
static int (*set_busy_timeout)(void *database, int milliseconds);
static int (*transaction_state)(void *database, const char *schema);
static uint64_t (*size_of_memory)(void *memory);
static int (*add_extension)(void (*entry)(void));
static int (*remove_extension)(void (*entry)(void));

static sqlite_vfs *vfs_used;
static sleep_function *sleep_original;
static size_t timeout_offset;                  /* in a sqlite3 object; 0: not found */
static __thread patch_sqlite_call *calls_here; /* in progress, the latest first */

/* ---- calls in progress ------------------------------------------------------------------ */

void patch_sqlite_enter(patch_sqlite_call *call)
{
    call->ts = c_thread_state();
    call->frame = c_peek_frame(call->ts);
    call->link = &calls_here;
    call->next = calls_here;
    if (call->next != NULL)
        call->next->link = &call->next;
    calls_here = call;
}

void patch_sqlite_leave(patch_sqlite_call *call)
{
    *call->link = call->next;
    if (call->next != NULL)
        call->next->link = call->link;
}

/* The call whose original has called SQLite, which is about to wait; or NULL. */
static patch_sqlite_call *call_that_waits(void)
{
    patch_sqlite_call *call = calls_here;
    while (call != NULL && c_peek_frame(call->ts) != call->frame)
        call = call->next;
    return call;
}

static int has_pragma(PyObject *sql)
{
    static const char word[] = "pragma";
    const void *data = PyUnicode_DATA(sql);
    Py_ssize_t length = PyUnicode_GET_LENGTH(sql);
    for (Py_ssize_t i = 0, same = 0; i < length; i++) {
        Py_UCS4 small = PyUnicode_READ(PyUnicode_KIND(sql), data, i) | 0x20;
        same = small == (Py_UCS4)word[same] ? same + 1 : small == (Py_UCS4)word[0];
        if (same == sizeof(word) - 1)
            return 1;
    }
    return 0;
}

/* Whether the call may be tried again if it does not wait now. */
static int may_refuse(patch_sqlite_call *call)
{
    if (call->args != NULL && (transaction_state(call->database, NULL) != NOT_IN_TRANSACTION ||
                               has_pragma(call->args[0])))
        call->must_wait = 1;
    return !call->must_wait;
}

int patch_sqlite_long_timeout(const patch_sqlite_call *call)
{
    const char *database = call->database;
    int timeout = 0;
    if (timeout_offset != 0 && database != NULL)
        memcpy(&timeout, database + timeout_offset, sizeof(timeout));
    return timeout > LONG && !(call->args != NULL && has_pragma(call->args[0])) ? timeout : 0;
}

/* ---- what SQLite calls ------------------------------------------------------------------ */

static void add_up(patch_sqlite_call *call, int milliseconds)
{
    if (milliseconds == 1 && call->slept > 0) {
        call->slept_before = call->slept;
        call->slept = 0;
    } else {
        call->slept_before = 0;
    }
    call->slept += milliseconds;
    int64_t timeout = call->slept + call->slept_before;
    call->timeout = timeout < INT_MAX ? (int)timeout : INT_MAX;
    call->refused = 1;
}

static int sleep_or_add_up(sqlite_vfs *vfs, int microseconds)
{
    patch_sqlite_call *call = microseconds % 1000 == 0 ? call_that_waits() : NULL;
    if (call == NULL || call->mode != PATCH_SQLITE_SUMS || !may_refuse(call))
        return sleep_original(vfs, microseconds);
    add_up(call, microseconds / 1000);
    return microseconds;
}

/* 1: SQLite looks again; 0: the connection is busy. */
static int refuse_or_sleep(void *arg, int count)
{
    patch_sqlite_call *call = arg;
    if (call_that_waits() == call && call->mode == PATCH_SQLITE_FAILS && may_refuse(call)) {
        call->refused = 1;
        return 0;
    }
    if (count >= call->timeout / STEP)
        return 0;
    sleep_original(vfs_used, STEP * 1000);
    return 1;
}

void patch_sqlite_refuse(patch_sqlite_call *call)
{
    Py_BEGIN_ALLOW_THREADS;
    set_busy_handler(call->database, refuse_or_sleep, call);
    Py_END_ALLOW_THREADS;
}

void patch_sqlite_put_back(const patch_sqlite_call *call)
{
    if (c_sqlite_database(call->connection) != call->database)
        return; /* it has been closed */
    Py_BEGIN_ALLOW_THREADS;
    set_busy_timeout(call->database, call->timeout);
    Py_END_ALLOW_THREADS;
}

void patch_sqlite_must_wait(patch_sqlite_call *call)
{
    if (call->mode == PATCH_SQLITE_FAILS)
        patch_sqlite_put_back(call);
    call->mode = PATCH_SQLITE_WAITS;
    call->must_wait = 1;
}

void patch_sqlite_take_sleep(void)
{
    sleep_function *present = __atomic_load_n(&vfs_used->sleep, __ATOMIC_SEQ_CST);
    if (present == sleep_or_add_up)
        return;
    sleep_original = present;
    __atomic_store_n(&vfs_used->sleep, sleep_or_add_up, __ATOMIC_SEQ_CST);
}

void patch_sqlite_give_sleep(void)
{
    sleep_function *ours = sleep_or_add_up;
    if (vfs_used != NULL)
        __atomic_compare_exchange_n(&vfs_used->sleep, &ours, sleep_original, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
}

/* ---- verifying -------------------------------------------------------------------------- */

static __thread void *opened_here; /* the latest database */

/* SQLite calls it in each thread that opens a database, while it is registered. */
static int note_database(void *database, char **message, const void *api)
{
    (void)message, (void)api;
    opened_here = database;
    return 0;
}

static int follows_timeout(const char *database, size_t offset, int milliseconds)
{
    int found;
    set_busy_timeout((void *)database, milliseconds);
    memcpy(&found, database + offset, sizeof(found));
    return found == milliseconds;
}

/* The first field that is what the timeout is set to. */
static void find_timeout_offset_of(const char *database)
{
    size_t end = (size_t)size_of_memory((void *)database);
    timeout_offset = 0;
    for (size_t at = sizeof(int); at + sizeof(int) <= end && timeout_offset == 0; at += sizeof(int))
        if (follows_timeout(database, at, 123457) && follows_timeout(database, at, 7654321))
            timeout_offset = at;
}

static int is_database_first(const c_sqlite_types *types)
{
    void (*entry)(void) = (void (*)(void))note_database;
    opened_here = NULL;
    if (add_extension(entry) != 0)
        return 0;
    PyObject *made = PyObject_CallFunction((PyObject *)types->connection, "s", ":memory:");
    remove_extension(entry);
    int right = made != NULL && opened_here != NULL && c_sqlite_database(made) == opened_here;
    if (right)
        find_timeout_offset_of(opened_here);
    PyObject *closed = made != NULL ? PyObject_CallMethod(made, "close", NULL) : NULL;
    Py_XDECREF(closed);
    Py_XDECREF(made);
    PyErr_Clear();
    return right;
}

int patch_sqlite_find(const char *path, const c_sqlite_types *types)
{
    enum { HANDLER, TIMEOUT, STATE, FIND_VFS, SIZE, ADD, REMOVE, COUNT };
    static const char *const names[COUNT] = {"sqlite3_busy_handler",
                                             "sqlite3_busy_timeout",
                                             "sqlite3_txn_state",
                                             "sqlite3_vfs_find",
                                             "sqlite3_msize",
                                             "sqlite3_auto_extension",
                                             "sqlite3_cancel_auto_extension"};
    void *found[COUNT];
    sqlite_vfs *(*find_vfs)(const char *name);
    if (p_library_functions(path, names, found, COUNT) < 0)
        return 0;
    memcpy(&set_busy_handler, &found[HANDLER], sizeof(void *));
    memcpy(&set_busy_timeout, &found[TIMEOUT], sizeof(void *));
    memcpy(&transaction_state, &found[STATE], sizeof(void *));
    memcpy(&find_vfs, &found[FIND_VFS], sizeof(void *));
    memcpy(&size_of_memory, &found[SIZE], sizeof(void *));
    memcpy(&add_extension, &found[ADD], sizeof(void *));
    memcpy(&remove_extension, &found[REMOVE], sizeof(void *));
    vfs_used = find_vfs(NULL);
    return vfs_used != NULL && vfs_used->sleep != NULL && is_database_first(types);
}
