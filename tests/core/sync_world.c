/* The world of the models of sync/.
 *
 * The models explore the real code: sync/, and what it calls to end waits and to send tasklets to
 * other threads, sched/wake.c and sched/inbox.c, built with a pretended interpreter
 * (pretend/Python.h).  A call that has to wait does not return here: its stack is abandoned, as in
 * a soft switch, and what it gives comes later.  So between two actions nothing is on a stack, and
 * the whole state is in one structure: the tasklets, the lock or queue, and what is allocated.
 *
 * Threads.  What a thread does under a guard is one action.  What it sends to another one it has
 * only begun to send (`flights`): the tasklet is claimed, then it is in the other's inbox, then the
 * other is woken.  Anything may happen between those three, but for the sender's next call.
 * A tasklet that waits for nothing may make its next call at any time, in whatever order its thread
 * would run it.  A thread reads its inbox between any two calls, lets the first of its tasklets go
 * on that have been woken, and sleeps while all its tasklets wait.  A deadline may expire at any
 * time; a tasklet that waits may be killed by another one of its thread, or from the other thread,
 * one at a time.
 *
 * What may not happen, for all models: a thread sleeps while something has come, and nobody is
 * about to wake it; one that came later stands before, or is served before, one that waits; a guard
 * is taken twice.  And from every state one must be reachable where nobody waits or holds anything.
 */
#include "sync_world.h"

#include <setjmp.h>
#include <stdio.h>

#include "runner.h"
#include "sched/carrier.h"
#include "sched/internal.h"
#include "sched/sitter.h"

enum { POSTS = 1, WAKES = 0x10 }; /* of a flight: plus the tasklet, plus the thread */
enum { EXPIRES = SYNC_OPERATIONS, KILLED_HERE, KILLED_THERE, PER_TASKLET };
enum { READS, PICKS, FLIES, SLEEPS, PER_THREAD };
#define LATER 9 /* than now */

sync_world sync_state;
PyObject sync_late, sync_shut_down, sync_kill;
PyObject pretend_none, pretend_true, pretend_false, pretend_numbers[2 * PRETEND_MOST + 1];
static s_sched scheds[SYNC_THREADS];
static const sync_model *model;
static PyObject *raised;
static int about; /* the tasklet that the action is about */
static jmp_buf abandoned;

/* ---- the interpreter, and what else the code calls ----------------------------------------- */

s_hooks s_hook;
s_carrier_hooks s_carrier_hook;
__thread s_sched *s_self_;
const s_wait_kind s_sitting; /* of no tasklet here */
int c_fail_allocation_in;

/* From a place that depends on the tasklet that it is about, so that the order of two makes no
 * different states. */
void *PyMem_Calloc(size_t count, size_t size)
{
    for (int k = 0; k < SYNC_BLOCKS; k++) {
        int i = (4 * about + k) % SYNC_BLOCKS;
        if (sync_state.used[i])
            continue;
        CHECK(count * size <= sizeof(sync_state.blocks[i]));
        sync_state.used[i] = 1;
        return &sync_state.blocks[i];
    }
    CHECK(!"more blocks than there are");
    return NULL;
}

void *PyMem_Malloc(size_t size)
{
    return PyMem_Calloc(1, size);
}

void *PyMem_RawMalloc(size_t size)
{
    return PyMem_Calloc(1, size);
}

void PyMem_Free(void *block)
{
    for (int i = 0; i < SYNC_BLOCKS; i++) {
        if (block != &sync_state.blocks[i])
            continue;
        CHECK(sync_state.used[i]);
        sync_state.used[i] = 0;
        memset(block, 0, sizeof(sync_state.blocks[i]));
        return;
    }
    CHECK(block == NULL);
}

void PyMem_RawFree(void *block)
{
    PyMem_Free(block);
}

PyObject *PyErr_GetRaisedException(void)
{
    PyObject *error = raised;
    raised = NULL;
    return error;
}

