/* The scheduler of a thread: made on first use, ended with the thread.
 *
 * It is found through one thread-local pointer (a whole structure in thread-local storage would not
 * fit what a module loaded late may take).
 *
 * The thread's end is learned from a capsule in its thread state's dictionary: the interpreter
 * clears that dictionary while the thread can still run Python.  All tasklets of the thread are
 * ended then, their `finally` blocks run.  One that waits again while it cleans up is killed again,
 * after those that can run did; one that has refused to end ten times is left as it is.
 *
 * Fork: the child has one thread, and only its scheduler lives on; the tasklets of others never run
 * again there.
 */
#include <string.h>

#include "heap/heap.h"
#include "sched/internal.h"
#include "sched/sitter.h"

#define KEY "loomlet.scheduler"
#define TRIES 10
#define TURNS 1000
#define NAMED 5
#define IDLE_CHUNK 4096

__thread s_sched *s_self_ __attribute__((tls_model("initial-exec")));

static s_tasklet *new_tasklet(PyTypeObject *type)
{
    return (s_tasklet *)type->tp_alloc(type, 0);
}

static void reset_scheduler(s_sched *s, PyThreadState *ts)
{
    memset(s, 0, offsetof(s_sched, ended));
    s->ts = ts;
    s->soft = s_soft_mode(s, s_soft_wanted);
    s->thread_id = PyThread_get_thread_ident();
    s->budget = 1;
    s->picks = s->pace = s_picks(s);
    s->spin = B_SPIN_BEGIN;
    s->virtual_now = -1;
    s_intervals_init(s);
    s->rings_due = s->coarse_now;
    s->stack = &s->own_stack;
    b_list_init(&s->ready);
    b_list_init(&s->all);
    b_list_init(&s->stackless.run_callers);
    b_list_init(&s->stackless.dead);
    for (int i = 0; i < S_OBJECT_BUCKETS; i++)
        b_list_init(&s->object_calls[i]);
    c_stack_limits_of_thread(ts, &s->own_stack);
}

/* Those of tasklets that never go on. */
static void forget_object_calls(s_sched *s)
{
    for (int i = 0; i < S_OBJECT_BUCKETS; i++) {
        for (b_link *at; (at = b_first(&s->object_calls[i])) != NULL;)
            b_unlink(at);
    }
}

static void free_contents(s_sched *s)
{
    b_heap_free(&s->timers);
    PyMem_RawFree(s->io_scratch);
    s->io_scratch = NULL;
    Py_CLEAR(s->io_spare);
    c_with_end_thread();
    forget_object_calls(s);
    s_free_spare_stacks(s);
    if (s->idler != NULL)
        s_free_state(s->idler);
    Py_CLEAR(s->main);
    Py_CLEAR(s->idler);
}

/* The idler has a data stack and a context of its own: while no tasklet is current, signal handlers
 * and destructors still run Python code. */
static int make_idler(s_sched *s)
{
    void *chunk = c_chunk_new(IDLE_CHUNK);
    s->idler = chunk ? new_tasklet(s_hook.type) : NULL;
    if (chunk == NULL)
        PyErr_NoMemory();
    if (s->idler == NULL) {
        c_chunk_free(chunk, IDLE_CHUNK);
        return S_E_SET;
    }
    s_main_init(s, s->idler);
    c_state_init(s->ts, &s->idler->c, chunk, IDLE_CHUNK);
    s->idler->c.context = PyContext_New();
    return s->idler->c.context ? S_OK : S_E_SET;
}

static void end_with_thread(PyObject *capsule)
{
    s_sched *s = PyCapsule_GetPointer(capsule, KEY);
    if (s == NULL || s->ended || c_is_finalizing())
        return;
    if (s_self_if_any() == s) {
        PyObject *pending = PyErr_GetRaisedException();
        s_report_thread_ending(s);
        if (s->current == s->main && s_kill_all(s) < 0)
            PyErr_WriteUnraisable(NULL);
        PyErr_SetRaisedException(pending);
        s_carriers_end(s);
        s_self_ = NULL;
        s_report_thread_ended(s);
        s_close_inbox(s);
        free_contents(s);
    } else {
        s_close_inbox(s);
    }
    s_poll_end(s);
    s_return_scheduler(s);
}

static int learn_thread_end(s_sched *s)
{
    PyObject *dict = PyThreadState_GetDict();
    PyObject *capsule = dict ? PyCapsule_New(s, KEY, end_with_thread) : NULL;
    if (capsule == NULL)
        return -1;
    int code = PyDict_SetItemString(dict, KEY, capsule);
    Py_DECREF(capsule);
    return code;
}

s_sched *s_self_met(void)
{
    if (s_must_meet())
        s_meet();
    return s_self_;
}

