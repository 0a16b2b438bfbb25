/* Functions of the debug socket for loomlet.observe: see debug_socket.c. */
#ifndef LOOMLET_BIND_DEBUG_SOCKET_H
#define LOOMLET_BIND_DEBUG_SOCKET_H

#include "bind/bind.h"

extern PyMethodDef bind_debug_socket_functions[];

#endif
