/* The object of a descriptor, shared by its subtypes. */
#ifndef LOOMLET_BIND_DESCRIPTOR_H
#define LOOMLET_BIND_DESCRIPTOR_H

#include "bind/bind.h"
#include "io/io.h"

typedef struct {
    PyObject_HEAD
    PyObject *weakrefs;
    i_desc *desc;
    PyObject *accepts; /* in a listener: the type of its connections */
} bind_descriptor;

#define BIND_DESC(self) (((bind_descriptor *)(self))->desc)

extern PyTypeObject bind_descriptor_type, bind_stream_type, bind_listener_type;

/* A new object that owns `fd`; on failure the caller still owns it. */
PyObject *bind_descriptor_make(PyTypeObject *type, int fd, int tcp);
/* The same from a Python int, the argument of the constructor. */
PyObject *bind_descriptor_from(PyTypeObject *type, PyObject *number);
/* At import: hands the callbacks down to `io`. */
void bind_net_init(void);

#endif
