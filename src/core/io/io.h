/* Waiting for descriptors: tasklets read, write and accept, and wait without a thread.
 *
 * An operation is tried at once.  If the system would have to wait, the operation is moved to the
 * heap (i_op), and the tasklet enters the descriptor's queue and stops.  When the poller reports
 * the descriptor ready, the scheduler tries again on the tasklet's behalf and wakes it with what
 * its call returns.  So nothing is left to do in C for the tasklet, which is soft wherever its
 * callers are.
 *
 * Descriptor.  An i_desc is a use of one descriptor number, from i_desc_open to i_desc_close.  Its
 * memory is reused but never given back to the system, and an event names it by index and
 * generation: a late event, of a use that is over, finds another generation and is dropped, no
 * matter who has the number by then.
 *
 * Registration.  A descriptor is registered when a tasklet first waits to read, and once more when
 * a tasklet first waits to write; it stays registered until it is closed.  Everything is
 * edge-triggered: nothing is lost between the try that found nothing and the next look at the
 * poller, because only this thread looks.
 *
 * Dry.  A TCP read that gave less than was asked for has emptied the socket, so the next read need
 * not be tried: it would spend a system call to find nothing.  The next event ends this; a
 * descriptor that has ended (P_ENDED) is never dry.  Other kinds of descriptors give less for other
 * reasons too, and are always tried.
 *
 * Threads.  A descriptor may be used from any thread; each waits by its own scheduler's poller and
 * is notified there.  The first one is registered for good (`where`); others register at each
 * wait, which costs a system call.  All threads that wait for one descriptor are notified, and the
 * first to try gets what there is; the tasklets of one thread are served in order, and a send_all
 * is not mixed with another.  Between threads there is no order: a program that writes to one
 * stream from two threads uses a lock.
 *
 * `lock` exists only without a GIL.  It covers the queues and the descriptor number, and is held
 * over the system call, which does not wait: so a number is never used after it was closed.  Python
 * code never runs under it.
 *
 * The GIL is not released for a system call that does not wait.  Taking it back beside a thread
 * that computes costs 5 ms, the call a few microseconds.
 *
 * A tasklet that was woken owns its bytes, or its connection, before it runs.  A cancel or a
 * deadline is too late then; a throw is not, and drops them, as it drops a value received from a
 * channel.
 *
 * Close.  Waiting tasklets get S_E_DESCRIPTOR, an iteration ends.  A waiting tasklet can be ended
 * by a throw, a kill, a cancel or a deadline like any other; a half-done operation (send_all,
 * receive_exactly) stays so, and the stream is of no use then.
 *
 * Fork.  The child has a poller of its own, in which all descriptors are registered that its
 * tasklets wait for.  It shares the descriptors with the parent, as the system does it.
 *
 * Rejected: waking the tasklet to try by itself (its C frame is gone); one poller for all threads
 * (a wake-up between threads per event); a table by descriptor number (a number that was closed by
 * other code and used again would be taken for the old descriptor).
 */
#ifndef LOOMLET_IO_H
#define LOOMLET_IO_H

#include "sched/sched.h"

typedef struct i_desc {
    b_link readers, writers;  /* of s_wait, of all threads; this and `fd` under lock */
    int fd;                   /* -1: closed */
    uint32_t generation;      /* of this use of the memory; under lock */
    uint32_t index;           /* of this memory */
    uint64_t where;           /* the poller that it is registered in for good; 0: none yet */
    unsigned char registered; /* ... and for what: P_READ, P_WRITE */
    unsigned char dry;        /* ... and what has been exhausted since the last event */
    unsigned char ended;      /* never dry again */
    unsigned char tcp;
    unsigned char bulk; /* the last receive of unknown length got much; under lock */
    PyObject *owner;    /* the object of the user: borrowed */
    /* Of one that is follower: told of each event, on the thread of its poller; or NULL. */
    void (*ready)(s_sched *s, struct i_desc *d, unsigned what);
    void *follower; /* the watcher's */
    struct i_desc *next;
    c_lock lock;
} i_desc;

/* Hooks into the room above, which sets them. */
typedef struct {
    /* A new object for a connection that `listener` has accepted; NULL with an exception, then
     * the descriptor is closed.  No Python code. */
    PyObject *(*accepted)(PyObject *listener, int fd);
} i_hooks;
extern i_hooks i_hook;

