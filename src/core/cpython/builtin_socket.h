/* The interpreter's own sockets, _socket.socket, and poll objects, select.poll: the fields that we
 * read and write.
 *
 * Any attached thread may call these.
 */
#ifndef LOOMLET_BUILTIN_SOCKET_H
#define LOOMLET_BUILTIN_SOCKET_H

#include "cpython/replace.h"

/* Finds the type and verifies where a socket keeps its descriptor and its timeout: 0, or -1 with an
 * exception.  Must be called before the others. */
int c_socket_find(void);
extern PyTypeObject *c_socket_type;
#define c_is_socket(o) PyObject_TypeCheck((o), c_socket_type)

/* -1 when it is closed. */
int c_socket_fd(PyObject *socket);
/* Nanoseconds; 0: a call never waits, below 0: it waits for ever. */
int64_t c_socket_timeout(PyObject *socket);
void c_socket_set_timeout(PyObject *socket, int64_t timeout);

/* A second object for the same descriptor, whose calls never wait: a call on it leaves the socket
 * as it is for other threads.  NULL with an exception. */
PyObject *c_socket_alias(PyObject *socket);
/* Frees the alias; the descriptor stays open.  Keeps an exception that is set. */
void c_socket_alias_drop(PyObject *alias);

/* Verifies where a poll object keeps its descriptors: its type (a new reference), or NULL with an
 * exception. */
PyTypeObject *c_poll_find(PyObject *select_module);
/* {descriptor: events}: borrowed. */
PyObject *c_poll_registered(PyObject *poll);

#endif
