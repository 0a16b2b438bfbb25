/* Replacing the C functions behind methods and functions.  See replace.h.
 *
 * A method descriptor points at a PyMethodDef, a static and writable table of the module, and so
 * does each bound method.  The C function is read from there at every call, also by specialized
 * instructions; so replacing it affects all objects, also those that exist already, and all bound
 * methods that have been stored (threading.Condition does).  The flags stay: callers have chosen by
 * them how to call.  The definitions are shared by all interpreters of the process.
 *
 * Python code calls a method without making a bound one: it calls the descriptor, an object that
 * says itself how it is called.  Where that is replaced the arguments stay in the caller's frame,
 * and a wait inside can be soft.  Descriptors belong to one interpreter.
 *
 * A function of a module is one object, so it can get a definition of our own, with other flags and
 * the vectorcall that fits them: then the arguments come as they lie in the caller's frame, and a
 * wait inside can be soft.  Flags and function are read from the object at every call, also by
 * specialized instructions.  Other interpreters have objects of their own.
 *
 * Without a GIL all other threads are stopped meanwhile, so that none of them stands between
 * reading the flags and the call.
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/replace.h"

#define MAX_METHODS 32 /* at once */

typedef PyObject *(*fast_call)(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

typedef struct {
    PyMethodDef *def[MAX_METHODS];
    PyCFunction function[MAX_METHODS];
    size_t count;
} method_functions;

/* A new reference; NULL without an exception: the type has no such method of the interpreter's. */
static PyMethodDescrObject *find_method_descriptor(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    if (found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type))
        return (PyMethodDescrObject *)found;
    PyErr_Clear();
    Py_XDECREF(found);
    return NULL;
}

static PyMethodDef *find_method_definition(PyTypeObject *type, const c_method_replacement *method)
{
    PyMethodDescrObject *found = find_method_descriptor(type, method->name);
    PyMethodDef *def = found != NULL ? found->d_method : NULL;
    Py_XDECREF(found);
    return def;
}

static void store_functions(void *arg)
{
    method_functions *all = arg;
    for (size_t i = 0; i < all->count; i++) {
        if (all->def[i] != NULL && all->function[i] != NULL)
            __atomic_store_n(&all->def[i]->ml_meth, all->function[i], __ATOMIC_SEQ_CST);
    }
}

static int refuse_method(PyTypeObject *type, const char *name, int flags)
{
    PyErr_Format(PyExc_RuntimeError,
                 "%s.%s takes its arguments in an unexpected form (flags %d): loomlet cannot "
                 "replace it on this interpreter",
                 type->tp_name, name, flags);
    return -1;
}

/* Whether one of the entries describes this method in the form that it has. */
static int has_known_form(const c_method_replacement *methods, size_t count, const PyMethodDef *def)
{
    for (size_t i = 0; i < count; i++) {
        if (methods[i].flags == def->ml_flags && strcmp(methods[i].name, def->ml_name) == 0)
            return 1;
    }
    return 0;
}

int c_methods_replace(PyTypeObject *type, const c_method_replacement *methods, size_t count)
{
    method_functions all = {.count = count < MAX_METHODS ? count : MAX_METHODS};
    for (size_t i = 0; i < all.count; i++) {
        all.def[i] = find_method_definition(type, &methods[i]);
        all.function[i] = methods[i].function;
        if (all.def[i] == NULL || all.def[i]->ml_flags == methods[i].flags)
            continue;
        if (!has_known_form(methods, all.count, all.def[i]))
            return refuse_method(type, methods[i].name, all.def[i]->ml_flags);
        all.def[i] = NULL;
    }
    for (size_t i = 0; i < all.count; i++) {
        PyMethodDef *def = all.def[i];
        PyCFunction present = def ? __atomic_load_n(&def->ml_meth, __ATOMIC_SEQ_CST) : NULL;
        if (present != methods[i].function && methods[i].original != NULL)
            *methods[i].original = present; /* another thread may have been here before */
    }
    c_while_world_stopped(store_functions, &all);
    return 0;
}

void c_methods_restore(PyTypeObject *type, const c_method_replacement *methods, size_t count)
{
    method_functions all = {.count = count < MAX_METHODS ? count : MAX_METHODS};
    for (size_t i = 0; i < all.count; i++) {
        all.def[i] = find_method_definition(type, &methods[i]);
        all.function[i] = methods[i].original != NULL ? *methods[i].original : NULL;
    }
    c_while_world_stopped(store_functions, &all);
}

/* ---- calls of methods ---------------------------------------------------------------- */

typedef struct {
    PyMethodDescrObject *method;
    vectorcallfunc call;
} method_call;

static void store_call(void *arg)
{
    const method_call *stored = arg;
    __atomic_store_n(&stored->method->vectorcall, stored->call, __ATOMIC_SEQ_CST);
}

