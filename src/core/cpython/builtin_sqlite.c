/* _sqlite3.Connection and _sqlite3.Cursor: a connection begins with its sqlite3 object, a cursor
 * with its connection.  The type of cursors shows the offset of the latter; whether the former is
 * right can only SQLite say (patch/sqlite_library.c).
 */
#include "cpython/layout.h" /* before anything that takes Python.h */

#include "cpython/builtin_sqlite.h"

#include <structmember.h> /* PyMemberDef, until 3.11 */

typedef struct {
    PyObject_HEAD
    void *database;
} connection_object;

typedef struct {
    PyObject_HEAD
    PyObject *connection;
} cursor_object;

PyObject *c_sqlite_connection(const PyObject *cursor)
{
    return ((const cursor_object *)cursor)->connection;
}

void *c_sqlite_database(const PyObject *connection)
{
    return ((const connection_object *)connection)->database;
}

static int is_connection_first(PyTypeObject *cursor)
{
    PyObject *member = PyObject_GetAttrString((PyObject *)cursor, "connection");
    int first = member != NULL && Py_IS_TYPE(member, &PyMemberDescr_Type) &&
                ((PyMemberDescrObject *)member)->d_member->offset ==
                    (Py_ssize_t)offsetof(cursor_object, connection);
    Py_XDECREF(member);
    return first;
}

int c_sqlite_find(PyObject *module, c_sqlite_types *types)
{
    types->connection = (PyTypeObject *)PyObject_GetAttrString(module, "Connection");
    PyErr_Clear();
    types->cursor = (PyTypeObject *)PyObject_GetAttrString(module, "Cursor");
    PyErr_Clear();
    types->error = PyObject_GetAttrString(module, "OperationalError");
    PyErr_Clear();
    int right = types->connection != NULL && types->cursor != NULL && types->error != NULL &&
                PyType_Check(types->connection) && PyType_Check(types->cursor) &&
                types->connection->tp_basicsize >= (Py_ssize_t)sizeof(connection_object) &&
                is_connection_first(types->cursor);
    PyErr_Clear();
    if (!right) {
        Py_CLEAR(types->connection);
        Py_CLEAR(types->cursor);
        Py_CLEAR(types->error);
    }
    return right;
}
