/* Waiting for descriptors: tasklets read, write and accept, and wait without a thread.
 *
 * An operation is tried at once.  When the system says that it would have to wait, it
 * is put down on the heap (i_op), the tasklet takes a place in the queue of the descriptor
 * and stops.  Who is told that the descriptor is ready, the scheduler in its poller, tries
 * again on the tasklet's behalf and wakes it with what its call returns.  So nothing is
 * left to do in C for the tasklet, which is soft wherever its callers are.
 *
 * Descriptor.  An i_desc is a use of one descriptor number, from i_desc_open to i_desc_close.  Its
 * memory is never given back to the system, only used again, and an event names it by
 * place and generation: what is told late, of a use that is over, finds another generation
 * and is dropped, whoever has the number by then.
 *
 * Registration.  Once, when somebody first waits to read, and once more when somebody first
 * waits to write; it stays until the descriptor is closed.  Everything is edge-triggered:
 * between the try that found nothing and the next look at the poller, nothing is lost,
 * because only this thread looks.
 *
 * Dry.  A TCP read that gave less than was asked for has emptied the socket, so the next
 * one need not be tried: it would find nothing, for which it would pay a system call.  The
 * next event says otherwise; what has ended (P_ENDED) is never dry.  Other kinds of
 * descriptors give less for other reasons too, and are always tried.
 *
 * Threads.  A descriptor may be used from any thread; each waits by its own scheduler's
 * poller and is told there.  The first one is registered for good (`where`); others are added
 * at each wait, which costs a system call.  Of several threads that wait for one
 * descriptor each is told, and who comes first gets what there is; among the tasklets of
 * one thread it is first come, first served, and a send_all is not mixed with another.
 * Between threads there is no order: who writes to one stream from two threads uses a lock.
 *
 * `lock` exists only without a GIL.  It covers the queues and the descriptor number, and is
 * held over the system call, which does not wait: so a number is never used after it was
 * closed.  Python code never runs under it.
 *
 * The GIL is not released for a system call that does not wait.  Taking it back beside a
 * thread that computes costs 5 ms, the call a few microseconds.
 *
 * A tasklet that was woken owns its bytes, or its connection, before it runs.  A cancel or a
 * deadline comes too late then; a throw does not, and drops them, as it drops what came through
 * a channel.
 *
 * Close.  Who waits gets S_E_DESCRIPTOR, an iteration ends.  A waiting tasklet can be ended
 * by a throw, a kill, a cancel or a deadline like any other; an operation that was half
 * done (send_all, receive_exactly) stays so, and the stream is of no use then.
 *
 * Fork.  The child has a poller of its own, to which all is added that its tasklets wait
 * for.  It shares the descriptors with the parent, as the system does it.
 *
 * Rejected: waking the tasklet to try by itself (its C frame is gone); one poller for all
 * threads (a wake-up between threads per event); a table by descriptor number (a number
 * that was closed behind our back and used again would be taken for the old one).
 */
#ifndef LOOMLET_IO_H
#define LOOMLET_IO_H

#include "sched/sched.h"

typedef struct i_desc {
    b_link readers, writers; /* of s_wait, of all threads; this and `fd` under lock */
    int fd;                  /* -1: closed */
    uint32_t generation;     /* of this use of the memory; under lock */
    uint32_t place;
    uint64_t where;      /* the poller that it is registered in for good; 0: none yet */
    unsigned char told;  /* ... and for what: P_READ, P_WRITE */
    unsigned char dry;   /* ... and what has been exhausted since it was last told */
    unsigned char ended; /* never dry again */
    unsigned char tcp;
    unsigned char bulk; /* the last receive of unknown length got much; under lock */
    PyObject *owner;    /* the object that stands for it: borrowed */
    struct i_desc *next;
    c_lock lock;
} i_desc;

