/* The one place where an error code becomes a Python exception.
 *
 * The texts are written in Python (loomlet.errors.make), because they need not be fast.  Until that
 * module has handed its functions down, the exception is a plain RuntimeError.
 */
#include "bind/errors.h"
#include "sched/guests/scope.h"
#include "sched/guests/thread_identity.h"

static PyObject *make_error, *report_failure, *warn_abandoned, *exit_types, *killed_type;

static PyObject *exit_type(void)
{
    return PyTuple_GET_ITEM(exit_types, 0);
}

static PyObject *cancelled_type(void)
{
    return exit_types ? PyTuple_GET_ITEM(exit_types, 1) : NULL;
}

int bind_is_cancelled(PyObject *exception)
{
    return exit_types != NULL && PyErr_GivenExceptionMatches(exception, cancelled_type());
}

/* ---- cancels ------------------------------------------------------------------------- */

/* Cancelled is made without running Python code: a signal handler could run there, and its
 * exception would replace it.  `text`: which scope it is, or NULL. */
static PyObject *new_cancelled(PyObject *text)
{
    return text != NULL ? PyObject_CallOneArg(cancelled_type(), text)
                        : PyObject_CallNoArgs(cancelled_type());
}

static PyObject *skipped_note(void)
{
    PyObject *code;
    int line;
    if (s_self_here() == NULL || !c_running_location(s_self_here()->ts, &code, &line))
        return NULL;
    c_location here = {code, 0};
    PyObject *note = PyUnicode_FromFormat(
        "clean-up was skipped at %U:%d in %U: it would have to wait, and in a cancelled scope "
        "nothing waits; put it into `with CancelScope(shield=True)`",
        c_peek_file(&here), line, c_peek_function(&here));
    Py_DECREF(code);
    return note;
}

/* A tasklet that handles Cancelled wants to wait again, and gets `error`: the rest of its clean-up
 * will not be done, so there is a note of it. */
static void note_skipped(PyObject *error)
{
    PyObject *handled = PyErr_GetHandledException();
    if (handled == NULL || !bind_is_cancelled(handled)) {
        Py_XDECREF(handled);
        return;
    }
    PyObject *note = skipped_note();
    s_scope *scope = note ? s_scope_cancelled((s_scope *)s_self_here()->current->scope) : NULL;
    PyObject *done = note ? PyObject_CallMethod(error, "add_note", "O", note) : NULL;
    if (done == NULL || (scope != NULL && s_scope_add_note(scope, note) < 0))
        PyErr_Clear();
    Py_XDECREF(done);
    Py_XDECREF(note);
    Py_DECREF(handled);
}

/* The current tasklet may not wait: an exception set. */
static void raise_cancelled(void)
{
    PyObject *error = s_scope_error(s_self_here()->current);
    if (error == NULL)
        return;
    note_skipped(error);
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
}

/* ---- exits --------------------------------------------------------------------------- */

/* Attributes of TaskletExit: see loomlet.errors. */
static PyObject *killer_name, *foreign_name;

static PyObject *new_exit(void)
{
    const s_sched *s = s_self_here();
    PyObject *exit = PyObject_CallNoArgs(exit_type());
    if (exit == NULL || s == NULL || !s->killing)
        return exit;
    const char *text = s->running ? "killed at the end of run()" : "killed when its thread ended";
    PyObject *reason = PyUnicode_FromString(text);
    if (reason == NULL || c_set_attribute(exit, &killer_name, "_killer", reason) < 0)
        Py_CLEAR(exit);
    Py_XDECREF(reason);
    return exit;
}

/* "killed by main at FILE:LINE in FUNCTION", from what describe_killer has noted.  Anything else is
 * such a text already, or None. */
static PyObject *text_of_killer(PyObject *killer)
{
    PyObject *name, *code;
    unsigned short at;
    if (!PyTuple_Check(killer))
        return Py_NewRef(killer);
    if (!PyArg_ParseTuple(killer, "UOH:killer", &name, &code, &at))
        return NULL;
    if (!PyCode_Check(code))
        return PyUnicode_FromFormat("killed by %U", name);
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    PyObject *function = PyObject_GetAttrString(code, "co_qualname"), *text = NULL;
    if (file != NULL && function != NULL)
        text = PyUnicode_FromFormat("killed by %U at %S:%d in %S", name, file, c_line_at(code, at),
                                    function);
    Py_XDECREF(file);
    Py_XDECREF(function);
    return text;
}

/* (name of the tasklet, code or None, where in it); the text is made when it is read. */
static PyObject *describe_killer(s_sched *s)
{
    unsigned short at = 0;
    PyObject *name = PyObject_GetAttrString((PyObject *)s->current, "name");
    if (name == NULL)
        return NULL;
    PyObject *code = c_caller_code(s->ts, &at);
    return Py_BuildValue("(NNi)", name, code != NULL ? code : Py_NewRef(Py_None), at);
}

int bind_mark_kill(s_sched *s, s_tasklet *victim, PyObject *error)
{
    if (exit_types == NULL || victim == s->current ||
        !PyErr_GivenExceptionMatches(error, exit_type()))
        return 0;
    PyObject *killer = describe_killer(s);
    int code = killer != NULL ? c_set_attribute(error, &killer_name, "_killer", killer) : -1;
    Py_XDECREF(killer);
    if (code == 0 && victim->owned && (victim->owner != s || !s_scope_shared(s->current, victim)))
        code = c_set_attribute(error, &foreign_name, "_from_outside", Py_True);
    return code;
}

static int is_foreign_kill(PyObject *exception)
{
    if (!PyErr_GivenExceptionMatches(exception, exit_type()))
        return 0;
    PyObject *mark = c_get_attribute(exception, &foreign_name, "_from_outside");
    int foreign = mark == Py_True;
    if (mark == NULL)
        PyErr_Clear();
    Py_XDECREF(mark);
    return foreign;
}

