/* The interpreter's own sockets, _socket.socket, and poll objects: what of them must be known.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_BUILTIN_SOCKET_H
#define LOOMLET_BUILTIN_SOCKET_H

#include "cpython/replace.h"

/* Finds the type and proves where a socket keeps its descriptor and its timeout: 0, or -1 with
 * an exception.  Must come first. */
int c_socket_find(void);
extern PyTypeObject *c_socket_type;
#define c_is_socket(o) PyObject_TypeCheck((o), c_socket_type)

/* -1 when it is closed. */
int c_socket_fd(PyObject *socket);
/* Nanoseconds; 0: it never waits, below 0: it waits for ever. */
int64_t c_socket_timeout(PyObject *socket);
void c_socket_set_timeout(PyObject *socket, int64_t timeout);

/* A second object for the same descriptor, which never waits: what is called on it leaves the
 * socket as it is for other threads.  NULL with an exception. */
PyObject *c_socket_alias(PyObject *socket);
/* Drops it; the descriptor stays open.  Keeps an exception that is set. */
void c_socket_alias_drop(PyObject *twin);

/* Proves where a poll object keeps its descriptors: its type (new), or NULL with an exception. */
PyTypeObject *c_poll_find(PyObject *select_module);
/* {descriptor: events}: borrowed. */
PyObject *c_poll_registered(PyObject *poll);

#endif
