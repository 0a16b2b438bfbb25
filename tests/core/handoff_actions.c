/* What may happen in the model of a handoff.
 *
 * Each action is what a thread does between two points where it may lose the GIL; it asks the
 * protocol (sched/handoff.c) wherever the scheduler will.
 */
#include "handoff_model.h"

#include <string.h>

static void report(const char *what)
{
    if (wrong == NULL)
        wrong = what;
}

/* ---- parts of actions ------------------------------------------------------------------------ */

static int is_attached(int t)
{
    return features & NO_GIL || w.gil == t + 1;
}

static void detach(int t, uint8_t is)
{
    w.thread[t].is = is;
    w.gil = 0;
}

/* The thread gets the GIL: 0 when another one has it.  Once the interpreter ends, only home. */
static int attach(int t, uint8_t is)
{
    if (w.gil != 0)
        return 0;
    w.thread[t].is = is;
    w.gil = features & NO_GIL ? 0 : (uint8_t)(t + 1);
    if (w.exited && t != w.home)
        detach(t, STOPPED);
    return 1;
}

/* Only the thread that the scheduler is at may do what follows. */
static int lacks_scheduler(int t)
{
    int lacks = h.at != &carriers[t] || h.in_transit || carriers[t].state != S_CARRIER_RUNS;
    if (lacks)
        report("a thread acts for a scheduler that is not there");
    return lacks;
}

/* Where a soft tasklet runs.  Without a GIL a better place may have come up meanwhile. */
static void judge_place(int t, const tasklet_state *task)
{
    if (!task->apart && t != w.home && carriers[w.home].state == S_CARRIER_WAITS && !w.closed)
        report("a soft tasklet runs elsewhere though home is free");
    if (task->apart && carriers[t].kept > 0 && h.reserve != NULL && !h.closed)
        report("a tasklet that is apart runs where others are kept");
}

static void resume(int t, int x)
{
    tasklet_state *task = &w.tasklet[x];
    if (lacks_scheduler(t))
        return;
    if (task->hard && task->hard != t + 1)
        report("a tasklet is resumed on a thread that does not keep it");
    if (!task->hard && !(features & NO_GIL))
        judge_place(t, task);
    if (task->hard)
        s_handoff_keep(&h, -1);
    task->hard = 0;
    task->is = CURRENT;
    w.thread[t].runs = (uint8_t)x;
    w.thread[t].is = PYTHON;
}

/* Whether a tasklet that is apart has been sent where others are kept, for want of a better place
 * then. */
static int must_go_on(int t, const tasklet_state *task)
{
    return task->apart && !task->hard && carriers[t].kept > 0 && !h.closed;
}

static void arrive(int t)
{
    int x = w.chosen, goes_on = x != NOBODY && must_go_on(t, &w.tasklet[x]);
    w.chosen = NOBODY;
    if (goes_on)
        w.tasklet[x].is = READY;
    if (x == NOBODY || goes_on)
        w.thread[t].is = DISPATCHES;
    else
        resume(t, x);
}

static int take_scheduler(int t)
{
    const thread_state *from = &w.thread[h.at - carriers];
    if (from->is != IN_C && from->is != SAFEPOINT) {
        report("a scheduler is taken from a thread that is not inside a tasklet");
        return 1;
    }
    int x = from->runs;
    w.tasklet[x].is = SITTING;
    w.tasklet[x].apart = (features & APART) != 0;
    s_handoff_take(&h, &carriers[t], &names[x]);
    w.thread[t].is = DISPATCHES;
    return 1;
}

/* Attached at the base.  `takes`: what a called carrier decides, if it may. */
static int stand_at_base(int t, int takes)
{
    s_base_step step = s_handoff_look(&carriers[t]);
    if (step == S_BASE_ARRIVED) {
        arrive(t);
    } else if (step == S_BASE_DECIDE && features & NO_GIL) {
        w.thread[t].is = DECIDES;
    } else if (step == S_BASE_DECIDE && takes) {
        return s_handoff_may_take(&h, &carriers[t]) && take_scheduler(t);
    } else {
        if (step == S_BASE_DECIDE)
            s_handoff_decline(&h, &carriers[t]);
        w.thread[t].is = RESTS;
    }
    return 1;
}

