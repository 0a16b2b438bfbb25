/* All carriers, their threads' pool, and what may be asked of them without entering the protocol.
 *
 * A carrier belongs to one scheduler at a time (`all`), is used again by others, and is never
 * freed: the monitor thread and the pool may hold its address.
 */
#include <limits.h>

#include "sched/carrier.h"
#include "sched/internal.h"
#include "sched/sitter.h"

__thread s_carrier_thread *s_carrier_here_ __attribute__((tls_model("initial-exec")));

static p_lock every_lock;
static s_carrier_thread *every;

s_carrier_thread *s_first_carrier(void)
{
    return __atomic_load_n(&every, __ATOMIC_ACQUIRE);
}

s_carrier_thread *s_carrier_obtain(s_carriers *all)
{
    p_lock_take(&every_lock);
    s_carrier_thread *c = every;
    while (c != NULL && c->all != NULL)
        c = c->next;
    if (c == NULL && !c_out_of_memory() && (c = PyMem_RawCalloc(1, sizeof(*c))) != NULL) {
        c->next = every;
        __atomic_store_n(&every, c, __ATOMIC_RELEASE);
    }
    if (c != NULL) {
        c->all = all;
        c->spin = B_SPIN_BEGIN;
        b_list_init(&c->aside);
    }
    p_lock_give(&every_lock);
    return c;
}

void s_carrier_release(s_carrier_thread *c)
{
    p_lock_take(&every_lock);
    s_handoff_drop(&c->carrier);
    c->ts = NULL;
    c->base_sp = NULL;
    c->processors = (p_processors){.thread = 0};
    c->all = NULL;
    p_lock_give(&every_lock);
}

/* ---- the pool ---------------------------------------------------------------------------- */

#define IDLE_TIME INT64_C(10000000000) /* ns */

static size_t stack_size; /* of the program's threads: the monitor cannot ask */

static int launch_carrier(p_launch *launch)
{
    launch->stack = stack_size;
    return p_thread_launch(launch);
}

static const p_pool_policy policy = {
    .name = "loomlet carrier", .at_once = INT_MAX, .never_waits = 1, .launch = launch_carrier};
static p_pool pool = {.policy = &policy, .limits = {INT64_MAX, IDLE_TIME}};

enum { NOT_REFUSED, REFUSED, REPORTED };
static int thread_refused; /* one of these; atomic */

int s_carrier_launch(s_carrier_thread *c)
{
    int expected = NOT_REFUSED;
    if (c_new_threads_ended())
        return -1;
    if (p_pool_submit(&pool, &c->work) == 0)
        return 0;
    __atomic_compare_exchange_n(&thread_refused, &expected, REFUSED, 0, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return -1;
}

int s_carrier_launch_here(s_carrier_thread *c)
{
    int confined = p_processors_launch_begin(&c->processors);
    int code = s_carrier_launch(c);
    p_processors_launch_end(&c->processors, confined);
    return code;
}

int s_take_refused_thread(void)
{
    int expected = REFUSED;
    return __atomic_compare_exchange_n(&thread_refused, &expected, REPORTED, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

void s_carriers_prepare_launch(void)
{
    stack_size = PyThread_get_stacksize();
}

void s_carriers_forget_pool(void)
{
    p_pool_after_fork(&pool);
}

/* ---- what they do --------------------------------------------------------------------------- */

void s_use_blocked_signals(s_carrier_thread *c)
{
    c->masked = c->all->masks;
    p_signals_use(&c->all->signals);
}

int s_carrier_is_awake(const PyThreadState *ts, const s_sched **s)
{
    const s_carrier_thread *c = __atomic_load_n(&every, __ATOMIC_ACQUIRE);
    while (c != NULL && (c->all == NULL || c->ts != ts))
        c = c->next;
    s_carriers *all = c != NULL ? c->all : NULL;
    if (all == NULL)
        return -1;
    p_lock_take(&all->lock);
    int awake = s_handoff_is_awake(&all->protocol, &c->carrier);
    p_lock_give(&all->lock);
    if (c == all->home)
        *s = all->s;
    return awake;
}

int s_is_home_free(const s_sched *s)
{
    return s->carriers->home->carrier.state == S_CARRIER_WAITS;
}

int s_idle_is_at_home(const s_sched *s)
{
    return s->away ? s_is_home_free(s) : s->carriers->on && s->carriers->seated > 0;
}

s_tasklet *s_sitter_on(s_carrier_thread *c)
{
    p_lock_take(&c->all->lock);
    PyObject *sitter = Py_XNewRef((PyObject *)c->carrier.sitter);
    p_lock_give(&c->all->lock);
    return (s_tasklet *)sitter;
}

/* Where it sits, if it has not met its scheduler. */
static s_carrier_thread *seat_of(const s_tasklet *t)
{
    if (t->state != S_BLOCKED || t->kind != &s_sitting)
        return NULL;
    s_carrier_thread *c = t->on;
    return c->carrier.sitter == t ? c : NULL;
}

int s_suspend_sitter(const s_tasklet *t)
{
    s_carriers *all = t->owner->carriers;
    if (all == NULL)
        return 1;
    p_lock_take(&all->lock);
    const s_carrier_thread *seat = seat_of(t);
    int held = seat == NULL || c_thread_suspend(seat->ts);
    p_lock_give(&all->lock);
    return held;
}

void s_release_sitter(const s_tasklet *t)
{
    const s_carrier_thread *seat = seat_of(t);
    if (seat != NULL)
        c_thread_release(seat->ts);
}

void s_forget_locals(const s_carrier_thread *c)
{
    c_thread_locals locals = {NULL, NULL, NULL};
    if (c != c->all->home)
        c_thread_locals_take(c->ts, &locals);
    c_thread_locals_drop(&locals);
}

void s_carrier_lose(s_carrier_thread *c)
{
    static s_carriers none;
    c->ts = NULL;
    c->all = &none;
    b_list_init(&c->aside);
}

int s_is_stack_lost(const s_sched *s, const p_stack *stack)
{
    const s_carrier_thread *keeper = stack->keeper;
    if (keeper == NULL || keeper == s_carrier_here_)
        return 0;
    return keeper->all != s->carriers || s->carriers->process != p_process_id();
}

int s_is_lost(const s_tasklet *t)
{
    return t->saved_as == S_C_STACK && s_is_stack_lost(t->owner, t->stack);
}

void s_carriers_unlock_after_fork(void)
{
    every_lock.word = 0;
}
