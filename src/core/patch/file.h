/* Descriptors and FileIO objects: the contract.
 *
 * A call on a FileIO that waits holds its object mutex (sync/object_mutex.h): the buffer above it
 * is locked meanwhile, in a way that knows no tasklets, so others wait before they touch it.
 */
#ifndef LOOMLET_PATCH_FILE_H
#define LOOMLET_PATCH_FILE_H

#include "patch/patch.h"
#include "sync/object_mutex.h"

/* What a call reads or writes. */
typedef struct {
    s_sched *s;
    PyObject *file; /* the FileIO that has the descriptor; NULL: none */
    int fd;
} patch_file;

/* The originals of FileIO, and its type. */
typedef struct {
    c_method_forms read, readinto, write, close;
    PyCFunction readall;
    PyTypeObject *type;
} patch_file_methods;
extern patch_file_methods patch_file_originals;

/* Fills `f` for a call on a FileIO whose method `able` says that it can do it: 1; 0 when it cannot
 * wait, so that the original is called. */
int patch_file_begin(patch_file *f, PyObject *file, const char *able);
/* Waits for P_READ or P_WRITE: 1 when it is ready, 0 when the original reports what is wrong,
 * or -1. */
int patch_file_wait(patch_file *f, unsigned what);
/* Waits until a FileIO can be read, if that can block: 0 or -1. */
int patch_file_wait_readable(PyObject *file);

/* How many bytes of `data` were written, -1, or PATCH_BY_ORIGINAL when the original must write.
 * `part`: not more than goes at once. */
#define PATCH_BY_ORIGINAL (-2)
Py_ssize_t patch_file_write(patch_file *f, PyObject *data, int part);
/* A call of os.sendfile(). */
typedef struct {
    int to, from;
    int64_t offset; /* below 0: the position of `from` */
    Py_ssize_t size;
} patch_file_copy;
/* How many bytes were sent: all, unless the file ends before; -1, or PATCH_BY_ORIGINAL. */
Py_ssize_t patch_file_send(s_sched *s, const patch_file_copy *copy);
/* readall() of a FileIO. */
PyObject *patch_file_read_all(PyObject *file);
/* close() of a FileIO: its waiters resume. */
PyObject *patch_file_close(const c_method_call *call);
/* os.close(fd) by the original: waiters for that number, with any object, resume. */
PyObject *patch_descriptor_close(int fd, PyObject *original, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames);
/* The bytes of all buffers of a sequence, or NULL without an exception. */
PyObject *patch_join_buffers(PyObject *buffers);

#endif
