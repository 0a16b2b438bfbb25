/* Bytes that grow: an answer is put together in one, head and body, and sent at once. */
#ifndef LOOMLET_HTTP_BUFFER_H
#define LOOMLET_HTTP_BUFFER_H

#include <string.h>

#include "http/http.h"

typedef struct {
    char *bytes;
    size_t size, room;
} t_buffer;

/* Makes room for so many more bytes: 0, or -1 without memory; then it is as it was. */
int t_reserve_slow(t_buffer *buffer, size_t more);
static inline int t_reserve(t_buffer *buffer, size_t more)
{
    return more <= buffer->room - buffer->size ? 0 : t_reserve_slow(buffer, more);
}

void t_release(t_buffer *buffer);

/* Where there is room. */
static inline void t_put(t_buffer *buffer, const char *at, size_t size)
{
    if (size > 0) /* else there may be no bytes at all, neither here nor there */
        memcpy(buffer->bytes + buffer->size, at, size);
    buffer->size += size;
}

#define T_PUT(buffer, literal) t_put((buffer), (literal), sizeof(literal) - 1)

/* A number in decimal digits: at most this many. */
#define T_MOST_DECIMAL 20
void t_put_number(t_buffer *buffer, uint64_t number);

#endif
