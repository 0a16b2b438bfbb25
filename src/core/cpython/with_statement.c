/* __enter__ and __exit__ of our types, so that `with lock:` can be suspended softly.
 *
 * From 3.14 on, `with` is two ordinary calls, of methods that need not be bound: class and object
 * lie on the stack.  In 3.12 and 3.13 one instruction (BEFORE_WITH) binds both methods, keeps them
 * in C variables, drops the manager and calls __enter__: to abandon that C frame we must find both
 * objects and take over its references.  So our descriptors bind to objects of our own: the call of
 * __enter__ knows its own object, and the __exit__ that was bound just before it on the same thread
 * is remembered.  In a subclass that overrides __enter__, the call of ours is an ordinary one,
 * which is soft anyway.
 *
 * Spares.  Each `with` makes two such objects and drops them, which would cost more than the rest
 * of it.  So each thread keeps a few to use again, until it ends.  A spare has one reference, the
 * thread's, and refers to nothing.
 *
 * The collector.  To be tracked each time would cost a third of the rest: the collector's list is
 * one for all threads, and its ends go from processor to processor.  So a spare stays tracked; an
 * object that is found by gc.get_objects() may be one, which cannot be called.  Two events take a
 * spare to where the collector would not look for it later, and it is tracked anew before it is
 * used again: gc.freeze(), and that it was freed as garbage.  Without a GIL to be tracked is one
 * bit of the object, so there a spare is not tracked.
 *
 * The types of the interpreter's own locks get descriptors that do the same where that instruction
 * binds them.  To everybody else they give the method that the type had, and where a call loads it
 * without binding, they pass the call on.
 *
 * Rejected: letting the two objects leak, and binding without objects (the instruction looks the
 * methods up itself).
 */
#include <stddef.h>

#include "cpython/bytecode.h"
#include "cpython/with_statement.h"

typedef struct bound_with_method {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *self; /* NULL: it is a spare */
    union {
        const c_with_methods *methods;
        struct bound_with_method *next_spare;
    };
#ifdef C_COLLECTOR_FREEZES
    uintptr_t tracked_since; /* *frozen_end of then; 0: it is not tracked */
#endif
    int is_exit;
} bound_with_method;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyTypeObject *type; /* whose method it is; never freed */
    const c_with_methods *methods;
    int is_exit;
} with_method;

static __thread bound_with_method *last_exit __attribute__((tls_model("initial-exec")));

PyObject *c_with_exit_of(PyObject *self)
{
    return last_exit != NULL && last_exit->self == self ? (PyObject *)last_exit : NULL;
}

static const char *with_method_word(int is_exit)
{
    return is_exit ? "__exit__" : "__enter__";
}

/* ---- the collector ------------------------------------------------------------------------- */

#ifdef C_COLLECTOR_FREEZES

static const uintptr_t *frozen_end;

static void learn_frozen_end(void)
{
    frozen_end = objects_frozen_end();
}

static inline void init_tracking(bound_with_method *b)
{
    b->tracked_since = 0;
}

static inline void stop_tracking(bound_with_method *b)
{
    if (b->tracked_since != 0)
        PyObject_GC_UnTrack((PyObject *)b);
    b->tracked_since = 0;
}

static inline void track_in_use(bound_with_method *b)
{
    if (B_LIKELY(b->tracked_since == *frozen_end))
        return;
    stop_tracking(b);
    PyObject_GC_Track((PyObject *)b);
    b->tracked_since = *frozen_end;
}

static inline void track_as_spare(bound_with_method *b)
{
    if (B_UNLIKELY(object_collecting((PyObject *)b)))
        stop_tracking(b);
}

#else

static void learn_frozen_end(void)
{
}

static inline void init_tracking(bound_with_method *b)
{
    (void)b;
}

static inline void stop_tracking(bound_with_method *b)
{
    PyObject_GC_UnTrack((PyObject *)b);
}

static inline void track_in_use(bound_with_method *b)
{
    PyObject_GC_Track((PyObject *)b);
}

static inline void track_as_spare(bound_with_method *b)
{
    stop_tracking(b);
}

#endif

/* ---- spares -------------------------------------------------------------------------------- */

#define SPARES 4

static PyObject *bound_with_method_call(PyObject *callable, PyObject *const *args, size_t nargsf,
                                        PyObject *kwnames);

static __thread struct {
    bound_with_method *first;
    int room; /* for so many more; 0 when the thread has ended */
} spares __attribute__((tls_model("initial-exec"))) = {NULL, SPARES};

static B_NOINLINE bound_with_method *new_bound_method(PyTypeObject *type)
{
    bound_with_method *b = PyObject_GC_New(bound_with_method, type);
    if (b == NULL)
        return NULL;
    b->call = bound_with_method_call;
    b->self = NULL;
    init_tracking(b);
    return b;
}

static inline bound_with_method *take_spare(PyTypeObject *type)
{
    bound_with_method *spare = spares.first;
    if (B_UNLIKELY(spare == NULL))
        return new_bound_method(type);
    spares.first = spare->next_spare;
    spares.room++;
    return spare;
}

