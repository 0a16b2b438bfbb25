/* Functions that look from outside, for loomlet.observe: see debug_socket.c and ring_report.c. */
#ifndef LOOMLET_BIND_DEBUG_SOCKET_H
#define LOOMLET_BIND_DEBUG_SOCKET_H

#include "bind/bind.h"

extern PyMethodDef bind_debug_socket_functions[];
extern PyMethodDef bind_wait_report_functions[]; /* wait_report.c */
extern PyMethodDef bind_exception_functions[];   /* exceptions.c */

#endif
