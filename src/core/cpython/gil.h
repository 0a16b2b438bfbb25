/* The GIL: who has it, who waits for it, and who goes first: gil.c.
 *
 * Without a GIL nobody waits for one, and each function here does what its name says beside that.
 */
#ifndef LOOMLET_GIL_H
#define LOOMLET_GIL_H

#include "cpython/cpython.h"

extern const int c_has_gil;
/* Whether some thread has the GIL now; 0 where there is none. */
int c_gil_is_taken(void);
/* How many threads wait for it, about; -1: unknown. */
int c_gil_waiters(void);
/* For a detached thread: spins until the GIL is free, or until that time; less long where the
 * thread that has it computes. */
void c_gil_spin(int64_t until);

/* Around a wait for the world outside, in place of PyEval_SaveThread() and PyEval_RestoreThread():
 * the thread that comes back goes before threads that compute.  errno stays. */
PyThreadState *c_io_leave(void);
void c_io_return(PyThreadState *ts);
/* The same for a thread that slept.  `here`: it was woken from the processor that it runs on;
 * `by_thread`: by a thread that had the GIL. */
void c_io_return_woken(PyThreadState *ts, int here, int by_thread);
/* The same around a call for which somebody else detaches and attaches: whether to call
 * c_io_returning() after it, which only waits. */
int c_io_left(const PyThreadState *ts);
void c_io_returning(PyThreadState *ts);

/* Of an attached thread: wake(what) wakes another thread, which needs the GIL.  It is called at
 * once, or when the caller has released the GIL, which it does at its next safepoint or before. */
void c_gil_wake(void (*wake)(void *what), void *what);
/* How often it had to wait for that. */
int64_t c_gil_wakes(void);

/* The share of the time for which such threads may go first, in millionths; 0: they wait like
 * others.  Any thread, attached where it is set. */
void c_gil_share_set(int64_t millionths);
int64_t c_gil_share(void);

typedef struct {
    int64_t asked; /* the holder was asked to drop the GIL at once */
    int64_t
        deferred;  /* it was not at first: the share was used up, or it was back from I/O itself */
    int64_t spent; /* nanoseconds of the share */
} c_gil_counts;

void c_gil_counts_read(c_gil_counts *counts);
/* The interpreter is about to end: nobody is asked from now on.  The caller is attached. */
void c_gil_priority_end(void);
/* In the child of a fork. */
void c_gil_priority_after_fork(void);

#endif
