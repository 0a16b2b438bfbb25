/* The sift operations of b_heap.h. */
#include "base/b_heap.h"

#include <stdlib.h>

#include "base/b_check.h"

static int is_before(const b_heap_entry *a, const b_heap_entry *b)
{
    return a->when != b->when ? a->when < b->when : a->seq < b->seq;
}

static void put_entry(b_heap *heap, size_t at, b_heap_entry entry)
{
    heap->entries[at] = entry;
    entry.timer->index = at + 1;
}

static size_t sift_up(b_heap *heap, size_t at, b_heap_entry entry)
{
    while (at > 0) {
        size_t parent = (at - 1) / B_HEAP_CHILDREN;
        if (!is_before(&entry, &heap->entries[parent]))
            break;
        put_entry(heap, at, heap->entries[parent]);
        at = parent;
    }
    put_entry(heap, at, entry);
    return at;
}

/* The earliest_child of the children from `child` on; there is one at least. */
static size_t earliest_child(const b_heap *heap, size_t child)
{
    size_t end = child + B_HEAP_CHILDREN < heap->used ? child + B_HEAP_CHILDREN : heap->used;
    size_t best = child;
    while (++child < end) {
        if (is_before(&heap->entries[child], &heap->entries[best]))
            best = child;
    }
    return best;
}

static void sift_down(b_heap *heap, size_t at, b_heap_entry entry)
{
    size_t child;
    while ((child = B_HEAP_CHILDREN * at + 1) < heap->used) {
        child = earliest_child(heap, child);
        if (!is_before(&heap->entries[child], &entry))
            break;
        put_entry(heap, at, heap->entries[child]);
        at = child;
    }
    put_entry(heap, at, entry);
}

static int reserve_entry(b_heap *heap)
{
    if (heap->used < heap->room)
        return 0;
    size_t room = heap->room ? heap->room * 2 : 16;
    b_heap_entry *grown = realloc(heap->entries, room * sizeof(*grown));
    if (grown == NULL)
        return -1;
    heap->entries = grown;
    heap->room = room;
    return 0;
}

int b_heap_push(b_heap *heap, b_timer *timer, int64_t when)
{
    B_CHECK(timer->index == 0);
    if (reserve_entry(heap) < 0)
        return -1;
    timer->when = when;
    b_heap_entry entry = {when, heap->seq++, timer};
    sift_up(heap, heap->used++, entry);
    return 0;
}

/* Halves the array when a quarter of it is enough. */
static void shrink_heap(b_heap *heap)
{
    if (heap->room <= 64 || heap->used >= heap->room / 4)
        return;
    b_heap_entry *shrunk = realloc(heap->entries, heap->room / 2 * sizeof(*shrunk));
    if (shrunk != NULL) {
        heap->entries = shrunk;
        heap->room /= 2;
    }
}

void b_heap_remove(b_heap *heap, b_timer *timer)
{
    if (timer->index == 0)
        return;
    size_t at = timer->index - 1;
    timer->index = 0;
    b_heap_entry last = heap->entries[--heap->used];
    if (at != heap->used && sift_up(heap, at, last) == at)
        sift_down(heap, at, last);
    shrink_heap(heap);
}

void b_heap_free(b_heap *heap)
{
    free(heap->entries);
    heap->entries = NULL;
    heap->used = heap->room = 0;
}
