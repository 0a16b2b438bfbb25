/* How the bytes of a connection go over its descriptor: as they are, or by TLS.
 *
 * TLS itself is the room above (v_tls_hook), which keeps its state in `tls`.  It takes bytes in one
 * piece and may still have to send them when the client reads on; so what was sent has gone only
 * when v_flush says so.  A handshake is a part of receiving: until it is over nothing is received.
 */
#ifndef LOOMLET_SERVE_WIRE_H
#define LOOMLET_SERVE_WIRE_H

#include "serve/serve.h"

/* As the functions below, for a connection with `tls`. */
typedef struct {
    void *(*begin)(v_connection *c); /* NULL without memory */
    long (*receive)(v_connection *c, char *to, size_t room);
    long (*send)(v_connection *c, const char *from, size_t size);
    int (*flush)(v_connection *c);
    void (*end)(v_connection *c);
    void (*drop)(void *tls);
} v_tls_hooks;
extern v_tls_hooks v_tls_hook;

/* How many bytes, 0 at the end, or -errno; with TLS until -EAGAIN there may be more, however few
 * they were. */
long v_receive(v_connection *c, char *to, size_t room);
/* How many bytes were taken, or -errno.  `more`: more follows at once. */
long v_send(v_connection *c, const char *from, size_t size, int more);
/* 1 when all that was taken has gone, 0 when the client has to read first, or -errno. */
int v_flush(v_connection *c);
/* The client learns that nothing more comes. */
void v_end_wire(v_connection *c);

#endif
