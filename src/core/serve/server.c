/* A server: it accepts, keeps time, and stops.  See serve.h. */
#include "serve/serve.h"
#include <errno.h>

#define SECOND 1000000000
#define SOON 1000000    /* ns: until more are accepted */
#define FRESH 250000000 /* ns: in which a connection is closed for no other one */
#define AT_ONCE 64      /* connections accepted before others get a turn */

static void accept_more(v_server *server);

/* ---- the time ------------------------------------------------------------------------------ */

static void pass_second(s_sched *s, s_timer *timer)
{
    v_server *server = timer->owner;
    v_close_late(server, s_now(s));
    accept_more(server);
    s_timer_arm(s, timer, s_now(s) + SECOND);
}

/* ---- accepting ----------------------------------------------------------------------------- */

static int is_full(const v_server *server)
{
    return server->limits.most_connections > 0 &&
           server->connections + v_count_taken(server) >= server->limits.most_connections;
}

static void forget_soon(v_server *server)
{
    if (server->accepts_soon)
        s_timer_disarm(server->s, &server->soon);
    server->accepts_soon = 0;
}

/* The timer does it then, if it is not armed: nothing else would, because the system tells once
 * that there are connections. */
static void accept_at(v_server *server, int64_t when)
{
    if (!server->accepts_soon && s_timer_arm(server->s, &server->soon, when) == 0)
        server->accepts_soon = 1;
}

static void accept_now(s_sched *s, s_timer *timer)
{
    v_server *server = timer->owner;
    (void)s;
    server->accepts_soon = 0;
    accept_more(server);
}

/* When the connection may be closed for another one: not before a client that has just connected
 * could send its request, nor when something has come that was not read. */
static int64_t idle_from(const v_server *server, const v_connection *c)
{
    int64_t from = c->since + FRESH, now = s_now(server->s);
    if (from <= now && p_check_ready(i_desc_fd(c->desc), P_READ) == 0)
        return now + SOON;
    return from;
}

/* Closes the connection that has been parked for the longest: 0 when none may be. */
static int close_oldest(v_server *server)
{
    b_link *at = b_first(&server->lists[V_PARKED]);
    if (at == NULL)
        return 0;
    v_connection *c = B_CONTAINER(at, v_connection, link);
    int64_t from = idle_from(server, c);
    if (from > s_now(server->s)) {
        accept_at(server, from);
        return 0;
    }
    v_close(c);
    return 1;
}

/* One connection: 1, 0 when there is none to be had now. */
static int accept_connection(v_server *server)
{
    if (is_full(server) && !close_oldest(server))
        return 0;
    p_peer peer;
    int fd = p_accept_from(i_desc_fd(server->listening), &peer);
    if (fd >= 0)
        return v_connect(server, fd, &peer) == 0;
    if (fd == -EAGAIN)
        server->accepts = 0;
    return (fd == -EMFILE || fd == -ENFILE) && close_oldest(server);
}

/* 1 when there may be more at once. */
static int accept_some(v_server *server)
{
    for (int i = 0; i < AT_ONCE && server->accepts && !server->stops; i++)
        if (!accept_connection(server))
            return 0;
    return server->accepts && !server->stops;
}

/* One that ends calls this, also one that is closed for a new one just now: that is not begun again
 * inside itself, once for each connection. */
static void accept_more(v_server *server)
{
    if (server->is_accepting)
        return;
    server->is_accepting = 1;
    int more = accept_some(server);
    server->is_accepting = 0;
    if (more)
        accept_at(server, s_now(server->s) + SOON);
}

static void be_ready_to_accept(s_sched *s, i_desc *d, unsigned what)
{
    v_server *server = d->follower;
    (void)s;
    (void)what;
    server->accepts = 1;
    accept_more(server);
}

/* ---- connections that the application has taken over ---------------------------------------- */

uint32_t v_count_taken(const v_server *server)
{
    return __atomic_load_n(&server->taken, __ATOMIC_RELAXED);
}

void v_begin_taken(v_server *server)
{
    __atomic_fetch_add(&server->taken, 1, __ATOMIC_RELAXED);
}

/* It accepts nothing itself: it may be called in the midst of anything. */
void v_end_taken(v_server *server)
{
    __atomic_fetch_sub(&server->taken, 1, __ATOMIC_RELAXED);
    if (server->s == NULL || server->s != s_self_if_any() || !server->accepts || server->stops)
        return;
    forget_soon(server);
    accept_at(server, s_now(server->s));
}

/* ---- beginning and end --------------------------------------------------------------------- */

void v_init(v_server *server)
{
    server->clock = -1;
    for (int state = 0; state < V_STATES; state++)
        b_list_init(&server->lists[state]);
}

int v_start(v_server *server, s_sched *s, int fd, const v_limits *limits)
{
    server->s = s;
    server->limits = *limits;
    server->accept_more = accept_more;
    server->each_second = (s_timer){.fire = pass_second, .owner = server};
    server->soon = (s_timer){.fire = accept_now, .owner = server};
    if (s_timer_arm(s, &server->each_second, s_now(s) + SECOND) < 0)
        return S_E_MEMORY;
    int code = i_desc_follow(s, fd, 0, be_ready_to_accept, server, &server->listening);
    if (code < 0)
        s_timer_disarm(s, &server->each_second);
    else
        s->io_waits++;
    return code;
}

static void close_list(v_server *server, v_state state)
{
    b_link *at;
    while ((at = b_first(&server->lists[state])) != NULL) {
        v_connection *c = B_CONTAINER(at, v_connection, link);
        if (state == V_BUSY)
            v_hook.dropped(c);
        v_close(c);
    }
}

/* What the system has accepted for us would be lost with the descriptor. */
static void accept_all(v_server *server)
{
    int fd;
    p_peer peer;
    while (!is_full(server) && (fd = p_accept_from(i_desc_fd(server->listening), &peer)) >= 0)
        v_connect(server, fd, &peer);
}

static void end_listening(v_server *server)
{
    i_desc_close(server->s, server->listening);
    i_desc_free(server->listening);
    server->listening = NULL;
}

void v_stop(v_server *server, int64_t seconds)
{
    if (server->stops)
        return;
    accept_all(server);
    end_listening(server);
    server->stops = 1;
    server->limits.seconds[V_PARKED] = seconds;
    if (seconds <= 0)
        close_list(server, V_PARKED);
}

void v_close_all(v_server *server)
{
    if (server->s == NULL)
        return;
    if (server->listening != NULL)
        end_listening(server);
    server->stops = 1;
    v_gather(server, 0);
    for (v_state state = V_PARKED; state < V_STATES; state++)
        close_list(server, state);
    s_timer_disarm(server->s, &server->each_second);
    forget_soon(server);
    server->s->io_waits--;
    t_release(&server->out);
    server->s = NULL;
}
