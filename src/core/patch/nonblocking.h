/* A builtin socket that does not block for the time of one call: the contract.
 *
 * The interpreter's functions block by themselves unless the socket's timeout is 0 and its
 * descriptor is nonblocking.  A nonblocking override sets both for the time of one call; afterwards
 * they are what the user has set, so it is invisible between two calls.  An override lies on the
 * stack of its caller.  When several threads override the same socket, each knows what the user has
 * set, and the last one restores it, unless the user has set a timeout meanwhile.
 *
 * Threads.  Any attached thread; `guard` covers the list without a GIL.  A call of another thread
 * on the same socket may fail meanwhile as if it would block: that thread asks
 * patch_socket_may_block() and tries again.
 *
 * Rejected: leaving descriptors nonblocking.  Processes that share them would see it, and it would
 * have to be undone for sockets that are forgotten.
 */
#ifndef LOOMLET_PATCH_NONBLOCKING_H
#define LOOMLET_PATCH_NONBLOCKING_H

#include "base/b_list.h"
#include "cpython/builtin_socket.h"

typedef struct {
    b_link link;
    PyObject *socket;
    int64_t timeout;    /* what the user has set */
    int64_t overridden; /* what it is meanwhile */
    int blocking;       /* the descriptor was blocking */
} patch_nonblocking;

/* `timeout` is what the interpreter's function finds: 0, or nanoseconds. */
void patch_nonblocking_begin(patch_nonblocking *override, PyObject *socket, int64_t timeout);
void patch_nonblocking_end(patch_nonblocking *override);

/* The timeout that the user has set, also during an override. */
int64_t patch_socket_timeout(PyObject *socket);
/* Whether the user lets the socket block, also during an override: its timeout, *timeout, is above
 * 0, or it has none and its descriptor is blocking. */
int patch_socket_may_block(PyObject *socket, int64_t *timeout);

#endif
