/* The waiters of builtin locks, and which of them gets a lock next.
 *
 * A table beside the locks, keyed by their address, has a queue for each lock that has waiters, and
 * for no other: a release that finds the table empty, as nearly all do, is done.  The OS threads
 * that wait inside a lock are in no queue; they are counted, and every other turn is left to them.
 *
 * A turn that is left to threads is lost if none of them waits any more: one that has given up, but
 * also one that has the lock already and has not said so yet, when another thread frees the lock
 * under it.  So a thread that has waited always checks whether a tasklet gets the lock.
 *
 * Handing over never counts an RLock up: a waiter does not own it, and if the owner's ident is the
 * waiter's, a tasklet of that thread is lending it for its release (builtin_lock.c).
 *
 * The interpreter does not record who holds a plain lock, and there is no room in the lock.
 * Each taker writes its ident to a table of small sets, which the lock's address selects: to the
 * front of the set, and the others move back by one.  The eighth other lock that is taken in the
 * same set pushes it out, which loses a name in a report, no more.  A word has a part of the
 * address in it, so it is never taken for another lock's.  Threads that write at the same time can
 * lose a word or leave an older one behind the newer, and the first that is found counts.
 *
 * Fork.  In the child tasklets no longer wait that run in other threads.  Functions that ran before
 * ours after the fork may have freed locks (_at_fork_reinit), so the table checks by itself whether
 * it is in a new process.
 */
#include "sync/builtin_lock_queue.h"

#include "cpython/builtin_lock.h"
#include "sched/carrier.h"
#include "sched/guests/thread_identity.h"

#define BUCKETS 64

/* The waiters of one lock. */
typedef struct {
    b_link link; /* in its bucket */
    PyObject *lock;
    b_link waiters; /* of s_wait */
    int threads;    /* OS threads that wait inside the lock */
    int turn;       /* of the threads */
} y_builtin_queue;

static b_link buckets[BUCKETS];
static int queues;
static c_lock guard;
static int process;

/* ---- the table; under the guard ----------------------------------------------- */

static b_link *bucket_of_lock(PyObject *lock)
{
    b_link *bucket = &buckets[((uintptr_t)lock >> 4) % BUCKETS];
    if (!b_linked(bucket))
        b_list_init(bucket);
    return bucket;
}

static y_builtin_queue *find_queue(PyObject *lock)
{
    b_link *bucket = bucket_of_lock(lock);
    for (b_link *at = bucket->next; at != bucket; at = at->next) {
        y_builtin_queue *q = B_CONTAINER(at, y_builtin_queue, link);
        if (q->lock == lock)
            return q;
    }
    return NULL;
}

/* NULL without memory. */
static y_builtin_queue *find_or_add_queue(PyObject *lock)
{
    y_builtin_queue *q = find_queue(lock);
    if (q != NULL)
        return q;
    q = c_out_of_memory() ? NULL : PyMem_RawCalloc(1, sizeof(*q));
    if (q == NULL)
        return NULL;
    q->lock = lock;
    if (process == 0)
        process = p_process_id();
    b_list_init(&q->waiters);
    b_append(bucket_of_lock(lock), &q->link);
    __atomic_add_fetch(&queues, 1, __ATOMIC_SEQ_CST);
    return q;
}

static void drop_empty_queue(y_builtin_queue *q)
{
    if (q->threads > 0 || !b_list_empty(&q->waiters))
        return;
    b_unlink(&q->link);
    __atomic_sub_fetch(&queues, 1, __ATOMIC_SEQ_CST);
    PyMem_RawFree(q);
}

/* ---- holders --------------------------------------------------------------------- */

#define SET_BITS 9
#define SET_SIZE 8
#define TAG_BITS 16

static _Alignas(64) uint64_t holders[1 << SET_BITS][SET_SIZE];

/* Addresses of locks lie at equal distances: multiplied once, many of them can meet. */
static uint64_t hash_of_lock(const PyObject *lock)
{
    uint64_t hash = (uint64_t)(uintptr_t)lock;
    hash = (hash ^ hash >> 15) * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
}

static uint64_t *holders_of_hash(uint64_t hash)
{
    return holders[hash >> (64 - SET_BITS)];
}

static uint64_t tag_of_hash(uint64_t hash)
{
    return hash >> (64 - SET_BITS - TAG_BITS) & ((1u << TAG_BITS) - 1);
}

static int has_tag(uint64_t word, uint64_t tag)
{
    return (word & ((1u << TAG_BITS) - 1)) == tag;
}

void y_builtin_lock_set_holder(const PyObject *lock, unsigned long long ident)
{
    uint64_t hash = hash_of_lock(lock), tag = tag_of_hash(hash), *set = holders_of_hash(hash);
    uint64_t word = ident << TAG_BITS | tag;
    for (int i = 0; i < SET_SIZE; i++) {
        uint64_t before = __atomic_load_n(&set[i], __ATOMIC_RELAXED);
        __atomic_store_n(&set[i], word, __ATOMIC_RELAXED);
        if (before == 0 || has_tag(before, tag))
            return;
        word = before;
    }
}

unsigned long long y_builtin_lock_holder(const PyObject *lock)
{
    uint64_t hash = hash_of_lock(lock), tag = tag_of_hash(hash), *set = holders_of_hash(hash);
    for (int i = 0; i < SET_SIZE; i++) {
        uint64_t word = __atomic_load_n(&set[i], __ATOMIC_RELAXED);
        if (has_tag(word, tag))
            return word >> TAG_BITS;
    }
    return 0;
}

