/* What a Stackless tasklet calls: bind(), setup(), and the call itself.
 *
 * A dead tasklet keeps the function to be called as its tempval.  bind() with arguments and
 * setup() make the call and begin a new run of the same object.  Reading the arguments may run
 * Python code, so the tasklet is checked again and claimed (s_claim_for_rebinding) before it is
 * changed.
 *
 * tasklet(func)(*args) is how programs write it, so the type with one function and the object with
 * any arguments are called without a tuple of them.  The types of programs have the second only.
 */
#include "base/b_check.h"
#include "bind/stackless/stackless.h"
#include "sched/guests/run.h"

#define SELF ((s_tasklet *)self)

/* The items of a sequence, then the values of a dict whose keys become *names. */
static PyObject *flatten_arguments(PyObject *args, PyObject *kwargs, PyObject **names)
{
    PyObject *values = NULL, *items = NULL;
    PyObject *keys = kwargs != NULL ? c_list_of_keys(kwargs) : NULL;
    PyObject *first = args != NULL ? PySequence_Tuple(args) : PyTuple_New(0);
    *names = keys != NULL && PyList_GET_SIZE(keys) > 0 ? PyList_AsTuple(keys) : NULL;
    if (first != NULL && *names != NULL) {
        PyObject *list = c_list_of_values(kwargs);
        values = list != NULL ? PyList_AsTuple(list) : NULL;
        items = values != NULL ? PySequence_Concat(first, values) : NULL;
        Py_XDECREF(list);
        Py_DECREF(first);
    } else if (!PyErr_Occurred()) {
        items = first;
    }
    Py_XDECREF(values);
    Py_XDECREF(keys);
    for (Py_ssize_t i = 0; items != NULL && *names != NULL && i < PyTuple_GET_SIZE(*names); i++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(*names, i))) {
            PyErr_SetString(PyExc_TypeError, "keywords must be strings");
            Py_CLEAR(items);
        }
    }
    return items;
}

static int may_bind(s_tasklet *t, int unbinds)
{
    if (t->owner != NULL && t->owner->current == t)
        bind_stackless_refuse("can't (re)bind the current tasklet");
    else if (bind_is_in_queue(t))
        bind_stackless_refuse("tasklet is scheduled");
    else if (unbinds && t->is_main)
        bind_stackless_refuse("can't unbind the main tasklet");
    else if (t->saved_as == S_C_STACK && !t->is_main)
        bind_stackless_refuse("tasklet has C state on its stack");
    else
        return 1;
    return 0;
}

/* 0, or -1 with an exception that says why it cannot be claimed. */
static int claim_tasklet(s_tasklet *t, PyObject **func)
{
    int code = s_claim_for_rebinding(t, 1, func);
    if (code == S_E_BLOCKED)
        bind_stackless_refuse("tasklet is scheduled");
    else if (code < 0)
        bind_stackless_fail(code, (PyObject *)t);
    return code < 0 ? -1 : 0;
}

/* That no run can begin: sets the exception, -1. */
static B_COLD int refuse_run(s_tasklet *t, int code)
{
    if (code == S_E_THREAD)
        bind_stackless_refuse("tasklet has no thread");
    else
        bind_stackless_fail(code, (PyObject *)t);
    return -1;
}

/* Begins a new run, paused.  func NULL: of the function it is bound to.  0 or -1. */
static int begin_run(s_tasklet *t, PyObject *func, PyObject *items, PyObject *names)
{
    PyObject *called = func;
    s_sched *s = s_self();
    if (s == NULL || claim_tasklet(t, &called) < 0)
        return -1;
    int code = s_rebind(s, t, called, items, names);
    if (called != func)
        Py_DECREF(called);
    return code < 0 ? refuse_run(t, code) : 0;
}

/* The main tasklet of this thread gets a new function. */
static int bind_main(s_tasklet *main, PyObject *func, PyObject *items, PyObject *names)
{
    int code = func == NULL ? S_E_UNBOUND : S_E_STUCK;
    if (func != NULL && main->owner == s_self_here())
        code = s_bind_main(main->owner, func, items, names);
    if (code < 0)
        bind_stackless_fail(code, (PyObject *)main);
    return code < 0 ? -1 : 0;
}

