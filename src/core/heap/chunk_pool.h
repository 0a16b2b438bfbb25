/* Size classes of first frame chunks, and the pools that they come from (chunk_pool.c). */
#ifndef LOOMLET_CHUNK_POOL_H
#define LOOMLET_CHUNK_POOL_H

#include <stddef.h>

#define H_CLASSES 10
#define H_CHUNK_LARGEST 8192 /* larger ones come from the C library */

extern const unsigned short h_class_sizes[H_CLASSES];

/* The smallest class for so many bytes, of which there are at most H_CHUNK_LARGEST. */
int h_class_for(size_t size);

/* Memory for a chunk, or NULL; and back, with the same size (a chunk that is NULL: nothing).  For
 * callers that exclude each other. */
void *h_chunk_take(size_t size);
void h_chunk_give(void *chunk, size_t size);
/* The same for any thread. */
void *h_chunk_take_locked(size_t size);
void h_chunk_give_locked(void *chunk, size_t size);

typedef struct {
    size_t in_use[H_CLASSES];  /* chunks of each class */
    size_t large, large_bytes; /* those from the C library */
    size_t resident_bytes;     /* slabs that have pages */
} h_chunk_counts;

/* Any thread, under the same exclusion as the functions above. */
void h_chunks_count(h_chunk_counts *counts);
/* Gives the pages of all empty slabs back to the system. */
void h_chunks_trim(void);
void h_chunks_after_fork(void);

#endif
