/* What threads send to each other's schedulers: messages and completions.  The theory is in
 * inbox.c. */
#ifndef LOOMLET_SCHED_INBOX_H
#define LOOMLET_SCHED_INBOX_H

#include "sched/types.h"

/* What a message asks for: called on the owner's thread with the tasklet, and an exception or NULL
 * (stolen). */
typedef void s_handler(s_sched *s, s_tasklet *t, PyObject *error);

typedef struct s_message {
    struct s_message *next;
    s_handler *handle;
    s_tasklet *task; /* owned */
    PyObject *error; /* owned, may be NULL */
} s_message;

/* The result of work on a thread without Python.  `complete` is called on the thread that it was
 * sent to, attached, between two tasklets; the tasklet that waited for it may have given up.
 * Tasklets that wait for completions are counted in s->completions. */
typedef struct s_completion {
    struct s_completion *next;
    void (*complete)(s_sched *s, struct s_completion *completion);
} s_completion;

/* Asks the owner of `t`, `to`.  Steals `error`.  S_E_THREAD: that thread has ended. */
int s_post_message(s_sched *to, s_handler *handle, s_tasklet *t, PyObject *error);
/* From any thread, attached or not.  0, or S_E_THREAD: that thread has ended, and the completion is
 * the sender's. */
int s_post_completion(s_sched *to, s_completion *completion);
/* Sends a claimed tasklet to its owner.  0: that thread has ended, and the tasklet is the caller's.
 */
int s_post_woken(s_sched *to, s_tasklet *t);
/* Asks the owner to call s_report_refresh.  Needs no memory; nothing when its thread has
 * ended. */
void s_post_refresh(s_sched *to);
/* Handles all that has come. */
void s_read_inbox(s_sched *s);
/* The thread ends: nothing more is accepted. */
void s_close_inbox(s_sched *s);

#endif
