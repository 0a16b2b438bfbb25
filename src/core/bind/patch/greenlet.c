/* The extension module greenlet, beside tasklets: one tasklet of a thread may use it.
 *
 * greenlet keeps for each OS thread which greenlet runs, and moves pieces of the C stack away and
 * back.  Used by two tasklets by turns it would copy one tasklet's frames over another's.  So its
 * functions that switch are replaced, in Python (and with them getcurrent(), which would return
 * another tasklet's greenlet) and in its C interface, a table of functions that all users share:
 * the first tasklet that switches stays on its C stack (sched/guests/fixed_stack.h), and every
 * other one gets TaskletError instead.  getcurrent() in C must not fail, for gevent; there a
 * greenlet that never begins (`stranger`) stands for the refused tasklet, until it switches.
 *
 * A suspended greenlet that loses its last reference is switched to, to end it.  If that happens in
 * another tasklet, it is kept until its own tasklet switches again; if its own has ended, for ever:
 * its frames were on a stack that is used by others now.  Which greenlets a tasklet has begun is
 * noted for that (`owners`), but for the main tasklet, which does not end.
 *
 * Where the thread has no tasklets, everything is as ever.  Programs that want greenlets in many
 * tasklets take loomlet.compat.greenlet.
 */
#include "bind/patch/patch.h"
#include "cpython/replace.h"
#include "sched/guests/fixed_stack.h"

/* Entries of greenlet's table of functions. */
enum { API_TYPE = 0, API_GET_CURRENT = 4, API_THROW = 5, API_SWITCH = 6, API_MAIN = 8 };
enum { API_STARTED = 9, API_ACTIVE = 10 };

typedef PyObject *(*running_call)(void);
typedef PyObject *(*throw_call)(PyObject *, PyObject *, PyObject *, PyObject *);
typedef PyObject *(*switch_call)(PyObject *, PyObject *, PyObject *);
typedef int (*question)(PyObject *);

static void **table;           /* NULL: there is no greenlet yet */
static PyTypeObject *greenlet; /* its type */
static running_call original_get_current;
static throw_call original_throw;
static switch_call original_switch;
static PyCFunction switch_method, throw_method;
static destructor original_dealloc;
static c_replaced_function getcurrent_function;
static PyObject *owners; /* the address of a greenlet: the id of the tasklet that began it */
static PyObject *stranger;
static PyObject *kept; /* greenlets that could not be ended where they were dropped */

static int ask_greenlet(int entry, PyObject *object)
{
    return ((question)(uintptr_t)table[entry])(object);
}

static s_sched *scheduler_here(void)
{
    s_sched *s = s_self_if_any();
    return s != NULL && s->ts == c_thread_state() ? s : NULL;
}

static PyObject *refuse_tasklet(const s_sched *s, uint64_t owner)
{
    PyObject *about = Py_BuildValue("OK", (PyObject *)s->current, (unsigned long long)owner);
    if (about != NULL)
        bind_fail(S_E_GREENLETS, about);
    Py_XDECREF(about);
    return NULL;
}

/* ---- who began a greenlet ------------------------------------------------------------------ */

/* The id of the tasklet that began it; 0: the main tasklet, or none. */
static uint64_t find_owner(PyObject *object)
{
    if (PyDict_GET_SIZE(owners) == 0)
        return 0;
    PyObject *key = PyLong_FromVoidPtr(object);
    PyObject *id = key != NULL ? PyDict_GetItem(owners, key) : NULL;
    Py_XDECREF(key);
    return id != NULL ? PyLong_AsUnsignedLongLong(id) : 0;
}

static int note_owner(PyObject *object, uint64_t id)
{
    PyObject *key = PyLong_FromVoidPtr(object), *value = PyLong_FromUnsignedLongLong(id);
    int code = key && value ? PyDict_SetItem(owners, key, value) : -1;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return code;
}

static void forget_owner(PyObject *object)
{
    PyObject *key = PyDict_GET_SIZE(owners) > 0 ? PyLong_FromVoidPtr(object) : NULL;
    if (key != NULL && PyDict_DelItem(owners, key) < 0)
        PyErr_Clear();
    Py_XDECREF(key);
}

static uint64_t owner_id_of(const s_tasklet *t)
{
    return t->is_main ? 0 : t->id;
}

/* ---- greenlets that are dropped ------------------------------------------------------------- */

/* Back to life, with `kept` as its only owner; the collector still tracks it. */
static void keep_dropped(PyObject *self)
{
    Py_SET_REFCNT(self, 1);
    if (PyList_Append(kept, self) < 0)
        PyErr_Clear(); /* it is leaked */
    else
        Py_SET_REFCNT(self, Py_REFCNT(self) - 1);
    if (PyType_HasFeature(Py_TYPE(self), Py_TPFLAGS_HEAPTYPE))
        Py_INCREF((PyObject *)Py_TYPE(self)); /* its deallocator drops one */
}

static void dealloc_or_keep(PyObject *self)
{
    s_sched *s = scheduler_here();
    if (s != NULL && ask_greenlet(API_ACTIVE, self) && !ask_greenlet(API_MAIN, self) &&
        (s_fixed_stack_is_taken(s) || find_owner(self) != owner_id_of(s->current))) {
        keep_dropped(self);
        return;
    }
    forget_owner(self);
    original_dealloc(self);
}

