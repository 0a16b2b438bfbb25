/* What the types of descriptors share. */
#ifndef LOOMLET_BIND_DESCRIPTOR_H
#define LOOMLET_BIND_DESCRIPTOR_H

#include "bind/bind.h"
#include "io/io.h"

typedef struct {
    PyObject_HEAD
    PyObject *weakrefs;
    i_desc *desc;
    PyObject *accepts; /* of a listener: the type of its connections */
} bind_descriptor;

#define BIND_DESC(self) (((bind_descriptor *)(self))->desc)

extern PyTypeObject bind_descriptor_type, bind_stream_type, bind_listener_type;

/* A new object that owns `fd`; on failure the caller still does. */
PyObject *bind_descriptor_make(PyTypeObject *type, int fd, int tcp);
/* The same from the argument of its constructor, a descriptor number. */
PyObject *bind_descriptor_from(PyTypeObject *type, PyObject *number);
/* At import: hands the callbacks down. */
void bind_net_init(void);

#endif
