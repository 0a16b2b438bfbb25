/* Schedulers: one per OS thread, made on first use, ended with the thread.
 *
 * The structure is found through one thread-local pointer (a whole structure in
 * thread-local storage would not fit what a module loaded late may take).  It is
 * never freed, because other threads may hold its address in a letter or as a
 * tasklet's home; the next thread takes it over.
 *
 * The thread's end is learned from a capsule in its thread state's dictionary:
 * the interpreter clears that dictionary while the thread can still run Python.
 * All tasklets of the thread are ended then, their `finally` blocks run.  One that
 * waits again while it cleans up is killed again, after those that can go on did;
 * one that has refused to end ten times is left as it is.
 *
 * Fork: the child has one thread, and only its scheduler goes on; the tasklets
 * of others never run again there.
 */
#include <string.h>

#include "heap/heap.h"
#include "sched/events.h"
#include "sched/guests/preempt.h"
#include "sched/internal.h"

#define KEY "loomlet.scheduler"
#define TRIES 10
#define TURNS 1000
#define IDLE_CHUNK 4096

__thread s_sched *s_self_ __attribute__((tls_model("initial-exec")));
s_hooks s_hook;
int s_soft_wanted = 1, s_torture, s_pickle_flags;

/* Reasons for every switch to take the slow way. */
static int slow_reasons;

int s_soft_mode(const s_sched *s, int wanted)
{
    if (!wanted || !c_soft_supported)
        return 0;
    return s_torture || slow_reasons || s->only_hard ? 2 : 1;
}

int s_picks(const s_sched *s)
{
    return s_torture & S_TORTURE_SWITCH || slow_reasons || s->overdue ? 1 : PICKS;
}

static p_lock list_lock;
static s_sched *every;

static s_tasklet *new_tasklet(PyTypeObject *type)
{
    return (s_tasklet *)type->tp_alloc(type, 0);
}

static void reset(s_sched *s, PyThreadState *ts)
{
    memset(s, 0, offsetof(s_sched, ended));
    s->ts = ts;
    s->soft = s_soft_mode(s, s_soft_wanted);
    s->thread_id = PyThread_get_thread_ident();
    s->budget = 1;
    s->picks = s_picks(s);
    s->spin = B_SPIN_BEGIN;
    s->virtual_now = -1;
    s_intervals_init(s);
    s->stack = &s->own_stack;
    b_list_init(&s->ready);
    b_list_init(&s->all);
    b_list_init(&s->watches);
    b_list_init(&s->dead);
    s->pickle_flags = s_pickle_flags;
    c_stack_limits_of_thread(ts, &s->own_stack);
}

static s_sched *obtain(void)
{
    p_lock_take(&list_lock);
    s_sched *s = every;
    while (s != NULL && s->ended != 2)
        s = s->next;
    if (s != NULL) {
        s->ended = 1;
    } else if ((s = PyMem_RawCalloc(1, sizeof(*s))) != NULL) {
        b_list_init(&s->woken);
        s->messages_end = &s->messages;
        s->ended = s->closed = 1;
        s->next = every;
        __atomic_store_n(&every, s, __ATOMIC_RELEASE);
    }
    p_lock_give(&list_lock);
    return s;
}

/* Reused only when no tasklet has its home here any more. */
static void release(s_sched *s)
{
    p_lock_take(&list_lock);
    s->ended = b_list_empty(&s->all) ? 2 : 1;
    p_lock_give(&list_lock);
}

static void free_all(s_sched *s)
{
    b_heap_free(&s->timers);
    PyMem_RawFree(s->io_scratch);
    s->io_scratch = NULL;
    Py_CLEAR(s->io_spare);
    while (s->spare != NULL) {
        p_stack *stack = s->spare;
        s->spare = stack->next;
        p_stack_free(stack);
    }
    if (s->idler != NULL)
        s_free_state(s->idler);
    Py_CLEAR(s->departed);
    Py_CLEAR(s->main);
    Py_CLEAR(s->idler);
}

/* The idle self has a data stack and a context of its own: while no tasklet is
 * current, signal handlers and destructors still run Python code. */
static int make_idler(s_sched *s)
{
    void *chunk = c_malloc(IDLE_CHUNK);
    s->idler = chunk ? new_tasklet(s_hook.type) : NULL;
    if (chunk == NULL)
        PyErr_NoMemory();
    if (s->idler == NULL) {
        PyMem_Free(chunk);
        return S_E_SET;
    }
    s_main_init(s, s->idler);
    c_state_init(s->ts, &s->idler->c, chunk, IDLE_CHUNK);
    s->idler->c.context = PyContext_New();
    return s->idler->c.context ? S_OK : S_E_SET;
}

static void thread_ends(PyObject *capsule)
{
    s_sched *s = PyCapsule_GetPointer(capsule, KEY);
    if (s == NULL || s->ended || c_is_finalizing())
        return;
    if (s_self_ == s) {
        PyObject *pending = PyErr_GetRaisedException();
        s_slices_forget(s);
        if (s->current == s->main)
            s_detach_all(s);
        if (s->current == s->main && s_kill_all(s) < 0)
            PyErr_WriteUnraisable(NULL);
        PyErr_SetRaisedException(pending);
        s_self_ = NULL;
        s_detach_dead(s);
        s_close_inbox(s);
        free_all(s);
    } else {
        s_close_inbox(s);
    }
    s_poll_end(s);
    release(s);
}

