/* Addresses, numbered in the order in which they were added: 0, 1, 2 …
 *
 * A table of open addressing beside the list of addresses.  Nothing is ever taken out.  A failed
 * allocation changes nothing.  No locking.
 */
#ifndef LOOMLET_B_NUMBERS_H
#define LOOMLET_B_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const void **addresses; /* by number */
    int *buckets;           /* number and 1; 0: free */
    int count, room;
} b_numbers;

/* A zeroed one is empty. */
void b_numbers_free(b_numbers *table);
/* Makes room for one address more: 0, or -1 without memory. */
int b_numbers_grow(b_numbers *table);

/* Neighbours in memory share a cache line of the table. */
static inline size_t b_numbers_first(const b_numbers *table, const void *address)
{
    size_t mask = 2 * (size_t)table->room - 1, line = (uintptr_t)address >> 8;
    return ((line * 0x9E3779B97F4A7C15u >> 24 << 4) | ((uintptr_t)address >> 4 & 15)) & mask;
}

static inline void b_numbers_prefetch(const b_numbers *table, const void *address)
{
    __builtin_prefetch(&table->buckets[b_numbers_first(table, address)]);
}

static inline int *b_numbers_bucket(const b_numbers *table, const void *address)
{
    size_t mask = 2 * (size_t)table->room - 1;
    size_t at = b_numbers_first(table, address);
    while (table->buckets[at] != 0 && table->addresses[table->buckets[at] - 1] != address)
        at = (at + 1) & mask;
    return &table->buckets[at];
}

/* The number of an address, or -1. */
static inline int b_number_of(const b_numbers *table, const void *address)
{
    return table->room != 0 ? *b_numbers_bucket(table, address) - 1 : -1;
}

/* The same; a new one is added.  -1 without memory. */
static inline int b_number_add(b_numbers *table, const void *address)
{
    if (table->count == table->room && b_numbers_grow(table) < 0)
        return -1;
    int *bucket = b_numbers_bucket(table, address);
    if (*bucket == 0) {
        table->addresses[table->count] = address;
        *bucket = ++table->count;
    }
    return *bucket - 1;
}

#endif
