/* Replacing the C functions behind the interpreter's own methods and functions: the contract.
 *
 * Every holder of the method or the function gets the new one, whenever and however it was
 * imported.  Any attached thread may call these.
 */
#ifndef LOOMLET_REPLACE_H
#define LOOMLET_REPLACE_H

#include "cpython/cpython.h"

/* One method to replace.  A method whose flags differ from one version to the next has an entry for
 * each form; the entry with the right flags counts. */
typedef struct {
    const char *name;
    int flags; /* METH_... that the method must have */
    PyCFunction function;
    PyCFunction *original; /* where to store its function; NULL: nowhere */
} c_method_replacement;

/* Replaces the C functions of methods, for all objects of the type and also for bound methods that
 * exist already: all of them, or none and -1 with RuntimeError.  Methods that the type does not
 * have are skipped; one without a `function` stays as it is.  All originals are stored before the
 * first method changes. */
int c_methods_replace(PyTypeObject *type, const c_method_replacement *methods, size_t count);
/* The originals of a method that is METH_METHOD on some versions: its two forms, of which one is
 * set. */
typedef struct {
    int flags; /* of the plain form: METH_NOARGS, METH_O or METH_FASTCALL */
    PyCFunction plain, of_class;
} c_method_forms;
#define C_OF_CLASS (METH_METHOD | METH_FASTCALL | METH_KEYWORDS)

/* A call of such a method. */
typedef struct {
    PyObject *self;
    PyTypeObject *cls; /* NULL: a call in the plain form */
    PyObject *const *args;
    Py_ssize_t nargs;
    PyObject *kwnames;
} c_method_call;

/* Makes the call with the original function. */
PyObject *c_call_original(const c_method_forms *original, const c_method_call *call);

/* The methods of that name are called so, with `self` as the first argument, where they are called
 * by their descriptor, as Python code does: lock.acquire(), but not a bound method that was stored.
 * Then the arguments come as they lie in the caller's frame. */
typedef struct {
    const char *name;
    vectorcallfunc call;
    vectorcallfunc *original; /* where to store the one before */
} c_call_replacement;

/* For good.  Methods that the type does not have are skipped. */
void c_calls_replace(PyTypeObject *type, const c_call_replacement *calls, size_t count);

/* Puts the original functions back. */
void c_methods_restore(PyTypeObject *type, const c_method_replacement *methods, size_t count);

/* A function of a module that has been given another definition.  Filled by c_functions_replace. */
typedef struct {
    PyObject *function; /* owned; NULL: not replaced */
    PyMethodDef *builtin;
    PyMethodDef ours;
    vectorcallfunc builtin_call, our_call;
    const char *doc;    /* that of the builtin one, with its signature; kept for ever */
    PyObject *original; /* a function that does what the builtin one does; kept for ever */
} c_replaced_function;

/* One function to replace. */
typedef struct {
    const char *name;
    int flags; /* METH_... that the function must have */
    PyCFunction replacement;
    c_replaced_function *kept; /* must never be freed */
} c_function_replacement;

/* From now on these builtin functions of a module run their replacements, which take their
 * arguments as METH_FASTCALL, and keywords too if the builtin one does.  Functions that the module
 * does not have are skipped.  0; or -1 with RuntimeError: c_functions_restore undoes the rest. */
int c_functions_replace(const char *module, const c_function_replacement *functions, size_t count);
void c_functions_restore(const c_function_replacement *functions, size_t count);

#endif