/* TaskletKilled(name, reason), caused by the exit exception. */
static PyObject *new_killed(s_tasklet *t)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)t, "name"), *killer, *error = NULL;
    if (bind_is_cancelled(t->failure))
        killer = PyUnicode_FromString("cancelled with its scope");
    else
        killer = c_get_attribute(t->failure, &killer_name, "_killer");
    PyObject *reason = killer != NULL ? text_of_killer(killer) : NULL;
    if (name != NULL && reason != NULL)
        error = PyObject_CallFunctionObjArgs(killed_type, name, reason, NULL);
    if (error != NULL)
        PyException_SetCause(error, Py_NewRef(t->failure));
    Py_XDECREF(name);
    Py_XDECREF(killer);
    Py_XDECREF(reason);
    return error;
}

/* _text_of_killer(killer): the `reason` of a TaskletExit. */
static PyObject *errors_text_of_killer(PyObject *module, PyObject *killer)
{
    (void)module;
    return text_of_killer(killer);
}

/* ---- codes --------------------------------------------------------------------------- */

/* Those two are made without running Python code: a signal handler could run there, and its
 * exception would replace them, or the tasklet could end meanwhile. */
static PyObject *new_error(int code, PyObject *about)
{
    if (code == S_E_CANCELLED && exit_types != NULL)
        return new_cancelled(about);
    if (code == S_E_KILLED && exit_types != NULL)
        return new_exit();
    if (make_error == NULL) {
        PyErr_Format(PyExc_RuntimeError, "loomlet: error %d before loomlet was imported", code);
        return NULL;
    }
    PyObject *error = PyObject_CallFunction(make_error, "iO", code, about ? about : Py_None);
    if (error != NULL && !PyExceptionInstance_Check(error)) {
        Py_DECREF(error);
        PyErr_SetString(PyExc_TypeError, "loomlet: the error hook must return an exception");
        return NULL;
    }
    return error;
}

PyObject *bind_fail(int code, PyObject *about)
{
    if (code == S_E_SET)
        return NULL;
    if (code == S_E_MEMORY)
        return PyErr_NoMemory();
    if (code == S_E_CANCELLED && exit_types != NULL && s_self_here() != NULL) {
        raise_cancelled();
        return NULL;
    }
    PyObject *error = new_error(code, about);
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

static void call_hook_quietly(PyObject *function, PyObject *a, PyObject *b)
{
    if (function == NULL)
        return;
    PyObject *done = PyObject_CallFunctionObjArgs(function, a, b, NULL);
    if (done == NULL)
        PyErr_WriteUnraisable(function);
    Py_XDECREF(done);
}

/* The exception of a thread is reported the way the interpreter reports it. */
static void report_failed(s_tasklet *t, PyObject *exception)
{
    if (s_is_thread(t)) {
        PyErr_SetRaisedException(Py_NewRef(exception));
        c_report_thread_exception(t->func);
        return;
    }
    call_hook_quietly(report_failure, (PyObject *)t, exception);
}

static void report_abandoned(s_tasklet *t)
{
    call_hook_quietly(warn_abandoned, (PyObject *)t, NULL);
}

static int is_exit_exception(PyObject *exception)
{
    return exit_types != NULL && PyErr_GivenExceptionMatches(exception, exit_types);
}

/* _set_hooks(error, failed, abandoned, (exit, cancelled), killed): see loomlet.errors and
 * loomlet._runtime. */
static PyObject *set_hooks(PyObject *module, PyObject *args)
{
    PyObject *error, *failure, *warning, *exits, *killed;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO!O:_set_hooks", &error, &failure, &warning, &PyTuple_Type,
                          &exits, &killed))
        return NULL;
    if (PyTuple_GET_SIZE(exits) != 2) {
        PyErr_SetString(PyExc_ValueError, "_set_hooks() takes the types (exit, cancelled)");
        return NULL;
    }
    Py_XSETREF(make_error, Py_NewRef(error));
    Py_XSETREF(report_failure, Py_NewRef(failure));
    Py_XSETREF(warn_abandoned, Py_NewRef(warning));
    Py_XSETREF(exit_types, Py_NewRef(exits));
    Py_XSETREF(killed_type, Py_NewRef(killed));
    s_hook.error = new_error;
    s_hook.failed = report_failed;
    s_hook.abandoned = report_abandoned;
    s_hook.is_exit = is_exit_exception;
    s_hook.is_foreign_kill = is_foreign_kill;
    s_hook.exited = new_killed;
    Py_RETURN_NONE;
}

PyMethodDef bind_error_functions[] = {
    {"_set_hooks", set_hooks, METH_VARARGS, NULL},
    {"_text_of_killer", errors_text_of_killer, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

#define NUMBER(name, text) {#name, S_E_##name},
static const struct {
    const char *name;
    int code;
} codes[] = {S_ERROR_CODES(NUMBER){"SYSTEM", S_E_SYSTEM}};

int bind_add_error_codes(PyObject *module)
{
    PyObject *numbers = PyDict_New();
    int code = numbers != NULL ? 0 : -1;
    for (size_t i = 0; code == 0 && i < sizeof(codes) / sizeof(codes[0]); i++) {
        PyObject *number = PyLong_FromLong(codes[i].code);
        code = number != NULL ? PyDict_SetItemString(numbers, codes[i].name, number) : -1;
        Py_XDECREF(number);
    }
    if (code == 0)
        code = PyModule_AddObjectRef(module, "ERROR_CODES", numbers);
    Py_XDECREF(numbers);
    return code;
}
