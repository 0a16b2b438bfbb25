/* The entries of a frame's locals and value stack since 3.14: tagged references.
 *
 * A reference may be borrowed (the tag says so): then the object has another owner, mostly a local
 * variable of the same tasklet, and it is neither visited nor released here.
 */
#ifndef LOOMLET_SLOT_SINCE314_H
#define LOOMLET_SLOT_SINCE314_H

#include "cpython/py_common.h"

#include <internal/pycore_stackref.h>

typedef _PyStackRef slot;
#define SLOT_NULL PyStackRef_NULL

/* NULL for an empty slot and for a small integer that is not an object. */
static inline PyObject *slot_object(slot s)
{
    return PyStackRef_IsNullOrInt(s) ? NULL : PyStackRef_AsPyObjectBorrow(s);
}
/* NULL for a borrowed reference too. */
static inline PyObject *slot_owned(slot s)
{
    return PyStackRef_RefcountOnObject(s) ? slot_object(s) : NULL;
}
static inline slot slot_steal(PyObject *object)
{
    return PyStackRef_FromPyObjectSteal(object);
}
static inline void slot_close(slot s)
{
    PyStackRef_XCLOSE(s);
}
#define SLOTS_HOLD_NUMBERS 1
static inline int slot_is_number(slot s)
{
    return PyStackRef_IsTaggedInt(s);
}
static inline Py_ssize_t slot_number(slot s)
{
    return (Py_ssize_t)PyStackRef_UntagInt(s);
}
static inline slot slot_from_number(Py_ssize_t number)
{
    return PyStackRef_TagInt((intptr_t)number);
}

#endif
