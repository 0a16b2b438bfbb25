/* The rows of executemany(), of which the first one can be had again.
 *
 * The original takes them from an object of this type.  It keeps the first row until the second one
 * is asked for; then the call can no longer be tried again (patch_sqlite_must_wait).  While a row
 * is taken from the program's own iterator, waits there are not the call's.
 *
 * An object lives as long as its call and belongs to its thread.  The garbage collector does not
 * see it: like all that a C function holds, it is a reference from outside.
 */
#include "patch/sqlite.h"

typedef struct {
    PyObject_HEAD
    PyObject *iterator, *first;
    int taken; /* rows in this try, at most 2 */
    patch_sqlite_call *call;
} sqlite_rows;

static PyTypeObject *rows_type;

static PyObject *take_row(sqlite_rows *rows)
{
    patch_sqlite_mode mode = rows->call->mode;
    rows->call->mode = PATCH_SQLITE_WAITS;
    PyObject *row = PyIter_Next(rows->iterator);
    rows->call->mode = mode;
    return row;
}

static PyObject *next_of_rows(PyObject *self)
{
    sqlite_rows *rows = (sqlite_rows *)self;
    if (rows->taken == 0) {
        if (rows->first == NULL)
            rows->first = take_row(rows);
        rows->taken = rows->first != NULL;
        return Py_XNewRef(rows->first);
    }
    if (rows->taken == 1) {
        rows->taken = 2;
        Py_CLEAR(rows->first);
        patch_sqlite_must_wait(rows->call);
    }
    return PyIter_Next(rows->iterator);
}

static void free_rows(PyObject *self)
{
    sqlite_rows *rows = (sqlite_rows *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(rows->iterator);
    Py_XDECREF(rows->first);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {{Py_tp_iter, PyObject_SelfIter},
                              {Py_tp_iternext, next_of_rows},
                              {Py_tp_dealloc, free_rows},
                              {0, NULL}};
static PyType_Spec spec = {"loomlet._core._SQLiteRows", sizeof(sqlite_rows), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyObject *patch_sqlite_rows_new(PyObject *rows, patch_sqlite_call *call)
{
    if (rows_type == NULL && (rows_type = (PyTypeObject *)PyType_FromSpec(&spec)) == NULL)
        return NULL;
    PyObject *iterator = PyObject_GetIter(rows);
    sqlite_rows *made = iterator ? (sqlite_rows *)rows_type->tp_alloc(rows_type, 0) : NULL;
    if (made == NULL) {
        Py_XDECREF(iterator);
        return NULL;
    }
    made->iterator = iterator;
    made->call = call;
    return (PyObject *)made;
}

void patch_sqlite_rows_again(PyObject *rows)
{
    ((sqlite_rows *)rows)->taken = 0;
}
