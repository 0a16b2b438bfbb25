/* A connection: its states, from the first to the last.  See serve.h. */
#include "base/b_check.h"
#include "serve/folder.h"
#include "serve/wire.h"

static void be_ready(s_sched *s, i_desc *d, unsigned what);

/* ---- beginning and end --------------------------------------------------------------------- */

int v_connect(v_server *server, int fd, const p_peer *peer)
{
    v_connection *c = c_calloc(sizeof(*c));
    if (c == NULL || i_desc_follow(server->s, fd, 1, be_ready, c, &c->desc) < 0) {
        PyMem_Free(c);
        p_close(fd);
        return -1;
    }
    c->server = server;
    c->peer = *peer;
    server->connections++;
    v_enter_state(c, server->has_tls ? V_READING : V_PARKED);
    if (server->has_tls && (c->tls = v_tls_hook.begin(c)) == NULL) {
        v_close(c);
        return -1;
    }
    return 0;
}

i_desc *v_take_over(v_connection *c, t_buffer *unused)
{
    v_server *server = c->server;
    i_desc *desc = v_give_up(c, unused);
    v_begin_queued(server);
    return desc;
}

/* ---- readiness ----------------------------------------------------------------------------- */

static void be_ready(s_sched *s, i_desc *d, unsigned what)
{
    v_connection *c = d->follower;
    c->ended |= (what & P_ENDED) != 0;
    c->readable |= (what & P_READ) != 0;
    switch (c->state) {
    case V_BUSY:
        if (what & P_ENDED)
            v_hook.gone(c, (what & P_BROKEN) != 0);
        return;
    case V_QUEUED:
        if (what & P_BROKEN)
            v_close(c);
        return;
    case V_SENDING:
        if ((what & (P_WRITE | P_ENDED)) && v_go_on_sending(c))
            v_read_on(c);
        return;
    case V_DRAINING:
        v_drain(c);
        return;
    default:
        v_read_on(c);
    }
}

void v_done(v_connection *c, int keep)
{
    v_server *server = c->server;
    int keeps = c->out.size > 0; /* the answer was kept */
    c->request = NULL;
    c->told = 0;
    c->waits = 0;
    if (!keep || server->stops)
        c->closes = 1;
    if (keeps) {
        v_enter_gathered(c);
    } else if (!c->closes) {
        v_enter_state(c, V_PARKED);
        v_read_on(c);
    } else {
        v_leave_state(c);
        v_end_sending(c);
    }
    if (!keeps && !server->gathers && server->counts[V_GATHERED] > 0)
        v_send_gathered(server);
    v_begin_queued(server);
}

/* ---- deadlines ----------------------------------------------------------------------------- */

/* What the client has not done in its time. */
static void end_late(v_connection *c)
{
    if (c->state != V_READING && c->state != V_QUEUED) {
        v_close(c);
        return;
    }
    v_refuse(c, c->state == V_READING ? 408 : 503);
    v_send_answers(c);
}

static void end_late_of(v_server *server, v_state state, int64_t now)
{
    int64_t limit = server->limits.seconds[state] * 1000000000;
    b_link *at;
    while (limit > 0 && (at = b_first(&server->lists[state])) != NULL) {
        v_connection *c = B_CONTAINER(at, v_connection, link);
        if (now - c->since < limit)
            return;
        end_late(c);
    }
}

enum { TOLD_SLOW = 1, TOLD_LATE };

static int is_over(int64_t since, int64_t seconds, int64_t now)
{
    return seconds > 0 && now - since >= seconds * 1000000000;
}

static void look_at_busy(v_connection *c, int64_t now)
{
    const v_limits *limits = &c->server->limits;
    if (c->waits > 0 && now >= c->waits && !i_desc_is_waited_for(c->desc))
        c->waits = 0; /* its wait was cancelled */
    if (c->waits > 0 && now >= c->waits && !c->too_slow) {
        c->too_slow = 1;
        p_end_both(i_desc_fd(c->desc));
    } else if (is_over(c->since, limits->seconds[V_BUSY], now) && c->told < TOLD_LATE) {
        c->told = TOLD_LATE;
        v_hook.late(c);
    } else if (is_over(c->since, limits->slow, now) && c->told < TOLD_SLOW) {
        c->told = TOLD_SLOW;
        v_hook.slow(c);
    }
}

/* The hooks end no connection but the one that they are called for, and what becomes busy meanwhile
 * goes to the end of the list. */
static void look_at_all_busy(v_server *server, int64_t now)
{
    b_link *list = &server->lists[V_BUSY];
    for (b_link *at = list->next, *next; at != list; at = next) {
        next = at->next;
        look_at_busy(B_CONTAINER(at, v_connection, link), now);
    }
}

void v_close_late(v_server *server, int64_t now)
{
    for (v_state state = V_PARKED; state < V_STATES; state++)
        if (state != V_BUSY)
            end_late_of(server, state, now);
    look_at_all_busy(server, now);
}
