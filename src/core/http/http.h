/* The HTTP/1.1 engine: bytes in, events out.
 *
 * It knows no socket, no clock and no Python.  Who has a connection gives it what has arrived and
 * is told what that was: the head of a request, a part of its body, its end, or the status of a
 * refusal; and asks it for the bytes of an answer.
 *
 *   head.c     t_read_head: the request line and the fields
 *   framing.c  what the fields say about the body and the connection
 *   target.c   the forms of a request target, and of a Host
 *   body.c     t_read_body: a body of a known length, or in chunks
 *   answer.c   status line and fields of an answer, into one buffer with its body
 *   date.c     dates, written and read
 *   choice.c   conditional requests and ranges: which answer, which bytes
 *   path.c     the path of a target, decoded and without dot segments
 *   frame.c    frames of a WebSocket
 *   buffer.c   bytes that grow
 *
 * Nothing is copied.  A head stays where it arrived, and a part of it is a span: an offset from its
 * first byte and a size, so the buffer may move.  A head that comes in pieces is read line by line
 * and no line twice, so a client that sends byte after byte costs no more than another one.
 *
 * Strict: whatever two readers could take for different requests is refused, and the connection is
 * closed after the refusal.  A line ends with CR LF and holds neither alone.  A name of a field is
 * a token and its colon follows at once; a value has no control character but the tab; a line that
 * continues another one is refused.  There is one Host, one Content-Length of digits only, or one
 * Transfer-Encoding that is `chunked`, and never the last two.  (RFC 9110 and 9112, where a server
 * may choose, and some more: see docs/reference/http.md for the list.)
 *
 * Threads: none of its own, and no state but what the caller keeps.  Any number of connections may
 * be read at the same time.
 *
 * Rejected: a machine with a state for each byte, for heads (a line is found by memchr and then
 * looked at as a whole, which is faster and half the code); objects for fields (most are never
 * asked for); lenient readings of old clients (they are how requests are smuggled).
 */
#ifndef LOOMLET_HTTP_H
#define LOOMLET_HTTP_H

#include <stddef.h>
#include <stdint.h>

#define T_MOST_HEAD 65536  /* bytes of a head: 431 */
#define T_MOST_TARGET 8192 /* 414 */
#define T_MOST_FIELDS 100  /* 431 */

/* A part of the head that begins at a certain byte. */
typedef struct {
    uint32_t at, size;
} t_span;

typedef struct {
    t_span name, value;
} t_field;

/* Bytes that the caller has. */
typedef struct {
    const char *at;
    size_t size;
} t_text;

static inline t_text t_text_of(const char *head, t_span span)
{
    return (t_text){head + span.at, span.size};
}

/* ---- what reading gives -------------------------------------------------------------------- */

/* A negative result is minus the status of a refusal; then nothing more can be read. */
enum {
    T_MORE,    /* more bytes are needed; all are used */
    T_HEAD,    /* a whole head */
    T_HTTP2,   /* the preface of HTTP/2 */
    T_DATA,    /* a part of a body */
    T_TRAILER, /* a part of the fields behind a body in chunks */
    T_END,     /* the end of a body; no bytes belong to it */
};

/* ---- head.c -------------------------------------------------------------------------------- */

typedef enum {
    T_OTHER_METHOD,
    T_GET,
    T_HEAD_ONLY,
    T_POST,
    T_PUT,
    T_DELETE,
    T_OPTIONS,
    T_PATCH,
    T_TRACE,
    T_CONNECT,
} t_method;

/* As it is written; NULL for T_OTHER_METHOD. */
const char *t_method_name(t_method method);

/* How long the body is. */
typedef enum {
    T_NO_BODY,
    T_LENGTH,
    T_CHUNKED,
} t_framing;

typedef struct {
    uint32_t size;     /* of what has been read; in the end of the head, its empty line included */
    uint32_t searched; /* no line ends before */
    unsigned char minor; /* of the version: HTTP/1.minor */
    unsigned char method_known;
    unsigned char framing;
    unsigned char keeps_alive; /* the connection stays open after this request, if we agree */
    unsigned char expects_continue;
    unsigned char upgrades;    /* Connection: upgrade */
    unsigned char asks_for;    /* what its Connection fields have named (framing.c) */
    unsigned char hosts;       /* how many Host fields */
    unsigned char is_absolute; /* the target names a host, which counts instead of the field's */
    unsigned char is_https;    /* and that it is meant with TLS: without it, 421 */
    unsigned char has_line, empty_lines;
    uint64_t length; /* of the body: T_LENGTH */
    t_span method, target, path, query, host, upgrade;
    unsigned count;
    t_field fields[T_MOST_FIELDS];
} t_head;

/* Before the first byte of each request. */
void t_begin_head(t_head *head);
/* Reads on: `bytes` are all that have arrived of this request, from its first byte. */
int t_read_head(t_head *head, const char *bytes, size_t size);
/* The first field of that name (in small letters) from `from` on: its index; or -1. */
int t_find_field(const t_head *head, const char *bytes, const char *name, unsigned from);

/* ---- body.c -------------------------------------------------------------------------------- */

typedef struct {
    uint64_t left;    /* of the body, or of the present chunk */
    uint64_t size;    /* of the data that has been read */
    uint64_t most;    /* 413 */
    uint32_t beside;  /* bytes of extensions and trailers so far */
    uint16_t refused; /* with which status; 0: it is not */
    unsigned char framing, state, digits;
} t_body;

void t_begin_body(t_body *body, const t_head *head, uint64_t most);
/* The next event in these bytes, the first *used of which belong to it.  T_DATA and T_TRAILER:
 * these are *part.  A body that was refused stays refused, whatever is read on. */
int t_read_body(t_body *body, const char *bytes, size_t size, size_t *used, t_text *part);
/* Whether all of it has been read. */
int t_body_is_over(const t_body *body);

#endif
