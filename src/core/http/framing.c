/* What the fields of a head say about its body and its connection.
 *
 * Each of these fields is noted as it is read, so that none is looked for later.  Where two of them
 * could be read in two ways the request is refused: two lengths, also equal ones; a length and an
 * encoding; an encoding that a client of HTTP/1.0 sends; `chunked` twice.
 */
#include <string.h>

#include "http/parts.h"

/* t_head.asks_for */
enum { ASKS_CLOSE = 1, ASKS_KEEP = 2, HAS_LENGTH = 4, HAS_ENCODING = 8 };

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static int note_length(t_head *head, const char *at, size_t size)
{
    uint64_t length = 0;
    if ((head->asks_for & HAS_LENGTH) || size == 0 || t_run(T_DIGIT, at, at + size) != size)
        return -400;
    for (size_t i = 0; i < size; i++) {
        if (length > (INT64_MAX - 9) / 10)
            return -413;
        length = length * 10 + (uint64_t)(at[i] - '0');
    }
    head->asks_for |= HAS_LENGTH;
    head->length = length;
    return 0;
}

/* `chunked` alone, once.  Another coding may be one that we do not know; one behind `chunked` is
 * never right. */
static int note_encoding(t_head *head, const char *at, size_t size)
{
    if (head->asks_for & HAS_ENCODING)
        return -400;
    head->asks_for |= HAS_ENCODING;
    if (t_equals(at, size, "chunked"))
        return 0;
    const char *comma = memchr(at, ',', size);
    size_t last = size;
    while (last > 0 && at[last - 1] != ',' && !is_blank(at[last - 1]))
        last--;
    int ends_chunked = t_equals(at + last, size - last, "chunked");
    return comma != NULL && ends_chunked && !t_equals(at, (size_t)(comma - at), "chunked") ? -501
                                                                                           : -400;
}

static void note_option(t_head *head, const char *at, size_t size)
{
    if (t_equals(at, size, "close"))
        head->asks_for |= ASKS_CLOSE;
    else if (t_equals(at, size, "keep-alive"))
        head->asks_for |= ASKS_KEEP;
    else if (t_equals(at, size, "upgrade"))
        head->upgrades = 1;
}

/* A list of options; some of its members may be empty. */
static int note_connection(t_head *head, const char *at, size_t size)
{
    const char *end = at + size;
    while (at < end) {
        size_t option = t_run(T_TOKEN, at, end);
        note_option(head, at, option);
        at += option;
        while (at < end && is_blank(*at))
            at++;
        if (at < end && *at != ',')
            return -400;
        while (at < end && (*at == ',' || is_blank(*at)))
            at++;
    }
    return 0;
}

static int note_expectation(t_head *head, const char *at, size_t size)
{
    if (head->minor == 0)
        return 0;
    head->expects_continue = 1;
    return t_equals(at, size, "100-continue") ? 0 : -417;
}

static int note_host(t_head *head, const char *bytes, const t_field *field)
{
    if (head->hosts++ > 0)
        return -400;
    if (!head->is_absolute)
        head->host = field->value;
    return t_check_host(bytes + field->value.at, field->value.size);
}

int t_note_field(t_head *head, const char *bytes, const t_field *field)
{
    const char *name = bytes + field->name.at, *at = bytes + field->value.at;
    size_t size = field->value.size;
    switch (field->name.size) {
    case 4:
        return t_equals(name, 4, "host") ? note_host(head, bytes, field) : 0;
    case 6:
        return t_equals(name, 6, "expect") ? note_expectation(head, at, size) : 0;
    case 7:
        if (t_equals(name, 7, "upgrade"))
            head->upgrade = field->value;
        return 0;
    case 10:
        return t_equals(name, 10, "connection") ? note_connection(head, at, size) : 0;
    case 14:
        return t_equals(name, 14, "content-length") ? note_length(head, at, size) : 0;
    case 17:
        return t_equals(name, 17, "transfer-encoding") ? note_encoding(head, at, size) : 0;
    default:
        return 0;
    }
}

int t_frame_body(t_head *head, const char *bytes)
{
    unsigned said = head->asks_for;
    (void)bytes;
    if (head->minor > 0 && head->hosts == 0)
        return -400;
    if ((said & HAS_ENCODING) && (head->minor == 0 || (said & HAS_LENGTH)))
        return -400;
    head->framing = said & HAS_ENCODING                       ? T_CHUNKED
                    : (said & HAS_LENGTH) && head->length > 0 ? T_LENGTH
                                                              : T_NO_BODY;
    head->keeps_alive = !(said & ASKS_CLOSE) && (head->minor > 0 || (said & ASKS_KEEP));
    head->expects_continue &= head->framing != T_NO_BODY;
    head->upgrades &= head->minor > 0 && head->upgrade.size > 0;
    return 0;
}
