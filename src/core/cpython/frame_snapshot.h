/* One frame as a plain record: what reading and building share.
 *
 * A record is a tuple
 *   (owner, function, code, locals, ip, offset, mask, values)
 * owner     the generator that the frame belongs to, or None
 * function  None for the frame that the interpreter puts below an inlined __init__
 * locals    the mapping of a class body or module; None for a function
 * ip        code units from the start of the bytecode
 * offset    what the instruction pointer advances when the frame above returns; 0 without one
 * mask      an int: of n slots, bit i says that slot i is empty, bit n + i that it holds a
 *           bare number of the interpreter's instead of an object
 * values    what the slots hold that are not empty
 */
#ifndef LOOMLET_RECORD_H
#define LOOMLET_RECORD_H

#include "cpython/layout.h"

typedef struct {
    PyObject *owner, *function, *locals, *mask, *values;
    PyCodeObject *code;
    int ip, offset, slots;
} c_frame_snapshot;

static inline int code_units(PyCodeObject *code)
{
    return (int)(_PyCode_NBYTES(code) / (Py_ssize_t)sizeof(_Py_CODEUNIT));
}

PyObject *c_frame_snapshot_read(c_frame *f, int slots, int offset);
/* Borrows everything; NULL, or what does not fit. */
const char *c_frame_snapshot_parse(PyObject *tuple, c_frame_snapshot *out);
/* Of a parsed one: its function and its slots.  NULL, or what does not fit. */
const char *c_frame_snapshot_check(const c_frame_snapshot *record);
/* The object in the last slot: borrowed, or NULL. */
PyObject *c_frame_snapshot_top(const c_frame_snapshot *record);
/* Fills the slots of a frame whose code is the record's and whose slots hold nothing. */
void c_frame_snapshot_fill(const c_frame_snapshot *record, c_frame *f);
/* The plain instruction that a code unit belongs to, itself or as an inline cache: neither
 * specialised nor traced, with every EXTENDED_ARG in front of it.  `op` is -1 outside the code. */
typedef struct {
    int unit, op, oparg;
} c_plain_instruction;
c_plain_instruction c_plain_instruction_at(PyCodeObject *code, int unit);
/* Whether a frame can wait as its record says: for a frame above it (of a generator, or None), or
 * in a generator that is new or suspended.  NULL, or what does not fit. */
const char *c_location_check_waiting(const c_frame_snapshot *record, PyObject *generator);
const char *c_location_check_generator(const c_frame_snapshot *record, int state);
/* The first frame of a generator. */
static inline c_frame *generator_frame(PyObject *gen)
{
    return (c_frame *)((char *)gen + offsetof(PyGenObject, gi_iframe));
}
/* Puts the record into a generator that has not begun: NULL, or why it cannot be. */
const char *c_generator_check(PyObject *gen, const c_frame_snapshot *record);
void c_generator_put(PyObject *gen, const c_frame_snapshot *record, int frame_state);

#endif
