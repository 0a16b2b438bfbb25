/* loomlet._core.Fiber: one of several C stacks of a tasklet, behind loomlet.compat.greenlet.
 *
 * A subclass in Python has the rules of greenlets: who the parent is, what a switch hands over.
 * This type only switches.  One function of that module is called for each fiber that begins, and
 * returns the fiber that runs when it has ended.
 */
#include "sched/guests/fiber.h"
#include "bind/native/native.h"

#define SELF ((s_fiber *)self)

static PyObject *live; /* what a fiber runs, given the fiber */

/* It must not keep a reference to the fiber, which would never be freed while it is suspended. */
static PyObject *call_run(PyObject *fiber)
{
    PyObject *next = PyObject_CallOneArg(live, fiber);
    if (next == NULL || (PyObject_TypeCheck(next, &bind_fiber_type) &&
                         s_fiber_may_run(s_self_if_any(), (s_fiber *)next)))
        return next;
    PyErr_Format(PyExc_TypeError,
                 "a fiber expected its function to return a suspended fiber, found %R", next);
    Py_DECREF(next);
    return NULL;
}

void bind_fiber_init(void)
{
    s_fiber_run = call_run;
    bind_fiber_type.tp_new = PyBaseObject_Type.tp_new; /* which refuses abstract classes */
}

static PyObject *fiber_switch(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (s->current->fibers == NULL || !s_fiber_may_run(s, SELF)) {
        PyErr_SetString(PyExc_RuntimeError, "this fiber cannot run in this tasklet");
        return NULL;
    }
    int code = s_fiber_switch(s, SELF);
    return code < 0 ? bind_fail(code, self) : Py_NewRef(Py_None);
}

static PyObject *fiber_adopt(PyObject *self, PyObject *unused)
{
    (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (s_fiber_is_lost(s, SELF))
        Py_RETURN_NONE;
    int mine = SELF->state == S_FIBER_SUSPENDED && s_fiber_is_here(s, SELF);
    if (mine)
        s_fiber_adopt(s, SELF);
    return PyBool_FromLong(mine);
}

static PyObject *get_state(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(SELF->state);
}

static PyObject *get_tasklet_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(SELF->tasklet);
}

static PyObject *get_frame(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *frame = NULL;
    if (SELF->state == S_FIBER_SUSPENDED)
        frame = c_frame_object(c_thread_state(), &SELF->c);
    return frame != NULL || PyErr_Occurred() ? frame : Py_NewRef(Py_None);
}

/* The context of a running fiber is in the thread state: 1, -1 with ValueError when another tasklet
 * runs it; 0: it is suspended. */
static int find_where_it_runs(PyObject *self)
{
    s_sched *s = s_self_if_any();
    if (SELF->state != S_FIBER_RUNNING)
        return 0;
    if (s != NULL && s_fiber_is_here(s, SELF) && SELF->tasklet == s_fiber_owner_id(s))
        return 1;
    PyErr_SetString(PyExc_ValueError,
                    "the context of a greenlet that is running in a different thread or tasklet "
                    "cannot be read or set");
    return -1;
}

static PyObject *get_context(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *context = NULL;
    int here = find_where_it_runs(self);
    if (here < 0)
        return NULL;
    if (!here)
        return Py_NewRef(SELF->c.context != NULL ? SELF->c.context : Py_None);
    c_context_swap(c_thread_state(), &context);
    PyObject *found = Py_NewRef(context != NULL ? context : Py_None);
    c_context_swap(c_thread_state(), &context);
    return found;
}

static int set_context(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "can't delete context attribute");
        return -1;
    }
    if (value != Py_None && !PyContext_CheckExact(value)) {
        PyErr_SetString(PyExc_TypeError, "greenlet context must be a contextvars.Context or None");
        return -1;
    }
    int here = find_where_it_runs(self);
    if (here < 0)
        return -1;
    PyObject *context = value != Py_None ? Py_NewRef(value) : NULL;
    if (here) {
        c_context_swap(c_thread_state(), &context);
    } else {
        PyObject *old = SELF->c.context;
        SELF->c.context = context;
        context = old;
    }
    Py_XDECREF(context);
    return 0;
}

