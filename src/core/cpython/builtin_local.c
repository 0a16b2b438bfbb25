/* The interpreter's own threading.local, with dictionaries for tasklets as well as for threads.
 *
 * A local holds all its dictionaries in one: each thread's is found by a key of that thread (from
 * 3.13 on), or by a weak reference to an object that the thread keeps (before).  Only the garbage
 * collector walks through it, so other keys may stand there too: their values belong to the local
 * like any others, are seen by the collector, and are freed with the local.  Where that dictionary
 * and the arguments for __init__() lie is not assumed but verified, on a local of our own.
 *
 * The functions are replaced in the slots of the type.  Subclasses have copies of these slots, and
 * so has each slot wrapper (`super().__getattribute__`).  Subclasses that are made later inherit
 * the new ones.
 *
 * Rejected: swapping the thread's own key, or its dictionary, at each switch, which makes every
 * switch slower; or for the duration of a call, in which __init__() or a destructor may switch.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/builtin_local.h"

typedef struct {
    PyObject_HEAD
#ifdef C_LOCAL_IN_THREAD
    PyObject *key; /* in the dictionary of a thread state */
#endif
    PyObject *args, *kwargs, *weakrefs, *values;
} local_object;

#define LOCAL(o) ((local_object *)(o))

c_local_slots c_builtin_local_slots;
static PyTypeObject *local_type;
static PyObject *dict_name;
static int replaced;

/* ---- verifying the layout ------------------------------------------------------------ */

/* Whether a local that was made with these arguments, and used by one thread, looks as expected. */
static int local_is_laid_out(PyObject *local, PyObject *args)
{
    const local_object *l = LOCAL(local);
    return l->args == args && l->kwargs != NULL && PyDict_CheckExact(l->kwargs) &&
           l->values != NULL && PyDict_CheckExact(l->values) && PyDict_GET_SIZE(l->values) == 1;
}

static int verify_local_layout(void)
{
    static const char source[] =
        "type('local', (base,), {'__init__': lambda *args, **names: None})";
    PyObject *names = Py_BuildValue("{sO}", "base", local_type);
    PyObject *type =
        names ? PyRun_String(source, Py_eval_input, PyEval_GetBuiltins(), names) : NULL;
    PyObject *args = type ? PyTuple_Pack(1, Py_True) : NULL;
    PyObject *kwargs = args ? Py_BuildValue("{sO}", "name", Py_True) : NULL;
    PyObject *local = kwargs ? PyObject_Call(type, args, kwargs) : NULL;
    int right = local != NULL && (size_t)local_type->tp_basicsize >= sizeof(local_object) &&
                local_is_laid_out(local, args);
    if (local != NULL && !right)
        PyErr_SetString(PyExc_RuntimeError, "_thread._local is not laid out as expected; loomlet "
                                            "cannot keep its values per tasklet here");
    Py_XDECREF(local);
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    Py_XDECREF(type);
    Py_XDECREF(names);
    return right ? 0 : -1;
}

static int find_local_type(void)
{
    if (local_type != NULL)
        return 0;
    PyObject *module = PyImport_ImportModule("_thread");
    local_type = module ? (PyTypeObject *)PyObject_GetAttrString(module, "_local") : NULL;
    Py_XDECREF(module);
    if (local_type == NULL || c_interned_name(&dict_name, "__dict__") == NULL ||
        verify_local_layout() < 0) {
        Py_CLEAR(local_type);
        return -1;
    }
    c_builtin_local_slots =
        (c_local_slots){local_type->tp_getattro, local_type->tp_setattro, local_type->tp_new};
    return 0;
}

/* ---- the slots --------------------------------------------------------------------------- */

typedef struct {
    PyObject *types; /* a list: the type and all its subclasses */
    const c_local_slots *ours;
} slots;

/* Appends the subclasses of the type at index `at`. */
static int append_subclasses(PyObject *types, Py_ssize_t at)
{
    PyObject *children = PyObject_CallMethod(PyList_GET_ITEM(types, at), "__subclasses__", NULL);
    Py_ssize_t end = PyList_GET_SIZE(types);
    int code = children ? PyList_SetSlice(types, end, end, children) : -1;
    Py_XDECREF(children);
    return code;
}

static PyObject *list_local_types(void)
{
    PyObject *types = c_list_with((PyObject *)local_type);
    if (types == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(types); i++) {
        if (append_subclasses(types, i) < 0) {
            Py_DECREF(types);
            return NULL;
        }
    }
    return types;
}

