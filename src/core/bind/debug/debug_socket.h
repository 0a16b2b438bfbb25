/* Functions that look from outside, for loomlet.observe: see debug_socket.c and ring_report.c. */
#ifndef LOOMLET_BIND_DEBUG_SOCKET_H
#define LOOMLET_BIND_DEBUG_SOCKET_H

#include "bind/bind.h"

extern PyMethodDef bind_debug_socket_functions[];
extern PyMethodDef bind_ring_functions[]; /* ring_report.c */

#endif
