/* The queue of sync.h.
 *
 * Items lie in a ring, which grows up to what may be in it.  Who puts something hands it to the
 * first that waits for an item; who takes one hands the room to the first that waits for that, by
 * putting that one's item behind the others.  So nobody is overtaken, and none is woken to find
 * the queue empty or full again.
 *
 * Invariants, under the guard: while somebody waits for an item there is none; while somebody waits
 * for room there is none.  A waiter that wants to put has its item as wait.value, which is not a
 * task before it is in the ring.
 *
 * An item that was handed to a tasklet which raises instead goes to the next waiter, or back to
 * where it was taken from, even into a full queue: nothing is lost.
 *
 * Items are dropped, and exceptions made, outside of the guard: both may run Python code.
 */
#include "sync/gate.h"

/* ---- the ring ------------------------------------------------------------------------ */

#define LEAST_ROOM 8

static Py_ssize_t wrap_around(const y_queue *queue, Py_ssize_t at)
{
    return at >= queue->room ? at - queue->room : at;
}

static int grow_ring(y_queue *queue)
{
    Py_ssize_t room = queue->room ? queue->room * 2 : LEAST_ROOM;
    PyObject **items = c_malloc((size_t)room * sizeof(*items));
    if (items == NULL)
        return S_E_MEMORY;
    for (Py_ssize_t i = 0; i < queue->count; i++)
        items[i] = queue->items[wrap_around(queue, queue->first + i)];
    PyMem_Free(queue->items);
    queue->items = items;
    queue->room = room;
    queue->first = 0;
    return S_OK;
}

/* Steals the item if there is memory. */
static int append_item(y_queue *queue, PyObject *item)
{
    if (queue->count == queue->room && grow_ring(queue) < 0)
        return S_E_MEMORY;
    queue->items[wrap_around(queue, queue->first + queue->count++)] = item;
    return S_OK;
}

static PyObject *take_item(y_queue *queue)
{
    queue->count--;
    if (queue->last_first)
        return queue->items[wrap_around(queue, queue->first + queue->count)];
    PyObject *item = queue->items[queue->first];
    queue->first = wrap_around(queue, queue->first + 1);
    return item;
}

/* The item that was taken last comes back.  Steals it if there is memory. */
static int return_item(y_queue *queue, PyObject *item)
{
    if (queue->last_first)
        return append_item(queue, item);
    if (queue->count == queue->room && grow_ring(queue) < 0)
        return S_E_MEMORY;
    queue->first = queue->first > 0 ? queue->first - 1 : queue->room - 1;
    queue->items[queue->first] = item;
    queue->count++;
    return S_OK;
}

/* ---- handing over -------------------------------------------------------------------- */

static void claim_all(b_link *waiters, b_link *claimed)
{
    for (b_link *at; (at = b_first(waiters)) != NULL;) {
        s_dequeue(at);
        b_append(claimed, at);
    }
}

/* ---- waiting ------------------------------------------------------------------------- */

/* An item was handed to a tasklet that has to raise instead. */
static void give_back_item(s_sched *s, s_tasklet *t, PyObject *item)
{
    y_queue *queue = t->on;
    int code = S_OK;
    Py_INCREF(item);
    c_lock_take(&queue->gate.guard);
    s_tasklet *next = y_claim_first(&queue->gate.waiters);
    if (next == NULL)
        code = return_item(queue, item);
    c_lock_give(&queue->gate.guard);
    if (next != NULL)
        y_let_pass_with(s, next, item);
    else if (code < 0)
        Py_DECREF(item);
}

static const s_wait_kind given = {.name = "get", .refused = give_back_item, .gives_items = 1};
const s_wait_kind y_queue_getting = {.name = "get",
                                     .detach = y_leave_gate,
                                     .target = y_gate_target,
                                     .late_code = S_E_NO_ITEM,
                                     .given = &given};
const s_wait_kind y_queue_putting = {
    .name = "put", .detach = y_leave_gate, .target = y_gate_target, .late_code = S_E_NO_ROOM};
