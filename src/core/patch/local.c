/* threading.local: values per tasklet.
 *
 * In a tasklet other than a main one, what is set in a local is kept under the tasklet's key
 * (cpython/builtin_local.h), and goes when the tasklet ends, which for that remembers its locals by
 * weak references.  Main tasklets and threads without tasklets use the interpreter's own functions:
 * their values are the thread's, also those set before install().
 *
 * What loomlet itself keeps for each thread of the system, its event loop, is in a local of a type
 * that is excluded here (patch_local_exclude) and left to the originals.
 *
 * After uninstall() the slots stay ours: a tasklet that has values keeps them, and one that is a
 * thread must not see those of another.  For all others it is as if nothing had been replaced.
 */
#include "cpython/builtin_local.h"
#include "patch/thread.h"

#define TRIES 10
#define PRUNED_FROM 16

static int installed;

static PyObject *excluded; /* the type of locals that stay the thread's */

void patch_local_exclude(PyObject *type)
{
    Py_XSETREF(excluded, Py_NewRef(type));
}

/* Whose values a local of that type shows: NULL for those of the thread. */
static s_tasklet *owner_of_values(PyTypeObject *type)
{
    s_tasklet *t = (PyObject *)type != excluded ? patch_tasklet() : NULL;
    int keeps =
        t != NULL && t->identity != NULL && (t->identity->is_thread || t->identity->locals != NULL);
    return installed || keeps ? t : NULL;
}

/* ---- the locals of a tasklet ---------------------------------------------------------------- */

/* References to locals that are gone make room: each time when twice as many have come. */
static int prune_locals(s_identity *identity)
{
    PyObject *living = PyList_New(0);
    for (Py_ssize_t i = 0; living != NULL && i < PyList_GET_SIZE(identity->locals); i++) {
        PyObject *reference = PyList_GET_ITEM(identity->locals, i);
        PyObject *local = PyObject_CallNoArgs(reference);
        int code = local == NULL ? -1 : local != Py_None ? PyList_Append(living, reference) : 0;
        Py_XDECREF(local);
        if (code < 0)
            Py_CLEAR(living);
    }
    if (living != NULL)
        Py_SETREF(identity->locals, living);
    return living != NULL ? 0 : -1;
}

static int remember_local(s_identity *identity, PyObject *local)
{
    if (identity->locals == NULL && (identity->locals = PyList_New(0)) == NULL)
        return -1;
    Py_ssize_t count = PyList_GET_SIZE(identity->locals);
    if (count >= PRUNED_FROM && (count & (count - 1)) == 0 && prune_locals(identity) < 0)
        return -1;
    PyObject *reference = PyWeakref_NewRef(local, NULL);
    int code = reference ? PyList_Append(identity->locals, reference) : -1;
    Py_XDECREF(reference);
    return code;
}

static PyObject *values_of_tasklet(s_tasklet *t, PyObject *local)
{
    s_identity *identity = s_identity_make(t);
    PyObject *values = identity ? c_local_find_values(local, identity->key) : NULL;
    if (identity == NULL || values != NULL || PyErr_Occurred())
        return values;
    return remember_local(identity, local) < 0 ? NULL : c_local_add_values(local, identity->key);
}

/* ---- the slots ------------------------------------------------------------------------------ */

static PyObject *local_getattro(PyObject *local, PyObject *name)
{
    s_tasklet *t = owner_of_values(Py_TYPE(local));
    if (t == NULL)
        return c_builtin_local_slots.get(local, name);
    PyObject *values = values_of_tasklet(t, local);
    PyObject *found = values ? c_local_get(local, name, values) : NULL;
    Py_XDECREF(values);
    return found;
}

static int local_setattro(PyObject *local, PyObject *name, PyObject *value)
{
    s_tasklet *t = owner_of_values(Py_TYPE(local));
    if (t == NULL)
        return c_builtin_local_slots.set(local, name, value);
    PyObject *values = values_of_tasklet(t, local);
    int code = values ? c_local_set(local, name, value, values) : -1;
    Py_XDECREF(values);
    return code;
}

/* What the type's call does next is to run __init__(), here and now. */
static PyObject *local_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *local = c_builtin_local_slots.make(type, args, kwargs);
    s_tasklet *t = local != NULL ? owner_of_values(type) : NULL;
    if (t == NULL)
        return local;
    s_identity *identity = s_identity_make(t);
    if (identity == NULL || remember_local(identity, local) < 0 ||
        c_local_add_first_values(local, identity->key) < 0)
        Py_CLEAR(local);
    return local;
}

int patch_locals_install(int install)
{
    static const c_local_slots ours = {local_getattro, local_setattro, local_new};
    int code = install ? c_local_replace(&ours) : 0;
    installed = install && code == 0;
    return code;
}

/* ---- the end of a tasklet -------------------------------------------------------------------- */

static void remove_values(PyObject *locals, PyObject *key)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(locals); i++) {
        PyObject *local = PyObject_CallNoArgs(PyList_GET_ITEM(locals, i));
        if (local == NULL)
            PyErr_Clear();
        else if (local != Py_None)
            c_local_remove_values(local, key);
        Py_XDECREF(local);
    }
}

/* Destructors of values may set others. */
void patch_local_release(s_identity *identity)
{
    for (int tries = 0; identity->locals != NULL && tries < TRIES; tries++) {
        PyObject *locals = identity->locals;
        identity->locals = NULL;
        remove_values(locals, identity->key);
        Py_DECREF(locals);
    }
}
