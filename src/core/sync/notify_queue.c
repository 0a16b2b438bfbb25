/* The waiters of all notify queues, in a table by address.  See notify_queue.h. */
#include "sync/notify_queue.h"

#define BUCKETS 64

/* On the C stack of a wait; its tasklet's `on` points here. */
typedef struct {
    PyObject *object;
    int notified;
} notify_wait;

static b_link buckets[BUCKETS];
static c_lock guard;
static uint64_t count; /* of all notifications */

static int leave_table(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

static int notify_target(const s_tasklet *t, int i, s_target *found)
{
    found->object = ((notify_wait *)t->on)->object;
    return i == 0;
}

static const s_wait_kind getting = {.name = "get",
                                    .detach = leave_table,
                                    .target = notify_target,
                                    .late = Py_False,
                                    .resumable = 1};

static b_link *object_bucket(const PyObject *object)
{
    b_link *bucket = &buckets[((uintptr_t)object >> 4) % BUCKETS];
    if (!b_linked(bucket))
        b_list_init(bucket);
    return bucket;
}

uint64_t y_notify_ticket(void)
{
    return __atomic_load_n(&count, __ATOMIC_SEQ_CST);
}

/* 1 if it is queued, 0 if there was a notification. */
static int queue_unless_notified(s_tasklet *me, notify_wait *w, uint64_t ticket)
{
    c_lock_take(&guard);
    int quiet = y_notify_ticket() == ticket;
    if (quiet)
        s_enqueue(me, object_bucket(w->object), &getting, w);
    c_lock_give(&guard);
    return quiet;
}

PyObject *y_notify_wait(s_sched *s, PyObject *object, uint64_t ticket, int64_t until, int *code)
{
    notify_wait w = {.object = object};
    s_meet_again();
    *code = s_may_block(s);
    if (*code == S_OK)
        *code = s_deadline_set(s, s->current, until);
    if (*code < 0)
        return NULL;
    if (!queue_unless_notified(s->current, &w, ticket)) {
        s_deadline_drop(s, s->current);
        return Py_NewRef(Py_True);
    }
    PyObject *done = s_suspend(s, NULL);
    if (s_signalled(s) < 0)
        Py_CLEAR(done);
    if (done == NULL) {
        *code = S_E_SET;
        if (w.notified)
            y_notify_one(s, object);
    }
    return done;
}

static s_tasklet *claim_first(const PyObject *object)
{
    b_link *bucket = object_bucket(object);
    for (b_link *at = bucket->next; at != bucket; at = at->next) {
        notify_wait *w = s_of_link(at)->on;
        if (w->object != object)
            continue;
        w->notified = 1;
        return s_dequeue(at);
    }
    return NULL;
}

void y_notify_one(s_sched *s, PyObject *object)
{
    s_meet_again();
    c_lock_take(&guard);
    __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    s_tasklet *t = claim_first(object);
    c_lock_give(&guard);
    if (t != NULL) {
        t->wait.value = Py_NewRef(Py_True);
        s_wake(s, t);
    }
}

/* The tasklets of other threads no longer wait. */
void y_notify_after_fork(const s_sched *s)
{
    memset(&guard, 0, sizeof(guard));
    for (int i = 0; i < BUCKETS; i++) {
        b_link *at = b_linked(&buckets[i]) ? buckets[i].next : &buckets[i];
        while (at != &buckets[i]) {
            b_link *next = at->next;
            if (s_of_link(at)->owner != s)
                s_dequeue(at);
            at = next;
        }
    }
}
