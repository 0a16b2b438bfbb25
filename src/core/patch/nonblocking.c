/* The nonblocking overrides of builtin sockets.  See nonblocking.h. */
#include "patch/nonblocking.h"

static b_link overrides = {&overrides, &overrides};
static c_lock guard;

/* Under the guard. */
static const patch_nonblocking *find_override(const PyObject *socket)
{
    for (b_link *at = overrides.next; at != &overrides; at = at->next) {
        const patch_nonblocking *override = B_CONTAINER(at, patch_nonblocking, link);
        if (override->socket == socket)
            return override;
    }
    return NULL;
}

void patch_nonblocking_begin(patch_nonblocking *override, PyObject *socket, int64_t timeout)
{
    c_lock_take(&guard);
    const patch_nonblocking *other = find_override(socket);
    int fd = c_socket_fd(socket);
    override->socket = socket;
    override->overridden = timeout;
    override->timeout = other ? other->timeout : c_socket_timeout(socket);
    override->blocking = other ? other->blocking : override->timeout < 0 && p_is_blocking(fd);
    if (other == NULL && override->blocking)
        p_set_nonblocking(fd);
    b_append(&overrides, &override->link);
    c_socket_set_timeout(socket, timeout);
    c_lock_give(&guard);
}

void patch_nonblocking_end(patch_nonblocking *override)
{
    PyObject *socket = override->socket;
    c_lock_take(&guard);
    b_unlink(&override->link);
    if (find_override(socket) == NULL && c_socket_timeout(socket) == override->overridden) {
        c_socket_set_timeout(socket, override->timeout);
        if (override->blocking && c_socket_fd(socket) >= 0)
            p_set_blocking(c_socket_fd(socket));
    }
    c_lock_give(&guard);
}

int64_t patch_socket_timeout(PyObject *socket)
{
    c_lock_take(&guard);
    const patch_nonblocking *override = find_override(socket);
    int64_t timeout = override ? override->timeout : c_socket_timeout(socket);
    c_lock_give(&guard);
    return timeout;
}

int patch_socket_may_block(PyObject *socket, int64_t *timeout)
{
    c_lock_take(&guard);
    const patch_nonblocking *override = find_override(socket);
    int fd = c_socket_fd(socket);
    *timeout = override ? override->timeout : c_socket_timeout(socket);
    int blocking = override ? override->blocking : *timeout < 0 && p_is_blocking(fd);
    c_lock_give(&guard);
    return *timeout > 0 || blocking;
}
