/* Errands: what blocks and knows no Python, on threads of our own.
 *
 * The pool of the io room starts a thread for every call that finds none idle, because it cannot
 * know what a call of Python will wait for.  Errands are many small ones of one kind, most of them
 * over in microseconds, so threads are had late:
 *
 * - up to AT_ONCE errands each get a thread at once;
 * - those beyond wait in a queue, first come, first served, for one that is through;
 * - and a keeper, one more thread, looks every TICK whether they move.  If fewer were begun
 *   than there are threads at work, these wait for something, and as many again are set to
 *   work, or as many as there are errands.
 *
 * So a thousand that are quick are done by a few threads that never sleep, and a thousand that
 * hang are on a thousand threads after ten ticks; nobody waits for ever behind somebody else's.
 *
 * A thread that finds nothing to do is idle; the one that was so last is taken first, and one
 * that was so for long (IDLE) ends.  It stays awake for a moment first where errands follow each
 * other (b_spin.h).  The records of threads are never freed, only used again, because a wake-up
 * may be on its way to one.
 *
 * Threads.  Everything is guarded by one lock, held for a few loads and stores.  The threads take
 * no signals.  A process may end while they work: nobody waits for them.  The child of a fork
 * has none of them, and none of the errands.
 *
 * Rejected: a fixed number of threads (four that hang stop all names of the program; asyncio
 * and libuv have that ceiling); a thread for each (a wake-up or a start for each, which costs more
 * than the errand); a timer of the sender's instead of a keeper (senders are many, and may be
 * busy).
 */
#include <stdlib.h>

#include "plat/plat.h"

#define AT_ONCE 4
#define TICK 2000000
#define IDLE INT64_C(10000000000)

enum { NOTHING, WORK, KEEP };

typedef struct runner {
    struct runner *below; /* in the stack of the idle or unused */
    p_parker parker;
    b_spin spin;
    int task; /* what it was woken or started for */
} runner;

static p_lock lock; /* guards all below, and each `task` */
static p_work *first, **last = &first;
static runner *idle, *unused;
static int working; /* threads that take errands */
static int keeping; /* whether there is a keeper */
static unsigned begun;

/* ---- under the lock ------------------------------------------------------------------ */

static p_work *take_first(void)
{
    p_work *errand = first;
    if (errand == NULL)
        return NULL;
    first = errand->next;
    if (first == NULL)
        last = &first;
    begun++;
    return errand;
}

static void count(int task, int by)
{
    if (task == KEEP)
        keeping += by;
    else
        working += by;
}

/* An idle thread for a task, or the record for a new one; NULL without memory. */
static runner *engage(int task, int *is_new)
{
    runner **from = idle != NULL ? &idle : &unused, *r = *from;
    *is_new = from == &unused;
    if (r != NULL)
        *from = r->below;
    else
        r = calloc(1, sizeof(*r));
    if (r != NULL) {
        r->task = task;
        count(task, 1);
    }
    return r;
}

static void retire(runner *r)
{
    r->task = NOTHING;
    r->below = unused;
    unused = r;
}

static void leave_idle(runner *r)
{
    runner **at = &idle;
    while (*at != r)
        at = &(*at)->below;
    *at = r->below;
}

static int task_of(runner *me)
{
    p_lock_take(&lock);
    int task = me->task;
    p_lock_give(&lock);
    return task;
}

/* ---- threads --------------------------------------------------------------------------- */

static void live(void *arg);

/* 0, or -1 when there is nobody for it. */
static int set_going(runner *r, int is_new, int task)
{
    if (r == NULL)
        return -1;
    if (!is_new) {
        p_unpark(&r->parker);
        return 0;
    }
    r->spin = B_SPIN_BEGIN;
    if (p_thread_detached(live, r) == 0)
        return 0;
    p_lock_take(&lock);
    count(task, -1);
    retire(r);
    p_lock_give(&lock);
    return -1;
}

