/* A heap of deadlines, each with four children, by value; first in first out among equals.
 *
 * Each entry carries its key, so that sifting never touches the timer itself (a cold cache line);
 * the timer knows its index, so that cancelling is O(log n).  `seq` breaks ties in the order of
 * insertion: under a virtual clock every run is then the same.  Owned by one scheduler; no locking.
 *
 * Four children, as in Go's timers: half as many levels, and each level costs the cache line of a
 * timer whose index changes.
 *
 * Rejected: a timer wheel (its resolution would show under a virtual clock) and a pairing heap
 * (three pointers in each timer, cold cache lines at each step).
 */
#ifndef LOOMLET_B_HEAP_H
#define LOOMLET_B_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define B_HEAP_CHILDREN 4 /* of each entry */

typedef struct b_timer {
    int64_t when; /* nanoseconds on the scheduler's clock */
    size_t index; /* index in the heap plus one; 0 = not armed */
} b_timer;

typedef struct {
    int64_t when;
    uint64_t seq;
    b_timer *timer;
} b_heap_entry;

typedef struct {
    b_heap_entry *entries;
    size_t used, room;
    uint64_t seq;
} b_heap;

/* 0, or -1 when there is no memory (the heap is then unchanged). */
int b_heap_push(b_heap *heap, b_timer *timer, int64_t when);
void b_heap_remove(b_heap *heap, b_timer *timer);
void b_heap_free(b_heap *heap);

static inline b_timer *b_heap_first(const b_heap *heap)
{
    return heap->used ? heap->entries[0].timer : NULL;
}

#endif
