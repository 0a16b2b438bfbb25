/* Picks the file of the running minor version: the one version test of the room.
 *
 * Each pyNNN.h defines the same names:
 *   slot, slot_object, slot_steal, slot_close, slot_owned, SLOT_NULL
 *                              one entry of a frame's locals and value stack
 *   frame_top, frame_set_top, frame_code, frame_ip, frame_set_ip, frame_owner
 *   frame_is_entry             the mark that an interpreter activation begins here
 *   frame_begins_activation    the same, or this is its first frame (3.11)
 *   thread_frame, thread_set_frame, and the recursion counters
 *   C_AFTER(op)                code units from an instruction to the one after it
 *   rules that differ          as C_RULE_... constants, described in README.md
 */
#ifndef LOOMLET_LAYOUT_H
#define LOOMLET_LAYOUT_H

#define Py_BUILD_CORE 1
#define Py_BUILD_CORE_MODULE 1

#include "cpython/cpython.h"

#include "base/b_check.h"

#define C_BELOW ((c_frame *)1)

#if PY_VERSION_HEX >= 0x030F0000
#error "loomlet supports CPython 3.11 to 3.14; this is a newer one: see src/core/cpython/README.md"
#elif PY_VERSION_HEX >= 0x030E0000
#include "cpython/py314.h"
#elif PY_VERSION_HEX >= 0x030D0000
#include "cpython/py313.h"
#elif PY_VERSION_HEX >= 0x030C0000
#include "cpython/py312.h"
#elif PY_VERSION_HEX >= 0x030B0000
#include "cpython/py311.h"
#else
#error "loomlet needs CPython 3.11 or newer"
#endif

/* Whether the depth of the value stack can be told from the bytecode: stack_depth.c. */
#if defined(C_HAS_SOFT)
#define C_TELLS_DEPTH 1
#else
#define C_TELLS_DEPTH 0
#endif

/* How far a waiting frame goes when the one above returns; 3.11 keeps no such number. */
#ifdef C_HAS_SOFT
static inline int frame_return_offset(const c_frame *f)
{
    return f->return_offset;
}
static inline void frame_set_return_offset(c_frame *f, int offset)
{
    f->return_offset = (uint16_t)offset;
}
#endif

/* Only 3.14 has slots that hold a bare number instead of an object. */
#ifndef SLOTS_HOLD_NUMBERS
static inline int slot_is_number(slot s)
{
    (void)s;
    return 0;
}
static inline Py_ssize_t slot_number(slot s)
{
    (void)s;
    return 0;
}
static inline slot slot_from_number(Py_ssize_t number)
{
    (void)number;
    return SLOT_NULL;
}
#define SLOTS_HOLD_NUMBERS 0
#endif

#endif