s_sched *s_self_make(void)
{
    if (s_self_met() != NULL) {
        s_begin_operation(s_self_);
        return s_self_;
    }
    PyThreadState *ts = c_thread_state();
    s_sched *s = s_obtain_scheduler();
    if (s == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    reset_scheduler(s, ts);
    s->main = new_tasklet(s_hook.main_type ? s_hook.main_type : s_hook.type);
    if (s->main == NULL || make_idler(s) < 0 || learn_thread_end(s) < 0) {
        free_contents(s);
        s_return_scheduler(s);
        return NULL;
    }
    s_main_init(s, s->main);
    s->main->id = s_new_id();
    s->main->stackless_rules = s_hook.main_type != NULL;
    s->current = (s_tasklet *)Py_NewRef((PyObject *)s->main);
    s->closed = 0;
    __atomic_store_n(&s->arrived, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&s->ended, 0, __ATOMIC_RELEASE);
    s_self_ = s;
    s_report_thread_begins(s);
    return s;
}

/* The first one of the registry that was not killed in this round goes to its end, so that what is
 * spawned meanwhile is killed in the next round. */
static s_tasklet *next_victim(s_sched *s)
{
    s_tasklet *found = NULL;
    c_lock_take(&s->all_lock);
    b_link *at = b_first(&s->all);
    if (at != NULL && B_CONTAINER(at, s_tasklet, all)->round != s->round) {
        found = B_CONTAINER(at, s_tasklet, all);
        found->round = s->round;
        b_unlink(at);
        b_append(&s->all, at);
    }
    int dying = found != NULL && !c_try_incref((PyObject *)found);
    c_lock_give(&s->all_lock);
    return dying ? next_victim(s) : found;
}

/* What the end meets first.  The others are killed nevertheless. */
typedef struct {
    int code;
    PyObject *raised;
    int named; /* how many that have never run were named */
} first_error;

/* A thread that never calls run() may spawn and end.  (run() names such tasklets itself.) */
static void name_if_late(const s_sched *s, s_tasklet *t, first_error *first)
{
    int late = t->state == S_READY && !t->started && !t->stackless_rules && !s->running;
    if (late && first->named++ < NAMED)
        s_hook.abandoned(t);
}

static void note_error(first_error *first, int code)
{
    if (first->code < 0) {
        if (code == S_E_SET)
            PyErr_WriteUnraisable(NULL);
        return;
    }
    first->code = code;
    if (code == S_E_SET)
        first->raised = PyErr_GetRaisedException();
}

/* Its thread ends, and it goes on after it was killed: it does so no more. */
static void leave_behind(void *tasklet)
{
    s_tasklet *t = tasklet;
    if (t->state == S_READY)
        s_unqueue(t);
    else if (t->timer != NULL)
        s_leave_wait(t);
    s_deadline_drop(t->owner, t);
    if (t->saved_as == S_C_STACK)
        t->stack->keeper = NULL;
    s_registry_move(t, &s_detached_owner);
}

static int kill_tasklet(s_sched *s, s_tasklet *t)
{
    int code = S_OK;
    if (t == s->current || t->state == S_DONE)
        return S_OK;
    PyObject *error = s_hook.error(S_E_KILLED, (PyObject *)t);
    PyObject *done = error ? s_throw(s, t, error, S_STAY, NULL, &code) : NULL;
    if (done == NULL)
        return code < 0 ? (code == S_E_DEAD ? S_OK : code) : S_E_SET;
    Py_DECREF(done);
    if (s->ending && t->stackless_rules && t->state != S_DONE)
        c_while_world_stopped(leave_behind, t);
    return S_OK;
}

/* Tasklets that clean up get the time to do it, as far as they need only each other. */
static int let_others_run(s_sched *s)
{
    for (int turn = 0; turn < TURNS && !b_list_empty(&s->ready); turn++) {
        PyObject *done = s_schedule(s, NULL);
        if (done == NULL)
            return S_E_SET;
        Py_DECREF(done);
    }
    return S_OK;
}

static void kill_each(s_sched *s, first_error *first)
{
    s_tasklet *t;
    s->round = s->round == 255 ? 1 : s->round + 1;
    while ((t = next_victim(s)) != NULL) {
        name_if_late(s, t, first);
        int code = kill_tasklet(s, t);
        if (code < 0)
            note_error(first, code);
        Py_DECREF((PyObject *)t);
    }
}

int s_kill_all(s_sched *s)
{
    first_error first = {S_OK, NULL, 0};
    s->killing++;
    for (int tries = 0; tries < TRIES && !b_list_empty(&s->all); tries++) {
        kill_each(s, &first);
        int code = s_await_sitters(s);
        if (code < 0)
            note_error(&first, code);
        code = let_others_run(s);
        if (code < 0)
            note_error(&first, code);
    }
    s->killing--;
    if (first.raised != NULL)
        PyErr_SetRaisedException(first.raised);
    return first.code;
}

int s_after_fork(void)
{
    static int done_in;
    if (done_in == p_process_id())
        return 0;
    done_in = p_process_id();
    h_blocks_after_fork();
    h_chunks_after_fork();
    p_stacks_after_fork();
    p_idents_after_fork();
    p_stack_words_after_fork();
    s_carriers_after_fork();
    s_registry_after_fork(s_self_here());
    s_failures_after_fork();
    return 1;
}
