/* The entries of a frame's locals and value stack until 3.13: strong references, or NULL. */
#ifndef LOOMLET_SLOT_UNTIL313_H
#define LOOMLET_SLOT_UNTIL313_H

#include "cpython/py_common.h"

typedef PyObject *slot;
#define SLOT_NULL NULL

static inline PyObject *slot_object(slot s)
{
    return s;
}
static inline PyObject *slot_owned(slot s)
{
    return s;
}
static inline slot slot_steal(PyObject *object)
{
    return object;
}
static inline void slot_close(slot s)
{
    Py_XDECREF(s);
}
/* No slot holds a bare number instead of an object. */
#define SLOTS_HOLD_NUMBERS 0
static inline int slot_is_number(slot s)
{
    (void)s;
    return 0;
}
static inline Py_ssize_t slot_number(slot s)
{
    (void)s;
    return 0;
}
static inline slot slot_from_number(Py_ssize_t number)
{
    (void)number;
    return SLOT_NULL;
}

#endif
