/* A stock socket that does not wait for the time of one call: the contract.
 *
 * The interpreter's functions wait by themselves unless the socket's timeout is 0 and its
 * descriptor is non-blocking.  Both are set for the time of one call and are the user's again
 * afterwards, so nothing is seen of it between two calls.  A lease lies on the stack of its
 * caller.  While several threads hold one of the same socket, each knows what the user has set,
 * and the last restores it, unless the user has set a timeout meanwhile.
 *
 * Threads.  Any, attached; `guard` covers the list without a GIL.  Another thread that calls
 * the same socket meanwhile may be told that it would have to wait: it asks
 * patch_socket_may_block() and tries again.
 *
 * Rejected: leaving descriptors non-blocking, which processes that share them would see, and
 * which would have to be undone for sockets that nobody remembers.
 */
#ifndef LOOMLET_PATCH_NONBLOCKING_H
#define LOOMLET_PATCH_NONBLOCKING_H

#include "base/b_list.h"
#include "cpython/builtin_socket.h"

typedef struct {
    b_link link;
    PyObject *socket;
    int64_t timeout; /* the user's */
    int64_t lent;    /* what it is meanwhile */
    int blocking;    /* the descriptor was blocking */
} patch_nonblocking;

/* `timeout` is what the interpreter's function is to find: 0, or nanoseconds. */
void patch_nonblocking_begin(patch_nonblocking *lease, PyObject *socket, int64_t timeout);
void patch_nonblocking_end(patch_nonblocking *lease);
/* The timeout that the user has set, whoever has a lease. */
int64_t patch_socket_timeout(PyObject *socket);
/* Whether the user wants it to wait, whoever has a lease: not with a timeout of 0, nor without one
 * on a descriptor that he has made non-blocking. */
int patch_socket_may_block(PyObject *socket);

#endif
