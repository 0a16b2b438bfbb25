/* Leases of stock sockets.  See nonblocking.h. */
#include "patch/nonblocking.h"

static b_link leases;
static c_lock guard;

/* Under the guard. */
static const patch_nonblocking *find(const PyObject *socket)
{
    if (!b_linked(&leases))
        b_list_init(&leases);
    for (b_link *at = leases.next; at != &leases; at = at->next) {
        const patch_nonblocking *lease = B_CONTAINER(at, patch_nonblocking, link);
        if (lease->socket == socket)
            return lease;
    }
    return NULL;
}

void patch_nonblocking_begin(patch_nonblocking *lease, PyObject *socket, int64_t timeout)
{
    c_lock_take(&guard);
    const patch_nonblocking *other = find(socket);
    int fd = c_socket_fd(socket);
    lease->socket = socket;
    lease->lent = timeout;
    lease->timeout = other ? other->timeout : c_socket_timeout(socket);
    lease->blocking = other ? other->blocking : lease->timeout < 0 && p_is_blocking(fd);
    if (other == NULL && lease->blocking)
        p_set_nonblocking(fd);
    b_append(&leases, &lease->link);
    c_socket_set_timeout(socket, timeout);
    c_lock_give(&guard);
}

void patch_nonblocking_end(patch_nonblocking *lease)
{
    c_lock_take(&guard);
    b_unlink(&lease->link);
    if (find(lease->socket) == NULL && c_socket_timeout(lease->socket) == lease->lent) {
        c_socket_set_timeout(lease->socket, lease->timeout);
        if (lease->blocking && c_socket_fd(lease->socket) >= 0)
            p_set_blocking(c_socket_fd(lease->socket));
    }
    c_lock_give(&guard);
}

int64_t patch_socket_timeout(PyObject *socket)
{
    c_lock_take(&guard);
    const patch_nonblocking *lease = find(socket);
    int64_t timeout = lease ? lease->timeout : c_socket_timeout(socket);
    c_lock_give(&guard);
    return timeout;
}

int patch_socket_may_block(PyObject *socket)
{
    c_lock_take(&guard);
    const patch_nonblocking *lease = find(socket);
    int64_t timeout = lease ? lease->timeout : c_socket_timeout(socket);
    int blocking = lease ? lease->blocking : timeout < 0 && p_is_blocking(c_socket_fd(socket));
    c_lock_give(&guard);
    return timeout > 0 || blocking;
}
