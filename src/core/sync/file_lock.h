/* Waiting until a lock of a file may be free: the contract.
 *
 * The lock is the system's, which tells nobody when it is free.  A waiter has tried to take it
 * without waiting; it waits here until code of this process has given a lock of that file back, or
 * until its pause is over, and tries again.  So locks that another process gives back, or code
 * that is not patched, are found by the pause alone.
 *
 * The whole file is given back to its first waiter: that one tells the next, if the two can have it
 * together.  Of ranges nobody knows who can have what, so all are woken.
 *
 * Threads.  Any attached thread; `guard` (without a GIL) covers the list.  A waiter that comes a
 * moment too late for a notification waits for its pause.
 */
#ifndef LOOMLET_SYNC_FILE_LOCK_H
#define LOOMLET_SYNC_FILE_LOCK_H

#include "sched/sched.h"

/* On the C stack of a wait; its tasklet's `on` points here. */
typedef struct {
    p_file_id file;
    int fd;
    int of_range;
} y_file_lock_request;

/* Waits until `until`: Py_True, try again; Py_False, the same, nobody gave it back; Py_None, the
 * descriptor was closed; or NULL with *code.  Always hard. */
PyObject *y_file_lock_wait(s_sched *s, y_file_lock_request *request, int64_t until, int *code);
/* Whether anybody waits: one load. */
int y_file_lock_any(void);
/* A lock of that file may be free: wakes the first waiter, or all for a range. */
void y_file_lock_released(s_sched *s, const p_file_id *file, int of_range);
/* Takes those that wait with this descriptor, by any thread, into `claimed`.  When it is closed the
 * caller wakes them with Py_None (s_wake_all). */
void y_file_lock_claim(int fd, b_link *claimed);
void y_file_lock_after_fork(const s_sched *s);

#endif
