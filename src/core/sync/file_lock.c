/* The waiters for locks of files, in one list: a program has few.  See file_lock.h. */
#include "sync/file_lock.h"

static b_link waiters;
static c_lock guard;
static int count; /* of waiters, those included that have been woken and have not run yet */

static int leave_list(s_tasklet *t)
{
    return s_leave_queue(t, &guard);
}

#define KIND(word) {.name = word, .detach = leave_list, .late = Py_False, .resumable = 1}

static const s_wait_kind of_file = KIND("flock");
static const s_wait_kind of_range = KIND("lockf");

static const y_file_lock_request *request_at(b_link *link)
{
    return s_of_link(link)->on;
}

static void init_list(void)
{
    if (!b_linked(&waiters))
        b_list_init(&waiters);
}

int y_file_lock_any(void)
{
    return __atomic_load_n(&count, __ATOMIC_SEQ_CST) > 0;
}

/* ---- waiting ---------------------------------------------------------------------------- */

static void join_list(s_tasklet *me, y_file_lock_request *request)
{
    c_lock_take(&guard);
    init_list();
    s_enqueue(me, &waiters, request->of_range ? &of_range : &of_file, request);
    c_lock_give(&guard);
}

PyObject *y_file_lock_wait(s_sched *s, y_file_lock_request *request, int64_t until, int *code)
{
    s_meet_again();
    *code = s_may_block(s);
    if (*code == S_OK)
        *code = s_deadline_set(s, s->current, until);
    if (*code < 0)
        return NULL;
    __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    join_list(s->current, request);
    PyObject *done = s_suspend(s, NULL);
    __atomic_sub_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (s_signalled(s) < 0)
        Py_CLEAR(done);
    if (done == NULL) { /* it may have been woken before */
        *code = S_E_SET;
        y_file_lock_released(s, &request->file, request->of_range);
    }
    return done;
}

/* ---- waking ----------------------------------------------------------------------------- */

static int is_waiting_for(const y_file_lock_request *request, const p_file_id *file, int range)
{
    return request->file.device == file->device && request->file.inode == file->inode &&
           request->of_range == range;
}

static s_tasklet *claim_by_identity(const p_file_id *file, int range)
{
    for (b_link *at = waiters.next; at != &waiters; at = at->next) {
        if (is_waiting_for(request_at(at), file, range))
            return s_dequeue(at);
    }
    return NULL;
}

/* Moves those that shall be woken into `claimed`. */
static void claim_by_file(const p_file_id *file, int range, b_link *claimed)
{
    s_tasklet *t;
    b_list_init(claimed);
    c_lock_take(&guard);
    init_list();
    do {
        t = claim_by_identity(file, range);
        if (t != NULL)
            b_append(claimed, &t->wait.link);
    } while (t != NULL && range);
    c_lock_give(&guard);
}

void y_file_lock_released(s_sched *s, const p_file_id *file, int range)
{
    b_link claimed;
    if (!y_file_lock_any())
        return;
    s_meet_again();
    claim_by_file(file, range, &claimed);
    s_wake_all(s, &claimed, Py_True);
}

void y_file_lock_claim(int fd, b_link *claimed)
{
    b_list_init(claimed);
    c_lock_take(&guard);
    init_list();
    for (b_link *at = waiters.next, *next; at != &waiters; at = next) {
        next = at->next;
        if (request_at(at)->fd != fd)
            continue;
        s_dequeue(at);
        b_append(claimed, at);
    }
    c_lock_give(&guard);
}

/* The tasklets of other threads no longer wait. */
void y_file_lock_after_fork(const s_sched *s)
{
    memset(&guard, 0, sizeof(guard));
    init_list();
    for (b_link *at = waiters.next, *next; at != &waiters; at = next) {
        next = at->next;
        if (s_of_link(at)->owner == s)
            continue;
        s_dequeue(at);
        __atomic_sub_fetch(&count, 1, __ATOMIC_SEQ_CST);
    }
}
