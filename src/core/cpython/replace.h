/* Exchanging the C functions behind the interpreter's own methods and functions: the contract.
 *
 * Everybody who holds the method or the function gets the new one, whenever and however it
 * was imported.  Any attached thread may call these.
 */
#ifndef LOOMLET_EXCHANGE_H
#define LOOMLET_EXCHANGE_H

#include "cpython/cpython.h"

/* One method to exchange.  A method whose flags differ from one version to the next has an entry
 * for each form; the one that fits counts. */
typedef struct {
    const char *name;
    int flags; /* METH_... that the method must have */
    PyCFunction function;
    PyCFunction *original; /* where its function goes; NULL: nowhere */
} c_method_replacement;

/* Exchanges the C functions of methods, for all objects of the type and also for
 * bound methods that exist already: all of them, or none and -1 with RuntimeError.  Those
 * that the type does not have are passed over; without a `function` the method stays.
 * All originals are known before the first method changes. */
int c_methods_replace(PyTypeObject *type, const c_method_replacement *methods, size_t count);
/* A method that may be METH_METHOD, by version: its two forms, of which one is set.  */
typedef struct {
    int flags; /* of the plain form: METH_NOARGS, METH_O or METH_FASTCALL */
    PyCFunction plain, of_class;
} c_method_forms;
#define C_OF_CLASS (METH_METHOD | METH_FASTCALL | METH_KEYWORDS)

/* A call of such a method. */
typedef struct {
    PyObject *self;
    PyTypeObject *cls; /* NULL: of the plain form */
    PyObject *const *args;
    Py_ssize_t nargs;
    PyObject *kwnames;
} c_method_call;

/* Makes the call by the original. */
PyObject *c_call_original(const c_method_forms *stock, const c_method_call *call);

/* Gives them their originals back. */
void c_methods_restore(PyTypeObject *type, const c_method_replacement *methods, size_t count);

/* A function of a module that has got another definition.  Filled by c_functions_replace. */
typedef struct {
    PyObject *function; /* owned; NULL: it is as it was */
    PyMethodDef *stock;
    PyMethodDef ours;
    vectorcallfunc stock_call, our_call;
    PyObject *original; /* a function that does what the stock one does; kept for ever */
} c_replaced_function;

/* One function to replace. */
typedef struct {
    const char *name;
    int flags; /* METH_... that the function must have */
    PyCFunction replacement;
    c_replaced_function *kept; /* must live for ever */
} c_function_replacement;

/* From now on these functions of a module, builtins, run their replacements, which take their
 * arguments as METH_FASTCALL, and names too where the stock one does.  Those that the module does
 * not have are passed over.  0; or -1 with RuntimeError: c_functions_restore undoes the rest. */
int c_functions_replace(const char *module, const c_function_replacement *functions, size_t count);
void c_functions_restore(const c_function_replacement *functions, size_t count);

#endif
