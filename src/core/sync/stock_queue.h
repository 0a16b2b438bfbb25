/* What the files of stock locks share: stock.c, stock_queue.c, stock_wait.c. */
#ifndef LOOMLET_STOCK_QUEUE_H
#define LOOMLET_STOCK_QUEUE_H

#include "sync/stock.h"

typedef struct y_queue y_queue;

/* What one tasklet waits for: on the C stack of its acquire(); its `on` points here. */
typedef struct {
    PyObject *lock;
    y_queue *queue;
    unsigned long long ident; /* whose the lock shall be */
    size_t count;             /* an RLock is taken so often */
    int granted;              /* it has been handed over */
} y_want;

/* Takes the lock for `ident` if it is free, or its own (stock.c): 1, 0, -1 with an exception. */
int y_stock_take(PyObject *lock, unsigned long long ident, size_t count);
/* The same, of a lock that is not its own. */
int y_stock_take_free(PyObject *lock, unsigned long long ident, size_t count);
/* The interpreter's acquire() of an OS thread that is counted meanwhile. */
PyObject *y_stock_wait_as_thread(PyObject *lock, PyObject *args, PyObject *kwargs);

/* Queues the current tasklet, unless the lock is to be had now: 1 when it was, 0, or S_E_. */
int y_queue_join(s_tasklet *me, y_want *want, const s_wait_kind *kind);
/* Takes a waiting tasklet out: 1, or 0 when the lock was handed to it first. */
int y_queue_leave(s_tasklet *t);
/* An OS thread begins to wait inside the lock: 0 without memory; and waits no longer. */
int y_queue_thread_begins(PyObject *lock);
void y_queue_thread_ends(PyObject *lock);
/* Before anything is freed in what may be the child of a fork. */
void y_queue_look_for_fork(s_sched *s);

#endif
