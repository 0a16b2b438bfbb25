/* The border between Python and the rooms below: what all its sub-rooms share.
 *
 * A function checks what it was given (arguments.h), notes how it was called (the call site, from
 * which the rooms below decide whether the caller can be suspended softly), calls one of them, and
 * turns an error code into an exception (errors.h).  Blocking functions are METH_FASTCALL, because
 * the address of the arguments then shows where they lie in the caller's frame.
 */
#ifndef LOOMLET_BIND_H
#define LOOMLET_BIND_H

#include "bind/arguments.h"
#include "bind/errors.h"
#include "sched/sched.h"

#define BIND_FN(f) ((PyCFunction)(void (*)(void))(f))
#define BIND_SITE(self, args, nargs, f) {(PyObject *)(self), (args), (nargs), (void *)(f), C_CALL}

/* The module of that name in sys.modules, owned; or NULL, with or without an exception. */
static inline PyObject *bind_find_module(const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *module = key != NULL ? PyImport_GetModule(key) : NULL;
    Py_XDECREF(key);
    return module;
}

/* Whether it is a module of that name.  Leaves no exception. */
static inline int bind_is_module(PyObject *object, const char *name)
{
    const char *found = PyModule_Check(object) ? PyModule_GetName(object) : NULL;
    PyErr_Clear();
    return found != NULL && strcmp(found, name) == 0;
}

#endif
