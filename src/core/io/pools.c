/* The policies of the pools.
 *
 * A third use of threads is a third row here.  What the rows need of Python is in the functions
 * above them: the pool itself knows nothing of it.
 *
 * Python threads.  A worker for calls keeps its thread state from its start to its end, so that
 * thread-locals of the functions (connections, for example) last as long as the thread.  The
 * starter detaches while it waits for a new thread: a new thread state may stop the world (3.13
 * without the GIL) or want the GIL for its memory (tracemalloc).
 */
#include "io/pools.h"

#include <errno.h>
#include <limits.h>

#include "cpython/carried_thread.h"
#include "cpython/gil.h"

#define SECOND INT64_C(1000000000)
#define MILLISECOND INT64_C(1000000)

static __thread PyThreadState *worker_state;

static int launch_detached(p_launch *launch)
{
    launch->signals = 1; /* what the functions start inherits the mask */
    launch->stack = PyThread_get_stacksize();
    s_sched *s = s_self_here(); /* which the caller uses */
    if (s != NULL)
        s->untakeable++;
    PyThreadState *ts = PyEval_SaveThread();
    int code = p_thread_launch(launch);
    PyEval_RestoreThread(ts);
    if (s != NULL)
        s->untakeable--;
    return code;
}

static int make_worker_state(void)
{
    worker_state = c_thread_state_new();
    if (worker_state != NULL)
        return 0;
    return c_new_threads_ended() ? -ESHUTDOWN : -ENOMEM;
}

static void end_worker_state(void)
{
    PyEval_RestoreThread(worker_state);
    c_thread_state_end(worker_state);
}

static void wake_caller(void *scheduler)
{
    s_wake_thread(scheduler);
}

static const p_pool_policy policies[] = {
    [I_CALLS] = {.name = "loomlet pool",
                 .at_once = INT_MAX, /* a function may wait for another one */
                 .launch = launch_detached,
                 .begin = make_worker_state,
                 .end = end_worker_state,
                 .finished = wake_caller,
                 .after_spin = c_gil_spin},
    [I_LOOKUPS] = {.name = "loomlet lookups",
                   .at_once = 4,
                   .period = 2 * MILLISECOND,
                   .launch = p_thread_launch},
};

p_pool i_pools[] = {
    [I_CALLS] = {.policy = &policies[I_CALLS], .limits = {1000, 10 * SECOND}},
    [I_LOOKUPS] = {.policy = &policies[I_LOOKUPS], .limits = {INT64_MAX, 10 * SECOND}},
};

int i_pool_submit(i_pool_kind kind, p_work *work)
{
    switch (p_pool_submit(&i_pools[kind], work)) {
    case 0:
        return S_OK;
    case -ENOMEM:
        return S_E_MEMORY;
    case -ESHUTDOWN:
        return S_E_EXITING;
    default:
        return S_E_NO_THREAD;
    }
}

void i_pool_attach(void)
{
    c_io_return(worker_state);
}

void i_pool_detach(void)
{
    c_io_leave();
}
