/* The state that a connection is in, and its end.  See serve.h. */
#include "serve/folder.h"
#include "serve/wire.h"

#define DRAINED 16 /* times I_SCRATCH at once */

v_hooks v_hook;

void v_leave_state(v_connection *c)
{
    if (b_linked(&c->link)) {
        b_unlink(&c->link);
        c->server->counts[c->state]--;
    }
}

void v_enter_state(v_connection *c, v_state state)
{
    v_leave_state(c);
    c->state = (unsigned char)state;
    c->since = s_now_coarse(c->server->s);
    b_append(&c->server->lists[state], &c->link);
    c->server->counts[state]++;
}

static void free_connection(v_connection *c)
{
    v_leave_state(c);
    v_drop_file(c);
    c->server->connections--;
    if (c->tls != NULL)
        v_tls_hook.drop(c->tls);
    Py_XDECREF(c->peer_text);
    PyMem_Free(c->head);
    t_release(&c->in);
    t_release(&c->out);
    PyMem_Free(c);
}

void v_close(v_connection *c)
{
    v_server *server = c->server;
    i_desc_close(server->s, c->desc);
    i_desc_free(c->desc);
    free_connection(c);
    if (server->accept_more != NULL)
        server->accept_more(server);
}

i_desc *v_give_up(v_connection *c, t_buffer *unused)
{
    i_desc *desc = c->desc;
    desc->ready = NULL;
    *unused = c->in;
    c->in = (t_buffer){NULL, 0, 0};
    free_connection(c);
    return desc;
}

/* It is not read for ever. */
int v_drain(v_connection *c)
{
    char *scratch = i_scratch(c->server->s);
    long got = scratch != NULL ? I_SCRATCH : 0;
    for (int i = 0; i < DRAINED && got == I_SCRATCH; i++)
        got = p_receive(i_desc_fd(c->desc), scratch, I_SCRATCH);
    if (got == -EAGAIN || (got > 0 && got < I_SCRATCH && !c->ended))
        return 1;
    v_close(c);
    return 0;
}
