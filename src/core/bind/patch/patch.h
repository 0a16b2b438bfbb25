/* What the files that replace functions of the standard library share. */
#ifndef LOOMLET_BIND_PATCH_H
#define LOOMLET_BIND_PATCH_H

#include "bind/bind.h"
#include "patch/patch.h"

/* A number of `unit` nanoseconds as nanoseconds, rounded up; -1 for None or NULL: no timeout.  0,
 * or -1 without an exception when the original shall say what is wrong. */
int bind_patch_timeout(PyObject *value, double unit, int64_t *nanoseconds);

/* Take the place of the originals, or give it back: 0, or -1 with an exception. */
int bind_patch_time(int install);
int bind_patch_sockets(int install);
int bind_patch_select(int install);
int bind_patch_ssl(int install);
int bind_patch_resolver(int install);
int bind_patch_children(int install);
int bind_patch_files(int install);
int bind_patch_file_locks(int install);
int bind_patch_buffers(int install);
int bind_patch_queues(int install);
int bind_patch_semaphores(int install);
int bind_patch_sqlite(int install);

/* An extension module has been loaded, after install() perhaps.  Leaves no exception. */
void bind_patch_sqlite_module(PyObject *module);
/* The same of asyncio's module in C: from now on a running event loop is that of its tasklet. */
void bind_own_event_loop_in(PyObject *module);

/* Before tasklets are interrupted for the first time: from now on the builtin locks are owned per
 * tasklet, in every thread.  0, or -1 with an exception. */
int bind_patch_builtin_locks(void);

/* Once: what handlers of signals raise in a thread that is a tasklet is main's from now on. */
void bind_patch_signals(void);
/* A function of a module in C is ours from now on, for good: threads that are tasklets may exist
 * after uninstall().  `kept` gets the original.  Once, whichever of several threads comes first.
 * Leaves no exception. */
void bind_replace_call(PyObject *module, const char *name, int flags, PyCFunction replacement,
                       PyCFunction *kept);
/* Once: functions that take the ident of a thread take those of tasklets too. */
void bind_patch_thread_calls(void);
/* A module was loaded: if it asks in C which thread runs, it asks us. */
void bind_keep_ident_in(PyObject *module);
/* From now on signal() works in whatever thread carries the scheduler of the first one. */
void bind_keep_signals(void);

/* At import, before the type is made ready: gives it its methods. */
void bind_driven_generator_init(void);

extern PyMethodDef bind_patch_functions[], bind_thread_functions[], bind_event_loop_functions[];
extern PyMethodDef bind_builtin_lock_functions[], bind_greenlet_functions[];
extern PyMethodDef bind_extension_functions[], bind_driven_generator_functions[];

#endif