void i_reactor_init(void);

/* ---- descriptors (desc.c) ------------------------------------------------- */

/* Takes `fd` over as a descriptor; NULL without memory. */
i_desc *i_desc_open(int fd, int tcp, PyObject *owner);
/* Takes `fd` over as one that is follower from now on: `ready` is called for each event, also while
 * tasklets wait for it.  0 with *opened, or a code; then `fd` is not taken over. */
int i_desc_follow(s_sched *s, int fd, int tcp, void (*ready)(s_sched *, i_desc *, unsigned),
                  void *follower, i_desc **opened);
/* Closes it and wakes the tasklets that wait; nothing if it is closed already. */
void i_desc_close(s_sched *s, i_desc *d);
/* Gives the number back to the caller and wakes the tasklets that wait; -1 if it is closed. */
int i_desc_detach(s_sched *s, i_desc *d);
/* The owner is being destroyed; no tasklet waits, because it would hold the owner. */
void i_desc_free(i_desc *d);
static inline int i_desc_fd(const i_desc *d)
{
    return __atomic_load_n(&d->fd, __ATOMIC_RELAXED);
}

/* Whether a tasklet waits for it, without the lock: a moment later it may be otherwise. */
static inline int i_desc_is_waited_for(const i_desc *d)
{
    return !b_list_empty(&d->readers) || !b_list_empty(&d->writers);
}

/* ---- operations (operations.c, send_file.c) -------------------------------------------------- */

/* All return a new reference, or NULL: then *code is a negative S_E_ code, or S_OK with an
 * exception set or when an iteration is over. */

/* The bytes that have come, at most `most`; b"" at the end.  In an iteration (by the call site) the
 * end of the stream ends it. */
PyObject *i_receive(s_sched *s, i_desc *d, Py_ssize_t most, const c_call_site *site, int *code);
/* The same, and None when nothing has come until `until`. */
PyObject *i_receive_until(s_sched *s, i_desc *d, int64_t until, const c_call_site *site, int *code);
/* Exactly `count` bytes, or an exception with what came instead, S_E_ENDED. */
PyObject *i_receive_exactly(s_sched *s, i_desc *d, Py_ssize_t count, const c_call_site *site,
                            int *code);
/* Into a contiguous, writable memoryview (stolen): the number of bytes, an int. */
PyObject *i_receive_into(s_sched *s, i_desc *d, PyObject *into, const c_call_site *site, int *code);
/* All of `data` (stolen), bytes or a contiguous memoryview: None. */
PyObject *i_send_all(s_sched *s, i_desc *d, PyObject *data, const c_call_site *site, int *code);
/* What can be sent at once, without waiting: how many bytes, or a code.  0 while another tasklet of
 * this thread waits to send. */
Py_ssize_t i_try_send(s_sched *s, i_desc *d, const char *from, Py_ssize_t size);
/* Up to `count` bytes of a file from `offset` on: how many, an int. */
PyObject *i_send_file(s_sched *s, i_desc *d, int file, int64_t offset, Py_ssize_t count,
                      const c_call_site *site, int *code);
/* A new connection, as i_hook.accepted makes it; the end of an iteration when closed. */
PyObject *i_accept(s_sched *s, i_desc *d, const c_call_site *site, int *code);
/* Until it can be read or written (P_READ, P_WRITE) without waiting: None. */
PyObject *i_wait_ready(s_sched *s, i_desc *d, unsigned what, const c_call_site *site, int *code);
/* Until a connection attempt has ended: None. */
/* Until it is readable or i_wake_reader is called, True; or until `until`, False. */
PyObject *i_wait_woken(s_sched *s, i_desc *d, int64_t until, const c_call_site *site, int *code);
/* Wakes the first tasklet of this thread that waits so: whether there is one. */
int i_wake_reader(s_sched *s, i_desc *d);
PyObject *i_wait_connected(s_sched *s, i_desc *d, const c_call_site *site, int *code);
/* Notifies the peer that no more data will come: 0 or a code. */
int i_send_end(i_desc *d);

/* A buffer of I_SCRATCH bytes to read into, valid until the next switch; NULL without memory. */
#define I_SCRATCH 65536
void *i_scratch(s_sched *s);

#endif
