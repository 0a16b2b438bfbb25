/* Which bytes may stand where.  One table, a bit for each kind; made by the compiler. */
#ifndef LOOMLET_HTTP_CHARS_H
#define LOOMLET_HTTP_CHARS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* ---- eight bytes at once ------------------------------------------------------------------- */

#define T_EACH (~(uint64_t)0 / 255) /* 1 in each byte */

static inline uint64_t t_word_at(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof(bytes));
    return bytes;
}

/* Whether they are T_VALUE, and no tab is among them: none is below the space, none is 0x7f. */
static inline int t_is_plain_word(uint64_t bytes)
{
    uint64_t zero_if_last = bytes ^ 0x7f * T_EACH;
    uint64_t bad = (bytes - ' ' * T_EACH) & ~bytes;
    bad |= (zero_if_last - T_EACH) & ~zero_if_last;
    return (bad & 0x80 * T_EACH) == 0;
}

/* Sums do not reach the next byte, since the highest bit of each is left out. */
static inline uint64_t t_lower_word(uint64_t bytes)
{
    uint64_t low = bytes & 0x7f * T_EACH;
    uint64_t from_a = low + (0x80 - 'A') * T_EACH, above_z = low + (0x7f - 'Z') * T_EACH;
    uint64_t capital = (from_a ^ above_z) & ~bytes & 0x80 * T_EACH;
    return bytes | capital >> 2;
}

/* ---- runs and names ------------------------------------------------------------------------ */

/* How many bytes of that kind, one only, stand at the beginning. */
static inline size_t t_run(unsigned kind, const char *at, const char *end)
{
    const char *begin = at;
    while (kind == T_VALUE && end - at >= 8 && t_is_plain_word(t_word_at(at)))
        at += 8;
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

/* Whether these bytes are those of `name`, which is written in small letters; case does not matter.
 */
static inline int t_same(const char *at, const char *name, size_t size)
{
    for (; size >= 8; at += 8, name += 8, size -= 8)
        if (t_lower_word(t_word_at(at)) != t_word_at(name))
            return 0;
    for (size_t i = 0; i < size; i++)
        if (t_lower(at[i]) != name[i])
            return 0;
    return 1;
}

/* The same, if `name` is so long. */
static inline int t_equals(const char *at, size_t size, const char *name)
{
    return size == strlen(name) && t_same(at, name, size);
}

#endif