void PyErr_SetRaisedException(PyObject *exception)
{
    raised = exception;
}

PyObject *PyErr_Occurred(void)
{
    return raised;
}

void PyErr_Clear(void)
{
    raised = NULL;
}

static PyObject *error_of_code(int code, PyObject *about)
{
    (void)about;
    return Py_NewRef(code == S_E_SHUT ? &sync_shut_down : &sync_late);
}

void c_lock_wait(c_lock *lock)
{
    (void)lock;
    sync_state.fault = "a guard is taken while it is held";
}

int64_t s_now(s_sched *s)
{
    (void)s;
    return 1;
}

int s_timer_arm(s_sched *s, s_timer *timer, int64_t when)
{
    (void)s;
    timer->node = (b_timer){when, 1};
    return S_OK;
}

void s_timer_disarm(s_sched *s, s_timer *timer)
{
    (void)s;
    timer->node.index = 0;
}

/* No signal comes, and nobody is cancelled. */
int c_run_signal_handlers(PyThreadState *ts)
{
    (void)ts;
    abort();
}

int c_signal_waits_for(PyThreadState *ts)
{
    (void)ts;
    abort();
}

int s_is_home_free(const s_sched *s)
{
    (void)s;
    abort();
}

void c_interrupt_throw(c_interrupt *request)
{
    (void)request;
    abort();
}

void s_report_refresh(s_sched *s)
{
    (void)s;
    abort();
}

/* ---- threads ------------------------------------------------------------------------------- */

static int number_of(const s_sched *s)
{
    return (int)(s - scheds);
}

s_sched *sync_thread_of(int t)
{
    return &scheds[t % SYNC_THREADS];
}

static void load_threads(void)
{
    for (int i = 0; i < SYNC_THREADS; i++) {
        const sync_thread *kept = &sync_state.threads[i];
        scheds[i].ready = kept->ready;
        scheds[i].woken = kept->woken;
        scheds[i].messages = kept->messages;
        scheds[i].messages_end = kept->messages_end;
        scheds[i].has_messages = kept->has_messages;
    }
}

static void store_threads(void)
{
    for (int i = 0; i < SYNC_THREADS; i++) {
        sync_thread *kept = &sync_state.threads[i];
        kept->ready = scheds[i].ready;
        kept->woken = scheds[i].woken;
        kept->messages = scheds[i].messages;
        kept->messages_end = scheds[i].messages_end;
        kept->has_messages = scheds[i].has_messages;
    }
}

static void begin_flight(int what)
{
    uint8_t *flights = sync_state.threads[number_of(s_self_)].flights;
    while (*flights != 0)
        flights++;
    *flights = (uint8_t)what;
}

int __real_s_post_woken(s_sched *to, s_tasklet *t);
int __wrap_s_post_woken(s_sched *to, s_tasklet *t);

int __wrap_s_post_woken(s_sched *to, s_tasklet *t)
{
    (void)to;
    begin_flight(POSTS + (int)(t - sync_state.tasklets));
    return 1;
}

/* A wake that comes later is begun like any other: the thread is woken when the flight is over. */
void c_gil_wake(void (*wake)(void *what), void *what)
{
    wake(what);
}

void s_wake_poller(s_sched *to)
{
    begin_flight(WAKES + number_of(to));
}

/* The oldest thing that the thread has begun to send gets one step further. */
static int fly(int thread)
{
    uint8_t *flights = sync_state.threads[thread].flights, what = flights[0];
    if (what == 0)
        return 0;
    memmove(flights, flights + 1, sizeof(sync_state.threads[thread].flights) - 1);
    if (what >= WAKES) {
        sync_state.threads[what - WAKES].asleep = 0;
    } else {
        s_tasklet *t = &sync_state.tasklets[what - POSTS];
        __real_s_post_woken(t->owner, t);
    }
    return 1;
}

