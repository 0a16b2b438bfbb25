/* The interpreter's opcode tables, which it does not export: defined once, here, from its own
 * headers.  Each version reads one of the two macros. */
#define NEED_OPCODE_TABLES 1
#define NEED_OPCODE_METADATA 1
#include "cpython/layout.h"
