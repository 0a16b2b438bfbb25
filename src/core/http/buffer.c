/* The buffer of buffer.h. */
#include "http/buffer.h"

#include <stdlib.h>

#define LEAST 1024

int t_reserve_slow(t_buffer *buffer, size_t more)
{
    size_t room = buffer->room < LEAST ? LEAST : buffer->room;
    if (more > SIZE_MAX / 4 - buffer->size)
        return -1;
    while (room - buffer->size < more)
        room *= 2;
    char *bytes = realloc(buffer->bytes, room);
    if (bytes == NULL)
        return -1;
    buffer->bytes = bytes;
    buffer->room = room;
    return 0;
}

void t_release(t_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (t_buffer){NULL, 0, 0};
}

void t_put_number(t_buffer *buffer, uint64_t number)
{
    char digits[T_MOST_DECIMAL], *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    t_put(buffer, at, (size_t)(digits + sizeof(digits) - at));
}
