/* _core._drive() and _core.DrivenGenerator: arguments.  What they do is in
 * patch/driven_generator.c; who calls them is loomlet._psycopg_wait.
 */
#include "bind/patch/patch.h"

/* _drive(generator, descriptor, interval): what the generator returns, or the DrivenGenerator that
 * goes on.  NotImplemented where no other tasklet could run: the generator has not begun then. */
static PyObject *drive_generator(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t interval;
    s_sched *s = patch_scheduler();
    if (bind_check_count("_drive", nargs, 3) < 0)
        return NULL;
    if (s == NULL)
        return Py_NewRef(Py_NotImplemented);
    int fd = PyObject_AsFileDescriptor(args[1]);
    if (fd < 0)
        return NULL;
    if (bind_patch_timeout(args[2], 1e9, &interval) < 0)
        interval = 0;
    c_call_site site = BIND_SITE(module, args, nargs, drive_generator);
    return patch_generator_begin(s, args[0], fd, interval, &site);
}

/* The next wait: as _drive().  NotImplemented: the caller waits by other means. */
static PyObject *generator_go_on(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    s_sched *s = patch_scheduler();
    if (nargs != 0 && bind_check_count("go_on", nargs, 0) < 0)
        return NULL;
    if (patch_generator_is_waiting(self)) {
        PyErr_SetString(PyExc_RuntimeError, "it waits already");
        return NULL;
    }
    if (s == NULL)
        return Py_NewRef(Py_NotImplemented);
    c_call_site site = BIND_SITE(self, args, nargs, generator_go_on);
    return patch_generator_go_on(s, self, &site);
}

static PyObject *generator_get_late(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(patch_generator_is_late(self));
}

static PyObject *generator_get_wanted(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong((long)patch_generator_wanted(self));
}

static PyMethodDef methods[] = {
    {"go_on", BIND_FN(generator_go_on), METH_FASTCALL,
     PyDoc_STR("go_on($self, /)\n--\n\nWaits once more: as _drive().")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"late", generator_get_late, NULL, NULL, NULL},
    {"wanted", generator_get_wanted, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyMethodDef bind_driven_generator_functions[] = {
    {"_drive", BIND_FN(drive_generator), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

void bind_driven_generator_init(void)
{
    patch_generator_type.tp_methods = methods;
    patch_generator_type.tp_getset = getset;
}
