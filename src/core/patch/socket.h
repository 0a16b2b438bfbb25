/* Builtin sockets and TLS connections for tasklets: the contract.
 *
 * recv(), recv_into(), send() and sendall() are done by system calls that never block
 * (MSG_DONTWAIT), so the socket is not touched (socket.c).  Messages are the original's work, on an
 * alias of the socket (socket_message.c).  Accepting, connecting and TLS have no such flag: the
 * original does them on the socket itself under a nonblocking override (nonblocking.h;
 * socket_connection.c, ssl.c).
 *
 * A socket that the user has made nonblocking is never waited for.
 */
#ifndef LOOMLET_PATCH_SOCKET_H
#define LOOMLET_PATCH_SOCKET_H

#include "cpython/builtin_socket.h"
#include "patch/patch.h"

/* The originals, by the name of the method. */
typedef struct {
    PyCFunction recv, recv_into, send, sendall;
    PyCFunction recvfrom, recvfrom_into, recvmsg, recvmsg_into, sendto, sendmsg;
    PyCFunction accept, connect, connect_ex, close, detach;
} patch_socket_methods;
extern patch_socket_methods patch_socket_originals;

/* Waits for the socket: 0, or -1, also with TimeoutError at `until`. */
int patch_socket_wait(s_sched *s, PyObject *socket, unsigned what, int64_t until);

/* ---- bytes (socket.c) ------------------------------------------------------------------- */

/* At most `size` bytes, more than 0, as bytes. */
PyObject *patch_socket_receive(s_sched *s, PyObject *socket, Py_ssize_t size, int flags);
/* The number of bytes that are received into `to`, or sent; with `all` all are sent. */
Py_ssize_t patch_socket_receive_into(s_sched *s, PyObject *socket, char *to, Py_ssize_t size,
                                     int flags);
Py_ssize_t patch_socket_send(s_sched *s, PyObject *socket, char *from, Py_ssize_t size, int flags,
                             int all);

/* ---- messages (socket_message.c) -------------------------------------------------------- */

/* What `original` returns, called with `args` until it need not wait.  The flags among `args` must
 * say that it never blocks (p_flags_nonblocking). */
PyObject *patch_socket_message(s_sched *s, PyObject *socket, PyCFunction original, PyObject *args,
                               unsigned what);

/* ---- connections (socket_connection.c): the methods _accept() to detach() ------------------ */

PyObject *patch_socket_accept(PyObject *socket, PyObject *unused);
PyObject *patch_socket_connect(PyObject *socket, PyObject *address);
PyObject *patch_socket_connect_ex(PyObject *socket, PyObject *address);
/* The waiters of the socket resume. */
PyObject *patch_socket_close(PyObject *socket, PyObject *unused);
PyObject *patch_socket_detach(PyObject *socket, PyObject *unused);

/* ---- TLS (ssl.c) -------------------------------------------------------------------------- */

/* The type of TLS connections, after patch_ssl_find(_ssl): 0 or -1. */
extern PyTypeObject *patch_ssl_type;
int patch_ssl_find(PyObject *module);
/* What `original` returns, a method of a TLS connection that takes one argument or args. */
PyObject *patch_ssl_call(PyObject *connection, PyCFunction original, PyObject *arg);

#endif
