/* Waiting for a descriptor that belongs to other code, such as a builtin socket: the contract.
 *
 * Nothing is known of such a descriptor: it may be closed behind our back, its number may be used
 * again, and other threads and processes read and write it.  So nothing is remembered of it between
 * two waits: each one arms the poller anew (p_poller_arm), which reports once, also when the
 * descriptor is ready already.  A wake-up promises nothing: the tasklet tries again and, if it
 * must, waits again.  An event that comes late, for a number that has another owner by now, causes
 * a needless try at worst; that is why it needs no generation.
 *
 * Waiting tasklets of all threads are in a table, by descriptor number.  An event wakes the first
 * one of its thread for each direction and arms the poller for the rest.  Waits are hard, because
 * the caller tries again in C; what it waits for lies on its stack.  Only one that has a rest
 * (s_rest) may be soft; what it waits for lies in that.
 *
 * A file or a number that the poller does not take counts as ready: the caller's next try reports
 * what is wrong.
 *
 * Threads.  `guard` covers the table without a GIL.  A tasklet waits and is woken on its own
 * thread, except after i_external_closed and i_external_claim, which any thread may call.
 *
 * Rejected: an i_desc for each such descriptor (its registration stays, which is right only if we
 * hear of every close); asking at each wait whether it is still the same (a system call, as arming
 * is).
 */
#ifndef LOOMLET_IO_EXTERNAL_H
#define LOOMLET_IO_EXTERNAL_H

#include "sched/sched.h"

/* What one tasklet waits for: at t->on. */
typedef struct {
    int fd;
    unsigned what;
    PyObject *owner; /* borrowed: the caller's; NULL: none */
} i_external_request;

/* Waits until `fd` can be read or written: Py_True, which may be wrong, so the caller tries again.
 * Py_False at `until`, Py_None when the number is closed; or NULL with *code.  Always hard.
 * `owner` (borrowed, or NULL) is the object that the tasklet is shown to wait for. */
PyObject *i_external_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until,
                          int *code);
/* The same as a wait that may be soft, for the request that lies in `rest` (stolen): returns the
 * rest, which has got what the wait gave, or NULL with *code. */
PyObject *i_external_wait_with(s_sched *s, i_external_request *request, s_rest *rest, int64_t until,
                               const c_call_site *site, int *code);
/* `owner` has given `fd` up: tasklets that wait for it resume. */
void i_external_closed(s_sched *s, int fd, const PyObject *owner);
/* A number is about to be closed: takes the tasklets that wait for it, through any owner, into
 * `claimed`.  When it is closed the caller wakes them with Py_None (s_wake_all). */
void i_external_claim(int fd, b_link *claimed);

/* ---- called by the reactor ------------------------------------------------------- */

/* The tag of an event of an external descriptor; no index is as high. */
#define I_EXTERNAL 0xFFFFFFFEu
static inline int i_is_external(uint64_t tag)
{
    return (uint32_t)tag == I_EXTERNAL;
}
void i_external_ready(s_sched *s, const p_event *event);
void i_external_after_fork(s_sched *s);

#endif