static void come_to_base(int t)
{
    if (features & NO_GIL)
        w.thread[t].is = LOOKS;
    else
        stand_at_base(t, 0);
}

static void depart(int t, s_carrier *to, uint8_t x)
{
    int departed = s_handoff_depart(&h, to);
    if (!departed && mistake != GOES_UNASKED) {
        w.thread[t].is = DISPATCHES;
        if (x != NOBODY)
            w.tasklet[x].is = READY;
        return;
    }
    w.thread[to - carriers].woken = mistake != WAKES_NOBODY;
    w.chosen = x;
    if (x != NOBODY)
        w.tasklet[x].is = CHOSEN;
    come_to_base(t);
}

/* The tasklet was chosen, and where it runs. */
static void head_for(int t, s_carrier *to, uint8_t x)
{
    if (!(features & NO_GIL)) {
        depart(t, to, x);
        return;
    }
    w.thread[t].is = HEADS;
    w.heads = index_of(to);
    w.chosen = x;
    if (x != NOBODY)
        w.tasklet[x].is = CHOSEN;
}

static int meet(int t, int hard)
{
    uint8_t x = w.thread[t].runs;
    if (!hard && x == MAIN)
        return 0;
    if (s_handoff_pick_up(&carriers[t])) {
        w.tasklet[x].is = CURRENT;
        lacks_scheduler(t);
        return 1;
    }
    w.thread[t].runs = NOBODY;
    if (s_handoff_meet(&carriers[t], hard)) {
        w.tasklet[x].is = mistake == SENDS_NO_MAIL ? GONE : MAIL;
        w.tasklet[x].hard = (uint8_t)(hard ? t + 1 : 0);
        come_to_base(t);
    } else {
        w.tasklet[x].is = GONE;
        detach(t, STOPPED);
    }
    return 1;
}

static int must_meet(int t)
{
    return s_handoff_must_meet(&carriers[t]);
}

static int are_others_over(int x)
{
    for (int i = 0; i < TASKLETS; i++)
        if (i != x && !is_over(&w.tasklet[i]))
            return 0;
    return 1;
}

/* ---- actions: of the monitor, and of a thread without the GIL ---------------------------------
 */

static int act_call(int t, int unused)
{
    uint8_t is = w.thread[t].is;
    (void)unused;
    if (mistake == NEVER_CALLS || !s_handoff_call(&h, &carriers[t]))
        return 0;
    if (is == OFF)
        w.thread[t].is = STARTS;
    else
        w.thread[t].woken = 1;
    return 1;
}

/* The system gives a thread (1) or not. */
static int act_start(int t, int given)
{
    if (w.thread[t].is != STARTS)
        return 0;
    w.thread[t].woken = (uint8_t)given;
    w.thread[t].is = given ? BASE : OFF;
    if (!given)
        s_handoff_cancel_call(&h, &carriers[t]);
    return 1;
}

/* A thread wakes at its base: it takes if it may (0), or not (1). */
static int act_wake(int t, int declines)
{
    if (w.thread[t].is != BASE || !w.thread[t].woken || !attach(t, BASE))
        return 0;
    w.thread[t].woken = 0;
    return w.thread[t].is == STOPPED || stand_at_base(t, !declines);
}

static int act_look(int t, int unused)
{
    (void)unused;
    if (w.thread[t].is != LOOKS)
        return 0;
    w.thread[t].woken = 0;
    return stand_at_base(t, 0);
}

