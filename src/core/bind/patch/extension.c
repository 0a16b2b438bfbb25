/* Extension modules, when they are loaded: what they keep per thread is looked at.
 *
 * The functions of importlib that load an extension module and run its initialisation are replaced
 * by ones that call them and then have the list of libraries made anew (plat/stack_words_elf.c).
 * Two modules are changed when they are there: sqlite3 (thread.c) and asyncio (event_loop.c).
 * Versions of pybind11 before 3.0 keep the word in question by a key; they are recognised by the
 * capsule of their internals, which lies in the interpreter's dictionary or among the builtins.
 */
#include "bind/patch/patch.h"
#include "cpython/replace.h"

#define INTERNALS "__pybind11_internals_v"

static c_replaced_function create_kept, exec_kept;

static int has_internals(PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (dict != NULL && PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
        if (name != NULL && strncmp(name, INTERNALS, sizeof(INTERNALS) - 1) == 0)
            return 1;
    }
    PyErr_Clear();
    return 0;
}

static void look_at_libraries(void)
{
    PyObject *error = PyErr_GetRaisedException();
    p_stack_words_refresh(has_internals(PyEval_GetBuiltins()) ||
                          has_internals(PyInterpreterState_GetDict(PyInterpreterState_Get())));
    PyErr_SetRaisedException(error);
}

static PyObject *create_and_look(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    PyObject *made = PyObject_Vectorcall(create_kept.original, args, (size_t)nargs, NULL);
    look_at_libraries();
    return made;
}

static PyObject *exec_and_look(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    PyObject *done = PyObject_Vectorcall(exec_kept.original, args, (size_t)nargs, NULL);
    if (done != NULL && nargs > 0) {
        bind_keep_ident_in(args[0]);
        bind_patch_sqlite_module(args[0]);
        bind_own_event_loop_in(args[0]);
    }
    look_at_libraries();
    return done;
}

static void own_loops_of_earlier_import(void)
{
    PyObject *module = bind_find_module("_asyncio");
    if (module != NULL)
        bind_own_event_loop_in(module);
    PyErr_Clear();
    Py_XDECREF(module);
}

/* _watch_extensions(): from now on each extension module that is loaded is looked at. */
static PyObject *watch_extensions(PyObject *module, PyObject *unused)
{
    const c_function_replacement functions[] = {
        {"create_dynamic", METH_FASTCALL, (PyCFunction)(void (*)(void))create_and_look,
         &create_kept},
        {"exec_dynamic", METH_O, (PyCFunction)(void (*)(void))exec_and_look, &exec_kept}};
    (void)module, (void)unused;
    if (c_functions_replace("_imp", functions, 2) < 0)
        return NULL;
    look_at_libraries();
    own_loops_of_earlier_import();
    Py_RETURN_NONE;
}

PyMethodDef bind_extension_functions[] = {
    {"_watch_extensions", watch_extensions, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