void c_calls_replace(PyTypeObject *type, const c_call_replacement *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PyMethodDescrObject *found = find_method_descriptor(type, calls[i].name);
        if (found == NULL)
            continue;
        method_call stored = {found, calls[i].call};
        vectorcallfunc present = __atomic_load_n(&found->vectorcall, __ATOMIC_SEQ_CST);
        if (present != calls[i].call) /* another thread may have been here before */
            *calls[i].original = present;
        c_while_world_stopped(store_call, &stored);
        Py_DECREF(found);
    }
}

PyObject *c_call_original(const c_method_forms *original, const c_method_call *call)
{
    if (call->cls != NULL)
        return ((PyCMethod)(void (*)(void))original->of_class)(call->self, call->cls, call->args,
                                                               (size_t)call->nargs, call->kwnames);
    if (original->flags == METH_FASTCALL)
        return ((fast_call)(void (*)(void))original->plain)(call->self, call->args, call->nargs);
    return original->plain(call->self, call->nargs > 0 ? call->args[0] : NULL);
}

/* ---- functions of a module ----------------------------------------------------------- */

static void install_replacement(void *arg)
{
    c_replaced_function *kept = arg;
    PyCFunctionObject *function = (PyCFunctionObject *)kept->function;
    function->m_ml = &kept->ours;
    function->vectorcall = kept->our_call;
}

static void restore_original(void *arg)
{
    c_replaced_function *kept = arg;
    PyCFunctionObject *function = (PyCFunctionObject *)kept->function;
    function->m_ml = kept->builtin;
    function->vectorcall = kept->builtin_call;
}

static int refuse_function(PyObject *function)
{
    PyErr_Format(PyExc_RuntimeError,
                 "cannot replace %R, which is not the interpreter's own function: another library "
                 "has replaced it; install loomlet's patch before that library's",
                 function);
    return -1;
}

/* The doc of a function with the signature that the original shows: it may follow from the flags,
 * which are others now.  NULL without memory; never freed. */
static const char *doc_with_signature(PyObject *builtin)
{
    const PyMethodDef *def = ((PyCFunctionObject *)builtin)->m_ml;
    PyObject *doc = PyObject_GetAttrString(builtin, "__doc__");
    PyObject *signature = PyObject_GetAttrString(builtin, "__text_signature__");
    PyErr_Clear();
    if (doc == NULL || signature == NULL || !PyUnicode_Check(doc) || !PyUnicode_Check(signature)) {
        Py_XDECREF(doc);
        Py_XDECREF(signature);
        return def->ml_doc;
    }
    PyObject *text = PyUnicode_FromFormat("%s%U\n--\n\n%U", def->ml_name, signature, doc);
    const char *found = text ? PyUnicode_AsUTF8(text) : NULL;
    Py_DECREF(doc);
    Py_DECREF(signature);
    return found; /* `text` is kept for ever */
}

/* Fills `kept`: the definition, and how the replacement is called.  0, or -1 with an exception. */
static int prepare_replacement(c_replaced_function *kept, PyCFunctionObject *builtin,
                               PyCFunction replacement)
{
    int named = builtin->m_ml->ml_flags & METH_KEYWORDS;
    kept->builtin = builtin->m_ml;
    kept->builtin_call = builtin->vectorcall;
    kept->ours = *kept->builtin;
    kept->ours.ml_meth = replacement;
    kept->ours.ml_flags = METH_FASTCALL | named;
    if (kept->doc == NULL && (kept->doc = doc_with_signature((PyObject *)builtin)) == NULL)
        return -1;
    kept->ours.ml_doc = kept->doc;
    if (kept->original == NULL)
        kept->original = PyCFunction_NewEx(kept->builtin, builtin->m_self, builtin->m_module);
    PyObject *like = kept->original ? PyCFunction_New(&kept->ours, NULL) : NULL;
    if (like == NULL)
        return -1;
    kept->our_call = ((PyCFunctionObject *)like)->vectorcall;
    Py_DECREF(like);
    return 0;
}

static int replace_one_function(PyObject *function, const c_function_replacement *wanted)
{
    c_replaced_function *kept = wanted->kept;
    if (kept->function != NULL)
        return 0;
    if (!PyCFunction_CheckExact(function) ||
        ((PyCFunctionObject *)function)->m_ml->ml_flags != wanted->flags)
        return refuse_function(function);
    if (prepare_replacement(kept, (PyCFunctionObject *)function, wanted->replacement) < 0)
        return -1;
    kept->function = Py_NewRef(function);
    c_while_world_stopped(install_replacement, kept);
    return 0;
}

int c_functions_replace(const char *module, const c_function_replacement *functions, size_t count)
{
    PyObject *from = PyImport_ImportModule(module);
    int code = from ? 0 : -1;
    for (size_t i = 0; i < count && code == 0; i++) {
        PyObject *function = PyObject_GetAttrString(from, functions[i].name);
        if (function != NULL)
            code = replace_one_function(function, &functions[i]);
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
        c_while_world_stopped(restore_original, kept);
        Py_CLEAR(kept->function);
    }
}
