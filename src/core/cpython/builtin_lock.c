/* The interpreter's own locks: an RLock's owner and count, and acquire() and release() by the
 * interpreter's own functions.
 *
 * An RLock keeps its owner one word after its lock and its count after that, in every version so
 * far; 3.14 counts from 0.  This is not assumed but verified, on a lock of our own, before anything
 * is replaced (replace.h).  The layout of a plain lock is not used: it was one thing in 3.13.0 and
 * another in 3.13.15.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/builtin_lock.h"

PyTypeObject *c_builtin_lock_type, *c_builtin_rlock_type;
int c_builtin_lock_any_blocking;

c_builtin_lock_methods c_builtin_lock_original[2];

static PyObject *without_waiting; /* the arguments of acquire(False) */
static size_t first_count;        /* what an RLock's count is when it is held once */

typedef struct {
    PyObject_HEAD
    void *lock;
    unsigned long long owner;
    size_t count;
} rlock_object;

unsigned long long c_builtin_rlock_owner(PyObject *rlock)
{
    return __atomic_load_n(&((rlock_object *)rlock)->owner, __ATOMIC_RELAXED);
}

void c_builtin_rlock_set_owner(PyObject *rlock, unsigned long long owner)
{
    __atomic_store_n(&((rlock_object *)rlock)->owner, owner, __ATOMIC_RELAXED);
}

size_t c_builtin_rlock_count(PyObject *rlock)
{
    return ((rlock_object *)rlock)->count - first_count + 1;
}

void c_builtin_rlock_set_count(PyObject *rlock, size_t count)
{
    ((rlock_object *)rlock)->count = count + first_count - 1;
}

PyObject *c_builtin_lock_acquire(PyObject *lock, PyObject *args, PyObject *kwargs)
{
    PyCFunction acquire = c_builtin_lock_original[c_builtin_lock_is_recursive(lock)].acquire;
    return ((PyCFunctionWithKeywords)(void (*)(void))acquire)(lock, args, kwargs);
}

PyObject *c_builtin_lock_release(PyObject *lock)
{
    return c_builtin_lock_original[c_builtin_lock_is_recursive(lock)].release(lock, NULL);
}

int c_builtin_lock_try(PyObject *lock)
{
    PyObject *result = c_builtin_lock_acquire(lock, without_waiting, NULL);
    if (result == NULL)
        return -1;
    int taken = result == Py_True;
    Py_DECREF(result);
    return taken;
}

/* ---- verifying the layout --------------------------------------------------- */

static int call_lock_method(PyObject *object, const char *method)
{
    PyObject *done = PyObject_CallMethod(object, method, NULL);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int rlock_is_held_by(PyObject *rlock, unsigned long long owner, size_t more)
{
    const rlock_object *r = (rlock_object *)rlock;
    return r->owner == owner && r->count == first_count + more;
}

/* 1 when owner and count lie where we expect them, 0 when not, -1 with an exception.  The lock is
 * used through its Python methods. */
static int verify_rlock_layout(PyObject *rlock)
{
    unsigned long long me = PyThread_get_thread_ident();
    int right = ((rlock_object *)rlock)->owner == 0;
    if (call_lock_method(rlock, "acquire") < 0)
        return -1;
    first_count = ((rlock_object *)rlock)->count;
    right = right && first_count <= 1 && rlock_is_held_by(rlock, me, 0);
    if (call_lock_method(rlock, "acquire") < 0)
        return -1;
    right = right && rlock_is_held_by(rlock, me, 1);
    if (call_lock_method(rlock, "release") < 0 || call_lock_method(rlock, "release") < 0)
        return -1;
    return right && ((rlock_object *)rlock)->owner == 0 && ((rlock_object *)rlock)->count == 0;
}

static int accepts_any_blocking(PyObject *rlock)
{
    PyObject *done = PyObject_CallMethod(rlock, "acquire", "d", 1.5);
    if (done == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(done);
    return call_lock_method(rlock, "release") == 0;
}

static PyTypeObject *type_of_new(PyObject *module, const char *maker, PyObject **made)
{
    PyObject *object = PyObject_CallMethod(module, maker, NULL);
    if (object == NULL)
        return NULL;
    if (made != NULL)
        *made = Py_NewRef(object);
    PyTypeObject *type = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(object));
    Py_DECREF(object);
    return type;
}

int c_builtin_lock_find(void)
{
    PyObject *module = PyImport_ImportModule("_thread"), *rlock = NULL;
    int right = -1;
    if (module != NULL && without_waiting == NULL)
        without_waiting = PyTuple_Pack(1, Py_False);
    if (without_waiting != NULL) {
        c_builtin_lock_type = type_of_new(module, "allocate_lock", NULL);
        c_builtin_rlock_type = c_builtin_lock_type ? type_of_new(module, "RLock", &rlock) : NULL;
    }
    if (c_builtin_rlock_type != NULL) {
        size_t size = (size_t)c_builtin_rlock_type->tp_basicsize;
        right = size >= sizeof(rlock_object) ? verify_rlock_layout(rlock) : 0;
        c_builtin_lock_any_blocking = accepts_any_blocking(rlock);
    }
    if (right == 0)
        PyErr_SetString(PyExc_RuntimeError,
                        "_thread.RLock is not laid out as expected: on this interpreter loomlet "
                        "cannot make tasklets the owners of threading's locks");
    Py_XDECREF(rlock);
    Py_XDECREF(module);
    return right > 0 ? 0 : -1;
}

/* ---- locks that are released in C ---------------------------------------------- */

static int thread_ends_with_lock(PyThreadState *ts, void *lock)
{
    return thread_end_lock(ts) == lock;
}

int c_builtin_lock_released_in_c(PyObject *lock)
{
    return c_each_other_thread(c_thread_state(), thread_ends_with_lock, lock);
}
