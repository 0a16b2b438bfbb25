/* _sqlite3.Connection and _sqlite3.Cursor: arguments, and installing.  What it does is in
 * patch/sqlite.c.
 *
 * The methods execute() and executemany() of a connection do not call those of a cursor, so both
 * are replaced.  A module that is imported after install() is replaced when it has been loaded
 * (extension.c).  Where the library or the types are not as expected, the originals stay.
 *
 * `with connection` commits, and undoes what could not be committed.  The original does both in
 * one function, so the commit is ours, and only what is left of it the original's.
 */
#include "patch/sqlite.h"

#include "bind/patch/patch.h"

static c_sqlite_types types;
static struct {
    PyCFunction execute, executemany;
} of_cursor, of_connection;
static PyCFunction commit_original, exit_original;
static int wanted, replaced;

static PyObject *call_fast(PyCFunction original, PyObject *self, PyObject *const *args,
                           Py_ssize_t nargs)
{
    return ((patch_fast_call)(void (*)(void))original)(self, args, nargs);
}

/* Whether others can run while this cursor or connection waits. */
static int may_wait_with(PyObject *connection)
{
    return connection != NULL && PyObject_TypeCheck(connection, types.connection) &&
           c_sqlite_database(connection) != NULL && patch_scheduler() != NULL;
}

static PyObject *execute_statement(PyObject *self, PyObject *connection, PyCFunction original,
                                   PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || !PyUnicode_Check(args[0]) || !may_wait_with(connection))
        return call_fast(original, self, args, nargs);
    patch_sqlite_call call = {
        .self = self, .connection = connection, .original = original, .args = args, .nargs = nargs};
    return patch_sqlite_run(&call);
}

static PyObject *execute_rows(PyObject *self, PyObject *connection, PyCFunction original,
                              PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || !PyUnicode_Check(args[0]) || !may_wait_with(connection))
        return call_fast(original, self, args, nargs);
    PyObject *ours[2] = {args[0]};
    patch_sqlite_call call = {
        .self = self, .connection = connection, .original = original, .args = ours, .nargs = 2};
    Py_INCREF(connection);
    call.rows = ours[1] = patch_sqlite_rows_new(args[1], &call);
    if (call.rows == NULL)
        PyErr_Clear();
    PyObject *done =
        call.rows != NULL ? patch_sqlite_run(&call) : call_fast(original, self, args, nargs);
    Py_XDECREF(call.rows);
    Py_DECREF(connection);
    return done;
}

static PyObject *cursor_execute(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return execute_statement(self, c_sqlite_connection(self), of_cursor.execute, args, nargs);
}

static PyObject *cursor_executemany(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return execute_rows(self, c_sqlite_connection(self), of_cursor.executemany, args, nargs);
}

static PyObject *connection_execute(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return execute_statement(self, self, of_connection.execute, args, nargs);
}

static PyObject *connection_executemany(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    return execute_rows(self, self, of_connection.executemany, args, nargs);
}

static PyObject *connection_commit(PyObject *self, PyObject *unused)
{
    if (!may_wait_with(self))
        return commit_original(self, unused);
    patch_sqlite_call call = {.self = self, .connection = self, .original = commit_original};
    return patch_sqlite_run(&call);
}

/* The exception that is set stays set; an error while undoing has it as its context. */
static void undo_transaction(PyObject *self)
{
    PyObject *error = PyErr_GetRaisedException();
    PyObject *const args[3] = {(PyObject *)Py_TYPE(error), error, Py_None};
    PyObject *done = call_fast(exit_original, self, args, 3);
    Py_XDECREF(done);
    if (done != NULL) {
        PyErr_SetRaisedException(error);
        return;
    }
    PyObject *second = PyErr_GetRaisedException();
    PyException_SetContext(second, error);
    PyErr_SetRaisedException(second);
}

static PyObject *connection_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int commits = nargs == 3 && args[0] == Py_None && args[1] == Py_None && args[2] == Py_None;
    if (!commits || !may_wait_with(self))
        return call_fast(exit_original, self, args, nargs);
    PyObject *done = connection_commit(self, NULL);
    if (done == NULL) {
        undo_transaction(self);
        return NULL;
    }
    Py_DECREF(done);
    Py_RETURN_FALSE;
}

static const c_method_replacement cursor_methods[] = {
    {"execute", METH_FASTCALL, BIND_FN(cursor_execute), &of_cursor.execute},
    {"executemany", METH_FASTCALL, BIND_FN(cursor_executemany), &of_cursor.executemany},
};
static const c_method_replacement connection_methods[] = {
    {"execute", METH_FASTCALL, BIND_FN(connection_execute), &of_connection.execute},
    {"executemany", METH_FASTCALL, BIND_FN(connection_executemany), &of_connection.executemany},
    {"commit", METH_NOARGS, connection_commit, &commit_original},
    {"__exit__", METH_FASTCALL, BIND_FN(connection_exit), &exit_original},
};

/* ---- installing -------------------------------------------------------------------------- */

static int find_sqlite(PyObject *module)
{
    PyObject *file = PyModule_GetFilenameObject(module);
    const char *path = file != NULL ? PyUnicode_AsUTF8(file) : NULL;
    PyErr_Clear();
    int found = c_sqlite_find(module, &types) && patch_sqlite_find(path, &types);
    Py_XDECREF(file);
    if (!found) {
        Py_CLEAR(types.connection);
        Py_CLEAR(types.cursor);
        Py_CLEAR(types.error);
    }
    return found;
}

static void replace_sqlite(PyObject *module)
{
    if (types.connection == NULL && !find_sqlite(module))
        return;
    patch_sqlite_error = types.error;
    patch_sqlite_take_sleep();
    replaced = c_methods_replace(types.cursor, cursor_methods, 2) == 0 &&
               c_methods_replace(types.connection, connection_methods, 4) == 0;
    PyErr_Clear();
}

static void restore_sqlite(void)
{
    if (replaced) {
        c_methods_restore(types.cursor, cursor_methods, 2);
        c_methods_restore(types.connection, connection_methods, 4);
    }
    replaced = 0;
    patch_sqlite_give_sleep();
}

int bind_patch_sqlite(int install)
{
    wanted = install;
    if (!install) {
        restore_sqlite();
        return 0;
    }
    PyObject *module = bind_find_module("_sqlite3");
    if (module != NULL && PyModule_Check(module))
        replace_sqlite(module);
    Py_XDECREF(module);
    return PyErr_Occurred() ? -1 : 0;
}

void bind_patch_sqlite_module(PyObject *module)
{
    if (wanted && !replaced && bind_is_module(module, "_sqlite3"))
        replace_sqlite(module);
}
