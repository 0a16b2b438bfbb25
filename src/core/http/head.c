/* The head of a request.  See http.h. */
#include <string.h>

#include "http/parts.h"

#define VERSION_SIZE 8 /* of HTTP/1.1 */
#define MOST_LINE (T_MOST_TARGET + 64)

void t_begin_head(t_head *head)
{
    memset(head, 0, offsetof(t_head, fields));
}

/* ---- the request line ---------------------------------------------------------------------- */

static const char *const method_names[] = {
    [T_GET] = "GET",     [T_HEAD_ONLY] = "HEAD", [T_POST] = "POST",
    [T_PUT] = "PUT",     [T_DELETE] = "DELETE",  [T_OPTIONS] = "OPTIONS",
    [T_PATCH] = "PATCH", [T_TRACE] = "TRACE",    [T_CONNECT] = "CONNECT",
};

const char *t_method_name(t_method method)
{
    return method_names[method];
}

static t_method method_of(const char *at, size_t size)
{
    for (int i = T_OTHER_METHOD + 1; i <= T_CONNECT; i++)
        if (strlen(method_names[i]) == size && memcmp(method_names[i], at, size) == 0)
            return (t_method)i;
    return T_OTHER_METHOD;
}

static int read_version(t_head *head, const char *at, size_t size)
{
    if (size != VERSION_SIZE || memcmp(at, "HTTP/", 5) != 0 || !t_is(T_DIGIT, at[5]) ||
        at[6] != '.' || !t_is(T_DIGIT, at[7]))
        return -400;
    if (at[5] != '1')
        return -505;
    head->minor = at[7] == '0' ? 0 : 1;
    return 0;
}

/* No request of HTTP/1: the first bytes of a client that speaks HTTP/2 alone. */
static int is_preface(const char *at, const char *end)
{
    static const char line[] = "PRI * HTTP/2.0";
    return (size_t)(end - at) == sizeof(line) - 1 && memcmp(at, line, sizeof(line) - 1) == 0;
}

static int read_request_line(t_head *head, const char *bytes, const char *at, const char *end)
{
    if (at == bytes && is_preface(at, end))
        return T_HTTP2;
    if (end - at >= MOST_LINE)
        return -414;
    head->method = t_span_of(bytes, at, t_run(T_TOKEN, at, end));
    const char *space = at + head->method.size;
    if (space == at || space == end || *space != ' ')
        return -400;
    at = space + 1;
    head->target = t_span_of(bytes, at, t_run(T_TARGET, at, end));
    space = at + head->target.size;
    if (head->target.size > T_MOST_TARGET)
        return -414;
    if (space == at || space == end || *space != ' ')
        return -400;
    int code = read_version(head, space + 1, (size_t)(end - space - 1));
    if (code < 0)
        return code;
    head->method_known = (unsigned char)method_of(bytes + head->method.at, head->method.size);
    head->has_line = 1;
    return t_read_target(head, bytes);
}

/* ---- the fields ---------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *skip_blanks_back(const char *at, const char *end)
{
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return end;
}

static int read_field(t_head *head, const char *bytes, const char *at, const char *end)
{
    size_t name = t_run(T_TOKEN, at, end);
    if (name == 0 || at + name == end || at[name] != ':')
        return -400;
    const char *value = skip_blanks(at + name + 1, end);
    end = skip_blanks_back(value, end);
    if (t_run(T_VALUE, value, end) != (size_t)(end - value))
        return -400;
    if (head->count == T_MOST_FIELDS)
        return -431;
    t_field *field = &head->fields[head->count++];
    field->name = t_span_of(bytes, at, name);
    field->value = t_span_of(bytes, value, (size_t)(end - value));
    return t_note_field(head, bytes, field);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* A line from `begin` on whose LF is at `lf`. */
static int read_line(t_head *head, const char *bytes, const char *begin, const char *lf)
{
    const char *end = lf - 1;
    if (lf - bytes >= T_MOST_HEAD)
        return head->has_line ? -431 : -414;
    if (lf == begin || *end != '\r')
        return -400;
    head->size = head->searched = (uint32_t)(lf + 1 - bytes);
    if (end > begin)
        return head->has_line ? read_field(head, bytes, begin, end)
                              : read_request_line(head, bytes, begin, end);
    if (!head->has_line) /* some clients send one after the last request */
        return head->empty_lines++ > 0 ? -400 : T_MORE;
    int code = t_frame_body(head, bytes);
    return code < 0 ? code : T_HEAD;
}

/* No line has ended: whether it may still become one. */
static int wait_for_line(t_head *head, const char *bytes, size_t size)
{
    size_t unfinished = size - head->size;
    if (!head->has_line && unfinished > 0 && !t_is(T_TOKEN, bytes[head->size]) &&
        bytes[head->size] != '\r')
        return -400;
    if (!head->has_line && unfinished > MOST_LINE)
        return -414;
    if (size >= T_MOST_HEAD)
        return -431;
    head->searched = (uint32_t)size;
    return T_MORE;
}

int t_read_head(t_head *head, const char *bytes, size_t size)
{
    int code = T_MORE;
    while (code == T_MORE) {
        const char *from = bytes + head->searched;
        const char *lf = memchr(from, '\n', size - head->searched);
        if (lf == NULL)
            return wait_for_line(head, bytes, size);
        code = read_line(head, bytes, bytes + head->size, lf);
    }
    return code;
}

int t_find_field(const t_head *head, const char *bytes, const char *name, unsigned from)
{
    for (unsigned i = from; i < head->count; i++)
        if (t_span_equals(bytes, head->fields[i].name, name))
            return (int)i;
    return -1;
}
