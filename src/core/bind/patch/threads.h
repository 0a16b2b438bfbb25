/* Threads that are tasklets: what the files of this room share. */
#ifndef LOOMLET_BIND_PATCH_THREADS_H
#define LOOMLET_BIND_PATCH_THREADS_H

#include "bind/patch/patch.h"

/* The running tasklet if it has what a thread would: not a main one, not between tasklets. */
s_tasklet *bind_patch_tasklet(void);
/* The same if it was started as a thread. */
s_tasklet *bind_patch_thread(void);
/* The lock that is held until the thread of that handle has ended, if it is a tasklet: new;
 * NULL without an exception for others. */
PyObject *bind_thread_end(PyObject *handle);
/* _keep_local(type): locals of that type stay the thread's. */
PyObject *bind_keep_local(PyObject *module, PyObject *type);
/* One has ended: those who wait for it go on. */
void bind_thread_leaves(s_identity *own);

/* In the child of a fork: threads that are tasklets are not there, as other threads. */
void bind_threads_after_fork(void);

#endif
