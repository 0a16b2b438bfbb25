/* Exceptions that are kept alive: letting go of those that tasklets have delivered
 * (sched/failure.c), for loomlet._runtime; who holds the others (debug/holders.c), for
 * loomlet._debug.exceptions. */
#include <limits.h>

#include "bind/debug/debug_socket.h"
#include "cpython/running_frame.h"
#include "debug/debug.h"
#include "debug/holders.h"
#include "sched/failure.h"

/* _let_go_of_failures(): looks at all of them. */
static PyObject *let_go_of_all(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_failures_let_go(INT_MAX);
    Py_RETURN_NONE;
}

static int is_full_collection(PyObject *info)
{
    PyObject *generation = PyDict_Check(info) ? PyDict_GetItemString(info, "generation") : NULL;
    return generation != NULL && PyLong_Check(generation) && PyLong_AsLong(generation) == 2;
}

/* _after_collection(phase, info): for gc.callbacks; looks at all of them when it was a full one. */
static PyObject *let_go_after_collection(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "_after_collection() takes 2 arguments, found %zd",
                            count);
    if (s_settled_count > 0)
        s_failures_let_go(is_full_collection(args[1]) ? INT_MAX : S_SETTLED_AT_ONCE);
    Py_RETURN_NONE;
}

/* _find_holders(roots): see d_find_holders. */
static PyObject *find_holders(PyObject *module, PyObject *roots)
{
    (void)module;
    if (!PyList_Check(roots))
        return PyErr_Format(PyExc_TypeError, "expected a list, found %R", roots);
    s_failures_let_go(INT_MAX);
    return d_find_holders(roots);
}

/* _frame_variable(frame, value): its number in the code's names, or -1. */
static PyObject *frame_variable(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyFrame_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "_frame_variable() takes a frame and an object");
    return PyLong_FromLong(c_frame_variable_of(args[0], args[1]));
}

static int add_tasklets_of(s_sched *s, PyObject *list)
{
    s_tasklet **found;
    Py_ssize_t count = s_tasklets(s, &found);
    int code = count < 0 || (s->main != NULL && PyList_Append(list, (PyObject *)s->main) < 0);
    for (Py_ssize_t i = 0; i < count; i++) {
        code |= PyList_Append(list, (PyObject *)found[i]) < 0;
        Py_DECREF((PyObject *)found[i]);
    }
    if (count >= 0)
        PyMem_RawFree(found);
    return code ? -1 : 0;
}

/* _all_tasklets(): those of every thread that have not ended. */
static PyObject *all_tasklets(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (const s_sched *s = s_first_scheduler(); list != NULL && s != NULL; s = s->next) {
        if (!s->ended && add_tasklets_of((s_sched *)s, list) < 0)
            Py_CLEAR(list);
    }
    return list != NULL || PyErr_Occurred() ? list : PyErr_NoMemory();
}

/* _frame_of(tasklet): the innermost frame of one that is suspended, or None. */
static PyObject *frame_of(PyObject *module, PyObject *object)
{
    (void)module;
    if (!PyObject_TypeCheck(object, s_hook.type))
        return PyErr_Format(PyExc_TypeError, "expected a tasklet, found %R", object);
    s_tasklet *t = (s_tasklet *)object;
    int suspended = t->started && t->state != S_RUNNING && t->state != S_DONE &&
                    (!C_FREE_THREADED || t->owner == s_self_here());
    PyObject *frame = suspended ? c_frame_object(c_thread_state(), &t->c) : NULL;
    if (frame == NULL && PyErr_Occurred())
        return NULL;
    return frame != NULL ? frame : Py_NewRef(Py_None);
}

static PyObject *answering; /* what is called with a question */

static void call_answering(int fd)
{
    PyObject *done = PyObject_CallFunction(answering, "i", fd);
    if (done == NULL) {
        p_close(fd);
        PyErr_WriteUnraisable(answering);
    }
    Py_XDECREF(done);
}

/* _answer_questions(function): it is called with the descriptor of a connection, which it owns if
 * it returns. */
static PyObject *answer_questions(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(answering, Py_NewRef(function));
    d_answer_question = call_answering;
    Py_RETURN_NONE;
}

PyMethodDef bind_exception_functions[] = {
    {"_let_go_of_failures", let_go_of_all, METH_NOARGS, NULL},
    {"_after_collection", (PyCFunction)(void (*)(void))let_go_after_collection, METH_FASTCALL,
     NULL},
    {"_all_tasklets", all_tasklets, METH_NOARGS, NULL},
    {"_answer_questions", answer_questions, METH_O, NULL},
    {"_find_holders", find_holders, METH_O, NULL},
    {"_frame_of", frame_of, METH_O, NULL},
    {"_frame_variable", (PyCFunction)(void (*)(void))frame_variable, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
