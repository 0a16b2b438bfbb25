/* sync/rwlock.c: tasklets of two threads read and write, in every order of events; with deadlines
 * and kills.  The world is in sync_world.c. */
#include "runner.h"
#include "sync_world.h"

enum { READ_NOW, READ_SOON, READ, WRITE_NOW, WRITE_SOON, WRITE, RELEASES, OPERATIONS };
static const int64_t limits[] = {0, 9, S_FOREVER};
static int parts_are_fixed; /* the first two tasklets read, the others write; without a deadline */

static y_rwlock *the_lock(void)
{
    return &sync_state.on.shared.lock;
}

static b_link *queue(int i)
{
    return i == 0 ? &the_lock()->gate.waiters : NULL;
}

static void release(s_sched *s, int t)
{
    if (y_rwlock_release(s, the_lock(), sync_state.on.shared.writes[t]) != S_OK)
        sync_state.fault = "who holds it cannot release it";
    sync_state.is[t] = SYNC_AWAY;
}

static int is_part_of(int t, int what)
{
    return !parts_are_fixed || what == RELEASES || what == (t < 2 ? READ : WRITE);
}

static int operate(s_sched *s, int t, int what)
{
    int code, others_wait = sync_count_waiting(queue(0));
    if ((what == RELEASES) != (sync_state.is[t] == SYNC_HOLDS) || !is_part_of(t, what))
        return 0;
    if (what == RELEASES) {
        release(s, t);
        return 1;
    }
    int writes = sync_state.on.shared.writes[t] = what >= WRITE_NOW;
    int64_t until = limits[what % WRITE_NOW];
    const PyObject *value = y_rwlock_acquire(s, the_lock(), writes, until, NULL, &code);
    if (sync_note_call(t, value, code) == SYNC_RETURNED) {
        sync_state.is[t] = SYNC_HOLDS;
        if (others_wait)
            sync_state.fault = "one passes though others wait";
    } else if (until != 0) {
        sync_state.fault = "a call that may wait does not";
    }
    return 1;
}

/* Whether the first that waits could be let in. */
static int is_first_in_vain(void)
{
    const b_link *first = b_first(queue(0));
    if (first == NULL || the_lock()->writes)
        return 0;
    const s_tasklet *t = s_of_link((b_link *)first);
    return the_lock()->readers == 0 || !sync_state.on.shared.writes[t - sync_state.tasklets];
}

static const char *find_fault(void)
{
    Py_ssize_t inside[2] = {0};
    for (int t = 0; t < SYNC_TASKLETS; t++)
        if (sync_state.is[t] == SYNC_HOLDS || sync_is_given(t))
            inside[sync_state.on.shared.writes[t]]++;
    if (inside[1] > 1 || (inside[1] && inside[0]))
        return "one writes, and not alone";
    if (inside[0] != the_lock()->readers || inside[1] != the_lock()->writes)
        return "who is inside is not counted, or counted twice";
    return is_first_in_vain() ? "one sleeps though it could be let in" : NULL;
}

/* What the lock keeps of a writer that has left, and a tasklet of its last lock. */
static void forget_past(void)
{
    if (!the_lock()->writes)
        the_lock()->writer = 0;
    for (int t = 0; t < SYNC_TASKLETS; t++)
        if (sync_state.is[t] == SYNC_AWAY)
            sync_state.on.shared.writes[t] = 0;
}

static void begin(int tasklets, int fixed)
{
    static sync_model model = {.operate = operate,
                               .operations = OPERATIONS,
                               .resume = sync_resume_holder,
                               .queue = queue,
                               .fault = find_fault,
                               .forget = forget_past};
    parts_are_fixed = fixed;
    model.tasklets = tasklets;
    sync_begin(&model);
    y_gate_init(&the_lock()->gate);
}

TEST(readers_and_writers_are_let_in_between_threads)
{
    begin(3, 0);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(readers_and_writers_are_let_in_in_the_order_of_arrival)
{
    begin(4, 1);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}
