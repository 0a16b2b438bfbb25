/* Threads that are tasklets, and what a tasklet has as a thread would: the contract. */
#ifndef LOOMLET_PATCH_THREAD_H
#define LOOMLET_PATCH_THREAD_H

#include "patch/patch.h"
#include "sched/guests/thread_identity.h"

/* ---- thread.c ------------------------------------------------------------------------------ */

/* From now on a tasklet that ends releases what it has as a thread would. */
void patch_identities_init(void);
/* Before the first thread: 0 or -1. */
int patch_threads_prepare(void);
/* The running tasklet if it was started as a thread; or NULL. */
s_tasklet *patch_thread(void);
/* The scheduler in which a thread that is started now is a tasklet; NULL: it is one of the
 * system. */
s_sched *patch_thread_scheduler(void);
/* Whether the calling code is that of a running event loop of asyncio: what it starts are threads
 * of the system. */
int patch_event_loop_running(void);
/* Whether a debugger (pydevd) starts it for itself: it stays a thread of the system. */
int patch_thread_is_of_debugger(PyObject *function);
/* Starts function(*args, **kwargs) (kwargs may be NULL): its ident.  `module` is _thread. */
PyObject *patch_thread_start(s_sched *s, PyObject *module, PyObject *function, PyObject *args,
                             PyObject *kwargs);
/* Starts function(): its handle, which is `handle` unless that is None (3.13 on). */
PyObject *patch_thread_start_joinable(s_sched *s, PyObject *module, PyObject *function,
                                      PyObject *handle, int daemon);
/* Whether the exception that ended `t`, a thread, needs no report. */
int patch_thread_ends_silently(s_tasklet *t, PyObject *exception);

/* The originals of a handle's methods. */
typedef struct {
    PyCFunction join, is_done;
} patch_handle_methods;
extern patch_handle_methods patch_handle_originals;
/* join(*args) of a handle, whose timeout is so many nanoseconds (S_FOREVER: none). */
PyObject *patch_thread_join(s_sched *s, PyObject *handle, PyObject *args, int64_t timeout);

/* How many tasklets are threads now, in all threads. */
Py_ssize_t patch_thread_count(void);
/* In the child of a fork: threads that are tasklets are not there, as other threads. */
void patch_threads_after_fork(void);

/* ---- thread_list.c ------------------------------------------------------------------------- */

/* The thread with that ident, if it is a tasklet and has not ended: new, or NULL without an
 * exception. */
s_tasklet *patch_thread_find(unsigned long ident);
/* The idents of the calling thread's tasklets that are threads: a list. */
PyObject *patch_thread_idents(void);
/* Adds the frames of those tasklets to what sys._current_frames() has returned: 0 or -1. */
int patch_thread_add_frames(PyObject *frames);
/* The same for the handled exceptions that sys._current_exceptions() has returned: 0 or -1. */
int patch_thread_add_errors(PyObject *exceptions);
/* Sets the trace or profile function (C_TRACE, C_PROFILE) of those tasklets, and of main, but not
 * that of the running one: 0 or -1. */
int patch_threads_set_trace(int which, PyObject *function);
/* PyThreadState_SetAsyncExc, which finds threads that are tasklets too: how many were found. */
int patch_thread_raise(unsigned long ident, PyObject *exception);

/* ---- signal.c ---------------------------------------------------------------------------- */

void patch_signals_init(void);
/* Where a thread that is a tasklet runs: main raises `error`.  1, or 0 when it is to be raised
 * here. */
int patch_signal_raise(PyObject *error);
/* Where a thread that is a tasklet runs: main calls the handler of that signal.  1, or 0 when it is
 * to be called here. */
int patch_signal_leave(PyObject *handler, PyObject *number);

/* ---- local.c ---------------------------------------------------------------------------- */

/* From now on, or no longer, values of threading.local are the tasklet's: 0 or -1. */
int patch_locals_install(int install);
/* Locals of that type (borrowed) keep their values per thread of the system. */
void patch_local_exclude(PyObject *type);
/* The tasklet has ended: its values are destroyed. */
void patch_local_release(s_identity *identity);

#endif
