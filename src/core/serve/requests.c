/* Requests: what has come is read, answered or handed on.  See serve.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <string.h>

#include "base/b_check.h"
#include "serve/folder.h"
#include "serve/wire.h"

#define RECEIVE 16384 /* room for what follows a part of a head */

/* ---- one request --------------------------------------------------------------------------- */

static void put_refusal(v_connection *c, int status, const t_head *head)
{
    v_server *server = c->server;
    size_t before = server->out.size;
    server->refused++;
    if (t_put_refusal(&server->out, status, head->method_known, c->closes, v_date(server)) < 0) {
        server->out.size = before;
        c->closes = 1;
    }
}

void v_refuse(v_connection *c, int status)
{
    c->closes = 1;
    put_refusal(c, status, c->head != NULL ? c->head : &c->server->head);
}

/* There is no room for the request.  Where its end is known the connection stays: to make a new one
 * costs either side several times what the refusal does. */
static void refuse_for_now(v_connection *c, const t_head *head)
{
    int stays = head->keeps_alive && head->minor == 1 && head->framing == T_NO_BODY;
    c->closes = !stays || c->server->stops;
    put_refusal(c, 503, head);
    v_enter_state(c, V_PARKED);
}

static void hand_on(v_connection *c, const t_head *head, const char *bytes, void *handler)
{
    v_server *server = c->server;
    v_enter_state(c, V_BUSY);
    server->requests++;
    int code = v_hook.request(c, head, bytes, handler);
    if (code < 0)
        v_refuse(c, -code);
}

static int is_overloaded(const v_server *server)
{
    uint32_t most = server->limits.most_busy;
    return B_UNLIKELY(most > 0 && server->counts[V_BUSY] >= most);
}

enum { ENDED, QUEUED, LATER };

/* A request for the application or a handler.  LATER: when the answers before it have gone. */
static int begin_or_queue(v_connection *c, const t_head *head, const char *bytes, void *handler)
{
    v_server *server = c->server;
    if (server->out.size > 0)
        return LATER;
    if (handler == NULL && is_overloaded(server)) {
        if (server->counts[V_QUEUED] < server->limits.most_queued)
            return QUEUED;
        refuse_for_now(c, head);
        return ENDED;
    }
    hand_on(c, head, bytes, handler);
    return ENDED;
}

/* What was put behind `before` has answered the request. */
static void note_answer(v_connection *c, const t_head *head, const char *bytes, size_t before)
{
    const char *answer = c->server->out.bytes + before;
    size_t size = c->server->out.size - before;
    int status = (answer[9] - '0') * 100 + (answer[10] - '0') * 10 + answer[11] - '0';
    const char *end = memmem(answer, size, "\r\n\r\n", 4);
    size_t body = end != NULL ? size - (size_t)(end + 4 - answer) : 0;
    v_hook.note(c, head, bytes, status, (int64_t)body + c->file_left);
}

/* The head of a request lies in `bytes`. */
static int answer_or_hand_on(v_connection *c, const t_head *head, const char *bytes)
{
    v_server *server = c->server;
    size_t before = server->out.size;
    void *handler = NULL;
    int answered = v_answer(c, head, bytes, &server->out, &handler);
    if (answered == 0 && handler == NULL && server->folders != NULL)
        answered = v_answer_file(c, head, bytes, &server->out, &handler);
    if (answered == 0)
        return begin_or_queue(c, head, bytes, handler);
    if (answered > 0) {
        server->answered++;
        if (B_UNLIKELY(server->notes))
            note_answer(c, head, bytes, before);
        c->closes = !head->keeps_alive || server->stops;
        v_enter_state(c, V_PARKED); /* from now on */
    } else {
        v_refuse(c, 503);
    }
    return ENDED;
}

/* ---- all that has come --------------------------------------------------------------------- */

/* Whether a further request may be read. */
static int reads_on(const v_connection *c)
{
    return !c->closes && !v_more_follows(c) && (c->state == V_PARKED || c->state == V_READING) &&
           c->server->out.size < V_AT_ONCE;
}

/* A part of a head has come, or all of one that is queued: what is known of it is kept. */
static int keep_head(v_connection *c, const t_head *head, v_state state)
{
    if (c->state != state)
        v_enter_state(c, state);
    if (c->head == NULL && (c->head = c_malloc(sizeof(*c->head))) == NULL)
        return -1;
    if (c->head != head)
        memcpy(c->head, head, offsetof(t_head, fields) + head->count * sizeof(t_field));
    return 0;
}

/* The head that was kept, where a head is read; the connection is as if none had been kept. */
static const t_head *take_kept_head(v_connection *c)
{
    t_head *head = &c->server->head;
    *head = *c->head;
    PyMem_Free(c->head);
    c->head = NULL;
    if (c->state != V_PARKED)
        v_enter_state(c, V_PARKED);
    return head;
}

/* The connection is for the handler of HTTP/2 from its first byte on. */
static void hand_on_http2(v_connection *c)
{
    v_server *server = c->server;
    if (server->http2 == NULL || server->stops) {
        v_refuse(c, 505);
    } else if (server->out.size == 0) { /* else when the answers before it have gone */
        t_begin_head(&server->head);
        hand_on(c, &server->head, "", server->http2);
    }
}

