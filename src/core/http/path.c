/* Paths of request targets.  See path.h.
 *
 * A file's path is made safe before anything looks for the file: nothing that is left can lead
 * upwards.  A slash that is written as %2F is refused, because it would be no separator for one
 * reader and one for another.
 */
#include <string.h>

#include "http/chars.h"
#include "http/path.h"

int64_t t_decode_path(t_text path, char *out)
{
    const char *at = path.at, *end = at + path.size;
    char *to = out;
    while (at < end) {
        int c = (unsigned char)*at++;
        if (c == '%') {
            if (end - at < 2 || !t_is(T_HEX, at[0]) || !t_is(T_HEX, at[1]))
                return -400;
            c = t_digit_value(at[0]) * 16 + t_digit_value(at[1]);
            at += 2;
        }
        if (c == '\0')
            return -400;
        *to++ = (char)c;
    }
    return to - out;
}

/* Where the last segment begins. */
static char *back_to_segment(char *out, char *to)
{
    while (to > out && to[-1] != '/')
        to--;
    return to;
}

/* A segment has been read behind its slash, at the end of what `out` holds: the new end; NULL when
 * it leads out. */
static char *end_segment(char *out, char *segment, char *to)
{
    size_t size = (size_t)(to - segment);
    if (size == 1 && segment[0] == '.')
        return segment;
    if (size != 2 || memcmp(segment, "..", 2) != 0)
        return to;
    return segment == out ? NULL : back_to_segment(out, segment - 1);
}

static int is_hidden(const char *out, const char *end)
{
    for (const char *at = out; at < end; at++)
        if (*at == '.' && (at == out || at[-1] == '/'))
            return 1;
    return 0;
}

int64_t t_path_of_file(t_text path, char *out)
{
    const char *at = path.at, *end = at + path.size;
    char *to = out;
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash != NULL ? slash : end;
        char *segment = to;
        int64_t size = t_decode_path((t_text){at, (size_t)(stop - at)}, to);
        if (size < 0 || memchr(to, '/', (size_t)size) != NULL)
            return -400;
        to = end_segment(out, segment, to + size);
        if (to == NULL)
            return -404;
        if (slash != NULL && to > out && to[-1] != '/')
            *to++ = '/';
        at = slash != NULL ? slash + 1 : end;
    }
    return is_hidden(out, to) ? -404 : to - out;
}
