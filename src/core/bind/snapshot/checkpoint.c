/* checkpoint(): a tasklet freezes itself.
 *
 * Only a suspended tasklet can be frozen.  So a helper does it, which runs at once, while the
 * caller is paused in this call: the call returns the bytes here, and None where they are thawed.
 * What the helper does is Python code of loomlet.snapshot; if that fails, this call raises its
 * exception.
 */
#include "bind/arguments.h"
#include "bind/errors.h"
#include "bind/snapshot/snapshot.h"

static PyObject *freeze_caller; /* set by _set_checkpoint() */

static PyObject *set_checkpoint(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(freeze_caller, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* The helper, ready: borrowed from the run queue.  NULL and a code. */
static s_tasklet *spawn_helper(s_sched *s, PyObject *key, int *code)
{
    PyObject *const call[] = {freeze_caller, (PyObject *)s->current, key};
    PyObject *helper = bind_spawn(NULL, call, 3, NULL);
    *code = helper != NULL ? S_OK : S_E_SET;
    Py_XDECREF(helper);
    return (s_tasklet *)helper;
}

static PyObject *freeze_itself(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    static const char *const names[] = {"key", NULL};
    PyObject *given[1] = {Py_None}, *done = NULL;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("checkpoint", nargs, 0) < 0 ||
        bind_parse_arguments("checkpoint", names, 0, args, nargs, kwnames, given) < 0)
        return NULL;
    int code = s_may_block(s);
    c_call_site site = {module, args, bind_argument_count(nargs, kwnames), (void *)freeze_itself,
                        C_CALL};
    s_tasklet *helper = code == S_OK ? spawn_helper(s, given[0], &code) : NULL;
    if (helper != NULL)
        done = s_run_now(s, helper, S_PAUSE, &site, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

/* _go_on(task, value): the call in which a tasklet is paused returns that. */
static PyObject *go_on_with(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("_go_on", nargs, 2) < 0)
        return NULL;
    s_tasklet *t = (s_tasklet *)args[0];
    if (t->state == S_PAUSED && t->owner == s) {
        Py_XSETREF(t->wait.value, Py_NewRef(args[1]));
        s_insert(s, t);
    }
    Py_RETURN_NONE;
}

PyMethodDef bind_checkpoint_functions[] = {
    {"_set_checkpoint", set_checkpoint, METH_O, NULL},
    {"_go_on", BIND_FN(go_on_with), METH_FASTCALL, NULL},
    {"checkpoint", BIND_FN(freeze_itself), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("checkpoint($module, /, *, key=None)\n--\n\n"
               "Freezes the running tasklet.  Returns the bytes, for thaw(), and goes on; where\n"
               "they are thawed, the same call returns None.\n\n"
               "key: as for freeze().  Raises FreezeError, as freeze() does, and goes on, too.\n"
               "No other tasklet runs before it has been frozen, unless time slices are on.")},
    {NULL, NULL, 0, NULL},
};
