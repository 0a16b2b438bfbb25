/* All schedulers, and the tasklets of each; in which mode they switch.
 *
 * A scheduler's structure is never freed, because other threads may hold its address in a message
 * or as a tasklet's owner; the next thread takes it over once no tasklet belongs to it any more.
 *
 * A scheduler has two lists, which own nothing: its tasklets, and its Stackless tasklets that have
 * ended and may be bound again.  Both are guarded by all_lock, because other threads read them and
 * free tasklets.
 *
 * The mode.  A switch takes the slow way while something wants to see each switch: a trace function
 * or a listener anywhere (s_slow_switches), torture, or the current tasklet (only_hard).  So the
 * fast way tests one word.
 */
#include "sched/internal.h"

int s_soft_wanted = 1, s_torture;
s_hooks s_hook;

static p_lock list_lock;
static s_sched *every;
static uint64_t last_id;
static int slow_reasons; /* for every switch to take the slow way */

enum { LIVING, ENDED, REUSABLE }; /* s->ended */

/* ---- schedulers ---------------------------------------------------------------------- */

s_sched *s_obtain_scheduler(void)
{
    p_lock_take(&list_lock);
    s_sched *s = every;
    while (s != NULL && s->ended != REUSABLE)
        s = s->next;
    if (s != NULL) {
        s->ended = ENDED;
    } else if ((s = PyMem_RawCalloc(1, sizeof(*s))) != NULL) {
        b_list_init(&s->woken);
        s->messages_end = &s->messages;
        s->closed = 1;
        s->ended = ENDED;
        s->next = every;
        __atomic_store_n(&every, s, __ATOMIC_RELEASE);
    }
    p_lock_give(&list_lock);
    return s;
}

void s_return_scheduler(s_sched *s)
{
    p_lock_take(&list_lock);
    s->ended = b_list_empty(&s->all) ? REUSABLE : ENDED;
    p_lock_give(&list_lock);
}

s_sched *s_sched_of(PyThreadState *ts)
{
    s_sched *s = every;
    while (s != NULL && (s->ts != ts || s->ended))
        s = s->next;
    return s;
}

s_sched *s_sched_of_thread(unsigned long thread_id)
{
    s_sched *s = every;
    while (s != NULL && (s->ended || s->thread_id != thread_id))
        s = s->next;
    return s;
}

const s_sched *s_first_scheduler(void)
{
    return __atomic_load_n(&every, __ATOMIC_ACQUIRE);
}

static void retype_mains(void *arg)
{
    PyTypeObject *type = arg;
    s_hook.main_type = type;
    for (s_sched *s = every; s != NULL; s = s->next) {
        if (s->ended || s->main == NULL)
            continue;
        Py_SET_TYPE((PyObject *)s->main, type);
        s->main->stackless_rules = 1;
    }
}

void s_retype_mains(PyTypeObject *type)
{
    c_while_world_stopped(retype_mains, type);
}

void s_registry_after_fork(s_sched *mine)
{
    list_lock.word = 0;
    for (s_sched *s = every; s != NULL; s = s->next) {
        s->inbox_lock.word = 0;
        s->parker.word = 0;
        s_poll_after_fork(s, s == mine);
        if (s != mine) {
            s->closed = 1;
            s->ended = ENDED;
        }
    }
}

/* ---- modes --------------------------------------------------------------------------- */

int s_soft_mode(const s_sched *s, int wanted)
{
    if (!wanted || !c_soft_supported)
        return 0;
    return s_torture || slow_reasons || s->only_hard || s->travels ? 2 : 1;
}

void s_only_hard_for(s_sched *s, const s_tasklet *t)
{
    unsigned char has = t != NULL ? t->attached & S_ONLY_HARD : 0;
    s->only_hard = has & S_HAS_LOOP ? C_EVENT_LOOP : has ? C_FIXED_STACK : 0;
    s->soft = s_soft_mode(s, s->soft);
}

