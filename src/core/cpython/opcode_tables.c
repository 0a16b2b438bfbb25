/* The interpreter's opcode tables, which it does not export: defined once, here,
 * from its own headers. */
#define C_OPCODE_TABLES 1
#include "cpython/layout.h"
