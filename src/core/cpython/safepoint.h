/* Being called at a check of the interpreter loop: what safepoint.c tells its neighbours. */
#ifndef LOOMLET_CHECK_H
#define LOOMLET_CHECK_H

#include "cpython/layout.h"

/* Half 1 of the rules of soft_rules.c for a check: C_SOFT and `out`, or why not. */
int c_safepoint_find(PyThreadState *ts, c_frame *f, const c_call_site *site, c_soft_point *out);

#ifdef C_HAS_SOFT
/* How far a frame that was suspended at a check goes: `advance` to where an exception is raised,
 * `end_advance` to go on.  `back`: how far the instruction jumps, 0 of RESUME. */
static inline void check_ways(int op, int back, int *advance, int *end_advance)
{
    *advance = op == JUMP_BACKWARD ? C_THROW_ADVANCE : 0;
    *end_advance = C_AFTER(op) - back;
}
#endif

#endif
