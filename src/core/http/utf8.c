/* See utf8.h.  The table of the Unicode standard (3-7), as rules: how many bytes are still missing
 * of a character, and between which ones the next byte has to be.
 *
 * Rejected: a table of states (larger than the rules, and no text here is long).
 */
#include "http/utf8.h"

/* What may follow a first byte: the second one may have a range of its own. */
enum { ANY_ONE = 1, ANY_TWO, ANY_THREE, BEHIND_E0, BEHIND_ED, BEHIND_F0, BEHIND_F4 };

static unsigned char end_after_first(unsigned char c)
{
    if (c < 0x80)
        return T_UTF8_WHOLE;
    if (c < 0xc2 || c > 0xf4)
        return T_UTF8_WRONG;
    if (c < 0xe0)
        return ANY_ONE;
    if (c < 0xf0)
        return c == 0xe0 ? BEHIND_E0 : c == 0xed ? BEHIND_ED : ANY_TWO;
    return c == 0xf0 ? BEHIND_F0 : c == 0xf4 ? BEHIND_F4 : ANY_THREE;
}

static unsigned char next_end(unsigned char end, unsigned char c)
{
    static const struct {
        unsigned char least, most, next;
    } rules[] = {
        [ANY_ONE] = {0x80, 0xbf, T_UTF8_WHOLE}, [ANY_TWO] = {0x80, 0xbf, ANY_ONE},
        [ANY_THREE] = {0x80, 0xbf, ANY_TWO},    [BEHIND_E0] = {0xa0, 0xbf, ANY_ONE},
        [BEHIND_ED] = {0x80, 0x9f, ANY_ONE},    [BEHIND_F0] = {0x90, 0xbf, ANY_TWO},
        [BEHIND_F4] = {0x80, 0x8f, ANY_TWO},
    };
    int fits = c >= rules[end].least && c <= rules[end].most;
    return fits ? rules[end].next : T_UTF8_WRONG;
}

unsigned char t_check_utf8(unsigned char end, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && end != T_UTF8_WRONG; i++) {
        unsigned char c = (unsigned char)bytes[i];
        end = end == T_UTF8_WHOLE ? end_after_first(c) : next_end(end, c);
    }
    return end;
}