int s_picks(const s_sched *s)
{
    return s_torture & S_TORTURE_SWITCH || slow_reasons || s->overdue ? 1 : S_PICKS;
}

static void refresh_modes(void *unused)
{
    (void)unused;
    for (s_sched *s = every; s != NULL; s = s->next) {
        s->soft = s_soft_mode(s, s->soft);
        s->budget = 1;
        s->picks = s->pace = s_picks(s);
    }
}

void s_refresh_modes(void)
{
    c_while_world_stopped(refresh_modes, NULL);
}

static void follow_wish(void *unused)
{
    for (s_sched *s = every; s != NULL; s = s->next)
        s->soft = s_soft_wanted;
    refresh_modes(unused);
}

void s_set_soft(int wanted)
{
    s_soft_wanted = wanted;
    c_while_world_stopped(follow_wish, NULL);
}

void s_slow_switches(int change)
{
    int before = __atomic_fetch_add(&slow_reasons, change, __ATOMIC_SEQ_CST);
    if (before == 0 || before + change == 0)
        s_refresh_modes();
}

/* ---- the tasklets of a scheduler ----------------------------------------------------- */

static Py_ssize_t count_tasklets(s_sched *s)
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
    *found = PyMem_RawMalloc((size_t)(count_tasklets(s) + 1) * sizeof(**found));
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

uint64_t s_new_id(void)
{
    return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

void s_forget_tasklets(s_sched *s)
{
    __atomic_store_n(&last_id, s->main->id, __ATOMIC_RELAXED);
    s->tasklet_waits_seen = s->tasklet_waits;
}

static b_link *list_for(s_sched *s, const s_tasklet *t)
{
    return t->state == S_DONE ? &s->stackless.dead : &s->all;
}

/* Native ones leave the registry when they end, and are counted. */
static void link_tasklet(s_sched *s, s_tasklet *t)
{
    if (B_LIKELY(!t->stackless_rules))
        s->natives++;
    b_append(list_for(s, t), &t->all);
}

static void unlink_tasklet(s_sched *s, s_tasklet *t)
{
    if (B_LIKELY(!t->stackless_rules))
        s->natives--;
    b_unlink(&t->all);
}

/* While we wait for the lock the tasklet's owner may change. */
static s_sched *lock_registry_of(s_tasklet *t)
{
    for (;;) {
        s_sched *s = t->owner;
        c_lock_take(&s->all_lock);
        if (t->owner == s)
            return s;
        c_lock_give(&s->all_lock);
    }
}

static void add_tasklet(s_tasklet *t)
{
    s_sched *s = lock_registry_of(t);
    if (!b_linked(&t->all))
        link_tasklet(s, t);
    c_lock_give(&s->all_lock);
}

void s_registry_add(s_sched *s, s_tasklet *t)
{
    c_allow_try_incref((PyObject *)t);
    if (t->id == 0)
        t->id = s_new_id();
    t->owner = s;
    t->since = s->coarse_now;
    add_tasklet(t);
}

void s_registry_remove(s_tasklet *t)
{
    if (t->owner == NULL)
        return;
    s_sched *s = lock_registry_of(t);
    if (b_linked(&t->all))
        unlink_tasklet(s, t);
    c_lock_give(&s->all_lock);
}

void s_registry_list_again(s_tasklet *t)
{
    s_sched *s = lock_registry_of(t);
    if (B_LIKELY(b_linked(&t->all))) {
        b_unlink(&t->all);
        b_append(list_for(s, t), &t->all);
    } else {
        link_tasklet(s, t);
    }
    c_lock_give(&s->all_lock);
}

void s_adopt(s_sched *s, s_tasklet *t)
{
    if (t->owner == s)
        return;
    s_registry_remove(t);
    t->owner = s;
    add_tasklet(t);
}

void s_registry_move(s_tasklet *t, s_sched *to)
{
    if (b_linked(&t->all))
        unlink_tasklet(t->owner, t);
    t->owner = to;
    link_tasklet(to, t);
}