/* Without a GIL: the thread that it takes from is held for that, or it is attached and goes on. */
static int act_decide(int t, int declines)
{
    if (w.thread[t].is != DECIDES)
        return 0;
    uint8_t is = w.thread[h.at - carriers].is;
    int held = is == IN_C || is == SAFEPOINT || is == SLEEPS || mistake == TAKES_UNHELD;
    if (!declines && held && s_handoff_may_take(&h, &carriers[t]))
        return take_scheduler(t);
    s_handoff_decline(&h, &carriers[t]);
    w.thread[t].is = RESTS;
    return 1;
}

static int act_head(int t, int unused)
{
    (void)unused;
    if (w.thread[t].is != HEADS)
        return 0;
    s_carrier *to = &carriers[w.heads];
    uint8_t x = w.chosen;
    w.heads = w.chosen = NOBODY;
    depart(t, to, x);
    return 1;
}

/* It has nothing to do; it may be in the reserve, and have been there for long (1). */
static int act_rest(int t, int over)
{
    if (!is_attached(t) || w.thread[t].is != RESTS || (over && !carriers[t].in_reserve))
        return 0;
    int left = s_handoff_leave(&carriers[t], over);
    detach(t, left || mistake == LEAVES_TOO_SOON ? OFF : BASE);
    return 1;
}

/* A carrier of the reserve wakes after a while. */
static int act_wake_reserve(int t, int unused)
{
    (void)unused;
    return carriers[t].in_reserve && w.thread[t].is == BASE && attach(t, BASE) &&
           (w.thread[t].is == STOPPED || stand_at_base(t, 1));
}

/* A call of C returns, or a thread has waited for the GIL. */
static int act_return(int t, int unused)
{
    (void)unused;
    if (w.thread[t].is != IN_C && w.thread[t].is != SAFEPOINT)
        return 0;
    if (features & DEPENDS && w.thread[t].is == IN_C && w.thread[t].runs == 1 &&
        !is_over(&w.tasklet[2]))
        return 0;
    return attach(t, PYTHON);
}

static int is_any(uint8_t what)
{
    for (int x = 0; x < TASKLETS; x++)
        if (w.tasklet[x].is == what)
            return 1;
    return 0;
}

/* An idle scheduler wakes: for mail (0), or for a timer (1). */
static int act_wake_idle(int t, int timer)
{
    if (w.thread[t].is != SLEEPS || !is_any(timer ? WAITING : MAIL) || !attach(t, DISPATCHES))
        return 0;
    if (w.thread[t].is == STOPPED)
        return 1;
    if (mistake != SLEEPS_UNFORBIDDEN)
        s_handoff_forbid(&h, -1);
    lacks_scheduler(t);
    return 1;
}

/* Home wakes that was idle: besides, when somebody has woken it (2). */
static int act_wake_home(int t, int way)
{
    int wakes = way == 2 ? w.thread[t].woken : is_any(way == 1 ? WAITING : MAIL);
    if (w.thread[t].is != IDLES || !wakes || !attach(t, DISPATCHES))
        return 0;
    w.thread[t].woken = 0;
    if (s_handoff_end_idle(&h))
        lacks_scheduler(t);
    else
        come_to_base(t);
    return 1;
}

/* ---- actions: the dispatcher --------------------------------------------------------------------
 */

static void read_mail(void)
{
    for (int x = 0; x < TASKLETS; x++) {
        tasklet_state *task = &w.tasklet[x];
        int free = task->is == ASIDE && carriers[task->hard - 1].state != S_CARRIER_SITS &&
                   carriers[task->hard - 1].serves == &h && mistake != FORGETS_ASIDE;
        if (task->is == MAIL || free)
            task->is = READY;
    }
}

/* A thread for a tasklet that is apart, where others are kept; or the present one. */
static s_carrier *invite_thread(void)
{
    for (int u = HOME + 1; u < THREADS; u++) {
        if (w.thread[u].is != OFF || !s_handoff_invite(&h, &carriers[u]))
            continue;
        w.thread[u].is = BASE;
        w.thread[u].woken = 1;
        return &carriers[u];
    }
    return h.at;
}

