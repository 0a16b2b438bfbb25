/* sync/queue.c: items are handed over among tasklets of two threads, and room for them, in every
 * order of events; with deadlines, kills and a shutdown.  The world is in sync_world.c.
 *
 * Each tasklet that puts has one item, which it puts again when it has been taken.  So it is known
 * of each item how often it was put and taken, and where it must be.
 */
#include "runner.h"
#include "sync_world.h"

enum { WITHOUT_WAITING, WITH_DEADLINE, FOR_EVER, SHUTS };
static const int64_t limits[] = {0, 9, S_FOREVER};

/* The life of an item.  OFFERED: put() has not returned; it may be taken already (`taken`). */
enum { OUTSIDE, OFFERED, INSIDE };

static int getters, shuts; /* the first tasklets get, the others put */

static y_queue *the_queue(void)
{
    return &sync_state.on.queue;
}

/* ---- what a call has given ----------------------------------------------------------------- */

static void take_item(PyObject *item)
{
    ptrdiff_t i = item - sync_state.items;
    if (i < 0 || i >= SYNC_TASKLETS || sync_state.life[i] == OUTSIDE || sync_state.taken[i]) {
        sync_state.fault = "an item is taken that is not there";
        return;
    }
    Py_DECREF(item);
    if (sync_state.life[i] == OFFERED)
        sync_state.taken[i] = 1;
    else
        sync_state.life[i] = OUTSIDE;
}

static void end_put(int t, int is_put)
{
    if (sync_state.taken[t])
        sync_state.life[t] = OUTSIDE;
    else
        sync_state.life[t] = is_put ? INSIDE : OUTSIDE;
    sync_state.taken[t] = 0;
}

static int is_killed(int t, const PyObject *error)
{
    return error == &sync_kill && sync_state.killed[t];
}

static void resume(int t, PyObject *value, PyObject *error)
{
    int was_late = error == &sync_late && sync_state.may_be_late[t];
    sync_state.is[t] = SYNC_AWAY;
    if ((value == NULL) == (error == NULL))
        sync_state.fault = "one goes on with nothing";
    if (error != NULL && !is_killed(t, error) && !was_late &&
        !(error == &sync_shut_down && sync_state.shut))
        sync_state.fault = "one is interrupted without a reason";
    if (t < getters && value != NULL)
        take_item(value);
    if (t >= getters) /* who was killed may have put it, like who has returned */
        end_put(t, value != NULL || (is_killed(t, error) && sync_state.items[t].ob_refcnt > 1));
}

/* ---- calls --------------------------------------------------------------------------------- */

static void check_refusal(int what, int code)
{
    if (code == S_E_SHUT ? !sync_state.shut : what != WITHOUT_WAITING)
        sync_state.fault = "a call that may wait does not";
}

static void get(s_sched *s, int t, int what)
{
    int code = S_OK, others_wait = sync_count_waiting(&the_queue()->gate.waiters);
    PyObject *item = y_queue_get(s, the_queue(), limits[what], NULL, &code);
    sync_outcome outcome = sync_note_call(t, item, code);
    if (outcome == SYNC_RAISED)
        check_refusal(what, code);
    if (outcome != SYNC_RETURNED)
        return;
    if (others_wait)
        sync_state.fault = "one passes though others wait";
    take_item(item);
}

static void put(s_sched *s, int t, int what)
{
    int code = S_OK, others_wait = sync_count_waiting(&the_queue()->putters);
    int is_full = the_queue()->count >= the_queue()->most;
    sync_state.life[t] = OFFERED;
    PyObject *done = y_queue_put(s, the_queue(), &sync_state.items[t], limits[what], NULL, &code);
    sync_outcome outcome = sync_note_call(t, done, code);
    if (outcome == SYNC_RAISED)
        check_refusal(what, code);
    if (outcome == SYNC_RETURNED && others_wait)
        sync_state.fault = "one passes though others wait";
    if (outcome == SYNC_RETURNED && is_full)
        sync_state.fault = "an item is put into a full queue";
    end_put(t, outcome == SYNC_RETURNED);
}

