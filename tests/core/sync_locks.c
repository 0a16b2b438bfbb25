/* sync/lock.c and sync/semaphore.c: a lock and permits are handed over among tasklets of two
 * threads, in every order of events; with deadlines and kills.  The world is in sync_world.c. */
#include "runner.h"
#include "sync_world.h"

enum { WITHOUT_WAITING, WITH_DEADLINE, FOR_EVER, RELEASES };
static const int64_t limits[] = {0, 9, S_FOREVER};
static int permits; /* 0: it is a lock */

static PyObject *acquire(s_sched *s, int64_t until, int *code)
{
    if (permits == 0)
        return y_lock_acquire(s, &sync_state.on.lock, until, NULL, code);
    return y_semaphore_acquire(s, &sync_state.on.semaphore, until, NULL, code);
}

static void release(s_sched *s, int t)
{
    int code = permits == 0 ? y_lock_release(s, &sync_state.on.lock)
                            : y_semaphore_release(s, &sync_state.on.semaphore, 1);
    if (code != S_OK)
        sync_state.fault = "who holds it cannot release it";
    sync_state.is[t] = SYNC_AWAY;
}

static int operate(s_sched *s, int t, int what)
{
    int code;
    if (what == RELEASES && sync_state.is[t] == SYNC_HOLDS) {
        release(s, t);
        return 1;
    }
    if (what == RELEASES || sync_state.is[t] != SYNC_AWAY)
        return 0;
    int others_wait = sync_count_waiting(&sync_state.on.lock.gate.waiters);
    PyObject *value = acquire(s, limits[what], &code);
    switch (sync_note_call(t, value, code)) {
    case SYNC_RETURNED:
        sync_state.is[t] = SYNC_HOLDS;
        if (others_wait)
            sync_state.fault = "one passes though others wait";
        break;
    case SYNC_RAISED:
        if (code != S_E_TIMEOUT || what != WITHOUT_WAITING)
            sync_state.fault = "a call that may wait does not";
        break;
    }
    return 1;
}

/* The lock and the semaphore begin with their gate. */
static b_link *queue(int i)
{
    return i == 0 ? &sync_state.on.lock.gate.waiters : NULL;
}

static const char *find_fault(void)
{
    Py_ssize_t out = 0,
               free = permits == 0 ? !sync_state.on.lock.held : sync_state.on.semaphore.count;
    for (int t = 0; t < SYNC_TASKLETS; t++)
        out += sync_state.is[t] == SYNC_HOLDS || sync_is_given(t);
    Py_ssize_t all = permits == 0 ? 1 : permits;
    if (out + free > all)
        return "there are more than there were";
    if (out + free < all)
        return "one is lost";
    return free > 0 && sync_count_waiting(queue(0)) > 0 ? "one sleeps though it is free" : NULL;
}

/* The last holder of a lock that is free makes no difference. */
static void forget_holder(void)
{
    if (permits == 0 && !sync_state.on.lock.held)
        sync_state.on.lock.holder = sync_state.on.lock.depth = 0;
}

static void begin(int count, int tasklets)
{
    static sync_model model = {.operate = operate,
                               .operations = RELEASES + 1,
                               .resume = sync_resume_holder,
                               .queue = queue,
                               .fault = find_fault,
                               .forget = forget_holder};
    model.tasklets = tasklets;
    permits = count;
    sync_begin(&model);
    y_gate_init(&sync_state.on.lock.gate);
    sync_state.on.semaphore.count = count;
    if (count > 0)
        sync_state.on.semaphore.most = count;
}

TEST(a_lock_is_handed_over_between_threads)
{
    begin(0, 3);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(a_lock_is_handed_over_in_the_order_of_arrival)
{
    begin(0, 4);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(permits_are_handed_over_between_threads)
{
    begin(2, 3);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}
