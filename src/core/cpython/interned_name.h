/* Names of attributes, interned at their first use and kept by the caller.
 *
 * PyObject_GetAttrString makes a new string each time, and CPython's type cache keeps it.
 */
#ifndef LOOMLET_INTERNED_NAME_H
#define LOOMLET_INTERNED_NAME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The interned name, which *kept keeps: borrowed, NULL with an exception. */
static inline PyObject *c_interned_name(PyObject **kept, const char *text)
{
    PyObject *name = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
    if (name == NULL && (name = PyUnicode_InternFromString(text)) != NULL)
        __atomic_store_n(kept, name, __ATOMIC_RELEASE);
    return name;
}

/* The attribute with that name: a new reference, or NULL with an exception. */
static inline PyObject *c_get_attribute(PyObject *object, PyObject **kept, const char *text)
{
    PyObject *name = c_interned_name(kept, text);
    return name != NULL ? PyObject_GetAttr(object, name) : NULL;
}

/* Sets it: 0, or -1 with an exception. */
static inline int c_set_attribute(PyObject *object, PyObject **kept, const char *text,
                                  PyObject *value)
{
    PyObject *name = c_interned_name(kept, text);
    return name != NULL ? PyObject_SetAttr(object, name, value) : -1;
}

#endif