/* Reads one request: how many bytes it has, or 0 when no further one is read. */
static size_t take_request(v_connection *c, const char *bytes, size_t size)
{
    t_head *head = c->head != NULL ? c->head : &c->server->head;
    if (head != c->head)
        t_begin_head(head);
    int code = t_read_head(head, bytes, size);
    if (code == T_MORE) {
        if (keep_head(c, head, V_READING) < 0)
            v_refuse(c, 503);
        return 0;
    }
    const t_head *whole = head == c->head ? take_kept_head(c) : head;
    if (code == T_HTTP2) {
        hand_on_http2(c);
        return 0;
    }
    if (code != T_HEAD) {
        v_refuse(c, -code);
        return 0;
    }
    if (B_UNLIKELY(whole->is_https) && c->tls == NULL) { /* it was meant for another server */
        v_refuse(c, 421);
        return 0;
    }
    int outcome = answer_or_hand_on(c, whole, bytes);
    if (outcome == QUEUED && keep_head(c, whole, V_QUEUED) < 0)
        v_refuse(c, 503);
    return outcome == ENDED ? whole->size : 0;
}

/* Reads requests from the first byte of one on; how many bytes were used. */
static size_t read_requests(v_connection *c, const char *bytes, size_t size)
{
    size_t at = 0;
    while (reads_on(c) && at < size) {
        size_t used = take_request(c, bytes + at, size - at);
        if (used == 0)
            break;
        at += used;
    }
    return at;
}

/* What of them was not used is kept.  0 when the connection is gone. */
static int take_some(v_connection *c, const char *bytes, size_t size)
{
    size_t used = read_requests(c, bytes, size), left = c->closes ? 0 : size - used;
    if (bytes == c->in.bytes) {
        c->in.size = used + left;
        v_drop_first(c, used);
    } else if (left > 0) {
        if (t_reserve(&c->in, left) < 0) {
            v_close(c);
            return 0;
        }
        t_put(&c->in, bytes + used, left);
    }
    return v_send_answers(c);
}

/* `bytes` are what has come, of which c->in holds all or nothing.  A file stops the reading,
 * because its bytes go out first, and so do many answers; so there may be more to be read.  0 when
 * the connection is gone. */
static int take_bytes(v_connection *c, const char *bytes, size_t size)
{
    size_t left = size;
    for (;;) {
        if (!take_some(c, bytes, size))
            return 0;
        if (!reads_on(c) || c->head != NULL || c->in.size == 0 || c->in.size == left)
            return 1;
        bytes = c->in.bytes;
        size = left = c->in.size;
    }
}

void v_drop_first(v_connection *c, size_t used)
{
    c->in.size -= used;
    if (c->in.size > 0)
        memmove(c->in.bytes, c->in.bytes + used, c->in.size);
    else
        t_release(&c->in);
}

/* ---- the queue ----------------------------------------------------------------------------- */

static void begin_kept(v_connection *c)
{
    const t_head *head = take_kept_head(c);
    hand_on(c, head, c->in.bytes, NULL);
    if (c->closes)
        v_send_answers(c);
    else
        v_drop_first(c, head->size);
}

void v_begin_queued(v_server *server)
{
    b_link *at;
    while (server->counts[V_BUSY] < server->limits.most_busy &&
           (at = b_first(&server->lists[V_QUEUED])) != NULL)
        begin_kept(B_CONTAINER(at, v_connection, link));
}

/* ---- receiving ----------------------------------------------------------------------------- */

/* Receives once, behind what was kept or where all receive: how much, 0 at the end, or -errno. */
static long receive_behind(v_connection *c, char **bytes, size_t *room)
{
    if (c->in.size == 0) {
        *bytes = i_scratch(c->server->s);
        *room = I_SCRATCH;
        return *bytes != NULL ? v_receive(c, *bytes, *room) : -ENOMEM;
    }
    if (t_reserve(&c->in, RECEIVE) < 0)
        return -ENOMEM;
    *bytes = c->in.bytes;
    *room = c->in.room - c->in.size;
    long got = v_receive(c, c->in.bytes + c->in.size, *room);
    if (got > 0)
        c->in.size += (size_t)got;
    return got;
}

/* Reads until nothing is left, the connection is busy or it is gone.  The end of what a client
 * sends may come together with its last bytes, and is told once: then it is looked for at once. */
static void receive_requests(v_connection *c)
{
    size_t room = 0, got;
    c->readable = 0;
    c->fresh = 1;
    do {
        char *bytes;
        size_t kept = c->in.size;
        long outcome = receive_behind(c, &bytes, &room);
        if (outcome == -EAGAIN)
            return;
        if (outcome <= 0) {
            v_close(c);
            return;
        }
        got = (size_t)outcome;
        if (!take_bytes(c, bytes, kept + got))
            return;
    } while ((got == room || c->ended || c->tls != NULL) && reads_on(c));
    c->readable = got == room || c->ended || c->tls != NULL;
}

void v_read_on(v_connection *c)
{
    if (c->in.size > 0 && reads_on(c) && c->head == NULL && !take_bytes(c, c->in.bytes, c->in.size))
        return;
    if (c->readable && reads_on(c))
        receive_requests(c);
}