/* One whose last reference is gone, and which refers to nothing. */
static inline void keep_spare(bound_with_method *b)
{
    track_as_spare(b);
#if C_FREE_THREADED
    PyObject_Init((PyObject *)b, Py_TYPE((PyObject *)b));
#else
    Py_SET_REFCNT((PyObject *)b, 1);
#endif
    b->next_spare = spares.first;
    spares.first = b;
    spares.room--;
}

static void free_bound_method(bound_with_method *b)
{
    stop_tracking(b);
    PyObject_GC_Del(b);
}

void c_with_end_thread(void)
{
    spares.room = 0;
    for (bound_with_method *spare; (spare = spares.first) != NULL;) {
        spares.first = spare->next_spare;
        spare->next_spare = NULL;
        Py_DECREF((PyObject *)spare);
    }
}

/* ---- methods that are bound ---------------------------------------------------------------- */

static PyObject *bound_with_method_call(PyObject *callable, PyObject *const *args, size_t nargsf,
                                        PyObject *kwnames)
{
    bound_with_method *b = (bound_with_method *)callable;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf), want = b->is_exit ? 3 : 0;
    (void)args;
    if (B_UNLIKELY(b->self == NULL)) {
        PyErr_SetString(PyExc_TypeError, "this method is bound to no object");
        return NULL;
    }
    if (given != want || kwnames != NULL) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, %zd given",
                     with_method_word(b->is_exit), want, given);
        return NULL;
    }
    if (b->is_exit)
        return b->methods->exit(b->self);
    c_call_site site = {b->self, args, 0, callable, C_WITH};
    return b->methods->enter(b->self, &site);
}

/* It refers to nothing any more before something else is freed: what runs then may collect garbage
 * or need a spare. */
static void bound_with_method_dealloc(PyObject *object)
{
    bound_with_method *b = (bound_with_method *)object;
    PyObject *self = b->self;
    b->self = NULL;
    if (last_exit == b)
        last_exit = NULL;
    if (B_LIKELY(spares.room > 0))
        keep_spare(b);
    else
        free_bound_method(b);
    Py_XDECREF(self);
}

static int bound_with_method_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((bound_with_method *)object)->self);
    return 0;
}

/* getattr(object, name), as CPython's methods do. */
static PyObject *reduce_to_attribute(PyObject *object, int is_exit)
{
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *get = builtins ? PyMapping_GetItemString(builtins, "getattr") : NULL;
    if (get == NULL)
        return NULL;
    return Py_BuildValue("N(Os)", get, object, with_method_word(is_exit));
}

static PyObject *bound_with_method_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    const bound_with_method *b = (bound_with_method *)object;
    return reduce_to_attribute(b->self != NULL ? b->self : Py_None, b->is_exit);
}