static int fiber_traverse(PyObject *self, visitproc visit, void *arg)
{
    return s_fiber_visit(SELF, visit, arg);
}

static void fiber_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    s_fiber_free(SELF);
    Py_TYPE(self)->tp_free(self);
}

/* _fiber_running(): the running fiber of the current tasklet, or None if it has not begun one. */
static PyObject *fiber_running(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s_fiber_set *all = s->current->fibers;
    return Py_NewRef(all != NULL ? (PyObject *)all->running : Py_None);
}

/* _fiber_first(): the one in which the current tasklet began, or None. */
static PyObject *fiber_first(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s_fiber_set *all = s->current->fibers;
    return Py_NewRef(all != NULL ? (PyObject *)all->first : Py_None);
}

/* _fiber_begin(fiber): `fiber`, which is new, becomes the running fiber of the current tasklet,
 * which has none yet. */
static PyObject *fiber_begin(PyObject *module, PyObject *fiber)
{
    (void)module;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    if (!PyObject_TypeCheck(fiber, &bind_fiber_type) || s->current->fibers != NULL ||
        ((s_fiber *)fiber)->state != S_FIBER_NEW) {
        PyErr_SetString(PyExc_TypeError, "expected a new fiber, in a tasklet without fibers");
        return NULL;
    }
    int code = s_fiber_begin(s, (s_fiber *)fiber);
    return code < 0 ? bind_fail(code, fiber) : Py_NewRef(Py_None);
}

/* _fiber_live(function): from now on a fiber that begins calls function(fiber), which returns the
 * one that runs afterwards. */
static PyObject *set_fiber_live(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(live, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* _raise(exception): raises it as it is, without a new context. */
static PyObject *raise_unchanged(PyObject *module, PyObject *exception)
{
    (void)module;
    if (PyExceptionInstance_Check(exception))
        PyErr_SetRaisedException(Py_NewRef(exception));
    else
        PyErr_Format(PyExc_TypeError, "expected an exception, found %R", exception);
    return NULL;
}

static PyMethodDef methods[] = {
    {"_fiber_switch", fiber_switch, METH_NOARGS,
     PyDoc_STR("_fiber_switch($self, /)\n--\n\nRuns it; returns when the running fiber of now runs "
               "again.")},
    {"_fiber_adopt", fiber_adopt, METH_NOARGS,
     PyDoc_STR(
         "_fiber_adopt($self, /)\n--\n\nIf it is suspended and of this thread, it belongs to the "
         "current tasklet from now on; says whether it does; None: its thread has ended.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"_fiber_state", get_state, NULL,
     PyDoc_STR("0: new, 1: the running one of its tasklet, 2: suspended, 3: ended."), NULL},
    {"_fiber_tasklet_id", get_tasklet_id, NULL,
     PyDoc_STR("The id of the tasklet that it belongs to; 0 before it begins."), NULL},
    {"_fiber_frame", get_frame, NULL, PyDoc_STR("The innermost frame while it is suspended."),
     NULL},
    {"gr_context", get_context, set_context,
     PyDoc_STR("The contextvars.Context of the greenlet, or None."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_fiber_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Fiber",
    .tp_doc = PyDoc_STR("One of several C stacks of a tasklet."),
    .tp_basicsize = sizeof(s_fiber),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_traverse = fiber_traverse,
    .tp_dealloc = fiber_dealloc,
};

PyMethodDef bind_fiber_functions[] = {
    {"_fiber_running", fiber_running, METH_NOARGS, NULL},
    {"_fiber_first", fiber_first, METH_NOARGS, NULL},
    {"_fiber_begin", fiber_begin, METH_O, NULL},
    {"_fiber_live", set_fiber_live, METH_O, NULL},
    {"_raise", raise_unchanged, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
