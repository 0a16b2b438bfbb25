/* _stackless.cframe and _stackless.cstack: what Stackless shows of its C stacks.
 *
 * Loomlet has no frames of C code, so a cframe is never created.
 *
 * A cstack stands for one C stack of a thread: the initial one, which its main tasklet and all that
 * are suspended softly share, or the one that a tasklet keeps.  It is the same object as long as
 * anything refers to it.  Those of a thread are a ring, the initial one first, then by the age of
 * their tasklets; one that is not kept any more is a ring of its own.
 *
 * Threads.  `guard` covers the list of all of them without a GIL.
 */
#include "bind/stackless/stackless.h"

typedef struct {
    PyObject_HEAD
    b_link link;          /* in `every` */
    s_tasklet *t;         /* that keeps it; or the main one, or without a thread any */
    const p_stack *stack; /* NULL: the initial one */
} cstack;

static b_link every = {&every, &every};
static c_lock guard;

/* ---- which are there ------------------------------------------------------------------- */

static const p_stack *kept_by(const s_tasklet *t)
{
    return t->saved_as == S_C_STACK && !t->is_main ? t->stack : NULL;
}

static cstack *find_cstack(const s_tasklet *t, const p_stack *stack)
{
    for (b_link *at = every.next; at != &every; at = at->next) {
        cstack *c = B_CONTAINER(at, cstack, link);
        if (c->t == t && c->stack == stack && c_try_incref((PyObject *)c))
            return c;
    }
    return NULL;
}

static PyObject *obtain_cstack(s_tasklet *t, const p_stack *stack)
{
    cstack *made = PyObject_GC_New(cstack, &bind_cstack_type);
    if (made == NULL)
        return NULL;
    made->t = (s_tasklet *)Py_NewRef((PyObject *)t);
    made->stack = stack;
    c_allow_try_incref((PyObject *)made);
    c_lock_take(&guard);
    cstack *found = find_cstack(t, stack);
    if (found == NULL)
        b_append(&every, &made->link);
    else
        b_list_init(&made->link);
    c_lock_give(&guard);
    PyObject_GC_Track(made);
    if (found == NULL)
        return (PyObject *)made;
    Py_DECREF((PyObject *)made);
    return (PyObject *)found;
}

PyObject *bind_cstack_for(s_tasklet *t)
{
    const p_stack *stack = kept_by(t);
    if (stack == NULL && bind_has_thread(t) && t->owner->main != NULL)
        t = t->owner->main;
    return obtain_cstack(t, stack);
}

static int visit_cstack(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((cstack *)self)->t);
    return 0;
}

static void dealloc_cstack(PyObject *self)
{
    cstack *c = (cstack *)self;
    PyObject_GC_UnTrack(self);
    c_lock_take(&guard);
    b_unlink(&c->link);
    c_lock_give(&guard);
    Py_DECREF((PyObject *)c->t);
    PyObject_GC_Del(self);
}

/* ---- the ring -------------------------------------------------------------------------- */

static int is_kept(const cstack *c)
{
    return c->stack != NULL && kept_by(c->t) == c->stack;
}

/* The tasklet whose cstack is the next one, or the one before: borrowed from `found`, or main. */
static s_tasklet *find_neighbour(const cstack *c, s_tasklet **found, Py_ssize_t count, int step)
{
    Py_ssize_t kept = 0, mine = 0; /* 0: the initial one */
    for (Py_ssize_t i = 0; i < count; i++) {
        if (kept_by(found[i]) == NULL)
            continue;
        found[kept++] = found[i];
        if (found[i] == c->t)
            mine = kept;
    }
    Py_ssize_t at = (mine + step + kept + 1) % (kept + 1);
    return at > 0 ? found[at - 1] : c->t->owner->main;
}

