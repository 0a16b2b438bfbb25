/* Sending: answers go out, and what the client does not take is kept.  See serve.h. */
#include "serve/folder.h"
#include "serve/wire.h"

#define LARGE 65536

static int keep_rest(v_connection *c, const char *bytes, size_t size)
{
    if (t_reserve(&c->out, size) < 0)
        return -1;
    t_put(&c->out, bytes, size);
    return 0;
}

int v_end_sending(v_connection *c)
{
    t_release(&c->out);
    c->sent = 0;
    if (!c->closes)
        return 1;
    if (c->ended && !c->readable) {
        v_close(c);
        return 0;
    }
    v_end_wire(c);
    v_enter_state(c, V_DRAINING);
    return c->readable ? v_drain(c) : 1; /* what has come before is not told again */
}

/* With the first bytes of what follows in one packet, if that is small.  (In front of a large file
 * it would move all its bytes by the size of the head, and each page into two packets.) */
static long send_with_rest(v_connection *c, const char *bytes, size_t size)
{
    return v_send(c, bytes, size, v_more_follows(c) && c->file_left < LARGE);
}

/* The bytes of c->out: 1 when all have gone, 0 when the client has to read first, or -errno. */
static int send_kept(v_connection *c)
{
    while (c->sent < c->out.size) {
        const char *from = c->out.bytes + c->sent;
        size_t size = c->out.size - c->sent;
        long sent = send_with_rest(c, from, size);
        if (sent < 0)
            return sent == -EAGAIN ? 0 : (int)sent;
        c->sent += (size_t)sent;
    }
    c->out.size = c->sent = 0;
    return 1;
}

/* All that waits; as send_kept. */
static int send_all_kept(v_connection *c)
{
    int done;
    do {
        done = send_kept(c);
        if (done > 0 && c->file != NULL)
            done = v_send_file(c);
    } while (done > 0 && v_next_piece(c));
    return done > 0 ? v_flush(c) : done;
}

/* How much still waits: it falls while the client reads. */
static int64_t count_rest(const v_connection *c)
{
    return (int64_t)(c->out.size - c->sent) + c->file_left;
}

static int end_or_wait(v_connection *c, int done)
{
    if (done > 0)
        return v_end_sending(c);
    if (done == 0) {
        v_enter_state(c, V_SENDING);
        return 1;
    }
    v_close(c);
    return 0;
}

int v_send_answers(v_connection *c)
{
    t_buffer *out = &c->server->out;
    size_t size = out->size;
    int more = v_more_follows(c);
    out->size = 0;
    if (size == 0)
        return more ? end_or_wait(c, send_all_kept(c)) : c->closes ? v_end_sending(c) : 1;
    long sent = send_with_rest(c, out->bytes, size);
    if (sent == (long)size)
        return more || c->tls != NULL ? end_or_wait(c, send_all_kept(c)) : v_end_sending(c);
    if (sent == -EAGAIN)
        sent = 0;
    if (sent >= 0 && keep_rest(c, out->bytes + sent, size - (size_t)sent) < 0)
        sent = -ENOMEM;
    return end_or_wait(c, sent < 0 ? (int)sent : 0);
}

int v_go_on_sending(v_connection *c)
{
    int64_t before = count_rest(c);
    int done = send_all_kept(c);
    if (done == 0) {
        if (count_rest(c) != before)
            v_enter_state(c, V_SENDING);
        return 0;
    }
    if (done > 0 && !c->closes) {
        v_end_sending(c);
        v_enter_state(c, V_PARKED);
        return 1;
    }
    end_or_wait(c, done);
    return 0;
}
