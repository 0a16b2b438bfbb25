/* The bytes of an answer.  See answer.h. */
#include "http/answer.h"

#include "http/chars.h"
#include "http/date.h"

static t_text text_of_string(const char *string)
{
    return (t_text){string, strlen(string)};
}

const char *t_reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } known[] = {{100, "Continue"},
                 {101, "Switching Protocols"},
                 {103, "Early Hints"},
                 {200, "OK"},
                 {201, "Created"},
                 {202, "Accepted"},
                 {204, "No Content"},
                 {205, "Reset Content"},
                 {206, "Partial Content"},
                 {301, "Moved Permanently"},
                 {302, "Found"},
                 {303, "See Other"},
                 {304, "Not Modified"},
                 {307, "Temporary Redirect"},
                 {308, "Permanent Redirect"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {408, "Request Timeout"},
                 {409, "Conflict"},
                 {410, "Gone"},
                 {411, "Length Required"},
                 {412, "Precondition Failed"},
                 {413, "Content Too Large"},
                 {414, "URI Too Long"},
                 {415, "Unsupported Media Type"},
                 {416, "Range Not Satisfiable"},
                 {417, "Expectation Failed"},
                 {421, "Misdirected Request"},
                 {422, "Unprocessable Content"},
                 {426, "Upgrade Required"},
                 {428, "Precondition Required"},
                 {429, "Too Many Requests"},
                 {431, "Request Header Fields Too Large"},
                 {500, "Internal Server Error"},
                 {501, "Not Implemented"},
                 {502, "Bad Gateway"},
                 {503, "Service Unavailable"},
                 {504, "Gateway Timeout"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].status == status)
            return known[i].reason;
    return "";
}

/* ---- fields of the application ------------------------------------------------------------- */

static int is_value(t_text text)
{
    return t_run(T_VALUE, text.at, text.at + text.size) == text.size;
}

int t_begin_answer(t_answer *answer, t_buffer *to, int status, t_text reason)
{
    *answer = (t_answer){.status = status, .length = T_UNKNOWN};
    answer->has_no_body = status == 204 || status == 205 || status == 304;
    if (status < 200 || status > 999 || !is_value(reason))
        return T_BAD_FIELD;
    if (reason.size == 0)
        reason = text_of_string(t_reason_of(status));
    if (t_reserve(to, sizeof("HTTP/1.1 200 \r\n") + reason.size) < 0)
        return -1;
    T_PUT(to, "HTTP/1.1 ");
    t_put_number(to, (uint64_t)status);
    T_PUT(to, " ");
    t_put(to, reason.at, reason.size);
    T_PUT(to, "\r\n");
    return 0;
}

static int note_answer_length(t_answer *answer, t_text value)
{
    int64_t length = 0;
    if (value.size == 0 || value.size > 18 ||
        t_run(T_DIGIT, value.at, value.at + value.size) != value.size)
        return T_BAD_FIELD;
    for (size_t i = 0; i < value.size; i++)
        length = length * 10 + (value.at[i] - '0');
    if (answer->length != T_UNKNOWN && answer->length != length)
        return T_BAD_FIELD;
    answer->length = length;
    return 1;
}

/* 1: it is not written as it is; 0: it is; T_BAD_FIELD. */
static int note_answer_field(t_answer *answer, t_text name, t_text value)
{
    switch (name.size) {
    case 4:
        answer->has_date |= t_equals(name.at, 4, "date");
        return 0;
    case 6:
        answer->has_server |= t_equals(name.at, 6, "server");
        return 0;
    case 10:
        if (!t_equals(name.at, 10, "connection") && !t_equals(name.at, 10, "keep-alive"))
            return 0;
        answer->closes |= t_equals(value.at, value.size, "close");
        return 1;
    case 14:
        return t_equals(name.at, 14, "content-length") ? note_answer_length(answer, value) : 0;
    case 17:
        return t_equals(name.at, 17, "transfer-encoding");
    default:
        return 0;
    }
}