static int act_pick(int t, int x)
{
    tasklet_state *task = &w.tasklet[x];
    if (!is_attached(t) || w.thread[t].is != DISPATCHES)
        return 0;
    if (lacks_scheduler(t))
        return 1;
    read_mail();
    if (task->is != READY)
        return 0;
    s_carrier *kept_at = task->hard ? &carriers[task->hard - 1] : NULL;
    s_carrier *to = s_handoff_route(&h, kept_at, task->apart);
    if (to == h.at && task->apart && !task->hard && h.at->kept > 0 && !h.closed)
        to = invite_thread();
    if (to == NULL)
        task->is = w.closed ? GONE : ASIDE;
    else if (to == h.at)
        resume(t, x);
    else
        head_for(t, to, (uint8_t)x);
    return 1;
}

static int act_fire(int t, int x)
{
    if (!is_attached(t) || w.thread[t].is != DISPATCHES || w.tasklet[x].is != WAITING)
        return 0;
    w.tasklet[x].is = READY;
    lacks_scheduler(t);
    return 1;
}

static void close_scheduler(void)
{
    s_handoff_close(&h);
    for (int t = 0; t < THREADS; t++)
        w.thread[t].woken |= w.thread[t].is == BASE && carriers[t].serves == &h;
}

static void end_thread(int t)
{
    close_scheduler();
    w.over = 1;
    for (int i = 0; i < THREADS; i++)
        if (i != t && (carriers[i].kept > 0 || carriers[i].state == S_CARRIER_SITS))
            s_handoff_lose(&carriers[i]);
    for (int x = 0; x < TASKLETS; x++)
        if (w.tasklet[x].is != DONE && w.tasklet[x].is != SITTING)
            w.tasklet[x].is = GONE;
    detach(t, ENDED);
}

/* Nothing is ready: the scheduler sleeps, at home if it can; in the child of a fork without main
 * its thread may have ended its work. */
static int act_idle(int t, int unused)
{
    (void)unused;
    if (!is_attached(t) || w.thread[t].is != DISPATCHES)
        return 0;
    if (lacks_scheduler(t))
        return 1;
    read_mail();
    for (int x = 0; x < TASKLETS; x++)
        if (w.tasklet[x].is == READY)
            return 0;
    s_carrier *to = s_handoff_route(&h, NULL, 0);
    int sits = 0;
    for (int u = 0; u < THREADS; u++)
        sits |= carriers[u].serves == &h && carriers[u].state == S_CARRIER_SITS;
    if (to != h.at) {
        head_for(t, to, NOBODY);
    } else if (w.tasklet[MAIN].is == GONE && are_others_over(MAIN) && h.at == h.home) {
        end_thread(t);
    } else if (h.at == h.home && sits) {
        s_handoff_begin_idle(&h);
        detach(t, IDLES);
    } else {
        if (mistake != SLEEPS_UNFORBIDDEN)
            s_handoff_forbid(&h, 1);
        detach(t, SLEEPS);
    }
    return 1;
}

/* ---- actions: Python code
 * ------------------------------------------------------------------------- */

static int runs_python(int t)
{
    return is_attached(t) && w.thread[t].is == PYTHON;
}

/* It must not be kept on a thread, where somebody who depends on it may sit. */
static int stays_soft(int x)
{
    return features & DEPENDS && x == 2;
}

static int act_enter_c(int t, int unused)
{
    (void)unused;
    if (!runs_python(t) || stays_soft(w.thread[t].runs))
        return 0;
    detach(t, IN_C);
    return 1;
}

static int act_safepoint(int t, int hard)
{
    if (!runs_python(t) || (hard && !must_meet(t)) || stays_soft(w.thread[t].runs))
        return 0;
    if (must_meet(t))
        return meet(t, hard);
    detach(t, SAFEPOINT);
    return 1;
}