static int is_wake_under_way(int thread)
{
    for (int i = 0; i < SYNC_THREADS; i++)
        for (int k = 0; k < (int)sizeof(sync_state.threads[i].flights); k++)
            if (sync_state.threads[i].flights[k] == WAKES + thread)
                return 1;
    return 0;
}

/* One of its tasklets that can make a call, but for `t`; or NULL. */
static s_tasklet *find_running(int thread, const s_tasklet *t)
{
    for (int i = thread; i < model->tasklets; i += SYNC_THREADS)
        if (sync_state.is[i] != SYNC_WAITS && &sync_state.tasklets[i] != t)
            return &sync_state.tasklets[i];
    return NULL;
}

static int sleep_thread(int thread)
{
    const s_sched *s = &scheds[thread];
    if (find_running(thread, NULL) != NULL || !b_list_empty(&s->ready) || s->has_messages)
        return 0;
    sync_state.threads[thread].asleep = 1;
    return 1;
}

/* What has waited goes on. */
static int pick_next(s_sched *s)
{
    b_link *first = b_first(&s->ready);
    if (first == NULL)
        return 0;
    b_unlink(first);
    s_tasklet *t = s_of_link(first);
    int number = (int)(t - sync_state.tasklets);
    PyObject *value = t->wait.value, *error = t->error;
    t->wait.value = t->error = NULL;
    t->state = S_RUNNING;
    t->kind = NULL;
    t->on = NULL;
    s->current = t;
    model->resume(number, error != NULL ? NULL : value, error);
    sync_state.may_be_late[number] = 0;
    if (error != NULL) {
        Py_XDECREF(value);
        Py_DECREF(error);
        if (error == &sync_kill)
            sync_state.killed[number] = 0;
    }
    return 1;
}

/* ---- tasklets ------------------------------------------------------------------------------ */

PyObject *s_suspend(s_sched *s, const c_call_site *site)
{
    (void)site;
    CHECK(s->current->state == S_BLOCKED);
    longjmp(abandoned, 1);
}

/* It calls something; 0 when it cannot. */
static int operate_or_wait(s_sched *s, int t, int what)
{
    if (setjmp(abandoned) == 0)
        return model->operate(s, t, what);
    sync_state.is[t] = SYNC_WAITS;
    sync_state.may_be_late[t] = sync_state.tasklets[t].timer != NULL;
    return 1;
}

sync_outcome sync_note_call(int t, const PyObject *value, int code)
{
    const s_tasklet *me = &sync_state.tasklets[t];
    if ((value != NULL) == (code < 0))
        sync_state.fault = "a call gives nothing, or an error and a value";
    if (me->timer != NULL)
        sync_state.fault = "a call that has not waited leaves its deadline";
    return value != NULL ? SYNC_RETURNED : SYNC_RAISED;
}

void sync_note_end(int t, const PyObject *value, const PyObject *error)
{
    if (value == Py_False && !sync_state.may_be_late[t])
        sync_state.fault = "a wait without a deadline is late";
    if (error != NULL && !sync_state.killed[t])
        sync_state.fault = "one is interrupted whom nobody has killed";
    if (value == NULL && error == NULL)
        sync_state.fault = "one goes on with nothing";
}

void sync_resume_holder(int t, PyObject *value, PyObject *error)
{
    sync_state.is[t] = value == Py_True ? SYNC_HOLDS : SYNC_AWAY;
    sync_note_end(t, value, error);
}

int sync_is_given(int t)
{
    const s_tasklet *me = &sync_state.tasklets[t];
    return sync_state.is[t] == SYNC_WAITS && !me->queued && me->error == NULL &&
           me->wait.value != NULL && me->wait.value != Py_False;
}

int sync_count_waiting(const b_link *queue)
{
    int count = 0;
    for (const b_link *at = queue->next; at != queue; at = at->next)
        count++;
    return count;
}

static int is_served(int t, int queue)
{
    return model->is_served != NULL ? model->is_served(t, queue) : sync_is_given(t);
}

