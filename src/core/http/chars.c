/* The table of chars.h. */
#include "http/chars.h"

#define V T_VALUE
#define VT (T_VALUE | T_TARGET)
#define VTH (T_VALUE | T_TARGET | T_HOST)
#define ALL (T_VALUE | T_TARGET | T_HOST | T_TOKEN)

const unsigned char t_char_kinds[256] = {
    ['\t'] = V,           [' '] = V,
    ['!'] = ALL,          ['"'] = VT,
    ['#'] = V | T_TOKEN,  ['$' ... '\''] = ALL,
    ['(' ... ')'] = VTH,  ['*' ... '+'] = ALL,
    [','] = VTH,          ['-' ... '.'] = ALL,
    ['/'] = VT,           ['0' ... '9'] = ALL | T_HEX | T_DIGIT,
    [':'] = VT,           [';'] = VTH,
    ['<'] = VT,           ['='] = VTH,
    ['>' ... '@'] = VT,   ['A' ... 'F'] = ALL | T_HEX,
    ['G' ... 'Z'] = ALL,  ['[' ... ']'] = VT,
    ['^'] = VT | T_TOKEN, ['_'] = ALL,
    ['`'] = VT | T_TOKEN, ['a' ... 'f'] = ALL | T_HEX,
    ['g' ... 'z'] = ALL,  ['{'] = VT,
    ['|'] = VT | T_TOKEN, ['}'] = VT,
    ['~'] = ALL,          [0x80 ... 0xff] = V,
};
