/* The pool's threads: started, given jobs, ended.  See blocking.h. */
#include "base/b_check.h"
#include "io/blocking.h"

#define SECOND INT64_C(1000000000)
#define LONGEST 250000000 /* between two looks at signals */

typedef struct worker {
    struct worker *below, *made; /* in the stack of the idle or unused; in the list of all */
    p_parker parker;
    b_spin spin; /* whether to stay awake for a moment before sleeping */
    PyThreadState *ts;
    i_job *job;           /* handed over: written under lock, read by its thread at any time */
    int64_t since, until; /* idle; and how long */
} worker;

static p_lock lock; /* guards all below */
static worker *idle, *unused, *all;
static b_link waiting = {&waiting, &waiting}; /* jobs beyond the limit */
static i_blocking_limits limits = {1000, 10 * SECOND, 300 * SECOND};
static int threads;   /* that take jobs */
static int alive;     /* that have thread states */
static int resting;   /* that are idle */
static int64_t taken; /* jobs, ever */
static int closed;
static p_parker closer;
static __thread worker *self;

/* ---- the life of a thread ---------------------------------------------------------- */

static i_job *take_first(void)
{
    b_link *at = b_first(&waiting);
    if (at != NULL)
        b_unlink(at);
    return at != NULL ? B_CONTAINER(at, i_job, link) : NULL;
}

static i_job *handed(worker *me)
{
    return __atomic_exchange_n(&me->job, NULL, __ATOMIC_ACQUIRE);
}

/* After a job, detached: the next one that waits, or idle from now on. */
static i_job *settle(worker *me)
{
    me->since = p_now();
    p_park_prepare(&me->parker);
    p_lock_take(&lock);
    i_job *job = take_first();
    if (job == NULL) {
        resting++;
        me->until = closed ? 0 : me->since + limits.idle;
        me->below = idle;
        idle = me;
    }
    p_lock_give(&lock);
    return job;
}

static void leave_idle(worker *me)
{
    worker **at = &idle;
    while (*at != me)
        at = &(*at)->below;
    *at = me->below;
    resting--;
}

/* Whether an idle thread that was woken without a job is to end: it is idle no more then. */
static int is_over(worker *me)
{
    p_park_prepare(&me->parker);
    p_lock_take(&lock);
    me->until = me->since + limits.idle;
    int over = me->job == NULL && (closed || p_now() >= me->until);
    if (over) {
        leave_idle(me);
        threads--;
    }
    p_lock_give(&lock);
    return over;
}

/* The next job, or NULL when the thread shall end.  `home` waits for the last one's outcome: it is
 * roused when this thread can be found, so that it need not start another for its next job. */
static i_job *next_job(worker *me, s_sched *home)
{
    i_job *job = settle(me);
    if (home != NULL)
        s_wake_thread(home);
    while (job == NULL) {
        if (__atomic_load_n(&me->job, __ATOMIC_ACQUIRE) == NULL)
            p_park_adaptive(&me->parker, &me->spin, me->until, c_gil_spin);
        job = handed(me);
        if (job == NULL && is_over(me))
            return NULL;
    }
    return job;
}

static void end(worker *me)
{
    PyEval_RestoreThread(me->ts);
    c_thread_state_end(me->ts);
    p_lock_take(&lock);
    me->below = unused;
    unused = me;
    int last = --alive == 0;
    p_lock_give(&lock);
    if (last)
        p_unpark(&closer);
}

static void work(void *arg)
{
    worker *me = arg;
    for (i_job *job = handed(me); job != NULL;) {
        PyEval_RestoreThread(me->ts);
        s_sched *home = i_job_run(job);
        PyEval_SaveThread();
        job = next_job(me, home);
    }
    end(me);
}

/* ---- giving out jobs ------------------------------------------------------------------- */

static int begin(void *arg)
{
    self = arg;
    self->ts = c_thread_state_new();
    return self->ts == NULL ? S_E_MEMORY : S_OK;
}

/* Under the lock. */
static worker *new_worker(void)
{
    worker *w = unused;
    if (w != NULL) {
        unused = w->below;
    } else if (!c_out_of_memory() && (w = PyMem_RawCalloc(1, sizeof(*w))) != NULL) {
        w->made = all;
        all = w;
    }
    if (w != NULL)
        threads++, alive++;
    return w;
}

static void discard(worker *w)
{
    p_lock_take(&lock);
    w->below = unused;
    unused = w;
    threads--, alive--;
    p_lock_give(&lock);
}

/* A new thread for the job: 0, or a code; then `w` is gone.  Detached, because a new thread state
 * may stop the world (3.13 without the GIL) or want the GIL for its memory (tracemalloc). */
static int start(worker *w, i_job *job)
{
    if (w == NULL)
        return S_E_MEMORY;
    w->job = job;
    w->spin = B_SPIN_BEGIN;
    size_t stack = PyThread_get_stacksize();
    PyThreadState *ts = PyEval_SaveThread();
    int code = p_thread_launch(begin, work, w, stack);
    PyEval_RestoreThread(ts);
    if (code == S_OK)
        return S_OK;
    w->job = NULL;
    discard(w);
    return code == -1 ? S_E_NO_THREAD : code;
}