/* `before` and `now`: the tasklets in a queue before an action and after it.  A tasklet that leaves
 * without being served may have stood anywhere. */
static void check_order(int queue, const uint8_t *before, const uint8_t *now)
{
    int next = 0;
    for (int i = 0; i < SYNC_TASKLETS && before[i] != 0; i++) {
        if (before[i] == now[next])
            next++;
        else if (memchr(now, before[i], SYNC_TASKLETS) != NULL)
            sync_state.fault = "one that came later stands before one that waits";
        else if (next > 0 && is_served(before[i] - 1, queue))
            sync_state.fault = "one that came later is served before one that waits";
    }
}

/* Notes who stands where now. */
static void check_queues(void)
{
    b_link *queue;
    for (int i = 0; i < SYNC_QUEUES && (queue = model->queue(i)) != NULL; i++) {
        uint8_t now[SYNC_TASKLETS] = {0}, stand = 0;
        for (const b_link *at = queue->next; at != queue; at = at->next)
            now[stand++] = (uint8_t)(s_of_link((b_link *)at) - sync_state.tasklets + 1);
        check_order(i, sync_state.stood[i], now);
        memcpy(sync_state.stood[i], now, sizeof(now));
    }
}

static int expire(s_sched *s, s_tasklet *t)
{
    if (t->timer == NULL || t->timer->node.index == 0)
        return 0;
    t->timer->node.index = 0;
    sync_state.threads[number_of(s)].asleep = 0;
    t->timer->fire(s, t->timer);
    return 1;
}

static int kill(s_sched *from, s_tasklet *t, int number)
{
    static const uint8_t nobody[SYNC_TASKLETS];
    from->current = find_running(number_of(from), t);
    if (from->current == NULL || sync_state.is[number] != SYNC_WAITS ||
        memcmp(sync_state.killed, nobody, sizeof(nobody)) != 0)
        return 0;
    sync_state.killed[number] = 1;
    if (t->owner == from)
        s_raise_in(from, t, Py_NewRef(&sync_kill));
    else
        s_post_message(t->owner, s_handle_throw, t, Py_NewRef(&sync_kill));
    return 1;
}

static int act_on_tasklet(int number, int what)
{
    s_tasklet *t = &sync_state.tasklets[number];
    about = number;
    s_sched *s = s_self_ = what == KILLED_THERE ? sync_thread_of(number + 1) : t->owner;
    if (sync_state.threads[number_of(s)].flights[0] != 0)
        return 0;
    if (what == EXPIRES)
        return expire(s, t);
    if (sync_state.threads[number_of(s)].asleep)
        return 0;
    if (what == KILLED_HERE || what == KILLED_THERE)
        return kill(s, t, number);
    s->current = t;
    return what < model->operations && sync_state.is[number] != SYNC_WAITS &&
           operate_or_wait(s, number, what);
}

static int act_on_thread(int thread, int what)
{
    s_sched *s = s_self_ = &scheds[thread];
    if (what == FLIES)
        return fly(thread);
    if (sync_state.threads[thread].flights[0] != 0 || sync_state.threads[thread].asleep)
        return 0;
    about = 0;
    if (what == READS && s->has_messages) {
        s_read_inbox(s);
        return 1;
    }
    return what == PICKS ? pick_next(s) : what == SLEEPS && sleep_thread(thread);
}

/* What was left in a link that is in no list means nothing. */
static void forget_places(void)
{
    for (int t = 0; t < SYNC_TASKLETS; t++) {
        b_link *link = &sync_state.tasklets[t].wait.link;
        if (!b_linked(link))
            link->prev = NULL;
    }
    if (model->forget != NULL)
        model->forget();
}

/* ---- exploring ----------------------------------------------------------------------------- */

