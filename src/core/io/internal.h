/* What the files of this room share. */
#ifndef LOOMLET_IO_INTERNAL_H
#define LOOMLET_IO_INTERNAL_H

#include <errno.h>

#include "base/b_check.h"
#include "io/io.h"

typedef struct i_op i_op;

/* One kind of operation.  `attempt` runs under the descriptor's lock: > 0 done, 0 would have to
 * wait, or -errno.  `result` makes what the call returns; NULL without an exception: the iteration
 * is over. */
typedef struct {
    s_wait_kind wait;
    unsigned what; /* P_READ, P_WRITE */
    int iterates;  /* it ends with the descriptor, instead of raising */
    long (*attempt)(s_sched *s, i_op *op, int fd);
    PyObject *(*result)(s_sched *s, i_op *op);
} i_op_kind;

/* An operation under way: on the stack while it is tried for the first time, on the heap,
 * at t->on, while its tasklet waits. */
struct i_op {
    const i_op_kind *kind;
    i_desc *desc;
    union {
        char *data;     /* what is sent, or where to */
        int64_t offset; /* of send_file: from where on */
    };
    Py_ssize_t size, at; /* in all, and done */
    PyObject *object;    /* owned: bytes or a memoryview, in which `data` lies */
    int emptied;         /* it got less than was asked for */
    int file;            /* of send_file: what is sent; `object` keeps it open */
};

static inline b_link *i_desc_queue(i_desc *d, unsigned what)
{
    return what == P_READ ? &d->readers : &d->writers;
}

/* ---- reactor.c ---- */

/* Tries `op` (taken over) for the current tasklet, and waits if it must. */
PyObject *i_op_run(s_sched *s, i_op *op, const c_call_site *site, int *code);
/* The same, but the wait ends at `until` with what its kind gives when it is late. */
PyObject *i_op_run_until(s_sched *s, i_op *op, int64_t until, const c_call_site *site, int *code);
/* Tries `op`, which stays the caller's: > 0 done, 0 would have to wait, or a code. */
long i_op_try(s_sched *s, i_op *op);
/* Wakes a claimed tasklet: its operation is done (outcome > 0), or failed with a code. */
void i_op_finish(s_sched *s, s_tasklet *t, long outcome);
/* The first operation of this thread that waits on `d` is done, if it is of that kind: whether it
 * is. */
int i_op_finish_first(s_sched *s, i_desc *d, const i_op_kind *kind);
/* The parts of a s_wait_kind that all operations share. */
int i_op_detach(s_tasklet *t);
int i_op_target(const s_tasklet *t, int i, s_target *found);
void i_op_arrived(s_tasklet *t);
void i_reactor_ready(s_sched *s, const p_event *events, int count);
void i_reactor_after_fork(s_sched *s);

/* ---- desc.c ---- */

/* The descriptor that a tag names: its generation may be another by now. */
i_desc *i_desc_of_tag(uint64_t tag);
static inline uint64_t i_desc_tag(const i_desc *d)
{
    return (uint64_t)d->generation << 32 | d->index;
}
/* Calls each(s, d) for every descriptor that there ever was. */
void i_desc_for_each(s_sched *s, void (*each)(s_sched *s, i_desc *d));
void i_descs_after_fork(void);

#endif
