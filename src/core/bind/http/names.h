/* The names of header fields as Python objects. */
#ifndef LOOMLET_BIND_HTTP_NAMES_H
#define LOOMLET_BIND_HTTP_NAMES_H

#include "bind/bind.h"

#define BIND_HTTP_MOST_NAME 256 /* longer names are left out of environs */

/* One that most requests have. */
typedef struct {
    const char *text; /* in small letters */
    size_t size;
    PyObject *key;   /* in an environ: "HTTP_HOST" */
    PyObject *bytes; /* in a scope: b"host" */
} bind_http_name;

/* Once, before the others: 0, or -1 with an exception. */
int bind_http_make_names(void);
/* NULL for any other. */
const bind_http_name *bind_http_find_name(const char *at, size_t size);
/* The key of a name, at most BIND_HTTP_MOST_NAME bytes, in an environ: new, or NULL. */
PyObject *bind_http_environ_key(const char *name, size_t size);

#endif
