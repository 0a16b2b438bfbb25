/* Installs all replacements, or none.
 *
 * The replacements take the place of the interpreter's C functions (cpython/replace.h), never of
 * Python classes or names.
 */
#include "bind/patch/patch.h"

#include "patch/thread.h"

static int installed;

static int (*const parts[])(int install) = {
    bind_patch_time,     bind_patch_sockets,    bind_patch_select,     bind_patch_ssl,
    bind_patch_resolver, bind_patch_children,   bind_patch_files,      bind_patch_buffers,
    bind_patch_queues,   bind_patch_file_locks, bind_patch_semaphores, bind_patch_sqlite,
    patch_locals_install};

/* A tasklet that waits in a patched call may hold a builtin lock, which must know tasklets. */
static int patch_all(int install)
{
    int code = install ? bind_patch_builtin_locks() : 0;
    patch_identities_init();
    for (size_t i = 0; code == 0 && i < sizeof(parts) / sizeof(*parts); i++)
        code = parts[i](install);
    return code;
}

/* _patch(True) or _patch(False); _patch(None) asks.  Returns whether it was installed. */
static PyObject *set_patched(PyObject *module, PyObject *wanted)
{
    (void)module;
    int before = installed;
    int install = wanted == Py_True;
    if (wanted == Py_None || install == before)
        return PyBool_FromLong(before);
    if (patch_all(install) < 0) {
        PyObject *error = PyErr_GetRaisedException();
        patch_all(0);
        PyErr_SetRaisedException(error);
        return NULL;
    }
    installed = install;
    return PyBool_FromLong(before);
}

PyMethodDef bind_patch_functions[] = {
    {"_patch", set_patched, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