static PyMethodDef bound_with_method_methods[] = {
    {"__reduce__", bound_with_method_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject bound_with_method_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.bound_with_method",
    .tp_basicsize = sizeof(bound_with_method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_vectorcall_offset = offsetof(bound_with_method, call),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = bound_with_method_dealloc,
    .tp_traverse = bound_with_method_traverse,
    .tp_methods = bound_with_method_methods,
};

static PyObject *bind_with_method(PyObject *self, const c_with_methods *methods, int is_exit)
{
    bound_with_method *b = take_spare(&bound_with_method_type);
    if (b == NULL)
        return NULL;
    b->self = Py_NewRef(self);
    b->methods = methods;
    b->is_exit = is_exit;
    track_in_use(b);
    if (b->is_exit)
        last_exit = b;
    return (PyObject *)b;
}

static PyObject *with_method_get(PyObject *object, PyObject *self, PyObject *type)
{
    (void)type;
    const with_method *d = (with_method *)object;
    return self != NULL ? bind_with_method(self, d->methods, d->is_exit) : Py_NewRef(object);
}

/* The unbound form: type.__enter__(object), and where the interpreter binds no method that it calls
 * at once. */
static PyObject *with_method_call(PyObject *object, PyObject *const *args, size_t nargsf,
                                  PyObject *kwnames)
{
    const with_method *d = (with_method *)object;
    Py_ssize_t given = PyVectorcall_NARGS(nargsf), want = d->is_exit ? 4 : 1;
    if (B_UNLIKELY(given != want || kwnames != NULL || !PyObject_TypeCheck(args[0], d->type)))
        return PyErr_Format(PyExc_TypeError, "%s() of the class takes a %s and %zd other arguments",
                            with_method_word(d->is_exit), d->type->tp_name, want - 1);
    if (d->is_exit)
        return d->methods->exit(args[0]);
    c_call_site site = {args[0], args + 1, 0, object, C_CALL};
    return d->methods->enter(args[0], &site);
}

static PyObject *with_method_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    const with_method *d = (with_method *)object;
    return reduce_to_attribute((PyObject *)d->type, d->is_exit);
}

static PyObject *with_method_class(PyObject *object, void *unused)
{
    (void)unused;
    return Py_NewRef((PyObject *)((with_method *)object)->type);
}

static PyObject *with_method_name(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(with_method_word(((with_method *)object)->is_exit));
}

static PyGetSetDef with_method_attributes[] = {
    {"__objclass__", with_method_class, NULL, NULL, NULL},
    {"__name__", with_method_name, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef with_method_methods[] = {
    {"__reduce__", with_method_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject with_method_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.with_method",
    .tp_basicsize = sizeof(with_method),
    .tp_vectorcall_offset = offsetof(with_method, call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_descr_get = with_method_get,
    .tp_call = PyVectorcall_Call,
    .tp_methods = with_method_methods,
    .tp_getset = with_method_attributes,
};

static int install_with_method(PyTypeObject *type, const c_with_methods *methods, int is_exit)
{
    with_method *d = PyObject_New(with_method, &with_method_type);
    if (d == NULL)
        return -1;
    d->call = with_method_call;
    d->type = type;
    d->methods = methods;
    d->is_exit = is_exit;
    int code = PyDict_SetItemString(type->tp_dict, with_method_word(is_exit), (PyObject *)d);
    Py_DECREF((PyObject *)d);
    return code;
}

static int prepare_with_types(void)
{
    learn_frozen_end();
    return PyType_Ready(&bound_with_method_type) < 0 ? -1 : PyType_Ready(&with_method_type);
}

int c_with_install(PyTypeObject *type, const c_with_methods *methods)
{
    if (prepare_with_types() < 0 || install_with_method(type, methods, 0) < 0 ||
        install_with_method(type, methods, 1) < 0)
        return -1;
    PyType_Modified(type);
    return 0;
}

/* ---- the interpreter's own types ----------------------------------------------------------- */

#ifdef C_OP_BEFORE_WITH

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *original; /* the method that the type had */
    const c_with_methods *methods;
    int is_exit;
} builtin_with_method;

static int runs_with_statement(void)
{
    c_frame *f = thread_frame(PyThreadState_Get());
    return f != NULL && f->owner <= FRAME_OWNED_BY_GENERATOR &&
           ip_opcode(frame_ip(f)) == C_OP_BEFORE_WITH;
}

static PyObject *builtin_with_get(PyObject *object, PyObject *self, PyObject *type)
{
    const builtin_with_method *d = (builtin_with_method *)object;
    if (self == NULL)
        return Py_NewRef(d->original);
    if (runs_with_statement())
        return bind_with_method(self, d->methods, d->is_exit);
    return Py_TYPE(d->original)->tp_descr_get(d->original, self, type);
}

/* lock.__enter__() in Python code can be soft too. */
static PyObject *builtin_with_call(PyObject *object, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames)
{
    const builtin_with_method *d = (builtin_with_method *)object;
    if (d->is_exit || PyVectorcall_NARGS(nargsf) != 1 || kwnames != NULL ||
        !PyObject_TypeCheck(args[0], PyDescr_TYPE(d->original)))
        return PyObject_Vectorcall(d->original, args, nargsf, kwnames);
    c_call_site site = {args[0], args + 1, 0, object, C_CALL};
    return d->methods->enter(args[0], &site);
}

/* Specialized code may get it without binding: it has what the method has. */
static PyObject *builtin_with_attribute(PyObject *object, PyObject *name)
{
    return PyObject_GetAttr(((builtin_with_method *)object)->original, name);
}

static PyObject *builtin_with_repr(PyObject *object)
{
    return PyObject_Repr(((builtin_with_method *)object)->original);
}

static PyTypeObject builtin_with_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.builtin_with_method",
    .tp_basicsize = sizeof(builtin_with_method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(builtin_with_method, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = builtin_with_get,
    .tp_getattro = builtin_with_attribute,
    .tp_repr = builtin_with_repr,
};

/* Nothing if the type has no such method of the interpreter's. */
static int replace_with_method(PyTypeObject *type, const c_with_methods *methods, int is_exit)
{
    const char *name = with_method_word(is_exit);
    PyObject *original = PyDict_GetItemString(type->tp_dict, name);
    if (original == NULL || !Py_IS_TYPE(original, &PyMethodDescr_Type))
        return 0;
    builtin_with_method *d = PyObject_New(builtin_with_method, &builtin_with_type);
    if (d == NULL)
        return -1;
    d->call = builtin_with_call;
    d->original = Py_NewRef(original); /* for ever, as the type */
    d->methods = methods;
    d->is_exit = is_exit;
    int code = PyDict_SetItemString(type->tp_dict, name, (PyObject *)d);
    Py_DECREF((PyObject *)d);
    return code;
}

int c_with_replace(PyTypeObject *type, const c_with_methods *methods)
{
    if (prepare_with_types() < 0 || PyType_Ready(&builtin_with_type) < 0 ||
        replace_with_method(type, methods, 0) < 0 || replace_with_method(type, methods, 1) < 0)
        return -1;
    PyType_Modified(type);
    return 0;
}

#else

int c_with_replace(PyTypeObject *type, const c_with_methods *methods)
{
    (void)type, (void)methods;
    return 0;
}

#endif
