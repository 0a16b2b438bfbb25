/* What the files that patch the standard library share.
 *
 * Each replacement asks first by which scheduler a wait is to let other tasklets run.  Without
 * one, in threads without tasklets, in callbacks of the scheduler and in other interpreters, it
 * is the original.
 */
#ifndef LOOMLET_BIND_PATCH_H
#define LOOMLET_BIND_PATCH_H

#include "bind/bind.h"
#include "cpython/replace.h"
#include "io/io.h"

/* The scheduler of the caller, if a wait of his must let others run; else NULL. */
s_sched *bind_patch_sched(void);
/* Whether the caller is in our interpreter; *s: the scheduler of his thread, or NULL. */
int bind_is_ours(s_sched **s);
/* When a call of so many nanoseconds (below 0: for ever) that begins now ends: 0, or -1 with an
 * exception when none may begin. */
int bind_patch_until(s_sched *s, int64_t timeout, int64_t *until);
/* A number of `unit` nanoseconds as nanoseconds, rounded up; -1 for None or NULL, for ever.  0, or
 * -1 without an exception when the original shall say what is wrong. */
int bind_patch_timeout(PyObject *value, double unit, int64_t *nanoseconds);
/* 0 when `fd` may be ready, 1 at `until`, -1 with an exception. */
int bind_patch_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until);
/* Lets others run for so many nanoseconds, which is hard: 0, or -1 with an exception. */
int bind_patch_pause(s_sched *s, int64_t nanoseconds);
/* -1 with TimeoutError("timed out"). */
int bind_patch_late(void);

/* Take the place of the originals, or give it back: 0, or -1 with an exception. */
int bind_patch_sockets(int install);
int bind_patch_select(int install);
int bind_patch_ssl(int install);
int bind_patch_names(int install);
int bind_patch_processes(int install);
int bind_patch_files(int install);
int bind_patch_buffers(int install);
int bind_patch_locals(int install);
int bind_patch_queues(int install);

/* Before tasklets are interrupted for the first time: from now on the builtin locks are owned per
 * tasklet, in every thread.  0, or -1 with an exception. */
int bind_patch_builtin_locks(void);

extern PyMethodDef bind_patch_functions[], bind_thread_functions[], bind_loop_functions[];
extern PyMethodDef bind_builtin_lock_functions[];

#endif