/* An operation of loomlet that waits. */
static int act_wait(int t, int hard)
{
    if (!runs_python(t))
        return 0;
    uint8_t x = w.thread[t].runs;
    if (must_meet(t) && mistake != OPERATES_WITHOUT_MEETING)
        return meet(t, hard);
    if (hard ? stays_soft(x) : x == MAIN)
        return 0;
    if (lacks_scheduler(t))
        return 1;
    w.tasklet[x].is = WAITING;
    w.tasklet[x].hard = (uint8_t)(hard ? t + 1 : 0);
    s_handoff_keep(&h, hard);
    w.thread[t].runs = NOBODY;
    w.thread[t].is = DISPATCHES;
    return 1;
}

static int act_end(int t, int unused)
{
    (void)unused;
    if (!runs_python(t))
        return 0;
    uint8_t x = w.thread[t].runs;
    if (must_meet(t) && mistake != ENDS_WITHOUT_MEETING)
        return meet(t, 1);
    if (x == MAIN && !are_others_over(MAIN) && !(features & LEAVES) && !w.exited)
        return 0;
    if (lacks_scheduler(t))
        return 1;
    w.tasklet[x].is = DONE;
    w.thread[t].runs = NOBODY;
    w.thread[t].is = DISPATCHES;
    if (x == MAIN)
        end_thread(t);
    return 1;
}

/* Of all threads the one that forked goes on, in the child. */
static void lose_thread(int u)
{
    s_handoff_drop(&carriers[u]);
    w.thread[u].is = OFF;
    w.thread[u].runs = NOBODY;
    w.thread[u].woken = 0;
}

static int act_fork(int t, int unused)
{
    (void)unused;
    if (!(features & FORKS) || w.forked || !runs_python(t) || !carriers[t].serves)
        return 0;
    w.forked = 1;
    s_handoff_after_fork(&h, &carriers[t]);
    for (int u = 0; u < THREADS; u++)
        if (u != t)
            lose_thread(u);
    for (int x = 0; x < TASKLETS; x++) {
        tasklet_state *task = &w.tasklet[x];
        int elsewhere = (task->is == CURRENT || task->is == SITTING) && x != w.thread[t].runs;
        if (!is_over(task) && (elsewhere || (task->hard && task->hard != t + 1)))
            task->is = GONE;
        else if (task->is == CHOSEN)
            task->is = READY;
    }
    w.chosen = NOBODY;
    w.tasklet[w.thread[t].runs].is = CURRENT;
    return 1;
}

/* The interpreter ends, from main. */
static int act_exit(int t, int unused)
{
    (void)unused;
    if (!(features & EXITS) || w.exited || !runs_python(t) || w.thread[t].runs != MAIN)
        return 0;
    if (must_meet(t))
        return meet(t, 1);
    close_scheduler();
    w.exited = 1;
    return 1;
}

const action_kind kinds[] = {
    {"the monitor calls", act_call, 1},
    {"the system starts or not", act_start, 2},
    {"wakes at its base", act_wake, 2},
    {"looks", act_look, 1},
    {"decides", act_decide, 2},
    {"departs", act_head, 1},
    {"rests", act_rest, 2},
    {"wakes in the reserve", act_wake_reserve, 1},
    {"returns", act_return, 1},
    {"wakes from idleness", act_wake_idle, 2},
    {"wakes as home", act_wake_home, 3},
    {"picks", act_pick, TASKLETS},
    {"a timer fires", act_fire, TASKLETS},
    {"finds nothing ready", act_idle, 1},
    {"enters C", act_enter_c, 1},
    {"comes to a safepoint", act_safepoint, 2},
    {"operates", act_wait, 2},
    {"ends", act_end, 1},
    {"forks", act_fork, 1},
    {"exits", act_exit, 1},
};
const int kind_count = (int)(sizeof(kinds) / sizeof(kinds[0]));

int act_in_world(const action_kind *kind, int t, int way)
{
    wrong = NULL;
    load_world();
    int done = kind->act(t, way);
    store_world();
    return done;
}
