/* Texts of UTF-8 that come in parts: whether what has come can still become one. */
#ifndef LOOMLET_HTTP_UTF8_H
#define LOOMLET_HTTP_UTF8_H

#include <stddef.h>

enum { T_UTF8_WHOLE = 0, T_UTF8_WRONG = 0xff };

/* How a text ends, given how it ended before these bytes: T_UTF8_WHOLE, also at its beginning;
 * T_UTF8_WRONG; or in the midst of a character. */
unsigned char t_check_utf8(unsigned char end, const char *bytes, size_t size);

#endif
