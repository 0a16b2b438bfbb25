/* The interpreter's own type of types: what `__flags__` says of them.
 *
 * Any attached thread may call this.
 */
#ifndef LOOMLET_BUILTIN_TYPE_H
#define LOOMLET_BUILTIN_TYPE_H

#include "cpython/cpython.h"

/* From now on bit 15 of `type.__flags__` is set where a call of the type's objects calls Python
 * code, as in Stackless Python: 0, or -1 with an exception. */
int c_type_flags_replace(void);

#endif
