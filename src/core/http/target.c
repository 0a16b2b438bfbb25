/* The forms of a request target, and what a host looks like.
 *
 *   /path?query                  of all requests to a server
 *   http://host/path?query       to a proxy; a server must take it, and its host counts
 *   https://host/path?query      the same, and right with TLS alone: who has the connection looks
 *   *                            of OPTIONS, for the server as a whole
 *   host:port                    of CONNECT, which we do not do
 */
#include <string.h>

#include "http/parts.h"

#define MOST_PORT_DIGITS 5

/* A port, behind the colon; it may be empty. */
static int is_port(const char *at, const char *end)
{
    size_t digits = t_run(T_DIGIT, at, end);
    return at + digits == end && digits <= MOST_PORT_DIGITS;
}

/* An address of IPv6 or later in brackets: what stands behind it, or NULL. */
static const char *skip_literal(const char *at, const char *end)
{
    const char *close = memchr(at, ']', (size_t)(end - at));
    if (close == NULL || close == at + 1)
        return NULL;
    for (at++; at < close; at++)
        if (*at != ':' && !t_is(T_HOST, *at))
            return NULL;
    return close + 1;
}

/* A name or an address, and perhaps a port; empty where there is no host. */
int t_check_host(const char *at, size_t size)
{
    const char *end = at + size;
    int literal = at < end && *at == '[';
    at = literal ? skip_literal(at, end) : at + t_run(T_HOST, at, end);
    if (at == NULL)
        return -400;
    return at == end || (*at == ':' && is_port(at + 1, end)) ? 0 : -400;
}

/* Path and query of what begins with a slash, or with nothing. */
static void split_path(t_head *head, const char *bytes, const char *at, const char *end)
{
    const char *mark = at < end ? memchr(at, '?', (size_t)(end - at)) : NULL;
    const char *stop = mark != NULL ? mark : end;
    head->path = t_span_of(bytes, at, (size_t)(stop - at));
    if (mark != NULL)
        head->query = t_span_of(bytes, mark + 1, (size_t)(end - mark - 1));
}

/* The authority of an absolute target; there is none without a host, and no user in it.  Without a
 * path the root is meant: the slash in front of the host stands for it. */
static int read_absolute(t_head *head, const char *bytes, const char *at, const char *end)
{
    const char *host = at;
    while (at < end && *at != '/' && *at != '?')
        at++;
    if (at == host || *host == ':' || t_check_host(host, (size_t)(at - host)) < 0)
        return -400;
    head->host = t_span_of(bytes, host, (size_t)(at - host));
    head->is_absolute = 1;
    split_path(head, bytes, at, end);
    if (head->path.size == 0)
        head->path = t_span_of(bytes, host - 1, 1);
    return 0;
}

int t_read_target(t_head *head, const char *bytes)
{
    const char *at = bytes + head->target.at, *end = at + head->target.size;
    if (head->method_known == T_CONNECT)
        return -501;
    if (*at == '/') {
        split_path(head, bytes, at, end);
        return 0;
    }
    if (end - at == 1 && *at == '*' && head->method_known == T_OPTIONS) {
        head->path = head->target;
        return 0;
    }
    if (end - at > 7 && t_equals(at, 7, "http://"))
        return read_absolute(head, bytes, at + 7, end);
    head->is_https = end - at > 8 && t_equals(at, 8, "https://");
    return head->is_https ? read_absolute(head, bytes, at + 8, end) : -400;
}
