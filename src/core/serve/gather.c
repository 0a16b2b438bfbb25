/* Answers that leave together.
 *
 * An answer that is sent at once wakes a client that sleeps, and that costs the server as much as
 * the request does.  Where several requests have come together, and their answers take a few
 * microseconds each, the client sleeps between any two of them, and the code of the system's
 * network takes the place of the application's in the processor's caches, and the other way round.
 * So while the room above says that more answers are at hand, small ones are kept, and leave one
 * right after the other.
 *
 * It says so of a batch, whose answers one callback gives (v_gather), or with an answer: another
 * request is the next that runs.  Those of the latter leave when nothing is ready: the scheduler
 * looks at its timers then, so theirs is due at once.
 *
 * A kept answer lies in c->out, and its connection is "gathered".  Nothing is read from it, so what
 * the client has sent behind its request is answered later, whoever answers it.
 *
 * None waits for long: all leave when the batch is over or another answer leaves alone, when
 * LONGEST has passed since the first one, or when MOST of them wait.  A timer looks at the time
 * too, because the next answer may be far away: one that computes is interrupted, and the timers
 * get their turn.
 *
 * Not gathered: what is large, since copying it costs more; what goes by TLS, which has a buffer of
 * its own; what there is no memory for.
 *
 * Rejected: to gather whatever tasklets answer until the poller is read again.  They come in any
 * order, so an answer would wait for handlers that have nothing to do with it.
 */
#include "serve/wire.h"

#define LONGEST 250000 /* ns */
#define MOST 64
#define SMALL 16384 /* bytes */

int v_keep_answer(v_connection *c)
{
    t_buffer *answer = &c->server->out;
    if (c->tls != NULL || answer->size > SMALL || t_reserve(&c->out, answer->size) < 0)
        return 0;
    t_put(&c->out, answer->bytes, answer->size);
    answer->size = 0;
    return 1;
}

void v_send_gathered(v_server *server)
{
    b_link *at;
    if (server->gathers_until != 0)
        s_timer_disarm(server->s, &server->too_late);
    server->gathers_until = 0;
    while ((at = b_first(&server->lists[V_GATHERED])) != NULL) {
        v_connection *c = B_CONTAINER(at, v_connection, link);
        v_enter_state(c, V_SENDING);
        if (v_go_on_sending(c))
            v_read_on(c);
    }
}

static void be_too_late(s_sched *s, s_timer *timer)
{
    v_server *server = timer->owner;
    (void)s;
    server->gathers_until = 0;
    v_send_gathered(server);
}

static void begin_gathering(v_server *server)
{
    int64_t now = s_now(server->s), until = now + LONGEST;
    server->too_late = (s_timer){.fire = be_too_late, .owner = server};
    if (s_timer_arm(server->s, &server->too_late, server->gathers ? until : now) == 0)
        server->gathers_until = until;
}

static int may_gather_on(const v_server *server)
{
    return server->gathers_until != 0 && server->counts[V_GATHERED] < MOST &&
           s_now(server->s) < server->gathers_until;
}

void v_enter_gathered(v_connection *c)
{
    v_server *server = c->server;
    v_enter_state(c, V_GATHERED);
    if (server->gathers_until == 0)
        begin_gathering(server);
    if (!may_gather_on(server))
        v_send_gathered(server);
}

void v_gather(v_server *server, int gathers)
{
    server->gathers = (unsigned char)gathers;
    if (!gathers)
        v_send_gathered(server);
}