unsigned long long y_ident_of(const s_tasklet *t)
{
    return t->is_main ? t->owner->thread_id : s_identity_number(t);
}

/* ---- taking ------------------------------------------------------------------------ */

int y_builtin_lock_take_free(PyObject *lock, unsigned long long ident, size_t count)
{
    if (!c_builtin_lock_is_recursive(lock)) {
        int taken = c_builtin_lock_try(lock);
        if (taken == 1)
            y_builtin_lock_set_holder(lock, ident);
        return taken;
    }
    /* The main tasklet's, or lent by another tasklet: acquire() would count it up. */
    if (c_builtin_rlock_owner(lock) == PyThread_get_thread_ident())
        return 0;
    int taken = c_builtin_lock_try(lock);
    if (taken == 1) {
        c_builtin_rlock_set_owner(lock, ident);
        c_builtin_rlock_set_count(lock, count);
    }
    return taken;
}

int y_builtin_lock_take(PyObject *lock, unsigned long long ident, size_t count)
{
    if (!c_builtin_lock_is_recursive(lock) || c_builtin_rlock_owner(lock) != ident)
        return y_builtin_lock_take_free(lock, ident, count);
    c_builtin_rlock_set_count(lock, c_builtin_rlock_count(lock) + 1);
    return 1;
}

/* ---- handing over ------------------------------------------------------------------ */

/* The first waiter, which holds the lock now: owned by the caller; or NULL. */
static s_tasklet *hand_over_lock(PyObject *lock)
{
    y_builtin_queue *q = find_queue(lock);
    b_link *first = q ? b_first(&q->waiters) : NULL;
    if (first == NULL)
        return NULL;
    if (q->threads > 0 && (q->turn = !q->turn))
        return NULL;
    int taken = y_builtin_lock_take_free(lock, y_ident_of(s_of_link(first)), 1);
    if (taken != 1) {
        if (taken < 0)
            PyErr_Clear();
        return NULL;
    }
    s_tasklet *t = s_dequeue(first);
    drop_empty_queue(q);
    return t;
}

void y_builtin_lock_released(s_sched *s, PyObject *lock)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&queues, __ATOMIC_SEQ_CST) == 0)
        return;
    c_lock_take(&guard);
    s_tasklet *t = hand_over_lock(lock);
    c_lock_give(&guard);
    if (t == NULL)
        return;
    const s_wait_kind *given = t->owner == s ? t->kind->given : NULL;
    t->wait.value = Py_NewRef(Py_True);
    s_wake(s, t);
    if (given != NULL)
        t->kind = given;
    if (s != NULL && s->current->begins)
        s_has_begun(s, t);
}

/* ---- waiting ---------------------------------------------------------------------- */

int y_builtin_queue_join(s_tasklet *me, PyObject *lock, const s_wait_kind *kind)
{
    c_lock_take(&guard);
    y_builtin_queue *q = find_or_add_queue(lock);
    int code = q ? S_OK : S_E_MEMORY;
    if (q != NULL) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        int taken = y_builtin_lock_take_free(lock, y_ident_of(me), 1);
        if (taken == 0) {
            s_enqueue(me, &q->waiters, kind, lock);
            me->owner->tasklet_waits++;
        }
        drop_empty_queue(q);
        code = taken < 0 ? S_E_SET : taken;
    }
    c_lock_give(&guard);
    return code;
}

int y_builtin_queue_leave(s_tasklet *t)
{
    c_lock_take(&guard);
    int queued = t->queued;
    if (queued) {
        s_dequeue(&t->wait.link);
        drop_empty_queue(find_queue(t->on));
    }
    c_lock_give(&guard);
    return queued;
}

int y_builtin_queue_add_thread(PyObject *lock)
{
    c_lock_take(&guard);
    y_builtin_queue *q = find_or_add_queue(lock);
    if (q != NULL)
        q->threads++;
    c_lock_give(&guard);
    return q != NULL;
}

void y_builtin_queue_remove_thread(PyObject *lock)
{
    c_lock_take(&guard);
    y_builtin_queue *q = find_queue(lock);
    if (q != NULL && q->threads > 0) {
        q->threads--;
        drop_empty_queue(q);
    }
    c_lock_give(&guard);
}

/* ---- fork -------------------------------------------------------------------------------- */

/* In the child: what belongs to threads that are gone no longer waits. */
static void forget_other_threads(s_sched *s, y_builtin_queue *q)
{
    b_link *at = q->waiters.next;
    while (at != &q->waiters) {
        b_link *next = at->next;
        if (s_of_link(at)->owner != s || s_is_lost(s_of_link(at)))
            s_dequeue(at);
        at = next;
    }
    q->threads = 0;
    drop_empty_queue(q);
}

void y_builtin_lock_after_fork(s_sched *s)
{
    process = p_process_id();
    memset(&guard, 0, sizeof(guard));
    for (int i = 0; i < BUCKETS; i++) {
        b_link *bucket = &buckets[i];
        b_link *at = b_linked(bucket) ? bucket->next : bucket;
        while (at != bucket) {
            b_link *next = at->next;
            forget_other_threads(s, B_CONTAINER(at, y_builtin_queue, link));
            at = next;
        }
    }
}

void y_builtin_queue_check_fork(s_sched *s)
{
    if (process != 0 && process != p_process_id())
        y_builtin_lock_after_fork(s);
}
