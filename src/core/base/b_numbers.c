#include "base/b_numbers.h"

#include <stdlib.h>

#define FIRST_ROOM 64
#define MOST_ROOM (1 << 29)

void b_numbers_free(b_numbers *table)
{
    free(table->addresses);
    free(table->buckets);
    *table = (b_numbers){0};
}

int b_numbers_grow(b_numbers *table)
{
    if (table->room >= MOST_ROOM)
        return -1;
    int room = table->room ? 2 * table->room : FIRST_ROOM;
    const void **addresses = realloc(table->addresses, (size_t)room * sizeof(*addresses));
    if (addresses == NULL)
        return -1;
    table->addresses = addresses;
    int *buckets = calloc(2 * (size_t)room, sizeof(*buckets));
    if (buckets == NULL)
        return -1;
    free(table->buckets);
    table->buckets = buckets;
    table->room = room;
    for (int i = 0; i < table->count; i++)
        *b_numbers_bucket(table, addresses[i]) = i + 1;
    return 0;
}
