/* sync/event.c: tasklets of two threads wait for an event that is set and cleared, in every order
 * of events; with deadlines and kills.  The world is in sync_world.c.
 *
 * Whoever waits when it is set returns True, also if it is cleared before that tasklet runs. Nobody
 * waits for ever if all others wait, since nobody would be left who could set it.
 */
#include "runner.h"
#include "sync_world.h"

enum { WAITS_NOT, WAITS_WITH_DEADLINE, WAITS, SETS, CLEARS, OPERATIONS };
static const int64_t limits[] = {0, 9, S_FOREVER};
static int tasklets;

static y_event *the_event(void)
{
    return &sync_state.on.signal.event;
}

static b_link *queue(int i)
{
    return i == 0 ? &the_event()->gate.waiters : NULL;
}

static int wait_until_set(s_sched *s, int t, int what)
{
    int code;
    if (what == WAITS && sync_count_waiting(queue(0)) == tasklets - 1)
        return 0;
    sync_state.on.signal.saw[t] = 0;
    const PyObject *value = y_event_wait(s, the_event(), limits[what], NULL, &code);
    if ((sync_note_call(t, value, code) == SYNC_RETURNED) != sync_state.on.signal.is_set)
        sync_state.fault = "one passes an event that is not set, or does not pass one that is";
    if (value == NULL && what != WAITS_NOT)
        sync_state.fault = "a call that may wait does not";
    return 1;
}

static int operate(s_sched *s, int t, int what)
{
    if (what != SETS && what != CLEARS)
        return wait_until_set(s, t, what);
    sync_state.on.signal.is_set = what == SETS;
    if (what == CLEARS) {
        y_event_clear(the_event());
        return 1;
    }
    for (int other = 0; other < tasklets; other++)
        sync_state.on.signal.saw[other] |= (uint8_t)sync_state.tasklets[other].queued;
    y_event_set(s, the_event());
    return 1;
}

static void resume(int t, PyObject *value, PyObject *error)
{
    sync_state.is[t] = SYNC_AWAY;
    sync_note_end(t, value, error);
    if (error == NULL && (value == Py_True) != sync_state.on.signal.saw[t])
        sync_state.fault = "one has seen what was not, or not seen what was";
    sync_state.on.signal.saw[t] = 0;
}

static const char *find_fault(void)
{
    if (sync_state.on.signal.is_set && sync_count_waiting(queue(0)) > 0)
        return "one sleeps though it is set";
    return NULL;
}

static void begin(int count)
{
    static sync_model model = {.operate = operate,
                               .operations = OPERATIONS,
                               .resume = resume,
                               .queue = queue,
                               .fault = find_fault};
    model.tasklets = tasklets = count;
    sync_begin(&model);
    y_gate_init(&the_event()->gate);
}

TEST(an_event_is_seen_by_all_that_wait)
{
    begin(3);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}