static int operate(s_sched *s, int t, int what)
{
    if (what == SHUTS) {
        if (!shuts || sync_state.shut)
            return 0;
        sync_state.shut = 1;
        y_queue_shut(s, the_queue(), 0);
        return 1;
    }
    if (t < getters)
        get(s, t, what);
    else if (sync_state.life[t] == OUTSIDE)
        put(s, t, what);
    else
        return 0;
    return 1;
}

/* ---- what must hold ------------------------------------------------------------------------ */

/* In how many places it is: in the ring, with one who waits to put it, with one who was given it.
 */
static int count_places(const PyObject *item)
{
    const y_queue *queue = the_queue();
    int places = 0;
    for (Py_ssize_t i = 0; i < queue->count; i++)
        places += queue->items[(queue->first + i) % queue->room] == item;
    for (int t = 0; t < SYNC_TASKLETS; t++)
        places += sync_state.tasklets[t].wait.value == item;
    return places;
}

static const char *find_misplaced(void)
{
    for (int t = getters; t < SYNC_TASKLETS; t++) {
        int inside = sync_state.life[t] != OUTSIDE && !sync_state.taken[t];
        int places = count_places(&sync_state.items[t]);
        if (sync_state.tasklets[t].error != NULL && places == 0)
            inside = 0; /* put() raises; if it was killed it may have put the item before */
        if (places != inside)
            return places < inside ? "an item is lost" : "an item is there twice";
        if (sync_state.items[t].ob_refcnt != 1 + inside)
            return "an item is not counted as often as it is there";
    }
    return NULL;
}

static b_link *queue(int i)
{
    return i == 0 ? &the_queue()->gate.waiters : &the_queue()->putters;
}

static const char *find_fault(void)
{
    const y_queue *queue = the_queue();
    int want_items = sync_count_waiting(&queue->gate.waiters),
        want_room = sync_count_waiting(&queue->putters);
    if (queue->count > 0 && want_items)
        return "one sleeps though there is an item";
    if (queue->count < queue->most && want_room)
        return "one sleeps though there is room";
    if (sync_state.shut && (want_items || want_room))
        return "one sleeps though the queue is shut";
    return find_misplaced();
}

/* Where the ring begins, while nothing is in it, and what was there. */
static void forget_old_items(void)
{
    y_queue *queue = the_queue();
    for (Py_ssize_t i = queue->count; i < queue->room; i++)
        queue->items[(queue->first + i) % queue->room] = NULL;
    queue->tasks = 0;
    if (queue->count == 0)
        queue->first = 0;
}

static void begin(int most, int last_first, int how_many_get, int how_many_put, int may_shut)
{
    static sync_model model = {.operate = operate,
                               .operations = SHUTS + 1,
                               .resume = resume,
                               .queue = queue,
                               .fault = find_fault,
                               .forget = forget_old_items};
    model.tasklets = how_many_get + how_many_put;
    getters = how_many_get;
    shuts = may_shut;
    sync_begin(&model);
    y_queue_init(the_queue(), most, last_first);
    for (int t = 0; t < SYNC_TASKLETS; t++)
        sync_state.items[t].ob_refcnt = 1;
}

TEST(items_are_handed_to_those_who_wait)
{
    begin(1, 0, 2, 1, 0);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(room_is_handed_to_those_who_wait)
{
    begin(1, 0, 1, 2, 0);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(items_and_room_are_handed_over_when_the_last_item_is_the_first)
{
    begin(2, 1, 1, 3, 0);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}

TEST(who_waits_for_a_queue_learns_that_it_is_shut)
{
    begin(1, 0, 1, 2, 1);
    CHECK(sync_explore(0) == EXPLORE_RIGHT);
}
