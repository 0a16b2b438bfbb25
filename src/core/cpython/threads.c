/* The interpreter around us: its threads, its end, and whether it can carry us. */
#include "cpython/layout.h"

int c_soft_supported =
#ifdef C_HAS_SOFT
    1;
#else
    0;
#endif

int c_fail_in;

int c_other_threads(PyThreadState *ts, int (*each)(PyThreadState *other, void *arg), void *arg)
{
    PyInterpreterState *interp = PyThreadState_GetInterpreter(ts);
    PyThreadState *other = PyInterpreterState_ThreadHead(interp);
    for (; other != NULL; other = PyThreadState_Next(other)) {
        if (other != ts && each(other, arg))
            return 1;
    }
    return 0;
}

int c_check_interpreter(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return 0;
    PyErr_SetString(PyExc_ImportError,
                    "loomlet works in the main interpreter only, and this is a sub-interpreter; "
                    "import it in the main one");
    return -1;
}

int c_finalizing(void)
{
    return Py_IsFinalizing();
}

#ifdef Py_GIL_DISABLED
int c_try_incref(PyObject *object)
{
    return _Py_TryIncref(object);
}

void c_allow_try_incref(PyObject *object)
{
    _PyObject_SetMaybeWeakref(object);
}
#else
int c_try_incref(PyObject *object)
{
    if (Py_REFCNT(object) == 0)
        return 0;
    Py_INCREF(object);
    return 1;
}

void c_allow_try_incref(PyObject *object)
{
    (void)object;
}
#endif
