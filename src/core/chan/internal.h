/* What channel.c and select.c share. */
#ifndef LOOMLET_CHAN_INTERNAL_H
#define LOOMLET_CHAN_INTERNAL_H

#include "base/b_check.h"
#include "chan/chan.h"

typedef struct n_selection n_selection;

/* A case of a blocked select, as a place in a channel's queue. */
typedef struct {
    s_wait wait;
    n_selection *selection;
    n_channel *channel;
} n_place;

struct n_selection {
    int count, claimed;
    n_place places[];
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

int n_select_claim(s_wait *wait);
s_tasklet *n_select_settle(s_wait *wait, PyObject *value, PyObject *error);
void n_select_forget(s_wait *wait);

#endif