/* Ends those that were dropped elsewhere and belong to the current tasklet. */
static void release_kept(const s_sched *s)
{
    for (Py_ssize_t i = PyList_GET_SIZE(kept); i-- > 0;) {
        PyObject *object = Py_NewRef(PyList_GET_ITEM(kept, i));
        if (find_owner(object) == owner_id_of(s->current))
            PyList_SetSlice(kept, i, i + 1, NULL);
        Py_DECREF(object);
    }
}

/* ---- the replacements -------------------------------------------------------------------------
 */

/* Whether the current tasklet may switch to the greenlet: 0, or -1 with an exception. */
static int admit_switch(PyObject *target)
{
    s_sched *s = scheduler_here();
    if (s == NULL)
        return 0;
    uint64_t mine = owner_id_of(s->current);
    int started = ask_greenlet(API_STARTED, target);
    uint64_t owner = started && !ask_greenlet(API_MAIN, target) ? find_owner(target) : mine;
    if (!s_claim_fixed_stack(s) || owner != mine) {
        refuse_tasklet(s, s_fixed_stack_is_taken(s) ? s->fixed_stack_of
                          : owner                   ? owner
                                                    : s->main->id);
        return -1;
    }
    if (PyList_GET_SIZE(kept) > 0)
        release_kept(s);
    return !started && mine != 0 ? note_owner(target, mine) : 0;
}

static PyObject *guarded_switch(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return admit_switch(self) < 0 ? NULL : original_switch(self, args, kwargs);
}

static PyObject *guarded_throw(PyObject *self, PyObject *type, PyObject *value, PyObject *traceback)
{
    return admit_switch(self) < 0 ? NULL : original_throw(self, type, value, traceback);
}

static PyObject *guarded_get_current(void)
{
    s_sched *s = scheduler_here();
    return s != NULL && s_fixed_stack_is_taken(s) ? Py_NewRef(stranger) : original_get_current();
}

static PyObject *guarded_switch_method(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyCFunctionWithKeywords original = (PyCFunctionWithKeywords)(void (*)(void))switch_method;
    return admit_switch(self) < 0 ? NULL : original(self, args, kwargs);
}

static PyObject *guarded_throw_method(PyObject *self, PyObject *args)
{
    return admit_switch(self) < 0 ? NULL : throw_method(self, args);
}

static PyObject *guarded_getcurrent(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = scheduler_here();
    (void)module, (void)args, (void)nargs;
    return s != NULL && s_fixed_stack_is_taken(s) ? refuse_tasklet(s, s->fixed_stack_of)
                                                  : original_get_current();
}

/* ---- in their places --------------------------------------------------------------------------
 */

static int replace_python_functions(void)
{
    const c_method_replacement methods[] = {
        {"switch", METH_VARARGS | METH_KEYWORDS, (PyCFunction)(void (*)(void))guarded_switch_method,
         &switch_method},
        {"throw", METH_VARARGS, guarded_throw_method, &throw_method}};
    const c_function_replacement functions[] = {{"getcurrent", METH_NOARGS,
                                                 (PyCFunction)(void (*)(void))guarded_getcurrent,
                                                 &getcurrent_function}};
    if (c_methods_replace(greenlet, methods, 2) < 0)
        return -1;
    return c_functions_replace("greenlet._greenlet", functions, 1);
}

static void replace_api_functions(void *unused)
{
    (void)unused;
    original_get_current = (running_call)(uintptr_t)table[API_GET_CURRENT];
    original_throw = (throw_call)(uintptr_t)table[API_THROW];
    original_switch = (switch_call)(uintptr_t)table[API_SWITCH];
    original_dealloc = greenlet->tp_dealloc;
    table[API_GET_CURRENT] = (void *)(uintptr_t)guarded_get_current;
    table[API_THROW] = (void *)(uintptr_t)guarded_throw;
    table[API_SWITCH] = (void *)(uintptr_t)guarded_switch;
    greenlet->tp_dealloc = dealloc_or_keep;
}

/* A greenlet may run in this thread already: then its tasklet is the one that uses them. */
static void admit_present_user(void)
{
    PyObject *current = original_get_current();
    s_sched *s = current != NULL && !ask_greenlet(API_MAIN, current) ? s_self() : NULL;
    if (s != NULL)
        s_claim_fixed_stack(s);
    PyErr_Clear();
    Py_XDECREF(current);
}

/* _guard_greenlet(capsule): greenlet's table of functions.  Once per process. */
static PyObject *guard_greenlet(PyObject *module, PyObject *capsule)
{
    (void)module;
    if (table != NULL)
        Py_RETURN_NONE;
    void **found = PyCapsule_GetPointer(capsule, "greenlet._C_API");
    if (owners == NULL)
        owners = PyDict_New();
    if (kept == NULL)
        kept = PyList_New(0);
    if (found == NULL || owners == NULL || kept == NULL)
        return NULL;
    greenlet = found[API_TYPE];
    if (stranger == NULL)
        stranger = PyObject_CallNoArgs((PyObject *)greenlet);
    if (stranger == NULL || replace_python_functions() < 0)
        return NULL;
    table = found;
    c_while_world_stopped(replace_api_functions, NULL);
    admit_present_user();
    Py_RETURN_NONE;
}

PyMethodDef bind_greenlet_functions[] = {
    {"_guard_greenlet", guard_greenlet, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