static int call_for(int task)
{
    int is_new;
    p_lock_take(&lock);
    runner *r = engage(task, &is_new);
    p_lock_give(&lock);
    return set_going(r, is_new, task);
}

/* Under the lock. */
static void rest(runner *me)
{
    count(me->task, -1);
    me->task = NOTHING;
    me->below = idle;
    idle = me;
}

/* The next errand, or NULL: idle from now on. */
static p_work *settle(runner *me)
{
    p_park_prepare(&me->parker);
    p_lock_take(&lock);
    p_work *errand = take_first();
    if (errand == NULL)
        rest(me);
    p_lock_give(&lock);
    return errand;
}

static void work(runner *me)
{
    for (p_work *errand; (errand = settle(me)) != NULL;)
        errand->run(errand);
}

/* Under the lock: how many threads are to be set to work, when `moved` errands were begun. */
static int wanted(int moved)
{
    int more = 0, most = working > 0 ? working : 1;
    if (moved < most)
        for (p_work *at = first; at != NULL && more < most; at = at->next)
            more++;
    return more;
}

/* The same after a tick; below 0: nothing is left to be kept, idle from now on. */
static int look_after(runner *me, unsigned *seen)
{
    p_park_prepare(&me->parker);
    p_lock_take(&lock);
    int more = first != NULL ? wanted((int)(begun - *seen)) : -1;
    *seen = begun;
    if (more < 0)
        rest(me);
    p_lock_give(&lock);
    return more;
}

static void keep(runner *me)
{
    p_lock_take(&lock);
    unsigned seen = begun;
    p_lock_give(&lock);
    int more;
    do {
        p_park_prepare(&me->parker);
        p_park(&me->parker, p_now() + TICK);
        more = look_after(me, &seen);
        for (int i = 0; i < more && call_for(WORK) == 0; i++)
            continue;
    } while (more >= 0);
}

/* Idle until there is a task, or for long enough: 0. */
static int await_task(runner *me)
{
    int64_t until = p_now() + IDLE;
    int task;
    while ((task = task_of(me)) == NOTHING && p_now() < until) {
        p_park_adaptive(&me->parker, &me->spin, until, NULL);
        p_park_prepare(&me->parker);
    }
    p_lock_take(&lock);
    task = me->task;
    if (task == NOTHING) {
        leave_idle(me);
        retire(me);
    }
    p_lock_give(&lock);
    return task;
}

static void live(void *arg)
{
    runner *me = arg;
    for (int task = task_of(me); task != NOTHING; task = await_task(me))
        if (task == KEEP)
            keep(me);
        else
            work(me);
}

/* ---- for all ----------------------------------------------------------------------------- */

/* Takes back the errand that was sent last of all; 0 when a thread has it already. */
static int take_back(p_work *errand)
{
    p_lock_take(&lock);
    p_work **at = &first;
    while (*at != NULL && *at != errand)
        at = &(*at)->next;
    int found = *at != NULL && working == 0;
    if (found && (*at = errand->next) == NULL)
        last = at;
    p_lock_give(&lock);
    return found;
}

int p_work_submit(p_work *errand)
{
    int is_new = 0;
    runner *r = NULL;
    errand->next = NULL;
    p_lock_take(&lock);
    *last = errand;
    last = &errand->next;
    int task = working < AT_ONCE ? WORK : keeping ? NOTHING : KEEP;
    if (task != NOTHING)
        r = engage(task, &is_new);
    p_lock_give(&lock);
    if (task == NOTHING || set_going(r, is_new, task) == 0)
        return 0;
    return take_back(errand) ? -1 : 0;
}

int p_work_busy(void)
{
    p_lock_take(&lock);
    int left = working > 0 || first == NULL ? working : 1;
    p_lock_give(&lock);
    return left;
}

void p_work_after_fork(void)
{
    lock.word = 0;
    first = NULL;
    last = &first;
    idle = unused = NULL;
    working = keeping = 0;
}
