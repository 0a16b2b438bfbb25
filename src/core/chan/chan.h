/* Channels: values handed from tasklet to tasklet, on one thread or across threads.
 *
 * A channel has a buffer of `capacity` values and two queues of waiters.
 * Invariants, under `lock`:
 *   receivers wait only while the buffer is empty and no sender waits;
 *   senders wait only while the buffer is full and no receiver waits;
 *   a closed channel has no waiting receiver.
 * So the first waiting partner is always the next in turn, and the order is first in, first out,
 * through the buffer too.
 *
 * A waiter is either a tasklet's own wait node (send, receive, iteration) or one case of a select.
 * Removing it from the queue under the lock claims it; a case must win its select's claim as well,
 * because another channel may be faster.  Values are moved: the waiter's node owns the reference.
 *
 * The lock exists only without a GIL, is held for a few loads and stores, never while Python code
 * or a destructor may run.  Rejected: an owner word that lets the owning thread work without the
 * lock; taking ownership away from a running thread needs a stop that costs more than the lock
 * saves.
 */
#ifndef LOOMLET_CHAN_H
#define LOOMLET_CHAN_H

#include "sched/sched.h"

typedef struct n_channel {
    PyObject_HEAD
    PyObject *weakrefs;
    b_link senders, receivers; /* of s_wait */
    PyObject **items;          /* ring buffer for `room` values */
    Py_ssize_t first, count, room, capacity;
    PyObject *name;         /* str or NULL */
    signed char preference; /* -1 the receiver runs first, 1 the sender, 0 the actor continues */
    char closed;
    char closing;      /* Stackless API: no tasklet may begin to wait any more */
    char schedule_all; /* Stackless API: partners only become ready, and the actor yields */
    c_lock lock;
} n_channel;

/* A new channel; `name` may be NULL. */
n_channel *n_channel_new(PyTypeObject *type, Py_ssize_t capacity, PyObject *name);
/* The channel of that name, made on first use: a new reference.  An old one may have another
 * capacity. */
n_channel *n_channel_named(PyTypeObject *type, Py_ssize_t capacity, PyObject *name);
/* From now on its name stands for no channel, or for the next one.  0 or -1 with an exception. */
int n_channel_forget(n_channel *ch);

void n_channel_init(n_channel *ch, Py_ssize_t capacity);
int n_channel_visit(n_channel *ch, visitproc visit, void *arg);
void n_channel_clear(n_channel *ch);
void n_channel_free(n_channel *ch);

/* All return a new reference, or NULL: then *code is a negative S_E_ code (S_E_SET
 * with an exception set), or S_OK when an iteration is over. */
PyObject *n_send(s_sched *s, n_channel *ch, PyObject *value, const c_call_site *site, int *code);
PyObject *n_receive(s_sched *s, n_channel *ch, const c_call_site *site, int *code);
/* The same with a limit: S_E_TIMEOUT, or TimeoutError from the wait, when it is over. */
PyObject *n_send_until(s_sched *s, n_channel *ch, PyObject *value, int64_t until,
                       const c_call_site *site, int *code);
PyObject *n_receive_until(s_sched *s, n_channel *ch, int64_t until, const c_call_site *site,
                          int *code);
/* 1 done, 0 would block, negative code.  *value is a new reference. */
int n_try_send(s_sched *s, n_channel *ch, PyObject *value);
int n_try_receive(s_sched *s, n_channel *ch, PyObject **value);
int n_close(s_sched *s, n_channel *ch);
/* Senders waiting, or minus the receivers waiting. */
Py_ssize_t n_balance(n_channel *ch);

typedef struct {
    n_channel *channel; /* NULL: a case that never happens */
    PyObject *value;    /* NULL: receive */
} n_case;

/* All that a select is given.  `closed`: the value of a case whose channel is closed; NULL: an
 * error. */
typedef struct {
    n_case *cases;
    int count;
    PyObject *closed;
    int64_t until;
} n_choice;

