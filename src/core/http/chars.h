/* Which bytes may stand where.  One table, a bit for each kind; made by the compiler. */
#ifndef LOOMLET_HTTP_CHARS_H
#define LOOMLET_HTTP_CHARS_H

#include <stddef.h>

enum {
    T_TOKEN = 1,  /* of names and methods */
    T_VALUE = 2,  /* of the value of a field: visible, space, tab, or above ASCII */
    T_TARGET = 4, /* of a request target: visible ASCII, but no fragment */
    T_HOST = 8,   /* of a Host without its port */
    T_HEX = 16,
    T_DIGIT = 32,
};

extern const unsigned char t_char_kinds[256];

static inline unsigned t_is(unsigned kinds, char c)
{
    return t_char_kinds[(unsigned char)c] & kinds;
}

/* How many bytes of that kind, one only, stand at the beginning. */
static inline size_t t_run(unsigned kind, const char *at, const char *end)
{
    const char *begin = at;
    while (end - at >= 4 && t_is(t_is(t_is(t_is(kind, at[0]), at[1]), at[2]), at[3]))
        at += 4;
    while (at < end && t_is(kind, *at))
        at++;
    return (size_t)(at - begin);
}

static inline char t_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static inline int t_digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return t_lower(c) - 'a' + 10;
}

/* Whether these bytes are `name`, which is written in small letters; case does not matter. */
static inline int t_equals(const char *at, size_t size, const char *name)
{
    for (size_t i = 0; i < size; i++)
        if (name[i] == '\0' || t_lower(at[i]) != name[i])
            return 0;
    return name[size] == '\0';
}

#endif