int t_put_field(t_answer *answer, t_buffer *to, t_text name, t_text value)
{
    if (name.size == 0 || t_run(T_TOKEN, name.at, name.at + name.size) != name.size ||
        !is_value(value))
        return T_BAD_FIELD;
    int ours = note_answer_field(answer, name, value);
    if (ours != 0)
        return ours < 0 ? ours : 0;
    if (t_reserve(to, name.size + value.size + 4) < 0)
        return -1;
    t_put(to, name.at, name.size);
    T_PUT(to, ": ");
    t_put(to, value.at, value.size);
    T_PUT(to, "\r\n");
    return 0;
}

/* ---- the end of the head ------------------------------------------------------------------- */

static void frame_answer(t_answer *answer, int minor, int keeps_alive)
{
    int unknown = answer->length == T_UNKNOWN && !answer->has_no_body;
    if (answer->status == 205) /* nothing else says that it has none */
        answer->length = 0;
    answer->is_chunked = unknown && minor > 0;
    answer->closes_at_end = answer->closes || !keeps_alive || (unknown && minor == 0);
}

int t_end_fields(t_answer *answer, t_buffer *to, int minor, int keeps_alive, const char *date)
{
    frame_answer(answer, minor, keeps_alive);
    if (t_reserve(to, 160) < 0)
        return -1;
    if (!answer->has_date) {
        T_PUT(to, "Date: ");
        t_put(to, date, T_DATE);
        T_PUT(to, "\r\n");
    }
    if (!answer->has_server)
        T_PUT(to, "Server: loomlet\r\n");
    if (answer->is_chunked) {
        T_PUT(to, "Transfer-Encoding: chunked\r\n");
    } else if (answer->length != T_UNKNOWN && answer->status != 204) {
        T_PUT(to, "Content-Length: ");
        t_put_number(to, (uint64_t)answer->length);
        T_PUT(to, "\r\n");
    }
    if (answer->closes_at_end)
        T_PUT(to, "Connection: close\r\n");
    else if (minor == 0)
        T_PUT(to, "Connection: keep-alive\r\n");
    T_PUT(to, "\r\n");
    return 0;
}

/* ---- chunks -------------------------------------------------------------------------------- */

int t_begin_chunk(t_buffer *to, size_t size)
{
    char digits[2 * sizeof(size)];
    int count = 0;
    if (t_reserve(to, sizeof(digits) + 2) < 0)
        return -1;
    do {
        digits[count++] = "0123456789abcdef"[size & 15];
        size >>= 4;
    } while (size > 0);
    while (count > 0)
        t_put(to, &digits[--count], 1);
    T_PUT(to, "\r\n");
    return 0;
}

int t_end_chunk(t_buffer *to)
{
    if (t_reserve(to, 2) < 0)
        return -1;
    T_PUT(to, "\r\n");
    return 0;
}

int t_end_chunks(t_buffer *to)
{
    if (t_reserve(to, 5) < 0)
        return -1;
    T_PUT(to, "0\r\n\r\n");
    return 0;
}

/* ---- refusals ------------------------------------------------------------------------------ */

int t_put_refusal(t_buffer *to, int status, int method, int closes, const char *date)
{
    t_answer answer;
    t_text reason = text_of_string(t_reason_of(status));
    int code = t_begin_answer(&answer, to, status, reason);
    if (code == 0)
        code =
            t_put_field(&answer, to, text_of_string("Content-Type"), text_of_string("text/plain"));
    if (code == 0 && status == 503)
        code = t_put_field(&answer, to, text_of_string("Retry-After"), text_of_string("1"));
    answer.length = (int64_t)reason.size + 1;
    if (code == 0)
        code = t_end_fields(&answer, to, 1, !closes, date);
    if (code == 0)
        code = t_reserve(to, reason.size + 1);
    if (code < 0 || method == T_HEAD_ONLY)
        return code;
    t_put(to, reason.at, reason.size);
    T_PUT(to, "\n");
    return 0;
}
