/* What threads send to each other's schedulers: requests and parcels.  The theory is in mail.c. */
#ifndef LOOMLET_SCHED_MAIL_H
#define LOOMLET_SCHED_MAIL_H

#include "sched/sched.h"

/* What a thread without Python sends home.  It is opened there, attached, between two tasklets;
 * who waited for it may have gone on.  Tasklets that wait for one are counted in s->completions. */
typedef struct s_completion {
    struct s_completion *next;
    void (*open)(s_sched *s, struct s_completion *parcel);
} s_completion;

/* Requests to another thread's tasklet. */
enum s_request {
    S_ASK_INSERT,
    S_ASK_REMOVE,
    S_ASK_RUN,
    S_ASK_THROW,
    S_ASK_INTERRUPT,
    S_ASK_CANCEL
};

typedef struct s_message {
    struct s_message *next;
    enum s_request request;
    s_tasklet *task; /* owned */
    PyObject *error; /* owned, may be NULL */
} s_message;

/* Steals `error`.  S_E_THREAD: that thread has ended. */
int s_post_message(s_sched *to, enum s_request request, s_tasklet *t, PyObject *error);
/* Any thread, attached or not.  0, or S_E_THREAD: that thread has ended, the parcel is the
 * sender's. */
int s_post_completion(s_sched *to, s_completion *parcel);
/* The home does what it was asked, and opens what it was sent. */
void s_read_inbox(s_sched *s);
/* Takes no more mail. */
void s_close_inbox(s_sched *s);

#endif
