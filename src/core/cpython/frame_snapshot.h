/* A snapshot of one frame: what reading and building share.
 *
 * A frame snapshot is a tuple
 *   (owner, function, code, locals, ip, offset, mask, values)
 * owner     the generator that the frame belongs to, or None
 * function  None for the frame that the interpreter puts below an inlined __init__
 * locals    the mapping of a class body or module; None for a function
 * ip        code units from the start of the bytecode
 * offset    how far the instruction pointer advances when the frame above returns; 0 without one
 * mask      an int: of n slots, bit i says that slot i is empty, bit n + i that it holds a
 *           bare number of the interpreter's instead of an object
 * values    what the slots that are not empty hold
 */
#ifndef LOOMLET_FRAME_SNAPSHOT_H
#define LOOMLET_FRAME_SNAPSHOT_H

#include "cpython/bytecode.h"

typedef struct {
    PyObject *owner, *function, *locals, *mask, *values;
    PyCodeObject *code;
    int ip, offset, slots;
} c_frame_snapshot;

PyObject *c_frame_snapshot_read(c_frame *f, int slots, int offset);
/* Reads the tuple into `out`, which borrows everything; NULL, or what is wrong. */
const char *c_frame_snapshot_parse(PyObject *tuple, c_frame_snapshot *out);
/* Checks the function and the slots of a parsed one: NULL, or what is wrong. */
const char *c_frame_snapshot_check(const c_frame_snapshot *snapshot);
/* The object in the last slot: borrowed, or NULL. */
PyObject *c_frame_snapshot_top(const c_frame_snapshot *snapshot);
/* The object in slot `i`: borrowed, or NULL. */
PyObject *c_frame_snapshot_slot(const c_frame_snapshot *snapshot, int i);
/* Whether such a frame waits in context.run(), and in which context: borrowed, or NULL. */
int c_snapshot_is_in_context(const c_frame_snapshot *snapshot);
PyObject *c_snapshot_context(const c_frame_snapshot *snapshot);
/* Fills the slots of a frame that has the snapshot's code and whose slots are empty. */
void c_frame_snapshot_fill(const c_frame_snapshot *snapshot, c_frame *f);
/* The plain instruction that a code unit belongs to, as its opcode or as an inline cache: neither
 * specialised nor traced, with every EXTENDED_ARG in front of it.  `op` is -1 outside the code. */
typedef struct {
    int unit, op, oparg;
} c_plain_instruction;
c_plain_instruction c_plain_instruction_at(PyCodeObject *code, int unit);
/* Whether a frame can stand where its snapshot says: waiting for a frame above it (of a generator,
 * or None), or in a generator that is new or suspended.  NULL, or what is wrong. */
const char *c_location_check_waiting(const c_frame_snapshot *snapshot, PyObject *generator);
const char *c_location_check_generator(const c_frame_snapshot *snapshot, int state);
/* The first frame of a generator. */
static inline c_frame *generator_frame(PyObject *gen)
{
    return (c_frame *)((char *)gen + offsetof(PyGenObject, gi_iframe));
}
/* Whether the snapshot can be put into a generator, which must not have begun: NULL, or what is
 * wrong. */
const char *c_generator_check(PyObject *gen, const c_frame_snapshot *snapshot);
void c_generator_put(PyObject *gen, const c_frame_snapshot *snapshot, int frame_state);

#endif
