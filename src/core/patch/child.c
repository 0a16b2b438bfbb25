/* Waiting for child processes: os.waitpid, wait, wait3, wait4 and waitid.
 *
 * The original is called with WNOHANG, so it alone collects a child and says what became of it.
 * Between two calls the tasklet waits for a descriptor that reports the end of that child
 * (plat/child_linux.c).  It is opened before the last call that found the child running, so it
 * cannot be of a later process with the same number.
 *
 * Where no descriptor can report it (any child of several, a stop, an old system), the original is
 * called again after a pause that grows to 50 ms, as subprocess does it for a wait with a timeout.
 *
 * Rejected: the original on a thread of the pool.  One that continues after its tasklet was killed
 * takes a child from the next caller, and the end of the interpreter waits for it.
 */
#include "patch/patch.h"

#define PAUSE_FIRST 500000
#define PAUSE_LONGEST 50000000

/* Between two calls of the original. */
typedef struct {
    int fd; /* reports when to ask again; below 0: nothing does */
    int64_t pause;
} child_poll;

static PyObject *ask_for_child(const patch_child_query *q)
{
    PyObject *args[3], *answer = NULL;
    int made = 0;
    for (; made < q->count; made++) {
        int value = q->values[made], last = made == q->count - 1;
        args[made] = PyLong_FromLong(last ? p_child_wait_nonblocking(value) : value);
        if (args[made] == NULL)
            break;
    }
    if (made == q->count)
        answer = PyObject_Vectorcall(q->kept->original, args, (size_t)made, NULL);
    while (made-- > 0)
        Py_DECREF(args[made]);
    return answer;
}

/* Whether no child has ended: None, or a tuple that begins with 0. */
static int is_no_child(PyObject *answer)
{
    if (answer == NULL || answer == Py_None)
        return answer == Py_None;
    return PyLong_AsLong(PyTuple_GetItem(answer, 0)) == 0;
}

/* Waits until it is worth asking again: 0 or -1. */
static int wait_before_asking(s_sched *s, child_poll *poll)
{
    if (poll->fd < 0) {
        int code = patch_pause(s, poll->pause);
        poll->pause = poll->pause * 2 < PAUSE_LONGEST ? poll->pause * 2 : PAUSE_LONGEST;
        return code;
    }
    int code = patch_wait(s, poll->fd, P_READ, NULL, S_FOREVER);
    p_close(poll->fd); /* it has nothing more to report */
    poll->fd = -1;
    return code;
}

static int open_child_descriptor(const patch_child_query *q)
{
    if (!p_child_wait_for_exit(q->values[q->count - 1]))
        return -1;
    if (q->by_kind)
        return p_child_open_as(q->values[0], q->values[1]);
    return q->count == 2 ? p_child_open(q->values[0]) : -1;
}

PyObject *patch_child_wait(s_sched *s, const patch_child_query *q)
{
    PyObject *answer = patch_may_block(s) < 0 ? NULL : ask_for_child(q);
    if (!is_no_child(answer))
        return answer;
    child_poll poll = {open_child_descriptor(q), PAUSE_FIRST};
    do {
        Py_DECREF(answer);
        answer = ask_for_child(q);
    } while (is_no_child(answer) && wait_before_asking(s, &poll) == 0);
    if (poll.fd >= 0)
        p_close(poll.fd);
    if (PyErr_Occurred())
        Py_CLEAR(answer);
    return answer;
}
