/* The variables of frames whose calls have not ended: running_frame.c. */
#ifndef LOOMLET_RUNNING_FRAME_H
#define LOOMLET_RUNNING_FRAME_H

#include "cpython/cpython.h"

/* Visits the variables of a frame object, which tp_traverse does only when its call has ended;
 * those of a module are the module's. */
int c_frame_visit_variables(PyObject *frame, visitproc visit, void *arg);
/* The number of the variable that is `value` or the cell `value`; -1: none. */
int c_frame_variable_of(PyObject *frame, PyObject *value);
/* Visits what belongs to each thread of the interpreter: its dict, its context. */
int c_threads_visit(visitproc visit, void *arg);

#endif