static PyObject *read_ring(PyObject *self, void *closure)
{
    cstack *c = (cstack *)self;
    if (!bind_has_thread(c->t) || (c->stack != NULL && !is_kept(c)))
        return Py_NewRef(self);
    s_tasklet **all;
    Py_ssize_t count = s_tasklets(c->t->owner, &all);
    if (count < 0)
        return PyErr_NoMemory();
    s_tasklet **found = PyMem_RawMalloc((size_t)(count + 1) * sizeof(*found));
    PyObject *cstack = NULL;
    if (found != NULL) {
        memcpy(found, all, (size_t)count * sizeof(*found));
        cstack = bind_cstack_for(find_neighbour(c, found, count, closure != NULL ? 1 : -1));
    } else {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++)
        Py_DECREF((PyObject *)all[i]);
    PyMem_RawFree(found);
    PyMem_RawFree(all);
    return cstack;
}

/* ---- attributes ------------------------------------------------------------------------ */

static PyObject *cstack_get_task(PyObject *self, void *unused)
{
    cstack *c = (cstack *)self;
    (void)unused;
    return Py_NewRef(is_kept(c) ? (PyObject *)c->t : Py_None);
}

static PyObject *cstack_get_size(PyObject *self, void *unused)
{
    cstack *c = (cstack *)self;
    (void)unused;
    return PyLong_FromSize_t(is_kept(c) ? c->stack->size / sizeof(void *) : 0);
}

static PyObject *cstack_get_start(PyObject *self, void *unused)
{
    cstack *c = (cstack *)self;
    (void)unused;
    return PyLong_FromVoidPtr(is_kept(c) ? c->stack->low : NULL);
}

static PyObject *cstack_get_nesting(PyObject *self, void *unused)
{
    cstack *c = (cstack *)self;
    (void)unused;
    return is_kept(c) ? PyObject_GetAttrString((PyObject *)c->t, "nesting_level")
                      : PyLong_FromLong(0);
}

/* The initial stack's: the others were copies of a part of it. */
static PyObject *cstack_get_serial(PyObject *self, void *unused)
{
    cstack *c = (cstack *)self;
    (void)unused;
    return PyLong_FromLong(bind_has_thread(c->t) ? bind_stack_serial(c->t->owner) : 0);
}

static PyObject *cframe_get_none(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    Py_RETURN_NONE;
}

static PyObject *cframe_get_zero(PyObject *self, void *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(0);
}

static PyGetSetDef cframe_getset[] = {
    {"f_back", cframe_get_none, NULL, NULL, NULL},
    {"ob1", cframe_get_none, NULL, NULL, NULL},
    {"ob2", cframe_get_none, NULL, NULL, NULL},
    {"ob3", cframe_get_none, NULL, NULL, NULL},
    {"i", cframe_get_zero, NULL, NULL, NULL},
    {"n", cframe_get_zero, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef cstack_getset[] = {
    {"next", read_ring, NULL, PyDoc_STR("The next one of its thread."), (void *)1},
    {"prev", read_ring, NULL, PyDoc_STR("The one before it."), NULL},
    {"task", cstack_get_task, NULL, PyDoc_STR("The tasklet that keeps it, or None."), NULL},
    {"size", cstack_get_size, NULL, PyDoc_STR("In words."), NULL},
    {"startaddr", cstack_get_start, NULL, PyDoc_STR("Its lowest address."), NULL},
    {"nesting_level", cstack_get_nesting, NULL, PyDoc_STR("That of its tasklet."), NULL},
    {"serial", cstack_get_serial, NULL, PyDoc_STR("As get_thread_info() gives it."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject bind_cframe_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.cframe",
    .tp_doc = PyDoc_STR("A frame of C code in Stackless; loomlet has none."),
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_getset = cframe_getset,
};

PyTypeObject bind_cstack_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.cstack",
    .tp_doc = PyDoc_STR("A C stack of a thread, kept by a tasklet or the initial one."),
    .tp_basicsize = sizeof(cstack),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = visit_cstack,
    .tp_dealloc = dealloc_cstack,
    .tp_getset = cstack_getset,
};