const s_wait_kind y_queue_joining = {
    .name = "join", .detach = y_leave_gate, .target = y_gate_target};

static void enqueue_current(s_sched *s, b_link *waiters, const s_wait_kind *kind, y_queue *queue)
{
    s_enqueue(s->current, waiters, kind, queue);
    s->tasklet_waits++;
}

/* ---- put and get --------------------------------------------------------------------- */

/* Under the guard: 1, *getter is a claimed one that gets the item, or NULL; 0: there is no room. */
static int put_at_once(y_queue *queue, PyObject *item, s_tasklet **getter)
{
    *getter = NULL;
    if (queue->shut)
        return S_E_SHUT;
    if ((*getter = y_claim_first(&queue->gate.waiters)) == NULL) {
        if (queue->count >= queue->most)
            return 0;
        if (append_item(queue, item) < 0)
            return S_E_MEMORY;
    }
    Py_INCREF(item);
    queue->tasks++;
    return 1;
}

PyObject *y_queue_put(s_sched *s, y_queue *queue, PyObject *item, int64_t until,
                      const c_call_site *site, int *code)
{
    s_tasklet *getter;
    *code = S_OK;
    c_lock_take(&queue->gate.guard);
    int done = put_at_once(queue, item, &getter);
    c_lock_give(&queue->gate.guard);
    if (done == 0 && (done = s_begin_wait(s, until, S_E_NO_ROOM)) == S_OK) {
        c_lock_take(&queue->gate.guard);
        if ((done = put_at_once(queue, item, &getter)) == 0) {
            Py_XSETREF(s->current->wait.value, Py_NewRef(item));
            enqueue_current(s, &queue->putters, &y_queue_putting, queue);
        }
        c_lock_give(&queue->gate.guard);
        if (done == 0)
            return s_suspend(s, site);
        s_deadline_drop(s, s->current);
    }
    if (done < 0) {
        *code = done;
        return NULL;
    }
    if (getter != NULL)
        y_let_pass_with(s, getter, item);
    return c_new_none();
}

/* Under the guard: the item of the first that waits for room finds it: that one, claimed; or NULL.
 */
static s_tasklet *admit_putter(y_queue *queue)
{
    b_link *first = queue->count < queue->most ? b_first(&queue->putters) : NULL;
    if (first == NULL || append_item(queue, s_of_link(first)->wait.value) < 0)
        return NULL;
    s_tasklet *putter = s_dequeue(first);
    putter->wait.value = NULL;
    queue->tasks++;
    return putter;
}

static void let_go_on(s_sched *s, s_tasklet *putter)
{
    s_give(putter, Py_None);
    s_wake(s, putter);
}

/* Under the guard: 1, with an item, and *putter is a claimed one whose item has found room, or
 * NULL; 0: there is none. */
static int get_at_once(y_queue *queue, PyObject **item, s_tasklet **putter)
{
    *putter = NULL;
    if (queue->count == 0)
        return queue->shut ? S_E_SHUT : 0;
    *item = take_item(queue);
    *putter = admit_putter(queue);
    return 1;
}

PyObject *y_queue_get(s_sched *s, y_queue *queue, int64_t until, const c_call_site *site, int *code)
{
    s_tasklet *putter;
    PyObject *item = NULL;
    *code = S_OK;
    c_lock_take(&queue->gate.guard);
    int done = get_at_once(queue, &item, &putter);
    c_lock_give(&queue->gate.guard);
    if (done == 0 && (done = s_begin_wait(s, until, S_E_NO_ITEM)) == S_OK) {
        c_lock_take(&queue->gate.guard);
        if ((done = get_at_once(queue, &item, &putter)) == 0)
            enqueue_current(s, &queue->gate.waiters, &y_queue_getting, queue);
        c_lock_give(&queue->gate.guard);
        if (done == 0)
            return s_suspend(s, site);
        s_deadline_drop(s, s->current);
    }
    if (done < 0)
        *code = done;
    else if (putter != NULL)
        let_go_on(s, putter);
    return item;
}

