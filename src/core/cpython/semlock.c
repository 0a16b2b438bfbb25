/* _multiprocessing.SemLock: its owner and count.
 *
 * The type shows the offsets of some of its fields.  Owner and count lie between two of them, a
 * word and an int, and no other order of the two fills that gap; so the layout is verified without
 * making a semaphore, for which the system may have no room.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/semlock.h"

#include <structmember.h> /* PyMemberDef, until 3.11 */

#define RECURSIVE 0 /* RECURSIVE_MUTEX */

typedef struct {
    PyObject_HEAD
    void *handle;
    unsigned long owner;
    int count, most, kind;
    char *name;
} semlock_object;

const void *c_semlock_handle(const PyObject *semlock)
{
    return ((const semlock_object *)semlock)->handle;
}

int c_semlock_is_recursive(const PyObject *semlock)
{
    return ((const semlock_object *)semlock)->kind == RECURSIVE;
}

unsigned long long c_semlock_owner(const PyObject *semlock)
{
    const semlock_object *lock = (const semlock_object *)semlock;
    if (__atomic_load_n(&lock->count, __ATOMIC_RELAXED) <= 0)
        return 0;
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);
}

void c_semlock_set_owner(PyObject *semlock, unsigned long long owner)
{
    __atomic_store_n(&((semlock_object *)semlock)->owner, (unsigned long)owner, __ATOMIC_RELAXED);
}

int c_semlock_take_again(PyObject *semlock, unsigned long long owner)
{
    int mine;
    C_BEGIN_CRITICAL_SECTION(semlock);
    mine = c_semlock_owner(semlock) == owner;
    if (mine)
        __atomic_add_fetch(&((semlock_object *)semlock)->count, 1, __ATOMIC_RELAXED);
    C_END_CRITICAL_SECTION();
    return mine;
}

/* ---- verifying the layout --------------------------------------------------------------- */

static Py_ssize_t offset_of_member(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t offset = -1;
    if (found == NULL)
        PyErr_Clear();
    else if (Py_IS_TYPE(found, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    Py_XDECREF(found);
    return offset;
}

static int is_laid_out_as_expected(PyTypeObject *type)
{
    return type->tp_basicsize == (Py_ssize_t)sizeof(semlock_object) &&
           offset_of_member(type, "handle") == (Py_ssize_t)offsetof(semlock_object, handle) &&
           offset_of_member(type, "maxvalue") == (Py_ssize_t)offsetof(semlock_object, most) &&
           offset_of_member(type, "kind") == (Py_ssize_t)offsetof(semlock_object, kind);
}

int c_semlock_find(PyTypeObject **type)
{
    PyObject *module = PyImport_ImportModule("_multiprocessing");
    PyObject *found = module ? PyObject_GetAttrString(module, "SemLock") : NULL;
    Py_XDECREF(module);
    if (found == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_ImportError) &&
            !PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (!PyType_Check(found) || !is_laid_out_as_expected((PyTypeObject *)found)) {
        Py_DECREF(found);
        PyErr_SetString(PyExc_RuntimeError,
                        "_multiprocessing.SemLock is not laid out as expected: on this interpreter "
                        "loomlet cannot make tasklets wait for the locks of multiprocessing");
        return -1;
    }
    *type = (PyTypeObject *)found;
    return 1;
}
