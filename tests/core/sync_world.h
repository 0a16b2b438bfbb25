/* The world of the models of sync/: OS threads whose tasklets wait for each other.  See
 * sync_world.c. */
#ifndef LOOMLET_TEST_SYNC_WORLD_H
#define LOOMLET_TEST_SYNC_WORLD_H

#include "explore.h"
#include "sync/gate.h"

#define SYNC_THREADS 2
#define SYNC_TASKLETS 4
#define SYNC_BLOCKS 16
#define SYNC_QUEUES 2

/* What a tasklet does, for the model.  WAITS: its call has not returned. */
enum { SYNC_AWAY, SYNC_WAITS, SYNC_HOLDS };

/* What a call that has not waited has given. */
typedef enum { SYNC_RETURNED, SYNC_RAISED } sync_outcome;

/* The part of a scheduler that differs between states. */
typedef struct {
    b_link ready, woken;
    struct s_message *messages, **messages_end;
    int has_messages, asleep;
    uint8_t flights[8]; /* what the thread has begun to send, in order: see sync_world.c */
} sync_thread;

typedef struct {
    union {
        y_lock lock;
        y_semaphore semaphore;
        y_queue queue;
        struct {
            y_lock lock;
            y_condition condition;
            uint8_t in_wait[SYNC_TASKLETS]; /* it has called wait(), not acquire() */
            Py_ssize_t called;              /* those that were notified, and have not returned */
        } guarded;
        struct {
            y_rwlock lock;
            uint8_t writes[SYNC_TASKLETS]; /* it has, or waits for, the lock for writing */
        } shared;
        struct {
            y_event event;
            uint8_t saw[SYNC_TASKLETS]; /* it was set while the tasklet waited */
            uint8_t is_set;
        } signal;
    } on;
    s_tasklet tasklets[SYNC_TASKLETS];
    sync_thread threads[SYNC_THREADS];
    struct {
        char bytes[64];
    } blocks[SYNC_BLOCKS];
    uint8_t used[SYNC_BLOCKS];
    uint8_t is[SYNC_TASKLETS], may_be_late[SYNC_TASKLETS], killed[SYNC_TASKLETS];
    uint8_t stood[SYNC_QUEUES][SYNC_TASKLETS]; /* who waits in each queue: its number plus 1 */
    PyObject items[SYNC_TASKLETS];             /* of a queue: one for each that puts */
    uint8_t life[SYNC_TASKLETS], taken[SYNC_TASKLETS], shut;
    const char *fault;
} sync_world;

/* What a model adds to the world. */
typedef struct {
    /* The i-th thing that a tasklet may do when it runs: 1, or 0 when it cannot now.  It does not
     * return from a call that waits. */
    int (*operate)(s_sched *s, int t, int i);
    /* A call that has waited is over; `value` is stolen, NULL with an exception. */
    void (*resume)(int t, PyObject *value, PyObject *error);
    const char *(*fault)(void);
    b_link *(*queue)(int i); /* its i-th queue of waiters; NULL if it has fewer */
    /* Whether t, which waited in the i-th queue, was served there; NULL: if it was given something.
     */
    int (*is_served)(int t, int i);
    void (*forget)(void); /* makes equal what means the same; or NULL */
    int operations;
    int tasklets; /* t runs on thread t % SYNC_THREADS */
} sync_model;

#define SYNC_OPERATIONS 7 /* at most */
extern sync_world sync_state;
/* Raised by a time that is over, a queue that is shut, and a kill. */
extern PyObject sync_late, sync_shut_down, sync_kill;

void sync_begin(const sync_model *model);
explore_result sync_explore(int quiet);
/* Tasklet t has called something that gave `value` or an exception with that code. */
sync_outcome sync_note_call(int t, const PyObject *value, int code);
/* A call of t that has waited is over, by `value` or an exception: it may be late, and interrupted
 * by a kill. */
void sync_note_end(int t, const PyObject *value, const PyObject *error);
/* `resume` of a model whose calls return True when t holds what it waited for. */
void sync_resume_holder(int t, PyObject *value, PyObject *error);
/* It was claimed by somebody who gave it something, and has not run since. */
int sync_is_given(int t);
s_sched *sync_thread_of(int t);
int sync_count_waiting(const b_link *queue);

#endif
