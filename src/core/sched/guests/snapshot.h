/* Snapshots of tasklets: what a tasklet needs to continue in another process.
 *
 * A snapshot is taken of a tasklet that does not run, and changes nothing in it.  It is restored
 * into an ended tasklet, which then is paused; the upper rooms make it wait again, each for what is
 * theirs.  What these rooms copy out of a channel or a queue, they copy by functions of this file.
 */
#ifndef LOOMLET_SCHED_SNAPSHOT_H
#define LOOMLET_SCHED_SNAPSHOT_H

#include "sched/sched.h"

/* Without frames it has not started.  All new references, or NULL. */
typedef struct {
    PyObject *func, *args, *kwnames; /* as in s_tasklet_init */
    PyObject *frames;                /* of c_frames_read */
    PyObject *handled;               /* the exception that it is handling */
    PyObject *context;
    PyObject *value, *error; /* what its call is going to return, or to raise; a sender's offer */
} s_snapshot;

/* Why no snapshot of a tasklet can be taken. */
enum s_obstacle {
    S_OBSTACLE_NONE,
    S_OBSTACLE_CURRENT,
    S_OBSTACLE_ENDED,
    S_OBSTACLE_MAIN,
    S_OBSTACLE_THREAD,    /* it belongs to another thread, or is about to run there */
    S_OBSTACLE_PREEMPTED, /* it was interrupted between two instructions */
    S_OBSTACLE_C_STACK,   /* a C stack holds it */
    S_OBSTACLE_TRACED     /* because a tracer or debugger is on */
};
/* The caller's own tasklet or one of its thread's. */
int s_snapshot_obstacle(const s_sched *s, const s_tasklet *t);
/* 0, or S_E_SET.  Only where there is no obstacle. */
int s_snapshot_take(s_tasklet *t, s_snapshot *snapshot);
void s_snapshot_clear(s_snapshot *snapshot);
/* Makes an ended tasklet of this thread a paused one: 0 or S_E_; *wrong says what does not fit
 * (then S_E_SNAPSHOT). */
int s_snapshot_restore(s_tasklet *t, const s_snapshot *snapshot, const char **wrong);
/* The suspended tasklet of this thread in which a generator runs, whose frame is then part of the
 * tasklet's snapshot: *found is a new reference, or NULL.  0 or S_E_MEMORY. */
int s_find_generator_tasklet(s_sched *s, PyObject *gen, s_tasklet **found);

/* ---- contents of channels and queues ------------------------------------------------------ */

/* Copies new references into a block that the caller frees with PyMem_RawFree.  Called with the
 * lock of the object held, because other threads may change it.  Returns how many there are, or
 * S_E_MEMORY. */

/* The `count` items of a ring, oldest first. */
Py_ssize_t s_copy_ring(PyObject *const *ring, Py_ssize_t first, Py_ssize_t count, Py_ssize_t room,
                       PyObject ***found);
/* The tasklets of a queue, the one that has waited longest first, without main tasklets, and so
 * without plain threads. */
Py_ssize_t s_copy_waiters(const b_link *queue, PyObject ***found);
/* A restored tasklet need not wait again: its call returns `value` (stolen) or raises `error`
 * (stolen); with neither an iteration ends.  The run queue gets a new reference to it. */
void s_resume_with(s_sched *s, s_tasklet *t, PyObject *value, PyObject *error);

#endif
