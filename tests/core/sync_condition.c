/* sync/condition.c: tasklets of two threads wait for a condition, and are notified, in every order
 * of events; with deadlines and kills.  The world is in sync_world.c.
 *
 * However a wait ends, its tasklet holds the lock, as often as before.  A notification calls the
 * tasklets that have waited longest.  A called tasklet returns True, or it is killed, and then the
 * next one is called: so the number of tasklets that were called and have not returned is known.
 * No tasklet waits for ever while all others wait for a notification: none could send it.
 */
#include "runner.h"
#include "sync_world.h"

enum { ACQUIRES, WAITS, WAITS_WITH_DEADLINE, NOTIFIES, NOTIFIES_ALL, RELEASES, OPERATIONS };
enum { OF_CONDITION, OF_LOCK };
static int tasklets;
static int parts_are_fixed; /* the first tasklet notifies, the others wait, without a deadline */

static y_lock *the_lock(void)
{
    return &sync_state.on.guarded.lock;
}

static y_condition *the_condition(void)
{
    return &sync_state.on.guarded.condition;
}

static b_link *queue(int i)
{
    return i == OF_CONDITION ? &the_condition()->gate.waiters : &the_lock()->gate.waiters;
}

static int is_mine(int t)
{
    return the_lock()->held && the_lock()->holder == sync_state.tasklets[t].id;
}

/* It was notified, and nothing is to be raised in it. */
static int is_called(int t)
{
    const s_tasklet *me = &sync_state.tasklets[t];
    const PyObject *value = me->wait.value;
    int depth = PyLong_CheckExact(value) ? (int)PyLong_AsLong(value) : value == Py_True;
    return sync_state.is[t] == SYNC_WAITS && sync_state.on.guarded.in_wait[t] &&
           me->error == NULL && depth > 0;
}

static int is_served(int t, int queue)
{
    return queue == OF_LOCK ? is_mine(t) : is_called(t);
}

/* How often a tasklet takes a reentrant lock. */
static uint32_t depth_of(int t)
{
    return the_lock()->reentrant && t == 0 ? 2 : 1;
}

/* ---- what the tasklets do ------------------------------------------------------------------ */

/* It has taken the lock: once more, if it is one that does. */
static void hold(s_sched *s, int t)
{
    int code;
    sync_state.is[t] = SYNC_HOLDS;
    for (uint32_t depth = 1; depth < depth_of(t); depth++)
        y_lock_acquire(s, the_lock(), S_FOREVER, NULL, &code);
}

static int acquire(s_sched *s, int t)
{
    int code, others_wait = sync_count_waiting(queue(OF_LOCK));
    sync_state.on.guarded.in_wait[t] = 0;
    const PyObject *value = y_lock_acquire(s, the_lock(), S_FOREVER, NULL, &code);
    if (sync_note_call(t, value, code) == SYNC_RAISED)
        sync_state.fault = "a call that may wait does not";
    if (others_wait)
        sync_state.fault = "one passes though others wait";
    hold(s, t);
    return 1;
}

static void release(s_sched *s, int t)
{
    sync_state.is[t] = SYNC_AWAY;
    for (uint32_t depth = depth_of(t); depth > 0; depth--)
        if (y_lock_release(s, the_lock()) != S_OK)
            sync_state.fault = "who holds it cannot release it";
}

static int wait_until_notified(s_sched *s, int t, int64_t until)
{
    int code;
    if (until == S_FOREVER && sync_count_waiting(queue(OF_CONDITION)) == tasklets - 1)
        return 0;
    sync_state.on.guarded.in_wait[t] = 1;
    y_condition_wait(s, the_condition(), until, NULL, &code);
    sync_state.fault = "one returns though nobody has notified it";
    return 1;
}

static int notify(s_sched *s, Py_ssize_t count)
{
    int sleepers = sync_count_waiting(queue(OF_CONDITION));
    if (y_condition_notify(s, the_condition(), count) != S_OK)
        sync_state.fault = "who holds the lock cannot notify";
    sync_state.on.guarded.called += count < sleepers ? count : sleepers;
    return 1;
}

