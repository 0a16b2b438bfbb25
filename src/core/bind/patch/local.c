/* threading.local for tasklets: values of their own.
 *
 * In a tasklet other than a main one, what is set in a local is kept under the tasklet's key
 * (cpython/builtin_local.h), and goes when the tasklet ends, which for that remembers its locals by
 * weak references.  Main tasklets and threads without tasklets keep to the interpreter's own
 * functions: their values are the thread's, those set before install() too.
 *
 * What loomlet itself keeps for each thread of the system, its event loop, stays in a local of a
 * type that is named here (_keep_local) and is left to the originals.
 *
 * After uninstall() the slots stay ours: a tasklet that has values keeps them, and one that is a
 * thread must not see those of another.  For all others it is as if nothing had been exchanged.
 */
#include "bind/patch/threads.h"
#include "cpython/builtin_local.h"

#define TRIES 10

s_tasklet *bind_patch_tasklet(void)
{
    s_sched *s = s_self_;
    if (s == NULL || s->ts != c_thread_state() || s->current->is_main || s->current == s->idler)
        return NULL;
    return s->current;
}

static int installed;

static PyObject *kept; /* the type of locals that stay the thread's */

PyObject *bind_keep_local(PyObject *module, PyObject *type)
{
    (void)module;
    Py_XSETREF(kept, Py_NewRef(type));
    Py_RETURN_NONE;
}

/* Whose values are to be used in a local of that type: NULL for those of the thread. */
static s_tasklet *owner(PyTypeObject *type)
{
    s_tasklet *t = (PyObject *)type != kept ? bind_patch_tasklet() : NULL;
    int keeps =
        t != NULL && t->identity != NULL && (t->identity->is_thread || t->identity->locals != NULL);
    return installed || keeps ? t : NULL;
}

/* Locals that are gone make room: every time when twice as many have come. */
static int prune(s_identity *own)
{
    PyObject *living = PyList_New(0);
    for (Py_ssize_t i = 0; living != NULL && i < PyList_GET_SIZE(own->locals); i++) {
        PyObject *reference = PyList_GET_ITEM(own->locals, i);
        PyObject *local = PyObject_CallNoArgs(reference);
        int code = local == NULL ? -1 : local != Py_None ? PyList_Append(living, reference) : 0;
        Py_XDECREF(local);
        if (code < 0)
            Py_CLEAR(living);
    }
    if (living != NULL)
        Py_SETREF(own->locals, living);
    return living != NULL ? 0 : -1;
}

static int remember(s_identity *own, PyObject *local)
{
    if (own->locals == NULL && (own->locals = PyList_New(0)) == NULL)
        return -1;
    Py_ssize_t count = PyList_GET_SIZE(own->locals);
    if (count >= 16 && (count & (count - 1)) == 0 && prune(own) < 0)
        return -1;
    PyObject *reference = PyWeakref_NewRef(local, NULL);
    int code = reference ? PyList_Append(own->locals, reference) : -1;
    Py_XDECREF(reference);
    return code;
}

static PyObject *values_of(s_tasklet *t, PyObject *local)
{
    s_identity *own = s_identity_make(t);
    PyObject *values = own ? c_local_find_values(local, own->key) : NULL;
    if (own == NULL || values != NULL || PyErr_Occurred())
        return values;
    return remember(own, local) < 0 ? NULL : c_local_add_values(local, own->key);
}

static PyObject *get(PyObject *local, PyObject *name)
{
    s_tasklet *t = owner(Py_TYPE(local));
    if (t == NULL)
        return c_builtin_local_slots.get(local, name);
    PyObject *values = values_of(t, local);
    PyObject *found = values ? c_local_get(local, name, values) : NULL;
    Py_XDECREF(values);
    return found;
}

static int set(PyObject *local, PyObject *name, PyObject *value)
{
    s_tasklet *t = owner(Py_TYPE(local));
    if (t == NULL)
        return c_builtin_local_slots.set(local, name, value);
    PyObject *values = values_of(t, local);
    int code = values ? c_local_set(local, name, value, values) : -1;
    Py_XDECREF(values);
    return code;
}

/* What the type's call does next is to run __init__(), here and now. */
static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *local = c_builtin_local_slots.make(type, args, kwargs);
    s_tasklet *t = local != NULL ? owner(type) : NULL;
    if (t == NULL)
        return local;
    s_identity *own = s_identity_make(t);
    if (own == NULL || remember(own, local) < 0 || c_local_add_first_values(local, own->key) < 0)
        Py_CLEAR(local);
    return local;
}

static void end_all(PyObject *locals, PyObject *key)
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
static void leaves(s_tasklet *t)
{
    s_identity *own = t->identity;
    for (int tries = 0; own->locals != NULL && tries < TRIES; tries++) {
        PyObject *locals = own->locals;
        own->locals = NULL;
        end_all(locals, own->key);
        Py_DECREF(locals);
    }
    if (own->is_thread)
        bind_thread_leaves(own);
}

int bind_patch_locals(int install)
{
    static const c_local_slots ours = {get, set, make};
    s_hook.leaves = leaves;
    int code = install ? c_local_replace(&ours) : 0;
    installed = install && code == 0;
    return code;
}
