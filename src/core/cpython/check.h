/* Being called at a check of the interpreter loop: what check.c tells its neighbours. */
#ifndef LOOMLET_CHECK_H
#define LOOMLET_CHECK_H

#include "cpython/layout.h"

/* Half 1 of the rules of site.c for a check: C_SOFT and `out`, or why not. */
int c_check_point(PyThreadState *ts, c_frame *f, const c_site *site, c_point *out);

#endif
