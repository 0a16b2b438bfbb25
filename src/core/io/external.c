/* Waiting for a descriptor that belongs to somebody else: the stock sockets, a set, an epoll.
 *
 * Nothing is known of such a descriptor: it may be closed behind our back, its number may be used
 * again, and other threads and processes read and write it.  So nothing is remembered of it
 * between two waits: each one arms the poller anew (p_poller_arm), which tells once, also when
 * the descriptor is ready by then.  And a wake-up promises nothing: who is woken tries again and,
 * if it must, waits again.  An event that comes late, of a number that is somebody else's by
 * now, wakes in vain at worst; that is why it needs no generation.
 *
 * Who waits is in a table by number, whatever its thread; an event wakes the first of its thread
 * for each direction and arms the poller for the rest.  Always hard: the caller has to try
 * again, in C.  What is waited for lies on that stack.
 *
 * A file or a number that the poller does not take counts as ready: the caller's next try tells
 * what is wrong.
 *
 * Threads.  `guard` covers the table without a GIL; a tasklet waits and is told on its own
 * thread, but for i_external_closed, which any thread may call.
 *
 * Rejected: an i_desc for each such descriptor (its registration stays, which is right only if we
 * hear of every close); asking at each wait whether it is still the same (a system call, as
 * arming is).
 */
#include <string.h>

#include "io/internal.h"

#define BUCKETS 1024

typedef struct {
    int fd;
    unsigned what;
    PyObject *owner; /* borrowed: the caller's */
} wanted;

static b_link buckets[BUCKETS];
static c_lock guard;

static int leave(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

static PyObject *waited_for(s_tasklet *t)
{
    return Py_XNewRef(((wanted *)t->on)->owner);
}

#define KIND(word) {.name = word, .detach = leave, .object = waited_for, .late = Py_False}

static const s_wait_kind reading = KIND("read");
static const s_wait_kind writing = KIND("write");

/* ---- the table; under the guard ------------------------------------------------- */

static b_link *bucket_of(int fd)
{
    b_link *bucket = &buckets[(unsigned)fd % BUCKETS];
    if (!b_linked(bucket))
        b_list_init(bucket);
    return bucket;
}

/* The next behind `at` that waits for `fd` by this scheduler (NULL: by any); or NULL. */
static s_tasklet *next_of(b_link *bucket, b_link *at, int fd, const s_sched *s)
{
    for (at = at->next; at != bucket; at = at->next) {
        s_tasklet *t = s_of_link(at);
        if (((wanted *)t->on)->fd == fd && (s == NULL || t->owner == s))
            return t;
    }
    return NULL;
}

/* 0, or an errno. */
static int arm(s_sched *s, int fd, unsigned what)
{
    b_link *bucket = bucket_of(fd);
    s_tasklet *t = next_of(bucket, bucket, fd, s);
    for (; t != NULL; t = next_of(bucket, &t->wait.link, fd, s))
        what |= ((wanted *)t->on)->what;
    if (what == 0)
        return 0;
    return p_poller_arm(&s->poller, fd, what, (uint64_t)fd << 32 | I_EXTERNAL) < 0 ? errno : 0;
}

/* ---- waiting ---------------------------------------------------------------------- */

/* 1: no need to wait.  0: the caller must s_suspend.  Or a code. */
static int begin(s_sched *s, wanted *w, int64_t until)
{
    s_tasklet *me = s->current;
    int code = s_may_block(s);
    if (code == S_OK)
        code = s_poll_begin(s);
    if (code == S_OK)
        code = s_deadline_set(s, me, until);
    if (code < 0)
        return code;
    c_lock_take(&guard);
    int refused = arm(s, w->fd, w->what);
    if (refused == 0)
        s_enqueue(me, bucket_of(w->fd), w->what == P_READ ? &reading : &writing, w);
    c_lock_give(&guard);
    if (refused == 0)
        return 0;
    s_deadline_drop(s, me);
    return refused == ENOMEM || refused == ENOSPC ? S_E_SYSTEM - refused : 1;
}

PyObject *i_external_wait(s_sched *s, int fd, unsigned what, PyObject *owner, int64_t until,
                          int *code)
{
    wanted w = {fd, what, owner};
    int begun = begin(s, &w, until);
    *code = begun < 0 ? begun : S_OK;
    if (begun != 0)
        return begun > 0 ? Py_NewRef(Py_True) : NULL;
    s->io_waits++;
    PyObject *done = s_suspend(s, NULL);
    s->io_waits--;
    if (done == NULL)
        *code = S_E_SET;
    return done;
}

/* ---- waking ------------------------------------------------------------------------ */

static void wake(s_sched *s, s_tasklet *t)
{
    t->wait.value = Py_NewRef(Py_True);
    s_wake(s, t);
}

/* The first that waits for one of `what`: claimed; or NULL. */
static s_tasklet *claim(s_sched *s, int fd, unsigned what)
{
    b_link *bucket = bucket_of(fd);
    s_tasklet *t = next_of(bucket, bucket, fd, s);
    while (t != NULL && !(((wanted *)t->on)->what & what))
        t = next_of(bucket, &t->wait.link, fd, s);
    return t != NULL ? s_dequeue(&t->wait.link) : NULL;
}

void i_external_ready(s_sched *s, const p_event *event)
{
    int fd = (int)(event->tag >> 32);
    c_lock_take(&guard);
    s_tasklet *reader = claim(s, fd, event->what & P_READ);
    s_tasklet *writer = claim(s, fd, event->what & P_WRITE);
    arm(s, fd, 0);
    c_lock_give(&guard);
    if (reader != NULL)
        wake(s, reader);
    if (writer != NULL)
        wake(s, writer);
}

static s_tasklet *claim_of(int fd, const PyObject *owner)
{
    b_link *bucket = bucket_of(fd);
    c_lock_take(&guard);
    s_tasklet *t = next_of(bucket, bucket, fd, NULL);
    while (t != NULL && ((wanted *)t->on)->owner != owner)
        t = next_of(bucket, &t->wait.link, fd, NULL);
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
    while ((t = claim_of(fd, owner)) != NULL)
        wake(s, t);
}

void i_external_claim(int fd, b_link *claimed)
{
    b_list_init(claimed);
    if (fd < 0)
        return;
    c_lock_take(&guard);
    b_link *bucket = bucket_of(fd);
    s_tasklet *t;
    while ((t = next_of(bucket, bucket, fd, NULL)) != NULL) {
        s_dequeue(&t->wait.link);
        b_append(claimed, &t->wait.link);
    }
    c_lock_give(&guard);
}

void i_external_wake(s_sched *s, b_link *claimed)
{
    for (b_link *at; (at = b_first(claimed)) != NULL;) {
        s_tasklet *t = s_of_link(at);
        b_unlink(at);
        t->wait.value = Py_NewRef(Py_None);
        s_wake(s, t);
    }
}

/* ---- fork --------------------------------------------------------------------------- */

/* Those of other threads do not run here; ours try again, for what they wait for may be shared
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
                wake(s, t);
        }
    }
}
