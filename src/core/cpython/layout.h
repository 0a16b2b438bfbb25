/* Picks the file of the running minor version: the one version test of the room.
 *
 * A version's file (py311.h ... py314.h) and the headers that it includes (py_common.h says how
 * they are divided) define the same names on every version:
 *   slot, slot_object, slot_owned, slot_steal, slot_close, SLOT_NULL
 *                              one entry of a frame's locals and value stack
 *   frame_top, frame_set_top, frame_code, frame_set_code, frame_ip, frame_set_ip, frame_funcobj
 *   frame_is_entry             the mark that an interpreter activation begins here
 *   frame_begins_activation    the same, or this is its first frame (3.11)
 *   thread_frame, thread_set_frame, and the recursion counters
 *   stack_limits_..., stack_base_...
 *                              what in a thread state belongs to a C stack
 *   type_dict                  the attributes of a type
 *   visit_objects              all that the collector knows
 *   pending_...                the queue of pending calls (from 3.12 on)
 *   C_STEP_OVER(op)            code units from an instruction to the one after it
 *   C_OP_..., C_CALL_..., ...  what instructions have on the value stack, and how they end
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

/* Whether the depth of the value stack is computed from the bytecode: stack_depth.c. */
#if defined(C_HAS_SOFT)
#define C_COMPUTES_DEPTH 1
#else
#define C_COMPUTES_DEPTH 0
#endif

#ifndef C_NO_ENTRY_FRAMES
static inline int frame_begins_activation(const c_frame *f)
{
    return frame_is_entry(f);
}
#endif

#endif
