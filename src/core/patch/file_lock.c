/* Locks of files: flock(), lockf() and fcntl() of the module fcntl.
 *
 * The original is called in its form that does not wait.  While it says that somebody else has the
 * lock (BlockingIOError), the tasklet waits beside it (sync/file_lock.h).  Nothing of the system
 * reports that a lock is free, so others of this process notify, and other processes are noticed
 * by a pause that grows to 20 ms.  Each try is an audit event.
 *
 * A call that gives a lock back notifies whoever makes it, a plain thread too; and so does closing
 * a descriptor of the file.
 *
 * EACCES is an error.  POSIX allows it for a lock that somebody else has, but where it means that
 * the call is not permitted, the wait would never end.
 *
 * Rejected: the original on a thread of the pool.  One that continues after its tasklet was killed
 * takes the lock, and nobody gives it back.
 */
#include <errno.h>

#include "patch/patch.h"
#include "sched/wake.h"
#include "sync/file_lock.h"

#define PAUSE_FIRST 500000
#define PAUSE_LONGEST 20000000

static PyObject *call_original(const patch_lock_call *call)
{
    s_leave_operation();
    return PyObject_Vectorcall(call->kept->original, call->args, (size_t)call->nargs, NULL);
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* The original's answer, or NULL; *busy: only because somebody else has the lock. */
static PyObject *try_to_lock(const patch_lock_call *call, int *busy)
{
    PyObject *args[PATCH_LOCK_ARGS];
    memcpy(args, call->args, (size_t)call->nargs * sizeof(*args));
    args[1] = PyLong_FromLong(call->nonblocking);
    if (args[1] == NULL)
        return NULL;
    PyObject *done = PyObject_Vectorcall(call->kept->original, args, (size_t)call->nargs, NULL);
    Py_DECREF(args[1]);
    *busy = done == NULL && PyErr_ExceptionMatches(PyExc_BlockingIOError);
    return done;
}

/* Which file the call is about: 0 or -1. */
static int fill_request(const patch_lock_call *call, y_file_lock_request *request)
{
    request->of_range = call->of_range;
    request->fd = PyObject_AsFileDescriptor(call->args[0]);
    if (request->fd < 0)
        return -1;
    int code = p_file_identity(request->fd, &request->file);
    return code < 0 ? patch_raise_errno(-code) : 0;
}

/* The descriptor was closed: a file object says it in its own words. */
static int raise_closed(const patch_lock_call *call)
{
    int fd = PyLong_Check(call->args[0]) ? 0 : PyObject_AsFileDescriptor(call->args[0]);
    return fd < 0 ? -1 : patch_raise_errno(EBADF);
}

/* Waits until it is worth trying again: 0 or -1. */
static int wait_before_trying(s_sched *s, const patch_lock_call *call, int64_t pause)
{
    int code;
    y_file_lock_request request;
    if (fill_request(call, &request) < 0)
        return -1;
    PyObject *done = y_file_lock_wait(s, &request, patch_deadline(s, pause), &code);
    if (done == NULL) {
        patch_raise(s, code);
        return -1;
    }
    Py_DECREF(done);
    return done == Py_None ? raise_closed(call) : 0;
}

static PyObject *lock_without_blocking(s_sched *s, const patch_lock_call *call)
{
    int64_t pause = PAUSE_FIRST;
    for (;;) {
        int busy = 0;
        PyObject *done = try_to_lock(call, &busy);
        if (!busy)
            return done;
        PyErr_Clear();
        if (wait_before_trying(s, call, pause) < 0)
            return NULL;
        pause = pause * 2 < PAUSE_LONGEST ? pause * 2 : PAUSE_LONGEST;
    }
}

/* ---- notifying -------------------------------------------------------------------------- */

/* Others may get a lock now. */
static void notify_waiters(const patch_lock_call *call)
{
    s_sched *s;
    y_file_lock_request request;
    if (!y_file_lock_any() || !patch_in_our_interpreter(&s))
        return;
    if (fill_request(call, &request) == 0)
        y_file_lock_released(s, &request.file, request.of_range);
    PyErr_Clear();
}

PyObject *patch_lock(const patch_lock_call *call)
{
    s_sched *s = call->blocks ? patch_scheduler() : NULL;
    PyObject *done = s != NULL ? lock_without_blocking(s, call) : call_original(call);
    if (done != NULL && call->may_release)
        notify_waiters(call);
    return done;
}

void patch_lock_close_begin(patch_lock_close *closing, int fd)
{
    b_list_init(&closing->waiting);
    closing->known = 0;
    if (fd < 0 || !y_file_lock_any())
        return;
    closing->known = p_file_identity(fd, &closing->file) == 0;
    y_file_lock_claim(fd, &closing->waiting);
}

void patch_lock_close_end(s_sched *s, patch_lock_close *closing)
{
    s_meet_again();
    s_wake_all(s, &closing->waiting, Py_None);
    if (!closing->known)
        return;
    y_file_lock_released(s, &closing->file, 0);
    y_file_lock_released(s, &closing->file, 1);
}
