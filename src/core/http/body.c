/* The body of a request: of a known length, or in chunks.  See http.h.
 *
 *   chunk:    size in hexadecimal digits, extensions, CR LF, that many bytes, CR LF
 *   the last: size 0, extensions, CR LF, fields (trailers), CR LF
 *
 * Data is given where it arrived.  What stands beside it is looked at byte by byte, because it is
 * short: extensions are checked and dropped; trailers are given as they are, whole lines only when
 * the caller puts them together.  All extensions and trailers of a body together are limited, and
 * so are the digits of a size, so a client cannot send without end what nobody sees.
 *
 * A refusal is kept: who reads on (to skip what nobody wants) must not find the end of a body in
 * bytes that were refused before, and take what is behind it for a request.
 */
#include <string.h>

#include "http/parts.h"

#define MOST_DIGITS 15 /* of a size: it fits into 63 bits */
#define MOST_BESIDE 16384

enum {
    IN_DATA,
    IN_SIZE,
    BEHIND_SIZE, /* blanks, before a semicolon */
    IN_EXTENSION,
    IN_QUOTES,
    IN_ESCAPE, /* behind a backslash in quotes */
    AT_SIZE_LF,
    AT_DATA_CR,
    AT_DATA_LF,
    AT_TRAILER, /* where a line begins */
    IN_TRAILER_NAME,
    IN_TRAILER_VALUE,
    AT_TRAILER_LF,
    AT_LAST_LF,
    AT_END,
};

void t_begin_body(t_body *body, const t_head *head, uint64_t most)
{
    *body = (t_body){.most = most, .framing = head->framing, .state = IN_DATA};
    if (head->framing == T_LENGTH)
        body->left = head->length;
    else
        body->state = head->framing == T_CHUNKED ? IN_SIZE : AT_END;
}

int t_body_is_over(const t_body *body)
{
    return body->state == AT_END;
}

static int read_data(t_body *body, const char *bytes, size_t size, size_t *used, t_text *part)
{
    size_t count = size < body->left ? size : (size_t)body->left;
    body->left -= count;
    body->size += count;
    if (body->left == 0)
        body->state = body->framing == T_CHUNKED ? AT_DATA_CR : AT_END;
    *used = count;
    *part = (t_text){bytes, count};
    return T_DATA;
}

/* ---- what stands beside the data ----------------------------------------------------------- */

/* These return the next state, or minus a status. */

static int after_digit(t_body *body, char c)
{
    if (++body->digits > MOST_DIGITS)
        return -413;
    body->left = body->left * 16 + (uint64_t)t_digit_value(c);
    return IN_SIZE;
}

static int after_size(const t_body *body, char c)
{
    if (body->digits == 0)
        return -400;
    if (c == '\r')
        return AT_SIZE_LF;
    return c == ';' ? IN_EXTENSION : c == ' ' || c == '\t' ? BEHIND_SIZE : -400;
}

/* Names and values, in any order. */
static int in_extension(char c)
{
    if (c == '\r')
        return AT_SIZE_LF;
    if (c == '"')
        return IN_QUOTES;
    return t_is(T_TOKEN, c) || c == ';' || c == '=' || c == ' ' || c == '\t' ? IN_EXTENSION : -400;
}

static int in_quotes(char c)
{
    if (!t_is(T_VALUE, c))
        return -400;
    return c == '"' ? IN_EXTENSION : c == '\\' ? IN_ESCAPE : IN_QUOTES;
}

static int begin_chunk(t_body *body, char c)
{
    if (c != '\n')
        return -400;
    body->digits = 0;
    if (body->left == 0)
        return AT_TRAILER;
    if (body->left > body->most - body->size)
        return -413;
    return IN_DATA;
}

static int in_trailer(int state, char c)
{
    if (state == AT_TRAILER && c == '\r')
        return AT_LAST_LF;
    if (state == IN_TRAILER_VALUE)
        return c == '\r' ? AT_TRAILER_LF : t_is(T_VALUE, c) ? IN_TRAILER_VALUE : -400;
    if (state == IN_TRAILER_NAME && c == ':')
        return IN_TRAILER_VALUE;
    return t_is(T_TOKEN, c) ? IN_TRAILER_NAME : -400;
}

static int next_state(t_body *body, char c)
{
    switch (body->state) {
    case IN_SIZE:
        return t_is(T_HEX, c) ? after_digit(body, c) : after_size(body, c);
    case BEHIND_SIZE:
        return c == ';' ? IN_EXTENSION : c == ' ' || c == '\t' ? BEHIND_SIZE : -400;
    case IN_EXTENSION:
        return in_extension(c);
    case IN_QUOTES:
        return in_quotes(c);
    case IN_ESCAPE:
        return t_is(T_VALUE, c) ? IN_QUOTES : -400;
    case AT_SIZE_LF:
        return begin_chunk(body, c);
    case AT_DATA_CR:
        return c == '\r' ? AT_DATA_LF : -400;
    case AT_DATA_LF:
        return c == '\n' ? IN_SIZE : -400;
    case AT_TRAILER_LF:
        return c == '\n' ? AT_TRAILER : -400;
    case AT_LAST_LF:
        return c == '\n' ? AT_END : -400;
    default:
        return in_trailer(body->state, c);
    }
}

static int is_beside(int state)
{
    return (state >= BEHIND_SIZE && state <= IN_ESCAPE) || state >= AT_TRAILER;
}

static int is_trailer(int state)
{
    return state >= AT_TRAILER && state <= AT_TRAILER_LF;
}

/* Up to the data, the end, or where trailers begin or end. */
static int read_beside(t_body *body, const char *bytes, size_t size, size_t *used, t_text *part)
{
    const int trailers = is_trailer(body->state);
    size_t i = 0;
    while (i < size && body->state != IN_DATA && body->state != AT_END &&
           is_trailer(body->state) == trailers) {
        int state = next_state(body, bytes[i++]);
        if (state < 0)
            return state;
        body->beside += (uint32_t)is_beside(state);
        if (body->beside > MOST_BESIDE)
            return trailers ? -431 : -413;
        body->state = (unsigned char)state;
    }
    *used = i;
    *part = (t_text){bytes, i - (trailers && body->state == AT_LAST_LF)};
    return trailers && part->size > 0 ? T_TRAILER : T_MORE;
}

int t_read_body(t_body *body, const char *bytes, size_t size, size_t *used, t_text *part)
{
    size_t count = 0;
    int event = -body->refused;
    *used = 0;
    while (event == T_MORE && body->state != AT_END && *used < size) {
        const char *at = bytes + *used;
        size_t left = size - *used;
        event = body->state == IN_DATA ? read_data(body, at, left, &count, part)
                                       : read_beside(body, at, left, &count, part);
        if (event >= 0)
            *used += count;
        else
            body->refused = (uint16_t)-event;
    }
    return event == T_MORE && body->state == AT_END ? T_END : event;
}