/* Finds a thread for the first job that waits.  Under the lock: 1 when it is the caller's turn,
 * to wake *w or (*job is set) to start it. */
static int match(worker **w, i_job **job)
{
    *job = NULL;
    *w = idle;
    if (b_list_empty(&waiting) || (*w == NULL && threads >= limits.threads))
        return 0;
    if (*w != NULL) {
        idle = (*w)->below;
        resting--;
        __atomic_store_n(&(*w)->job, take_first(), __ATOMIC_RELEASE);
    } else {
        *job = take_first();
        *w = new_worker();
    }
    return 1;
}

/* The job of somebody else waits again for who becomes free. */
static void give_back(i_job *job)
{
    p_lock_take(&lock);
    b_prepend(&waiting, &job->link);
    p_lock_give(&lock);
}

static int take_over(i_job *job, worker **w, i_job **first)
{
    p_lock_take(&lock);
    int matched = closed ? S_E_EXITING : 0;
    if (!closed) {
        b_append(&waiting, &job->link);
        taken++;
        matched = match(w, first);
    }
    p_lock_give(&lock);
    return matched;
}

int i_pool_submit(i_job *job)
{
    worker *w;
    i_job *first;
    int matched = take_over(job, &w, &first);
    if (matched <= 0)
        return matched;
    if (first == NULL) {
        p_unpark(&w->parker);
        return S_OK;
    }
    int code = start(w, first);
    if (code < 0 && first != job) {
        give_back(first);
        return S_OK;
    }
    return code;
}

/* ---- limits ------------------------------------------------------------------------------ */

static void wake_idle(void)
{
    for (worker *w = idle; w != NULL; w = w->below)
        p_unpark(&w->parker);
}

/* More threads may be there now: for jobs that wait. */
static void start_more(void)
{
    worker *w;
    i_job *job;
    int matched, code = S_OK;
    do {
        p_lock_take(&lock);
        matched = match(&w, &job);
        p_lock_give(&lock);
        if (matched && job != NULL && (code = start(w, job)) < 0)
            give_back(job);
    } while (matched && code == S_OK);
}

i_blocking_limits i_blocking_configure(i_blocking_limits wanted)
{
    p_lock_take(&lock);
    i_blocking_limits before = limits;
    if (wanted.threads >= 0)
        limits.threads = wanted.threads;
    if (wanted.idle >= 0)
        limits.idle = wanted.idle;
    if (wanted.exit >= 0)
        limits.exit = wanted.exit;
    wake_idle();
    p_lock_give(&lock);
    start_more();
    return before;
}

int i_blocking_threads(int *doing_nothing)
{
    p_lock_take(&lock);
    int count = alive;
    *doing_nothing = resting;
    p_lock_give(&lock);
    return count;
}

static int64_t at_rest(int *doing_nothing)
{
    p_lock_take(&lock);
    *doing_nothing = resting;
    int64_t seen = taken;
    p_lock_give(&lock);
    return seen;
}

/* ---- the end --------------------------------------------------------------------------- */

static void refuse(i_job *job)
{
    s_sched *home = i_job_fail(job, S_E_EXITING);
    if (home != NULL)
        s_wake_thread(home);
}

static void close_pool(void)
{
    b_link refused;
    b_list_init(&refused);
    p_lock_take(&lock);
    closed = 1;
    b_append_all(&refused, &waiting);
    wake_idle();
    p_lock_give(&lock);
    for (b_link *at; (at = b_first(&refused)) != NULL;) {
        b_unlink(at);
        refuse(B_CONTAINER(at, i_job, link));
    }
}

static int how_many(void)
{
    p_lock_take(&lock);
    int left = alive;
    p_lock_give(&lock);
    return left;
}

int i_blocking_close(void)
{
    int left, code = 0;
    close_pool();
    int64_t now = p_now(), until = now + limits.exit;
    p_park_prepare(&closer);
    while ((left = how_many()) > 0 && code == 0 && (now = p_now()) < until) {
        int64_t soon = now + LONGEST;
        PyThreadState *ts = PyEval_SaveThread();
        p_park(&closer, soon < until ? soon : until);
        PyEval_RestoreThread(ts);
        code = PyErr_CheckSignals();
        p_park_prepare(&closer);
    }
    return code < 0 ? -1 : left;
}

/* ---- fork ------------------------------------------------------------------------------ */

void i_blocking_after_fork(s_sched *s)
{
    lock.word = 0;
    idle = unused = NULL;
    for (worker *w = all; w != NULL; w = w->made) {
        w->job = NULL;
        if (w == self)
            continue;
        w->below = unused;
        unused = w;
    }
    b_list_init(&waiting);
    threads = alive = self != NULL;
    resting = 0;
    if (s != NULL)
        i_jobs_after_fork(s);
}

void i_blocking_init(void)
{
    s_hook.resting = at_rest;
}
