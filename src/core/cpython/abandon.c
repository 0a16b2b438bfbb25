/* Frames that are left for good without running on.
 *
 * An exception leaves a frame at once if its code has no table of handlers.  So each frame gets
 * such a copy of its code, at the same instruction: then no `except`, `finally` or `with` block of
 * it runs, and what the frame and the C code below it own is freed in the usual way.  The
 * instruction pointer of an interpreter that waits in the frame stays in the old code, which the
 * frame's function keeps alive; it is only looked up in the table, which is empty.
 */
#include "cpython/layout.h"

static int is_of_module(const c_frame *f, const char *module)
{
    PyObject *name = PyDict_GetItemString(f->f_globals, "__name__");
    return name != NULL && PyUnicode_Check(name) &&
           PyUnicode_CompareWithASCIIString(name, module) == 0;
}

/* The innermost of the outermost frames that are all of that module; NULL: there is none. */
static c_frame *first_spared(c_frame *f, const char *module)
{
    c_frame *spared = NULL;
    for (; f != NULL; f = f->previous) {
        if (frame_is_entry(f))
            continue;
        if (!is_of_module(f, module))
            spared = NULL;
        else if (spared == NULL)
            spared = f;
    }
    return spared;
}

/* Whether C code lies between these frames, which could handle an exception. */
static int are_below_c(const c_frame *f, const c_frame *end)
{
    for (; f != end; f = f->previous)
        if (frame_begins_activation(f) && f->previous != end)
            return 1;
    return 0;
}

static PyObject *without_handlers(PyObject *code)
{
    PyObject *replace = PyObject_GetAttrString(code, "replace");
    PyObject *none = PyTuple_New(0), *copy = NULL;
    PyObject *change = Py_BuildValue("{s:y}", "co_exceptiontable", "");
    if (replace != NULL && none != NULL && change != NULL)
        copy = PyObject_Call(replace, none, change);
    Py_XDECREF(replace);
    Py_XDECREF(none);
    Py_XDECREF(change);
    return copy;
}

/* A list of such a copy for each frame, or NULL. */
static PyObject *copy_codes(c_frame *f, const c_frame *end)
{
    PyObject *copies = PyList_New(0);
    for (; copies != NULL && f != end; f = f->previous) {
        PyObject *copy =
            frame_is_entry(f) ? Py_NewRef(Py_None) : without_handlers((PyObject *)frame_code(f));
        if (copy == NULL || PyList_Append(copies, copy) < 0)
            Py_CLEAR(copies);
        Py_XDECREF(copy);
    }
    return copies;
}

int c_frames_abandon(const c_state *state, const char *spared)
{
    c_frame *f = state->frame, *end = first_spared(f, spared);
    if (are_below_c(f, end))
        return 0;
    PyObject *copies = copy_codes(f, end);
    if (copies == NULL)
        return -1;
    for (Py_ssize_t i = 0; f != end; f = f->previous, i++) {
        if (frame_is_entry(f))
            continue;
        PyCodeObject *code = (PyCodeObject *)PyList_GET_ITEM(copies, i);
        ptrdiff_t at = frame_ip(f) - _PyCode_CODE(frame_code(f));
        frame_set_code(f, code);
        frame_set_ip(f, _PyCode_CODE(code) + at);
    }
    Py_DECREF(copies);
    return 1;
}