void y_queue_set_most(s_sched *s, y_queue *queue, Py_ssize_t most)
{
    s_tasklet *putter;
    do {
        c_lock_take(&queue->gate.guard);
        queue->most = most;
        putter = admit_putter(queue);
        c_lock_give(&queue->gate.guard);
        if (putter != NULL)
            let_go_on(s, putter);
    } while (putter != NULL);
}

/* ---- tasks --------------------------------------------------------------------------- */

/* So many tasks more are done, as far as there are; who waits for the last one goes on. */
static int finish_tasks(s_sched *s, y_queue *queue, Py_ssize_t count)
{
    b_link claimed;
    b_list_init(&claimed);
    c_lock_take(&queue->gate.guard);
    int code = queue->tasks > 0 ? S_OK : S_E_NO_TASK;
    queue->tasks -= count < queue->tasks ? count : queue->tasks;
    if (queue->tasks == 0)
        claim_all(&queue->joiners, &claimed);
    c_lock_give(&queue->gate.guard);
    s_wake_all(s, &claimed, Py_None);
    return code;
}

int y_queue_task_done(s_sched *s, y_queue *queue)
{
    return finish_tasks(s, queue, 1);
}

PyObject *y_queue_join(s_sched *s, y_queue *queue, const c_call_site *site, int *code)
{
    *code = queue->tasks > 0 ? s_may_block(s) : S_OK;
    if (*code < 0)
        return NULL;
    c_lock_take(&queue->gate.guard);
    int waits = queue->tasks > 0;
    if (waits)
        enqueue_current(s, &queue->joiners, &y_queue_joining, queue);
    c_lock_give(&queue->gate.guard);
    return waits ? s_suspend(s, site) : c_new_none();
}

/* ---- shutting ------------------------------------------------------------------------ */

/* Those that it has now: what runs when one is dropped may put others.  How many they were. */
static Py_ssize_t drop_items(y_queue *queue)
{
    Py_ssize_t dropped = 0;
    for (Py_ssize_t left = queue->count; left > 0; left--) {
        c_lock_take(&queue->gate.guard);
        PyObject *item = queue->count > 0 ? take_item(queue) : NULL;
        c_lock_give(&queue->gate.guard);
        dropped += item != NULL;
        Py_XDECREF(item);
    }
    return dropped;
}

void y_queue_shut(s_sched *s, y_queue *queue, int at_once)
{
    b_link claimed;
    b_list_init(&claimed);
    c_lock_take(&queue->gate.guard);
    queue->shut = 1;
    claim_all(&queue->gate.waiters, &claimed);
    claim_all(&queue->putters, &claimed);
    c_lock_give(&queue->gate.guard);
    s_fail_all(s, &claimed, S_E_SHUT);
    if (at_once)
        finish_tasks(s, queue, drop_items(queue));
}

/* ---- the object ---------------------------------------------------------------------- */

void y_queue_init(y_queue *queue, Py_ssize_t most, int last_first)
{
    y_gate_init(&queue->gate);
    b_list_init(&queue->putters);
    b_list_init(&queue->joiners);
    queue->most = most;
    queue->last_first = (char)last_first;
}

int y_queue_visit(y_queue *queue, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; i < queue->count; i++)
        Py_VISIT(queue->items[wrap_around(queue, queue->first + i)]);
    int code = y_visit_waiters(&queue->putters, visit, arg);
    if (code == 0)
        code = y_visit_waiters(&queue->joiners, visit, arg);
    return code == 0 ? y_gate_visit(&queue->gate, visit, arg) : code;
}

void y_queue_clear(y_queue *queue)
{
    y_gate_clear(&queue->gate);
    s_forget_waiters(&queue->putters);
    s_forget_waiters(&queue->joiners);
    drop_items(queue);
}

void y_queue_free(y_queue *queue)
{
    y_queue_clear(queue);
    PyMem_Free(queue->items);
}
