/* Threads that carry a scheduler in turn, as far as the interpreter knows them: carried_thread.c.
 */
#ifndef LOOMLET_CARRIED_THREAD_H
#define LOOMLET_CARRIED_THREAD_H

#include "cpython/cpython.h"

/* A thread state for the calling OS thread, which has none and stays detached; NULL without
 * memory, and when the interpreter ends. */
PyThreadState *c_thread_state_new(void);
/* From now on none is made, because the interpreter ends: one that came into its list after it has
 * cleared that would be taken for main's.  By an attached thread; waits until none is being made.
 */
void c_new_threads_end(void);
int c_new_threads_ended(void);
void c_new_threads_after_fork(void);
/* Whether a scheduler can go on in another thread in this interpreter. */
extern const int c_can_hand_over;
/* Whether the thread is detached: in a call that has released the GIL, or waiting for it.  Any
 * thread, attached or not. */
int c_thread_is_detached(const PyThreadState *ts);
/* A detached thread is held: it stays so, and what belongs to it is at rest, until it is released.
 * 0: it is attached.  The caller is attached and must not detach meanwhile. */
int c_thread_suspend(PyThreadState *ts);
void c_thread_release(PyThreadState *ts);
/* Of a held thread: whether its innermost Python code makes a call, and is at no safepoint. */
int c_is_in_call(PyThreadState *ts);
/* The calling thread's c_lock_waits_, for others to read while it is held. */
int *c_lock_waits_cell(void);
/* From now on both thread states have the thread-locals of `from`. */
void c_thread_locals_share(PyThreadState *ts, const PyThreadState *from);
/* It has none any more; what it had is to be dropped. */
typedef struct {
    PyObject *sentinel, *key, *dict;
} c_thread_locals;
void c_thread_locals_take(PyThreadState *ts, c_thread_locals *locals);
void c_thread_locals_drop(c_thread_locals *locals);
/* It leaves the C stack that it is on for one on which it runs no frame. */
void c_thread_enter_base(PyThreadState *ts);
/* Clears and frees an attached thread state, and detaches the thread. */
void c_thread_state_end(PyThreadState *ts);
/* The ident of the thread that the state belongs to. */
unsigned long c_thread_ident(const PyThreadState *ts);
/* And its number, by which the system's tools know it. */
unsigned long c_thread_native_id(const PyThreadState *ts);
/* Without a GIL: the thread looks again whether handlers of signals have to run there. */
void c_signal_look(PyThreadState *ts);

#endif
