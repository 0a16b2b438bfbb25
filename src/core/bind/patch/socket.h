/* The methods of the stock sockets: what data.c and socket.c share. */
#ifndef LOOMLET_BIND_PATCH_SOCKET_H
#define LOOMLET_BIND_PATCH_SOCKET_H

#include "bind/patch/patch.h"
#include "patch/nonblocking.h"

/* The originals, by the name of the method. */
typedef struct {
    PyCFunction recv, recv_into, send, sendall;
    PyCFunction recvfrom, recvfrom_into, recvmsg, recvmsg_into, sendto, sendmsg;
    PyCFunction accept, connect, connect_ex, close, detach;
} bind_socket_methods;
extern bind_socket_methods bind_socket_stock;

/* The scheduler, if a call on this socket may have to wait and others can run meanwhile. */
s_sched *bind_socket_sched(PyObject *socket);
/* Waits for the socket: 0, or -1 with an exception; TimeoutError at `until`. */
int bind_socket_wait(s_sched *s, PyObject *socket, unsigned what, int64_t until);

/* ---- data.c ---- */
PyObject *bind_socket_recv(PyObject *self, PyObject *args);
PyObject *bind_socket_recv_into(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *bind_socket_send(PyObject *self, PyObject *args);
PyObject *bind_socket_sendall(PyObject *self, PyObject *args);

#endif