static int make_call_of(s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwargs)
{
    PyObject *names = NULL;
    if (kwargs != NULL && !PyDict_Check(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "tasklet kwargs must be a dict or None");
        return -1;
    }
    PyObject *items = flatten_arguments(args, kwargs, &names);
    int code = -1;
    if (items != NULL && may_bind(t, 0))
        code = t->is_main ? bind_main(t, func, items, names) : begin_run(t, func, items, names);
    Py_XDECREF(items);
    Py_XDECREF(names);
    return code;
}

static int bind_function(s_tasklet *t, PyObject *func, PyObject *args, PyObject *kwargs)
{
    if (func != NULL && !PyCallable_Check(func)) {
        PyErr_SetString(PyExc_TypeError, "tasklet function must be a callable or None");
        return -1;
    }
    if (!may_bind(t, func == NULL && args == NULL && kwargs == NULL))
        return -1;
    if (args != NULL || kwargs != NULL)
        return make_call_of(t, func, args, kwargs);
    if (claim_tasklet(t, NULL) < 0)
        return -1;
    s_unbind(t);
    PyObject *before = t->wait.value;
    t->wait.value = Py_XNewRef(func);
    s_release_claim(t);
    Py_XDECREF(before);
    return 0;
}

int bind_stackless_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"func", "args", "kwargs", NULL};
    PyObject *given[3] = {Py_None, Py_None, Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOO:tasklet", names, &given[0], &given[1],
                                     &given[2]))
        return -1;
    for (int i = 0; i < 3; i++)
        given[i] = given[i] == Py_None ? NULL : given[i];
    return bind_function(SELF, given[0], given[1], given[2]);
}

PyObject *bind_stackless_bind(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return bind_stackless_init(self, args, kwargs) < 0 ? NULL : Py_NewRef(self);
}

/* What a call of the object calls. */
static PyObject *set_up_with(PyObject *self, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    s_sched *s = s_self();
    Py_ssize_t count = bind_argument_count(PyVectorcall_NARGS(nargs), kwnames);
    PyObject *items = s != NULL ? bind_make_tuple(args, count) : NULL;
    if (items == NULL)
        return NULL;
    int code = s_set_up(s, SELF, items, kwnames);
    Py_DECREF(items);
    return code < 0 && refuse_run(SELF, code) < 0 ? NULL : Py_NewRef(self);
}

PyObject *bind_stackless_setup(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    return set_up_with(self, args, (size_t)nargs, kwnames);
}

PyObject *bind_stackless_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *names, *items = flatten_arguments(args, kwargs, &names), *done = NULL;
    if (items != NULL) {
        Py_ssize_t named = names != NULL ? PyTuple_GET_SIZE(names) : 0;
        done = set_up_with(self, &PyTuple_GET_ITEM(items, 0),
                           (size_t)(PyTuple_GET_SIZE(items) - named), names);
    }
    Py_XDECREF(items);
    Py_XDECREF(names);
    return done;
}

static inline PyObject *new_unbound_tasklet(PyTypeObject *type)
{
    s_sched *s = s_self();
    PyObject *self = s != NULL ? type->tp_alloc(type, 0) : NULL;
    if (self != NULL) {
        SELF->stackless_rules = 1;
        SELF->call = set_up_with;
        s_unbound_init(s, SELF);
    }
    return self;
}

PyObject *bind_stackless_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    return new_unbound_tasklet(type);
}

/* As type.__call__ does it. */
static B_COLD PyObject *make_with(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    PyObject *tuple = bind_make_tuple(args, nargs);
    PyObject *dict = kwnames != NULL ? PyDict_New() : NULL;
    int failed = tuple == NULL || (kwnames != NULL && dict == NULL) ||
                 c_add_keywords(dict, kwnames, args + nargs) < 0;
    PyObject *made = failed ? NULL : PyType_Type.tp_call(type, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return made;
}

PyObject *bind_stackless_make(PyObject *type, PyObject *const *args, size_t nargs,
                              PyObject *kwnames)
{
    if (PyVectorcall_NARGS(nargs) != 1 || kwnames != NULL || Py_TYPE(args[0])->tp_call == NULL)
        return make_with(type, args, PyVectorcall_NARGS(nargs), kwnames);
    PyObject *self = new_unbound_tasklet((PyTypeObject *)type);
    if (self != NULL)
        SELF->wait.value = Py_NewRef(args[0]);
    return self;
}
