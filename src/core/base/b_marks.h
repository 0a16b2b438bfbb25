/* A set of the addresses of objects, a bit for each 16 bytes of memory.
 *
 * Memory is cut into regions of 1 MiB, as allocators hand it out; a region has 8 KiB of bits as
 * soon as one of its objects is marked, and a small table of open addressing finds them.  So the
 * set of the objects of a whole heap stays in the caches of the processor, where a table of
 * addresses does not.  It is exact for objects of 16 bytes and more that do not overlap: no two of
 * them begin in the same 16 bytes.  Nothing is ever taken out.  A failed allocation changes
 * nothing.  No locking.
 *
 * Rejected: b_numbers for the regions.  One load more that waits for another, for each reference of
 * a heap: the doctor's search of a million objects took 102 ms instead of 66.
 */
#ifndef LOOMLET_B_MARKS_H
#define LOOMLET_B_MARKS_H

#include <stddef.h>
#include <stdint.h>

enum { B_MARKS_BITS = 1 << 16 }; /* of a region */

typedef struct {
    uintptr_t number;
    uint64_t *bits; /* NULL: no region is here */
} b_marks_region;

typedef struct {
    b_marks_region *regions;
    size_t count, room;
} b_marks;

/* A zeroed one is empty. */
void b_marks_free(b_marks *marks);
/* The bits of a region that has none yet, or NULL without memory. */
uint64_t *b_marks_add_region(b_marks *marks, uintptr_t number);

/* Where a region is in the table, or would be: there must be room. */
static inline b_marks_region *b_marks_find(const b_marks *marks, uintptr_t number)
{
    size_t mask = marks->room - 1, at = (size_t)(number * 0x9E3779B97F4A7C15u >> 24) & mask;
    while (marks->regions[at].bits != NULL && marks->regions[at].number != number)
        at = (at + 1) & mask;
    return &marks->regions[at];
}

static inline uint64_t *b_marks_of(const b_marks *marks, const void *address)
{
    return marks->room != 0 ? b_marks_find(marks, (uintptr_t)address >> 20)->bits : NULL;
}

static inline int b_is_marked(const b_marks *marks, const void *address)
{
    const uint64_t *bits = b_marks_of(marks, address);
    size_t bit = (uintptr_t)address >> 4 & (B_MARKS_BITS - 1);
    return bits != NULL && bits[bit / 64] >> (bit & 63) & 1;
}

/* Whether that is new: 1 or 0.  -1 without memory. */
static inline int b_mark(b_marks *marks, const void *address)
{
    uint64_t *bits = b_marks_of(marks, address);
    if (bits == NULL && (bits = b_marks_add_region(marks, (uintptr_t)address >> 20)) == NULL)
        return -1;
    size_t bit = (uintptr_t)address >> 4 & (B_MARKS_BITS - 1);
    uint64_t mark = (uint64_t)1 << (bit & 63), before = bits[bit / 64];
    bits[bit / 64] = before | mark;
    return (before & mark) == 0;
}

#endif