static int is_part_of(int t, int what)
{
    if (!parts_are_fixed || what == ACQUIRES || what == RELEASES)
        return 1;
    return t == 0 ? what == NOTIFIES || what == NOTIFIES_ALL : what == WAITS;
}

static int operate(s_sched *s, int t, int what)
{
    if ((what == ACQUIRES) != (sync_state.is[t] == SYNC_AWAY) || !is_part_of(t, what))
        return 0;
    switch (what) {
    case ACQUIRES:
        return acquire(s, t);
    case WAITS:
    case WAITS_WITH_DEADLINE:
        return wait_until_notified(s, t, what == WAITS ? S_FOREVER : 9);
    case NOTIFIES:
    case NOTIFIES_ALL:
        return notify(s, what == NOTIFIES ? 1 : SYNC_TASKLETS);
    default:
        release(s, t);
        return 1;
    }
}

static void resume_wait(int t, const PyObject *value, const PyObject *error)
{
    if (error == NULL && value != Py_False)
        sync_state.on.guarded.called--;
    if (!is_mine(t) || the_lock()->depth != depth_of(t))
        sync_state.fault = "a wait ends without the lock";
    sync_state.is[t] = SYNC_HOLDS;
}

static void resume(int t, PyObject *value, PyObject *error)
{
    sync_note_end(t, value, error);
    if (sync_state.on.guarded.in_wait[t])
        resume_wait(t, value, error);
    else if (error == NULL)
        hold(sync_thread_of(t), t);
    else
        sync_state.is[t] = SYNC_AWAY;
    sync_state.on.guarded.in_wait[t] = 0;
}

/* ---- what must hold ------------------------------------------------------------------------ */

static const char *find_fault_of_lock(void)
{
    int holders = 0;
    for (int t = 0; t < SYNC_TASKLETS; t++) {
        if (sync_state.is[t] == SYNC_HOLDS && !is_mine(t))
            return "two hold the lock, or one has lost it";
        holders += is_mine(t) && sync_state.is[t] != SYNC_AWAY && !sync_state.tasklets[t].queued;
    }
    if (holders != the_lock()->held)
        return "the lock is lost";
    if (!the_lock()->held && sync_count_waiting(queue(OF_LOCK)) > 0)
        return "one sleeps though the lock is free";
    return NULL;
}

/* A call is used up by one that is killed when nobody is left who could be called. */
static const char *find_fault(void)
{
    Py_ssize_t called = 0, *expected = &sync_state.on.guarded.called;
    for (int t = 0; t < SYNC_TASKLETS; t++)
        called += is_called(t);
    if (called > *expected)
        return "one is called whom nobody has notified";
    if (called < *expected && sync_count_waiting(queue(OF_CONDITION)) > 0)
        return "a notification is lost though others wait";
    *expected = called;
    return find_fault_of_lock();
}

/* The last holder of a lock that is free makes no difference. */
static void forget_last_holder(void)
{
    if (!the_lock()->held)
        the_lock()->holder = the_lock()->depth = 0;
}

static void begin(int count, int fixed, int reentrant)
{
    static sync_model model = {.operate = operate,
                               .operations = OPERATIONS,
                               .resume = resume,
                               .queue = queue,
                               .is_served = is_served,
                               .fault = find_fault,
                               .forget = forget_last_holder};
    parts_are_fixed = fixed;
    model.tasklets = tasklets = count;
    sync_begin(&model);
    y_gate_init(&the_lock()->gate);
    y_gate_init(&the_condition()->gate);
    the_lock()->reentrant = (char)reentrant;
    the_condition()->lock = the_lock();
}

TEST(a_notification_is_handed_over_between_threads)
{
    begin(3, 0, 0);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(a_reentrant_lock_is_given_up_for_a_wait_and_taken_again)
{
    begin(3, 0, 1);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(notifications_are_handed_over_in_the_order_of_arrival)
{
    begin(4, 1, 0);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}
