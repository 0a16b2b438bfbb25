/* Waiting for child processes for tasklets: os.waitpid, wait, wait3, wait4 and waitid.
 *
 * The original is asked with WNOHANG, so it alone collects a child and says what became of it.
 * Between two questions the tasklet waits for a descriptor that tells the end of that child
 * (plat/child_linux.c).  It is opened before the last question that found the child running, so
 * it cannot be of a later process with the same number.
 *
 * Where no descriptor can tell (any child of several, a stop, an old system), the question is put
 * again after a pause that grows to 50 ms, as subprocess does it for a wait with a timeout.
 *
 * Rejected: the original on a thread of the pool.  One that goes on alone, after its tasklet was
 * killed, takes a child from whoever asks for it next, and the end of the interpreter waits for
 * it.
 */
#include <limits.h>

#include "bind/patch/patch.h"

#define PAUSE_FIRST 500000
#define PAUSE_LONGEST 50000000

static c_replaced_function waiting_pid, waiting_any, waiting_3, waiting_4, waiting_id;

/* One call, of numbers. */
typedef struct {
    const c_replaced_function *kept; /* whose original is asked */
    int values[3];                   /* the last one given are the options */
    int count;
    int fd; /* tells when to ask again; below 0: nothing does */
    int64_t pause;
} question;

/* ---- asking until there is an answer -------------------------------------------------- */

static PyObject *ask(const question *q)
{
    PyObject *args[3], *answer = NULL;
    int made = 0;
    for (; made < q->count; made++) {
        int last = made == q->count - 1;
        args[made] =
            PyLong_FromLong(last ? p_child_wait_nonblocking(q->values[made]) : q->values[made]);
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
static int is_nobody(PyObject *answer)
{
    if (answer == NULL || answer == Py_None)
        return answer == Py_None;
    PyObject *pid = PyTuple_GetItem(answer, 0);
    return PyLong_AsLong(pid) == 0;
}

/* Waits until it is worth asking again: 0, or -1 with an exception. */
static int hold_on(s_sched *s, question *q)
{
    if (q->fd < 0) {
        int code = bind_patch_pause(s, q->pause);
        q->pause = q->pause * 2 < PAUSE_LONGEST ? q->pause * 2 : PAUSE_LONGEST;
        return code;
    }
    int code = bind_patch_wait(s, q->fd, P_READ, NULL, S_FOREVER);
    p_close(q->fd); /* it told what it had to tell */
    q->fd = -1;
    return code;
}

static int open_child(const question *q)
{
    if (!p_child_wait_for_exit(q->values[q->count - 1]))
        return -1;
    if (q->kept == &waiting_id)
        return p_child_open_as(q->values[0], q->values[1]);
    return q->count == 2 ? p_child_open(q->values[0]) : -1;
}

static PyObject *repeat(s_sched *s, question *q)
{
    PyObject *answer = ask(q);
    if (!is_nobody(answer))
        return answer;
    q->fd = open_child(q);
    q->pause = PAUSE_FIRST;
    do {
        Py_DECREF(answer);
        answer = ask(q);
    } while (is_nobody(answer) && hold_on(s, q) == 0);
    if (q->fd >= 0)
        p_close(q->fd);
    if (PyErr_Occurred())
        Py_CLEAR(answer);
    return answer;
}

/* ---- the functions ---------------------------------------------------------------------- */

/* Fills the question: 1; 0 when the original shall answer or complain. */
static int understood(question *q, PyObject *const *args, Py_ssize_t nargs, int count)
{
    q->count = count;
    for (int i = 0; i < count && nargs == count; i++) {
        long value = PyLong_Check(args[i]) ? PyLong_AsLong(args[i]) : LONG_MAX;
        if (value > INT_MAX || value < INT_MIN || PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        q->values[i] = (int)value;
    }
    return nargs == count && p_child_wait_blocks(q->values[count - 1]);
}

static PyObject *wait_for(const c_replaced_function *kept, PyObject *const *args, Py_ssize_t nargs,
                          int count)
{
    int64_t until;
    question q = {.kept = kept, .fd = -1};
    s_sched *s = understood(&q, args, nargs, count) ? bind_patch_sched() : NULL;
    if (s == NULL)
        return PyObject_Vectorcall(kept->original, args, (size_t)nargs, NULL);
    return bind_patch_until(s, -1, &until) < 0 ? NULL : repeat(s, &q);
}

/* The same for what can be given by name. */
static PyObject *wait_named(const c_replaced_function *kept, const char *const *names,
                            PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int count)
{
    PyObject *values[2] = {NULL, NULL};
    if (bind_parse_arguments("wait", names, count, args, nargs, kwnames, values) == 0)
        return wait_for(kept, values, count, count);
    PyErr_Clear();
    return PyObject_Vectorcall(kept->original, args, (size_t)nargs, kwnames);
}

static PyObject *waitpid_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return wait_for(&waiting_pid, args, nargs, 2);
}

/* wait() is waitpid(-1, 0). */
static PyObject *wait_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t until;
    question q = {.kept = &waiting_pid, .values = {-1, 0}, .count = 2, .fd = -1};
    s_sched *s = nargs == 0 ? bind_patch_sched() : NULL;
    (void)module;
    if (s == NULL)
        return PyObject_Vectorcall(waiting_any.original, args, (size_t)nargs, NULL);
    return bind_patch_until(s, -1, &until) < 0 ? NULL : repeat(s, &q);
}

static PyObject *wait3_(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
    static const char *const names[] = {"options", NULL};
    (void)module;
    return wait_named(&waiting_3, names, args, nargs, kwnames, 1);
}

static PyObject *wait4_(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
    static const char *const names[] = {"pid", "options", NULL};
    (void)module;
    return wait_named(&waiting_4, names, args, nargs, kwnames, 2);
}

static PyObject *waitid_(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return wait_for(&waiting_id, args, nargs, 3);
}

static const c_function_replacement functions[] = {
    {"waitpid", METH_FASTCALL, BIND_FN(waitpid_), &waiting_pid},
    {"wait", METH_NOARGS, BIND_FN(wait_), &waiting_any},
    {"wait3", METH_FASTCALL | METH_KEYWORDS, BIND_FN(wait3_), &waiting_3},
    {"wait4", METH_FASTCALL | METH_KEYWORDS, BIND_FN(wait4_), &waiting_4},
    {"waitid", METH_FASTCALL, BIND_FN(waitid_), &waiting_id},
};

#define COUNT (sizeof(functions) / sizeof(*functions))

int bind_patch_processes(int install)
{
    if (install)
        return c_functions_replace("os", functions, COUNT);
    c_functions_restore(functions, COUNT);
    return 0;
}