static int watch_thread(s_sched *s)
{
    PyObject *dict = PyThreadState_GetDict();
    PyObject *capsule = dict ? PyCapsule_New(s, KEY, thread_ends) : NULL;
    if (capsule == NULL)
        return -1;
    int code = PyDict_SetItemString(dict, KEY, capsule);
    Py_DECREF(capsule);
    return code;
}

s_sched *s_self_make(void)
{
    PyThreadState *ts = c_thread_state();
    s_sched *s = obtain();
    if (s == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    reset(s, ts);
    s->main = new_tasklet(s_hook.main_type ? s_hook.main_type : s_hook.type);
    if (s->main == NULL || make_idler(s) < 0 || watch_thread(s) < 0) {
        free_all(s);
        release(s);
        return NULL;
    }
    s_main_init(s, s->main);
    s->main->stackless = s_hook.main_type != NULL;
    s->current = (s_tasklet *)Py_NewRef((PyObject *)s->main);
    s->closed = 0;
    __atomic_store_n(&s->arrived, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&s->ended, 0, __ATOMIC_RELEASE);
    s_self_ = s;
    s_report_begin(s);
    return s;
}

s_sched *s_sched_of(PyThreadState *ts)
{
    s_sched *s = every;
    while (s != NULL && (s->ts != ts || s->ended))
        s = s->next;
    return s;
}

const s_sched *s_first_scheduler(void)
{
    return __atomic_load_n(&every, __ATOMIC_ACQUIRE);
}

s_sched *s_sched_of_thread(unsigned long thread_id)
{
    s_sched *s = every;
    while (s != NULL && (s->ended || s->thread_id != thread_id))
        s = s->next;
    return s;
}

static void refresh_modes(void *unused)
{
    (void)unused;
    for (s_sched *s = every; s != NULL; s = s->next) {
        s->soft = s_soft_mode(s, s->soft);
        s->budget = 1;
        s->picks = s_picks(s);
    }
}

void s_refresh_modes(void)
{
    c_while_world_stopped(refresh_modes, NULL);
}

void s_slow_switches(int change)
{
    int before = __atomic_fetch_add(&slow_reasons, change, __ATOMIC_SEQ_CST);
    if (before == 0 || before + change == 0)
        s_refresh_modes();
}

static void retype_mains(void *arg)
{
    PyTypeObject *type = arg;
    s_hook.main_type = type;
    for (s_sched *s = every; s != NULL; s = s->next) {
        if (s->ended || s->main == NULL)
            continue;
        Py_SET_TYPE((PyObject *)s->main, type);
        s->main->stackless = 1;
    }
}

void s_retype_mains(PyTypeObject *type)
{
    c_while_world_stopped(retype_mains, type);
}

/* The first of the list that was not killed in this round goes to the end, so that
 * what is spawned meanwhile has its turn in the next round. */
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

static Py_ssize_t count_all(s_sched *s)
{
    Py_ssize_t count = 0;
    for (b_link *at = s->all.next; at != &s->all; at = at->next)
        count++;
    return count;
}

Py_ssize_t s_tasklets(s_sched *s, s_tasklet ***found)
{
    Py_ssize_t count = 0;
    c_lock_take(&s->all_lock);
    *found = PyMem_RawMalloc((size_t)(count_all(s) + 1) * sizeof(**found));
    for (b_link *at = s->all.next; *found != NULL && at != &s->all; at = at->next) {
        s_tasklet *t = B_CONTAINER(at, s_tasklet, all);
        if (c_try_incref((PyObject *)t))
            (*found)[count++] = t;
    }
    c_lock_give(&s->all_lock);
    return *found ? count : S_E_MEMORY;
}

void s_for_each_tasklet(s_sched *s, void (*call)(s_tasklet *t))
{
    s_tasklet **found;
    Py_ssize_t count = s_tasklets(s, &found);
    call(s->main);
    for (Py_ssize_t i = 0; i < count; i++) {
        call(found[i]);
        Py_DECREF((PyObject *)found[i]);
    }
    if (count >= 0)
        PyMem_RawFree(found);
}

static int kill(s_sched *s, s_tasklet *t)
{
    int code = S_OK;
    if (t == s->current || t->state == S_DONE)
        return S_OK;
    PyObject *error = s_hook.error(S_E_KILLED, (PyObject *)t);
    PyObject *done = error ? s_throw(s, t, error, S_STAY, NULL, &code) : NULL;
    if (done == NULL)
        return code < 0 ? code : S_E_SET;
    Py_DECREF(done);
    return S_OK;
}

/* Gives those that clean up the time to do it, as far as they need only each other. */
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

int s_kill_all(s_sched *s)
{
    int code = S_OK;
    for (int tries = 0; code == S_OK && tries < TRIES && !b_list_empty(&s->all); tries++) {
        s_tasklet *t;
        s->round = s->round == 255 ? 1 : s->round + 1;
        while (code == S_OK && (t = next_victim(s)) != NULL) {
            code = kill(s, t);
            Py_DECREF((PyObject *)t);
        }
        if (code == S_OK)
            code = let_others_run(s);
    }
    return code;
}

void s_after_fork(void)
{
    s_sched *mine = s_self_;
    list_lock.word = 0;
    h_blocks_after_fork();
    p_stacks_after_fork();
    for (s_sched *s = every; s != NULL; s = s->next) {
        s->inbox_lock.word = 0;
        s->parker.word = 0;
        s_poll_after_fork(s, s == mine);
        if (s != mine)
            s->ended = s->closed = 1;
    }
}