/* Does one of the cases: *result is (index, value), or NULL with *code; *at is the case whose
 * channel is closed.  1: it waits, the choice is no longer needed, and the caller must s_suspend
 * now, which returns (index, value). */
int n_select(s_sched *s, const n_choice *choice, PyObject **result, int *at, int *code);
/* A tuple of the channels that a blocked select waits for: a new reference. */
PyObject *n_select_channels(s_tasklet *t);

/* ---- restoring waits from a snapshot (restore.c) --------------------------------- */

/* Makes a paused tasklet of this thread wait: to send `value`, or (NULL) to receive.  If a partner
 * waits, the tasklet becomes runnable with the result instead. */
int n_restore_wait(s_sched *s, s_tasklet *t, n_channel *ch, PyObject *value, int iterates);
/* The same for a select with a deadline. */
int n_restore_select(s_sched *s, s_tasklet *t, const n_choice *choice);
/* What a channel has beside its values and waiters; the fields of the same names. */
typedef struct {
    signed char preference;
    char closed, closing, schedule_all;
} n_channel_flags;
/* Fills a new channel with the values of a tuple, then sets it so.  S_E_SNAPSHOT: they are more
 * than its capacity. */
int n_restore_channel(s_sched *s, n_channel *ch, PyObject *values, const n_channel_flags *set);
/* A part of a channel: the buffered values, oldest first, or the waiting tasklets, longest first,
 * without main tasklets.  The number of new references in a PyMem_RawMalloc'ed array, or
 * S_E_MEMORY. */
enum n_channel_part { N_VALUES, N_SENDERS, N_RECEIVERS };
Py_ssize_t n_channel_contents(n_channel *ch, enum n_channel_part part, PyObject ***found);
/* The cases that a blocked select waits for: a new tuple of (channel or None, is_send, value or
 * None). */
PyObject *n_select_cases(const s_tasklet *t);
/* What it gives for a closed channel: borrowed, or NULL. */
PyObject *n_select_closed_value(const s_tasklet *t);

/* ---- by the rules of the Stackless API (stackless.c) ----------------------- */

/* As n_send (but steals `value`) and n_receive; a bomb is raised, not received. */
PyObject *n_stackless_send(s_sched *s, n_channel *ch, PyObject *value, const c_call_site *site,
                           int *code);
/* The same for a bomb; by itself, so that a message is sent without a call. */
PyObject *n_stackless_send_bomb(s_sched *s, n_channel *ch, PyObject *bomb, const c_call_site *site,
                                int *code);
PyObject *n_stackless_receive(s_sched *s, n_channel *ch, const c_call_site *site, int *code);

/* ---- states by the rules of Stackless (stackless_state.c) ------------------------ */

/* The tasklet that has waited longest, or NULL: a new reference. */
s_tasklet *n_first_waiter(n_channel *ch);
/* The channel on which `t` is blocked in a send or receive: borrowed, or NULL. */
n_channel *n_channel_of(const s_tasklet *t);
/* Whether it waits for a channel, a tasklet or the like; whether it will run without help, or is
 * blocked. */
int n_stackless_blocked(const s_tasklet *t);
int n_stackless_scheduled(const s_tasklet *t);
/* The neighbour of a runnable tasklet in the run queue, or of a blocked one in its channel's queue:
 * the next one (forward) or the one before it; a new reference, or NULL.  While all other threads
 * are stopped. */
s_tasklet *n_stackless_neighbour(const s_tasklet *t, int forward);

/* Hooks of the Stackless API into the room above, which sets them. */
typedef struct {
    PyTypeObject *bomb; /* its instances stand for an exception */
    /* The exception of a bomb, or the one raised by making it: a new reference. */
    PyObject *(*explode)(PyObject *bomb);
    /* The current tasklet is about to act, or has acted on another thread's tasklet; its value lies
     * in wait.value.  0, or S_E_SET.  NULL: there is no listener. */
    int (*notify)(s_sched *s, n_channel *ch, int sending, int waits);
} n_hooks;
extern n_hooks n_hook;

#endif
