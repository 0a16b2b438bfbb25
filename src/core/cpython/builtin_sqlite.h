/* The interpreter's own connections to SQLite and their cursors, _sqlite3.Connection and .Cursor:
 * the fields that we read.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_BUILTIN_SQLITE_H
#define LOOMLET_BUILTIN_SQLITE_H

#include "cpython/cpython.h"

typedef struct {
    PyTypeObject *connection, *cursor;
    PyObject *error; /* OperationalError */
} c_sqlite_types;

/* Finds the types of the module, new references, and verifies where a cursor keeps its connection:
 * whether all is as expected.  Leaves no exception. */
int c_sqlite_find(PyObject *module, c_sqlite_types *types);
/* Borrowed; NULL: it has none. */
PyObject *c_sqlite_connection(const PyObject *cursor);
/* Its sqlite3 object; NULL: it is not open.  The caller has to verify once that it is one. */
void *c_sqlite_database(const PyObject *connection);

#endif