static void set_slot_wrapper(const char *name, void *function)
{
    PyObject *found = PyDict_GetItemString(local_type->tp_dict, name);
    if (found != NULL && Py_IS_TYPE(found, &PyWrapperDescr_Type))
        ((PyWrapperDescrObject *)found)->d_wrapped = function;
}

static void set_local_slots(void *arg)
{
    const slots *all = arg;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all->types); i++) {
        PyTypeObject *type = (PyTypeObject *)PyList_GET_ITEM(all->types, i);
        if (type->tp_getattro == c_builtin_local_slots.get)
            type->tp_getattro = all->ours->get;
        if (type->tp_setattro == c_builtin_local_slots.set)
            type->tp_setattro = all->ours->set;
        if (type->tp_new == c_builtin_local_slots.make)
            type->tp_new = all->ours->make;
    }
}

int c_local_replace(const c_local_slots *ours)
{
    if (replaced)
        return 0;
    slots all = {find_local_type() < 0 ? NULL : list_local_types(), ours};
    if (all.types == NULL)
        return -1;
    c_while_world_stopped(set_local_slots, &all);
    set_slot_wrapper("__getattribute__", (void *)ours->get);
    set_slot_wrapper("__setattr__", (void *)ours->set);
    set_slot_wrapper("__delattr__", (void *)ours->set);
    Py_DECREF(all.types);
    replaced = 1;
    return 0;
}

/* ---- dictionaries ------------------------------------------------------------------------- */

PyObject *c_local_find_values(PyObject *local, PyObject *key)
{
    PyObject *all = LOCAL(local)->values;
    return all != NULL ? Py_XNewRef(PyDict_GetItemWithError(all, key)) : NULL;
}

static PyObject *add_values_dict(PyObject *local, PyObject *key)
{
    PyObject *values = PyDict_New();
    if (LOCAL(local)->values == NULL) /* the collector has cleared it */
        LOCAL(local)->values = PyDict_New();
    PyObject *all = LOCAL(local)->values;
    if (values == NULL || all == NULL || PyDict_SetItem(all, key, values) < 0)
        Py_CLEAR(values);
    return values;
}

PyObject *c_local_add_values(PyObject *local, PyObject *key)
{
    initproc init = Py_TYPE(local)->tp_init;
    PyObject *values = add_values_dict(local, key);
    if (values == NULL || init == PyBaseObject_Type.tp_init)
        return values;
    if (init(local, LOCAL(local)->args, LOCAL(local)->kwargs) < 0) {
        PyObject *error = PyErr_GetRaisedException();
        c_local_remove_values(local, key);
        PyErr_SetRaisedException(error);
        Py_CLEAR(values);
    }
    return values;
}

/* The dictionary of the thread that has created the local is still the only one. */
static int remove_creator_values(PyObject *local)
{
#ifdef C_LOCAL_IN_THREAD
    return PyDict_DelItem(PyThreadState_GetDict(), LOCAL(local)->key);
#else
    PyDict_Clear(LOCAL(local)->values);
    return 0;
#endif
}

int c_local_add_first_values(PyObject *local, PyObject *key)
{
    PyObject *values = remove_creator_values(local) < 0 ? NULL : add_values_dict(local, key);
    Py_XDECREF(values);
    return values != NULL ? 0 : -1;
}

void c_local_remove_values(PyObject *local, PyObject *key)
{
    PyObject *all = LOCAL(local)->values;
    if (all == NULL || PyDict_DelItem(all, key) < 0)
        PyErr_Clear();
}

/* ---- attributes ----------------------------------------------------------------------------- */

PyObject *c_local_get(PyObject *local, PyObject *name, PyObject *values)
{
    int itself = PyObject_RichCompareBool(name, dict_name, Py_EQ);
    if (itself)
        return itself < 0 ? NULL : Py_NewRef(values);
    return _PyObject_GenericGetAttrWithDict(local, name, values, 0);
}

int c_local_set(PyObject *local, PyObject *name, PyObject *value, PyObject *values)
{
    int itself = PyObject_RichCompareBool(name, dict_name, Py_EQ);
    if (itself == 0)
        return _PyObject_GenericSetAttrWithDict(local, name, value, values);
    if (itself > 0)
        PyErr_Format(PyExc_AttributeError, "'%.100s' object attribute '%U' is read-only",
                     Py_TYPE(local)->tp_name, name);
    return -1;
}
