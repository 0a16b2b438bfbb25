/* What soft_rules.c and frames.c must know of safepoint.c. */
#ifndef LOOMLET_SAFEPOINT_H
#define LOOMLET_SAFEPOINT_H

#include "cpython/layout.h"

/* Half 1 of the rules of soft_rules.c at a safepoint: C_SOFT and `out`, or why it is hard. */
int c_safepoint_find(PyThreadState *ts, c_frame *f, const c_call_site *site, c_soft_point *out);

#ifdef C_HAS_SOFT
/* How far a frame that was suspended at a safepoint advances: `advance` to where an exception is
 * raised, `end_advance` to resume.  `back`: how far the instruction jumps back, 0 for RESUME. */
static inline void safepoint_advances(int op, int back, int *advance, int *end_advance)
{
    *advance = op == JUMP_BACKWARD ? C_THROW_ADVANCE : 0;
    *end_advance = C_STEP_OVER(op) - back;
}
#endif

#endif