static int act(int action)
{
    int of_threads = action - model->tasklets * PER_TASKLET;
    load_threads();
    int done = of_threads < 0 ? act_on_tasklet(action / PER_TASKLET, action % PER_TASKLET)
                              : act_on_thread(of_threads / PER_THREAD, of_threads % PER_THREAD);
    store_threads();
    forget_places();
    if (done)
        check_queues();
    return done;
}

static const char *find_forgotten(void)
{
    for (int t = 0; t < model->tasklets; t++) {
        const s_tasklet *at = &sync_state.tasklets[t];
        if (at->state == S_BLOCKED && !at->queued && at->error == NULL &&
            (at->wait.value == NULL || at->wait.value == &sync_state.items[t]))
            return "one waits where nothing can end it";
        if (at->ob_base.ob_refcnt > SYNC_BLOCKS)
            return "a tasklet is referred to more and more";
    }
    return NULL;
}

static const char *find_fault(void)
{
    const char *forgotten = find_forgotten();
    if (forgotten != NULL)
        return forgotten;
    for (int i = 0; i < SYNC_THREADS; i++) {
        if (sync_state.threads[i].asleep && sync_state.threads[i].has_messages &&
            !is_wake_under_way(i))
            return "a thread sleeps though something has come for it";
        if (sync_state.threads[i].asleep && !b_list_empty(&scheds[i].ready))
            return "a thread sleeps though one of its tasklets is ready";
    }
    return sync_state.fault != NULL ? sync_state.fault : model->fault();
}

/* A tasklet that nothing refers to but itself, and a kill that finds it when it waits. */
static int is_at_rest(void)
{
    for (int t = 0; t < model->tasklets; t++) {
        if (sync_state.is[t] != SYNC_AWAY || sync_state.tasklets[t].timer != NULL ||
            sync_state.tasklets[t].ob_base.ob_refcnt != 1 + sync_state.killed[t])
            return 0;
    }
    return sync_state.threads[0].flights[0] == 0 && sync_state.threads[1].flights[0] == 0;
}

static void print_world(int action)
{
    printf("action %d:", action);
    for (int t = 0; t < model->tasklets; t++) {
        const s_tasklet *at = &sync_state.tasklets[t];
        printf(" [%s%s state %d%s%s]",
               sync_state.is[t] == SYNC_HOLDS   ? "holds"
               : sync_state.is[t] == SYNC_WAITS ? "waits"
                                                : "away",
               at->queued ? " queued" : "", at->state, at->error ? " error" : "",
               at->wait.value ? " value" : "");
    }
    for (int i = 0; i < SYNC_THREADS; i++)
        printf(" %s%s", sync_state.threads[i].asleep ? "asleep" : "awake",
               sync_state.threads[i].has_messages ? "+mail" : "");
    printf("\n");
}

void sync_begin(const sync_model *the_model)
{
    model = the_model;
    memset(&sync_state, 0, sizeof(sync_state));
    s_hook.error = error_of_code;
    for (int i = 0; i < SYNC_THREADS; i++) {
        scheds[i].polls = 1; /* so that its thread is woken by s_wake_poller */
        b_list_init(&scheds[i].ready);
        b_list_init(&scheds[i].woken);
        scheds[i].messages_end = &scheds[i].messages;
    }
    for (int t = 0; t < model->tasklets; t++) {
        s_tasklet *one = &sync_state.tasklets[t];
        one->ob_base.ob_refcnt = 1;
        one->wait.task = one;
        one->owner = sync_thread_of(t);
        one->id = (uint64_t)t + 1;
        one->state = S_RUNNING;
    }
    store_threads();
}

explore_result sync_explore(int quiet)
{
    explore_model explored = {.size = sizeof(sync_state),
                              .actions = model->tasklets * PER_TASKLET + SYNC_THREADS * PER_THREAD,
                              .state = &sync_state,
                              .act = act,
                              .fault = find_fault,
                              .is_final = is_at_rest,
                              .print = print_world};
    return explore(&explored, quiet);
}
