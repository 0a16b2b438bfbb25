/* What splice.c must know of start.c. */
#ifndef LOOMLET_START_H
#define LOOMLET_START_H

#include "cpython/layout.h"

/* The vectorcall that CPython itself gives to a Python function; NULL without memory. */
vectorcallfunc c_function_vectorcall(void);

#endif
