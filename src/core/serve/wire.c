/* Bytes over a descriptor.  See wire.h. */
#include "serve/wire.h"
#include "base/b_check.h"

v_tls_hooks v_tls_hook;

long v_receive(v_connection *c, char *to, size_t room)
{
    if (B_UNLIKELY(c->tls != NULL))
        return v_tls_hook.receive(c, to, room);
    return p_receive(i_desc_fd(c->desc), to, room);
}

long v_send(v_connection *c, const char *from, size_t size, int more)
{
    if (B_UNLIKELY(c->tls != NULL))
        return v_tls_hook.send(c, from, size);
    int fd = i_desc_fd(c->desc);
    return more ? p_send_more(fd, from, size) : p_send(fd, from, size);
}

int v_flush(v_connection *c)
{
    return B_UNLIKELY(c->tls != NULL) ? v_tls_hook.flush(c) : 1;
}

void v_end_wire(v_connection *c)
{
    if (c->tls != NULL)
        v_tls_hook.end(c);
    p_send_end(i_desc_fd(c->desc));
}