/* What the descriptors ask of the room above; set by it. */
typedef struct {
    /* A new object for a connection that `listener` has accepted; NULL with an exception, then
     * the descriptor is closed.  No Python code. */
    PyObject *(*accepted)(PyObject *listener, int fd);
} i_hooks;
extern i_hooks i_hook;

void i_reactor_init(void);

/* ---- descriptors (desc.c) ------------------------------------------------- */

/* A use of descriptor `fd`, which is ours from now on; NULL without memory. */
i_desc *i_desc_open(int fd, int tcp, PyObject *owner);
/* Closes it; who waits is woken.  Nothing when it is closed. */
void i_desc_close(s_sched *s, i_desc *d);
/* The number, which is the caller's again; who waits is woken.  -1 when it is closed. */
int i_desc_detach(s_sched *s, i_desc *d);
/* The owner goes; nobody waits, for who does holds the owner. */
void i_desc_free(i_desc *d);
static inline int i_desc_fd(const i_desc *d)
{
    return __atomic_load_n(&d->fd, __ATOMIC_RELAXED);
}

/* ---- operations (operations.c, send_file.c) -------------------------------------------------- */

/* All return a new reference, or NULL: then *code is a negative S_E_ code, or S_OK with an
 * exception set or when an iteration is over. */

/* What has come, at most `most` bytes, as bytes; b"" at the end.  In an iteration (by the
 * site) the end is the end. */
PyObject *i_receive(s_sched *s, i_desc *d, Py_ssize_t most, const c_call_site *site, int *code);
/* Exactly `count` bytes, or an exception about what came, S_E_ENDED. */
PyObject *i_receive_exactly(s_sched *s, i_desc *d, Py_ssize_t count, const c_call_site *site,
                            int *code);
/* Into a contiguous, writable memoryview (stolen): the number of bytes, an int. */
PyObject *i_receive_into(s_sched *s, i_desc *d, PyObject *into, const c_call_site *site, int *code);
/* All of `data` (stolen), bytes or a contiguous memoryview: None. */
PyObject *i_send_all(s_sched *s, i_desc *d, PyObject *data, const c_call_site *site, int *code);
/* `count` bytes of a file from `offset` on, or what there is: how many, an int. */
PyObject *i_send_file(s_sched *s, i_desc *d, int file, int64_t offset, Py_ssize_t count,
                      const c_call_site *site, int *code);
/* A new connection, as i_hook.accepted makes it; the end of an iteration when closed. */
PyObject *i_accept(s_sched *s, i_desc *d, const c_call_site *site, int *code);
/* Until it can be read or written (P_READ, P_WRITE) without waiting: None. */
PyObject *i_wait_ready(s_sched *s, i_desc *d, unsigned what, const c_call_site *site, int *code);
/* Until a connection attempt has ended: None. */
PyObject *i_wait_connected(s_sched *s, i_desc *d, const c_call_site *site, int *code);
/* The peer is told that nothing more will come: 0 or a code. */
int i_send_end(i_desc *d);

/* Room for what is read, I_SCRATCH bytes, until the next switch; NULL without memory. */
#define I_SCRATCH 65536
void *i_scratch(s_sched *s);

/* ---- descriptors of other code (external.c) ------------------------------------------ */

/* Waits until `fd` can be read or written: Py_True, which may be wrong, so the caller tries again.
 * Py_False at `until`, Py_None when the number is closed; or NULL with *code.  Always hard.
 * `owner` (borrowed, or NULL) is the object that the tasklet is shown to wait for. */
PyObject *i_external_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until,
                          int *code);
/* `owner` has given `fd` up: tasklets that wait for it resume. */
void i_external_closed(s_sched *s, int fd, const PyObject *owner);
/* A number is about to be closed: tasklets that wait for it, through any owner, are claimed ... */
void i_external_claim(int fd, b_link *claimed);
/* ... and resume with Py_None when it is closed. */
void i_external_wake(s_sched *s, b_link *claimed);

#endif
