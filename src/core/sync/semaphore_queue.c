/* The waiters of semaphores, in a table by address.  See semaphore_queue.h. */
#include "sync/semaphore_queue.h"

#include "cpython/semlock.h"
#include "sched/guests/thread_identity.h"

#define BUCKETS 64
#define PAUSE_FIRST 500000
#define PAUSE_LONGEST 20000000

struct y_semaphore_waiter {
    b_link link;     /* in its bucket, by number */
    b_link sleeping; /* its tasklet, while that is suspended */
    s_sched *s;
    const void *semaphore;
    PyObject *shown;
    uint64_t number; /* in the order of arrival */
    int64_t pause;
    int signalled;
};

static b_link buckets[BUCKETS];
static c_lock guard;
static uint64_t arrivals;
static int waiters; /* in the table */

static int leave_sleep(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

static int semaphore_target(const s_tasklet *t, int i, s_target *found)
{
    PyObject *shown = ((y_semaphore_waiter *)t->on)->shown;
    found->object = shown;
    s_set_target_owner(found, c_semlock_is_recursive(shown) ? c_semlock_owner(shown) : 0);
    return i == 0;
}

static const s_wait_kind acquiring = {.name = "acquire",
                                      .detach = leave_sleep,
                                      .target = semaphore_target,
                                      .late = Py_False,
                                      .resumable = 1};

/* ---- the table; under the guard ------------------------------------------------------------ */

static b_link *semaphore_bucket(const void *semaphore)
{
    b_link *bucket = &buckets[((uintptr_t)semaphore >> 5) % BUCKETS];
    if (!b_linked(bucket))
        b_list_init(bucket);
    return bucket;
}

static y_semaphore_waiter *waiter_of_link(b_link *link)
{
    return B_CONTAINER(link, y_semaphore_waiter, link);
}

/* The first one, of `s` only unless that is NULL. */
static y_semaphore_waiter *first_in_line(const void *semaphore, const s_sched *s)
{
    b_link *bucket = semaphore_bucket(semaphore);
    for (b_link *at = bucket->next; at != bucket; at = at->next) {
        y_semaphore_waiter *w = waiter_of_link(at);
        if (w->semaphore == semaphore && (s == NULL || w->s == s))
            return w;
    }
    return NULL;
}

/* Enters it where its number belongs, unless it is in the table. */
static void enter_table(y_semaphore_waiter *w)
{
    if (b_linked(&w->link))
        return;
    b_link *bucket = semaphore_bucket(w->semaphore), *at = bucket->prev;
    while (at != bucket && waiter_of_link(at)->number > w->number)
        at = at->prev;
    b_insert_after(at, &w->link);
    __atomic_add_fetch(&waiters, 1, __ATOMIC_SEQ_CST);
}

/* Its tasklet if that sleeps, owned by the caller; or NULL. */
static s_tasklet *signal_waiter(y_semaphore_waiter *w)
{
    if (w == NULL)
        return NULL;
    w->signalled = 1;
    b_link *sleeper = b_first(&w->sleeping);
    return sleeper != NULL ? s_dequeue(sleeper) : NULL;
}

/* ---- waiting ------------------------------------------------------------------------------- */

static void wake_signalled(s_sched *s, s_tasklet *t)
{
    if (t == NULL)
        return;
    t->wait.value = Py_NewRef(Py_True);
    s_wake(s, t);
}

int y_semaphore_has_waiters(const void *semaphore)
{
    if (__atomic_load_n(&waiters, __ATOMIC_SEQ_CST) == 0)
        return 0;
    c_lock_take(&guard);
    int awaited = first_in_line(semaphore, NULL) != NULL;
    c_lock_give(&guard);
    return awaited;
}

y_semaphore_waiter *y_semaphore_join(s_sched *s, const void *semaphore, PyObject *shown)
{
    y_semaphore_waiter *w = c_calloc(sizeof(*w));
    if (w == NULL)
        return NULL;
    *w = (y_semaphore_waiter){.s = s, .semaphore = semaphore, .shown = shown, .pause = PAUSE_FIRST};
    b_list_init(&w->sleeping);
    c_lock_take(&guard);
    w->number = ++arrivals;
    enter_table(w);
    c_lock_give(&guard);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return w;
}

int y_semaphore_is_first(const y_semaphore_waiter *w)
{
    c_lock_take(&guard);
    int is_first = first_in_line(w->semaphore, NULL) == w;
    c_lock_give(&guard);
    return is_first;
}

/* When it looks again without a signal. */
static int64_t end_of_pause(y_semaphore_waiter *w, int64_t until)
{
    c_lock_take(&guard);
    enter_table(w);
    int looks = first_in_line(w->semaphore, w->s) == w;
    c_lock_give(&guard);
    if (!looks)
        return until;
    int64_t then = s_now(w->s) + w->pause;
    w->pause = w->pause * 2 < PAUSE_LONGEST ? w->pause * 2 : PAUSE_LONGEST;
    return then < until ? then : until;
}

/* Whether a signal was waiting; otherwise the current tasklet is queued. */
static int take_signal_or_queue(y_semaphore_waiter *w)
{
    c_lock_take(&guard);
    int signalled = w->signalled;
    w->signalled = 0;
    if (!signalled)
        s_enqueue(w->s->current, &w->sleeping, &acquiring, w);
    c_lock_give(&guard);
    return signalled;
}

int y_semaphore_sleep(y_semaphore_waiter *w, int64_t until)
{
    s_sched *s = w->s;
    s_meet_again();
    int code = s_may_block(s);
    if (code == S_OK)
        code = s_deadline_set(s, s->current, end_of_pause(w, until));
    if (code < 0)
        return code;
    if (take_signal_or_queue(w)) {
        s_deadline_drop(s, s->current);
        return 0;
    }
    PyObject *done = s_suspend(s, NULL);
    if (s_signalled(s) < 0)
        Py_CLEAR(done);
    if (done == NULL)
        return S_E_SET;
    Py_DECREF(done);
    return done == Py_False;
}

void y_semaphore_leave(y_semaphore_waiter *w)
{
    s_tasklet *first = NULL, *beside = NULL;
    s_meet_again();
    c_lock_take(&guard);
    if (b_linked(&w->link)) {
        b_unlink(&w->link);
        __atomic_sub_fetch(&waiters, 1, __ATOMIC_SEQ_CST);
        first = signal_waiter(first_in_line(w->semaphore, NULL));
        beside = signal_waiter(first_in_line(w->semaphore, w->s));
    }
    c_lock_give(&guard);
    wake_signalled(w->s, first);
    wake_signalled(w->s, beside);
    PyMem_Free(w);
}

void y_semaphore_released(s_sched *s, const void *semaphore)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&waiters, __ATOMIC_SEQ_CST) == 0)
        return;
    s_meet_again();
    c_lock_take(&guard);
    s_tasklet *t = signal_waiter(first_in_line(semaphore, NULL));
    c_lock_give(&guard);
    wake_signalled(s, t);
}

/* ---- fork ---------------------------------------------------------------------------------- */

void y_semaphore_after_fork(s_sched *s)
{
    memset(&guard, 0, sizeof(guard));
    waiters = 0;
    for (int i = 0; i < BUCKETS; i++) {
        while (b_linked(&buckets[i]) && !b_list_empty(&buckets[i])) {
            y_semaphore_waiter *w = waiter_of_link(buckets[i].next);
            b_unlink(&w->link);
            s_tasklet *t = signal_waiter(w);
            if (t != NULL && w->s == s)
                wake_signalled(s, t);
        }
    }
}
