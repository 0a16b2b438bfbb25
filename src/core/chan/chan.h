/* Channels: values handed from tasklet to tasklet, on one thread or across threads.
 *
 * A channel has a buffer of `capacity` values and two queues of waiters.
 * Invariants, under `lock`:
 *   receivers wait only while the buffer is empty and no sender waits;
 *   senders wait only while the buffer is full and no receiver waits;
 *   a closed channel has no waiting receiver.
 * So a partner that is found waiting is always the one whose turn it is, and
 * order is first in, first out, through the buffer too.
 *
 * A waiter is either a tasklet's own queue place (send, receive, iteration) or
 * one case of a select.  Taking it out of the queue under the lock claims it; a
 * case must win its select's claim as well, because another channel may be
 * faster.  Values are moved: the waiter's place owns the reference.
 *
 * The lock exists only without a GIL, is held for a few loads and stores, never
 * while Python code or a destructor may run.  Rejected: an owner word that lets
 * the owning thread work without the lock; to take it away from a running thread
 * needs a stop that costs more than the lock saves.
 */
#ifndef LOOMLET_CHAN_H
#define LOOMLET_CHAN_H

#include "sched/sched.h"

typedef struct n_channel {
    PyObject_HEAD
    PyObject *weakrefs;
    b_link senders, receivers; /* of s_wait */
    PyObject **items;          /* ring buffer of `room` places */
    Py_ssize_t first, count, room, capacity;
    PyObject *name;         /* str or NULL */
    signed char preference; /* -1 the receiver runs first, 1 the sender, 0 whoever acts goes on */
    char closed;
    char closing;      /* Stackless face: nobody may begin to wait any more */
    char schedule_all; /* Stackless face: partners only become ready, whoever acts yields */
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
/* 1 done, 0 would block, negative code.  *value is a new reference. */
int n_try_send(s_sched *s, n_channel *ch, PyObject *value);
int n_try_receive(s_sched *s, n_channel *ch, PyObject **value);
int n_close(s_sched *s, n_channel *ch);
/* Senders waiting, or minus the receivers waiting. */
Py_ssize_t n_balance(n_channel *ch);

typedef struct {
    n_channel *channel;
    PyObject *value; /* NULL: receive */
} n_case;

/* Does one case that can go on: (index, value).  NULL with S_OK when there is none,
 * or with the error of a case (*at tells which: its channel is closed). */
PyObject *n_select_now(s_sched *s, const n_case *cases, int count, int *at, int *code);
/* Begins to wait for the cases: 1 when the caller must s_suspend now, which
 * returns (index, value).  0 when a case went on meanwhile, as n_select_now. */
int n_select_wait(s_sched *s, const n_case *cases, int count, int64_t until, PyObject **result,
                  int *at, int *code);
/* A tuple of the channels that a blocked select waits for: a new reference. */
PyObject *n_select_channels(s_tasklet *t);

/* ---- waiting again, after a snapshot (restore.c) --------------------------------- */

/* A paused tasklet of this thread begins to wait: to send `value`, or (NULL) to receive.  With a
 * partner there it does not wait, but is runnable with what it gets. */
int n_restore_wait(s_sched *s, s_tasklet *t, n_channel *ch, PyObject *value, int iterates);
/* The same for a select; `until` as its deadline. */
int n_restore_select(s_sched *s, s_tasklet *t, const n_case *cases, int count, int64_t until);
/* What a channel holds: buffered values oldest first, or who waits, the longest first; main
 * tasklets are left out, as plain threads are.  The number of new references in a
 * PyMem_RawMalloc'ed array, or S_E_MEMORY. */
enum n_channel_part { N_VALUES, N_SENDERS, N_RECEIVERS };
Py_ssize_t n_channel_contents(n_channel *ch, enum n_channel_part part, PyObject ***found);
/* The cases that a blocked select waits for: a new tuple of (channel, is_send, value or None). */
PyObject *n_select_cases(const s_tasklet *t);

/* ---- by the rules of the Stackless face (stackless.c) ----------------------- */

/* As n_send (but steals `value`) and n_receive; a bomb is raised, not received. */
PyObject *n_stackless_send(s_sched *s, n_channel *ch, PyObject *value, const c_call_site *site,
                           int *code);
PyObject *n_stackless_receive(s_sched *s, n_channel *ch, const c_call_site *site, int *code);

/* ---- states by the rules of Stackless (stackless_state.c) ------------------------ */

/* The tasklet that waits longest, or NULL: a new reference. */
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

/* What the channels of the Stackless face ask of the room above; set by it. */
typedef struct {
    PyTypeObject *bomb; /* its instances stand for an exception */
    /* The exception of a bomb, or the one that came up on the way: a new reference. */
    PyObject *(*explode)(PyObject *bomb);
    /* The current tasklet is about to act, or has acted on another thread's tasklet; its
     * value lies in wait.value.  0, or S_E_SET.  NULL: nobody wants to know. */
    int (*notify)(s_sched *s, n_channel *ch, int sending, int waits);
} n_hooks;
extern n_hooks n_hook;

#endif
