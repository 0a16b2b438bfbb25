/* The tasklets that wait for external descriptors, by descriptor number.  See external.h. */
#include "io/external.h"

#include <errno.h>
#include <string.h>

#define BUCKETS 1024

static b_link buckets[BUCKETS];
static c_lock guard;

static const i_external_request *request_of(const s_tasklet *t)
{
    return t->on;
}

static int external_detach(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

static PyObject *external_object(s_tasklet *t)
{
    return Py_XNewRef(request_of(t)->owner);
}

#define KIND(word)                                                                                 \
    {.name = word,                                                                                 \
     .detach = external_detach,                                                                    \
     .object = external_object,                                                                    \
     .late = Py_False,                                                                             \
     .resumable = 1}

static const s_wait_kind reading = KIND("read");
static const s_wait_kind writing = KIND("write");
static const s_wait_kind unfinished = {.name = "read",
                                       .detach = external_detach,
                                       .object = external_object,
                                       .late = Py_False,
                                       .unfinished = 1,
                                       .resumable = 1};

/* ---- the table; under the guard ------------------------------------------------- */

static b_link *bucket_of_fd(int fd)
{
    b_link *bucket = &buckets[(unsigned)fd % BUCKETS];
    if (!b_linked(bucket))
        b_list_init(bucket);
    return bucket;
}

/* The next after `at` that waits for `fd` by this scheduler (NULL: by any); or NULL. */
static s_tasklet *next_waiter(b_link *bucket, b_link *at, int fd, const s_sched *s)
{
    for (at = at->next; at != bucket; at = at->next) {
        s_tasklet *t = s_of_link(at);
        if (request_of(t)->fd == fd && (s == NULL || t->owner == s))
            return t;
    }
    return NULL;
}

/* Arms the poller for `what` and for all that wait already: 0, or an errno. */
static int arm_poller(s_sched *s, b_link *bucket, int fd, unsigned what)
{
    s_tasklet *t = next_waiter(bucket, bucket, fd, s);
    for (; t != NULL; t = next_waiter(bucket, &t->wait.link, fd, s))
        what |= request_of(t)->what;
    if (what == 0)
        return 0;
    return p_poller_arm(&s->poller, fd, what, (uint64_t)fd << 32 | I_EXTERNAL) < 0 ? errno : 0;
}

/* ---- waiting ---------------------------------------------------------------------- */

/* Queues the current tasklet: 0, or an errno when the poller does not take the descriptor. */
static int queue_request(s_sched *s, i_external_request *request, const s_wait_kind *kind)
{
    c_lock_take(&guard);
    b_link *bucket = bucket_of_fd(request->fd);
    int refused = arm_poller(s, bucket, request->fd, request->what);
    if (refused == 0)
        s_enqueue(s->current, bucket, kind, request);
    c_lock_give(&guard);
    return refused;
}

/* 1: no need to wait.  0: the caller must s_suspend.  Or a code. */
static int begin_external_wait(s_sched *s, i_external_request *request, const s_wait_kind *kind,
                               int64_t until)
{
    int code = s_begin_poll_wait(s, until);
    if (code < 0)
        return code;
    int refused = queue_request(s, request, kind);
    if (refused == 0)
        return 0;
    s_deadline_drop(s, s->current);
    return refused == ENOMEM || refused == ENOSPC ? S_E_SYSTEM - refused : 1;
}

PyObject *i_external_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until,
                          int *code)
{
    i_external_request request = {fd, what, owner};
    int begun = begin_external_wait(s, &request, what == P_READ ? &reading : &writing, until);
    *code = begun < 0 ? begun : S_OK;
    if (begun != 0)
        return begun > 0 ? Py_NewRef(Py_True) : NULL;
    s->io_waits++;
    PyObject *done = s_suspend(s, NULL);
    s->io_waits--;
    if (s_signalled(s) < 0)
        Py_CLEAR(done);
    if (done == NULL)
        *code = S_E_SET;
    return done;
}

PyObject *i_external_wait_with(s_sched *s, i_external_request *request, s_rest *rest, int64_t until,
                               const c_call_site *site, int *code)
{
    rest->woken = Py_True;
    int begun = begin_external_wait(s, request, &unfinished, until);
    *code = begun < 0 ? begun : S_E_SET;
    if (begun == 0)
        return s_suspend_unfinished(s, (PyObject *)rest, site);
    if (begun < 0)
        Py_CLEAR(rest);
    return (PyObject *)rest;
}

/* ---- waking ------------------------------------------------------------------------ */

static void wake_to_retry(s_sched *s, s_tasklet *t)
{
    s_give(t, Py_True);
    s_wake(s, t);
}

/* The first that waits for one of `what`: claimed; or NULL. */
static s_tasklet *claim_by_direction(s_sched *s, b_link *bucket, int fd, unsigned what)
{
    s_tasklet *t = next_waiter(bucket, bucket, fd, s);
    while (t != NULL && !(request_of(t)->what & what))
        t = next_waiter(bucket, &t->wait.link, fd, s);
    return t != NULL ? s_dequeue(&t->wait.link) : NULL;
}

void i_external_ready(s_sched *s, const p_event *event)
{
    int fd = (int)(event->tag >> 32);
    c_lock_take(&guard);
    b_link *bucket = bucket_of_fd(fd);
    s_tasklet *reader = claim_by_direction(s, bucket, fd, event->what & P_READ);
    s_tasklet *writer = claim_by_direction(s, bucket, fd, event->what & P_WRITE);
    arm_poller(s, bucket, fd, 0);
    c_lock_give(&guard);
    if (reader != NULL)
        wake_to_retry(s, reader);
    if (writer != NULL)
        wake_to_retry(s, writer);
}

static s_tasklet *claim_by_owner(int fd, const PyObject *owner)
{
    c_lock_take(&guard);
    b_link *bucket = bucket_of_fd(fd);
    s_tasklet *t = next_waiter(bucket, bucket, fd, NULL);
    while (t != NULL && request_of(t)->owner != owner)
        t = next_waiter(bucket, &t->wait.link, fd, NULL);
    if (t != NULL)
        s_dequeue(&t->wait.link);
    c_lock_give(&guard);
    return t;
}

void i_external_closed(s_sched *s, int fd, const PyObject *owner)
{
    s_tasklet *t;
    if (fd < 0)
        return;
    s_meet_again();
    while ((t = claim_by_owner(fd, owner)) != NULL)
        wake_to_retry(s, t);
}

void i_external_claim(int fd, b_link *claimed)
{
    b_list_init(claimed);
    if (fd < 0)
        return;
    c_lock_take(&guard);
    b_link *bucket = bucket_of_fd(fd);
    s_tasklet *t;
    while ((t = next_waiter(bucket, bucket, fd, NULL)) != NULL) {
        s_dequeue(&t->wait.link);
        b_append(claimed, &t->wait.link);
    }
    c_lock_give(&guard);
}

/* ---- fork --------------------------------------------------------------------------- */

/* Those of other threads do not run here.  Ours try again, because what they wait for may be shared
 * with the parent and have to be made anew. */
void i_external_after_fork(s_sched *s)
{
    memset(&guard, 0, sizeof(guard));
    for (int i = 0; i < BUCKETS; i++) {
        b_link *at = b_linked(&buckets[i]) ? buckets[i].next : &buckets[i];
        while (at != &buckets[i]) {
            s_tasklet *t = s_dequeue(at);
            at = buckets[i].next;
            if (t->owner == s)
                wake_to_retry(s, t);
        }
    }
}
