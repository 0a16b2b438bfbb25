/* getaddrinfo() for tasklets, for loomlet.net and for the patched `socket`. */
#ifndef LOOMLET_BIND_RESOLVER_H
#define LOOMLET_BIND_RESOLVER_H

#include "bind/bind.h"

/* getaddrinfo(*args) while the current tasklet waits; with unusual arguments the `original` is
 * called. */
PyObject *bind_resolve_name(s_sched *s, PyObject *original, PyObject *const *args, Py_ssize_t nargs,
                            const c_call_site *site);

extern PyMethodDef bind_resolver_functions[];

#endif
