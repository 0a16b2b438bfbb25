/* What soft_rules.c must know of with_statement.c. */
#ifndef LOOMLET_WITH_STATEMENT_H
#define LOOMLET_WITH_STATEMENT_H

#include "cpython/layout.h"

/* The bound __exit__ of `self` that this thread made last, borrowed, or NULL. */
PyObject *c_with_exit_of(PyObject *self);

#endif
