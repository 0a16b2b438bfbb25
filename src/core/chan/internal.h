/* What channel.c and select.c share. */
#ifndef LOOMLET_CHAN_INTERNAL_H
#define LOOMLET_CHAN_INTERNAL_H

#include "base/b_check.h"
#include "chan/chan.h"

typedef struct n_selection n_selection;

/* A case of a blocked select, queued in a channel. */
typedef struct {
    s_wait wait;
    n_selection *selection;
    n_channel *channel;
} n_select_node;

struct n_selection {
    int count, claimed;
    PyObject *closed; /* the value of a case whose channel is closed, or NULL */
    n_select_node nodes[];
};

static inline s_wait *n_wait_of(b_link *link)
{
    return B_CONTAINER(link, s_wait, link);
}

static inline int n_is_case(const s_wait *wait)
{
    return wait != &wait->task->wait;
}

extern const s_wait_kind n_sending, n_receiving, n_iterating;
extern const s_wait_kind n_stackless_sending, n_stackless_receiving, n_stackless_iterating;

static inline int n_iterates(const s_tasklet *t)
{
    return t->kind == &n_iterating || t->kind == &n_stackless_iterating;
}

extern const s_wait_kind n_selecting;

/* The nodes for a select that has to wait, and the beginning of the wait of `t`: 1, or 0 if a case
 * was done meanwhile, as n_select. */
n_selection *n_selection_new(s_tasklet *t, const n_choice *choice);
void n_selection_free(n_selection *selection);
int n_selection_queue(s_sched *s, n_selection *selection, const n_choice *choice, PyObject **result,
                      int *at, int *code);

int n_select_claim(s_wait *wait);
s_tasklet *n_select_set_outcome(s_wait *wait, PyObject *value, PyObject *error);
void n_select_forget(s_wait *wait);
/* What the select of a claimed case gives for a closed channel: borrowed, or NULL. */
PyObject *n_select_closed(const s_wait *wait);

#endif
