/* Who waits for news, in a table by address.  See notify_queue.h. */
#include "sync/notify_queue.h"

#define BUCKETS 64

/* On the C stack of a wait; its tasklet's `on` points here. */
typedef struct {
    PyObject *object;
    int told;
} wanted;

static b_link buckets[BUCKETS];
static c_lock guard;
static uint64_t count; /* of all news */

static int leave(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

static int target(const s_tasklet *t, int i, s_target *found)
{
    found->object = ((wanted *)t->on)->object;
    return i == 0;
}

static const s_wait_kind getting = {
    .name = "get", .detach = leave, .target = target, .late = Py_False};

static b_link *bucket_of(const PyObject *object)
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

/* 1 when it is queued, 0 when there has been news. */
static int queue(s_tasklet *me, wanted *w, uint64_t seen)
{
    c_lock_take(&guard);
    int quiet = y_notify_ticket() == seen;
    if (quiet)
        s_enqueue(me, bucket_of(w->object), &getting, w);
    c_lock_give(&guard);
    return quiet;
}

PyObject *y_notify_wait(s_sched *s, PyObject *object, uint64_t seen, int64_t until, int *code)
{
    wanted w = {.object = object};
    *code = s_may_block(s);
    if (*code == S_OK)
        *code = s_deadline_set(s, s->current, until);
    if (*code < 0)
        return NULL;
    if (!queue(s->current, &w, seen)) {
        s_deadline_drop(s, s->current);
        return Py_NewRef(Py_True);
    }
    PyObject *done = s_suspend(s, NULL);
    if (done == NULL) {
        *code = S_E_SET;
        if (w.told)
            y_notify_one(s, object);
    }
    return done;
}

static s_tasklet *claim(const PyObject *object)
{
    b_link *bucket = bucket_of(object);
    for (b_link *at = bucket->next; at != bucket; at = at->next) {
        wanted *w = s_of_link(at)->on;
        if (w->object != object)
            continue;
        w->told = 1;
        return s_dequeue(at);
    }
    return NULL;
}

void y_notify_one(s_sched *s, PyObject *object)
{
    c_lock_take(&guard);
    __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    s_tasklet *t = claim(object);
    c_lock_give(&guard);
    if (t != NULL) {
        t->wait.value = Py_NewRef(Py_True);
        s_wake(s, t);
    }
}

/* The tasklets of other threads wait no more. */
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
