/* The steps of asynchronous generators: what asend(), athrow(), aclose() and __anext__() return. */
#ifndef LOOMLET_ASYNC_STEP_H
#define LOOMLET_ASYNC_STEP_H

#include "cpython/layout.h"

enum { C_STEP_NEW, C_STEP_RUNS, C_STEP_ENDED };

/* Where the step has its state; NULL if it is none. */
int *c_step_state(PyObject *step);
/* Whether it is a step under way of that asynchronous generator, or what a coroutine's __await__()
 * has returned and the coroutine is that one. */
int c_step_is_running(PyObject *step, const PyGenObject *gen);
/* What the step's send() returns, when the frame that it runs has returned or yielded this
 * (stolen), or, NULL, raised.  NULL: with an exception, StopIteration among them. */
PyObject *c_step_end(PyObject *step, PyObject *result, int yielded);

#endif
