/* What sync/ and the waits of sched/ need of an interpreter, for a model of them without one.
 *
 * Objects are counted, and nothing else: one that nothing refers to any more stays where it is, so
 * that a model may look at its count.  The one exception that may be set is a pointer.  Locks are
 * those of a build without a GIL, so a model sees who takes one that is held.
 */
#ifndef LOOMLET_TEST_PRETEND_PYTHON_H
#define LOOMLET_TEST_PRETEND_PYTHON_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define PY_VERSION_HEX 0x030D0000
#define Py_GIL_DISABLED 1

typedef ssize_t Py_ssize_t;
typedef struct _object {
    Py_ssize_t ob_refcnt;
} PyObject;
typedef struct PyTypeObject PyTypeObject;
typedef struct PyThreadState {
    void *current_frame;
} PyThreadState;
typedef struct PyFunctionObject PyFunctionObject;
typedef struct PyCodeObject PyCodeObject;
typedef struct PyFrameObject PyFrameObject;
typedef struct PyMethodDef PyMethodDef;
typedef struct PyModuleDef PyModuleDef;
typedef struct PyInterpreterState PyInterpreterState;
typedef struct {
    uint8_t _bits;
} PyMutex;
typedef int (*visitproc)(PyObject *, void *);
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef int (*Py_tracefunc)(PyObject *, PyFrameObject *, int, PyObject *);

#define PyObject_HEAD PyObject ob_base;

extern PyObject pretend_none, pretend_true, pretend_false;
#define Py_None (&pretend_none)
#define Py_True (&pretend_true)
#define Py_False (&pretend_false)

static inline void Py_INCREF(PyObject *object)
{
    object->ob_refcnt++;
}

static inline void Py_DECREF(PyObject *object)
{
    object->ob_refcnt--;
}

static inline void Py_XDECREF(PyObject *object)
{
    if (object != NULL)
        object->ob_refcnt--;
}

static inline PyObject *Py_NewRef(PyObject *object)
{
    object->ob_refcnt++;
    return object;
}

static inline PyObject *Py_XNewRef(PyObject *object)
{
    return object != NULL ? Py_NewRef(object) : NULL;
}

#define Py_XSETREF(place, value)                                                                   \
    do {                                                                                           \
        PyObject *before_ = (place);                                                               \
        (place) = (value);                                                                         \
        Py_XDECREF(before_);                                                                       \
    } while (0)
#define Py_SETREF Py_XSETREF
#define Py_CLEAR(place) Py_XSETREF(place, NULL)
#define Py_VISIT(object)                                                                           \
    do {                                                                                           \
        int code_ = (object) ? visit((PyObject *)(object), arg) : 0;                               \
        if (code_)                                                                                 \
            return code_;                                                                          \
    } while (0)

#define PyMutex_Unlock(mutex) ((void)((mutex)->_bits = 0))
/* Small numbers only. */
#define PRETEND_MOST 2
extern PyObject pretend_numbers[2 * PRETEND_MOST + 1];

static inline int PyLong_CheckExact(const PyObject *object)
{
    return object >= pretend_numbers && object <= &pretend_numbers[2 * PRETEND_MOST];
}

static inline long PyLong_AsLong(const PyObject *object)
{
    return object - pretend_numbers - PRETEND_MOST;
}

static inline PyObject *PyLong_FromLong(long number)
{
    return Py_NewRef(&pretend_numbers[number + PRETEND_MOST]);
}

/* No exception has another one as its context. */
static inline PyObject *PyException_GetContext(PyObject *exception)
{
    (void)exception;
    return NULL;
}

static inline void PyException_SetContext(PyObject *exception, PyObject *context)
{
    (void)exception;
    Py_XDECREF(context);
}

void *PyMem_Calloc(size_t count, size_t size);
void *PyMem_Malloc(size_t size);
void *PyMem_RawMalloc(size_t size);
void PyMem_RawFree(void *block);
void PyMem_Free(void *block);
PyObject *PyErr_GetRaisedException(void);
void PyErr_SetRaisedException(PyObject *exception);
PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
PyObject *PyErr_NoMemory(void);

/* Of functions in headers that no model calls. */
int PyFunction_Check(PyObject *object);
PyObject *PyUnicode_InternFromString(const char *text);
PyObject *PyObject_GetAttr(PyObject *object, PyObject *name);
int PyObject_SetAttr(PyObject *object, PyObject *name, PyObject *value);
unsigned long PyThread_get_thread_ident(void);
int _PyBytes_Resize(PyObject **bytes, Py_ssize_t size);

#endif
