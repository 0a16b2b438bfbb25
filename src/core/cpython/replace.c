/* Exchanging the C functions behind methods and functions.  See replace.h.
 *
 * A method descriptor points at a PyMethodDef, a static and writable table of the
 * module, and so does each bound method.  The C function is read from there at
 * every call, also by specialized instructions; so exchanging it changes all
 * objects, those made before too, and all bound methods that somebody has stored
 * (threading.Condition does).  The flags stay: callers have chosen by them how to
 * call.  The definitions are shared by all interpreters of the process.
 *
 * A function of a module is one object, so it can get a definition of our own, with other flags
 * and the vectorcall that fits them: then the arguments come as they lie in the caller's
 * frame, and a wait inside can be soft.  Flags and function are read from the object at every
 * call, also by specialized instructions.  Other interpreters have objects of their own.
 *
 * Without a GIL all other threads are stopped meanwhile: none stands between reading the
 * flags and the call.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/replace.h"

#define MOST 32 /* methods at once */

typedef PyObject *(*fast_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

typedef struct {
    PyMethodDef *def[MOST];
    PyCFunction function[MOST];
    size_t count;
} exchange;

static PyMethodDef *definition(PyTypeObject *type, const c_method_replacement *method)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, method->name);
    PyMethodDef *def = NULL;
    if (found == NULL)
        PyErr_Clear();
    else if (Py_IS_TYPE(found, &PyMethodDescr_Type))
        def = ((PyMethodDescrObject *)found)->d_method;
    Py_XDECREF(found);
    return def;
}

static void store(void *arg)
{
    exchange *all = arg;
    for (size_t i = 0; i < all->count; i++) {
        if (all->def[i] != NULL && all->function[i] != NULL)
            __atomic_store_n(&all->def[i]->ml_meth, all->function[i], __ATOMIC_SEQ_CST);
    }
}

static int refuse_method(PyTypeObject *type, const char *name, int flags)
{
    PyErr_Format(PyExc_RuntimeError,
                 "expected %s.%s as CPython has it, found one that takes its arguments in another "
                 "form (flags %d); loomlet cannot take its place here",
                 type->tp_name, name, flags);
    return -1;
}

/* Whether one of the entries is this method in the form that it has. */
static int is_known(const c_method_replacement *methods, size_t count, const PyMethodDef *def)
{
    for (size_t i = 0; i < count; i++) {
        if (methods[i].flags == def->ml_flags && strcmp(methods[i].name, def->ml_name) == 0)
            return 1;
    }
    return 0;
}

int c_methods_replace(PyTypeObject *type, const c_method_replacement *methods, size_t count)
{
    exchange all = {.count = count < MOST ? count : MOST};
    for (size_t i = 0; i < all.count; i++) {
        all.def[i] = definition(type, &methods[i]);
        all.function[i] = methods[i].function;
        if (all.def[i] == NULL || all.def[i]->ml_flags == methods[i].flags)
            continue;
        if (!is_known(methods, all.count, all.def[i]))
            return refuse_method(type, methods[i].name, all.def[i]->ml_flags);
        all.def[i] = NULL;
    }
    for (size_t i = 0; i < all.count; i++) {
        PyMethodDef *def = all.def[i];
        PyCFunction present = def ? __atomic_load_n(&def->ml_meth, __ATOMIC_SEQ_CST) : NULL;
        if (present != methods[i].function && methods[i].original != NULL)
            *methods[i].original = present; /* another thread may have been here before */
    }
    c_while_world_stopped(store, &all);
    return 0;
}

void c_methods_restore(PyTypeObject *type, const c_method_replacement *methods, size_t count)
{
    exchange all = {.count = count < MOST ? count : MOST};
    for (size_t i = 0; i < all.count; i++) {
        all.def[i] = definition(type, &methods[i]);
        all.function[i] = methods[i].original != NULL ? *methods[i].original : NULL;
    }
    c_while_world_stopped(store, &all);
}

PyObject *c_call_original(const c_method_forms *stock, const c_method_call *call)
{
    if (call->cls != NULL)
        return ((PyCMethod)(void (*)(void))stock->of_class)(call->self, call->cls, call->args,
                                                            (size_t)call->nargs, call->kwnames);
    if (stock->flags == METH_FASTCALL)
        return ((fast_call)(void (*)(void))stock->plain)(call->self, call->args, call->nargs);
    return stock->plain(call->self, call->nargs > 0 ? call->args[0] : NULL);
}

/* ---- functions of a module ----------------------------------------------------------- */

static void set_ours(void *arg)
{
    c_replaced_function *kept = arg;
    PyCFunctionObject *function = (PyCFunctionObject *)kept->function;
    function->m_ml = &kept->ours;
    function->vectorcall = kept->our_call;
}

static void set_stock(void *arg)
{
    c_replaced_function *kept = arg;
    PyCFunctionObject *function = (PyCFunctionObject *)kept->function;
    function->m_ml = kept->stock;
    function->vectorcall = kept->stock_call;
}

static int refuse_function(PyObject *function)
{
    PyErr_Format(PyExc_RuntimeError,
                 "expected the interpreter's own function, found %R; loomlet cannot take its "
                 "place here, let it come before whoever has replaced it",
                 function);
    return -1;
}

/* What the replacement needs, and how it is called: 0, or -1 with an exception. */
static int prepare(c_replaced_function *kept, PyCFunctionObject *builtin, PyCFunction replacement)
{
    int named = builtin->m_ml->ml_flags & METH_KEYWORDS;
    kept->stock = builtin->m_ml;
    kept->stock_call = builtin->vectorcall;
    kept->ours = *kept->stock;
    kept->ours.ml_meth = replacement;
    kept->ours.ml_flags = METH_FASTCALL | named;
    if (kept->original == NULL)
        kept->original = PyCFunction_NewEx(kept->stock, builtin->m_self, builtin->m_module);
    PyObject *like = kept->original ? PyCFunction_New(&kept->ours, NULL) : NULL;
    if (like == NULL)
        return -1;
    kept->our_call = ((PyCFunctionObject *)like)->vectorcall;
    Py_DECREF(like);
    return 0;
}

static int replace(PyObject *function, const c_function_replacement *wanted)
{
    c_replaced_function *kept = wanted->kept;
    if (kept->function != NULL)
        return 0;
    if (!PyCFunction_CheckExact(function) ||
        ((PyCFunctionObject *)function)->m_ml->ml_flags != wanted->flags)
        return refuse_function(function);
    if (prepare(kept, (PyCFunctionObject *)function, wanted->replacement) < 0)
        return -1;
    kept->function = Py_NewRef(function);
    c_while_world_stopped(set_ours, kept);
    return 0;
}

int c_functions_replace(const char *module, const c_function_replacement *functions, size_t count)
{
    PyObject *from = PyImport_ImportModule(module);
    int code = from ? 0 : -1;
    for (size_t i = 0; i < count && code == 0; i++) {
        PyObject *function = PyObject_GetAttrString(from, functions[i].name);
        if (function != NULL)
            code = replace(function, &functions[i]);
        else
            PyErr_Clear();
        Py_XDECREF(function);
    }
    Py_XDECREF(from);
    return code;
}

void c_functions_restore(const c_function_replacement *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        c_replaced_function *kept = functions[i].kept;
        if (kept->function == NULL)
            continue;
        c_while_world_stopped(set_stock, kept);
        Py_CLEAR(kept->function);
    }
}
