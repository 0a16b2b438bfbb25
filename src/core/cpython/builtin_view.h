/* The interpreter's own views of dicts: which dict they show.
 *
 * Any attached thread may call this; the view must be its own.
 */
#ifndef LOOMLET_BUILTIN_VIEW_H
#define LOOMLET_BUILTIN_VIEW_H

#include "cpython/cpython.h"

/* The view shows another dict from now on. */
void c_view_set_dict(PyObject *view, PyObject *dict);

#endif
