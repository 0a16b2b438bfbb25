/* sched/handoff.c: a scheduler, its threads and its tasklets in every order of events.
 *
 * Three threads (home, and two that the pool may give), three tasklets (main, which is always kept
 * hard, and two that are soft or hard as they like), and the monitor, which calls whom it likes.
 * Who has the GIL is part of the state; what a thread does between two points where it may lose the
 * GIL is one action.  Without a GIL it is what a thread does in one step of the protocol.  Each
 * test explores one set of what may happen besides.
 *
 * Found are: two threads that act for one scheduler, a tasklet that runs twice, on a wrong thread
 * or never again, a thread that leaves while it is needed, a wake-up that is lost, and states from
 * which the program cannot end any more.  That the model finds them is shown by mistakes: in the
 * use of the protocol here, in the protocol itself by test_handoff_mistakes.py.
 */
#include "sched/handoff.h"

#include "explore.h"
#include "handoff_model.h"
#include "runner.h"

static int act_in_model(int action)
{
    const action_kind *kind = &kinds[action / (THREADS * WAYS)];
    int way = action % WAYS;
    return way < kind->ways && act_in_world(kind, action / WAYS % THREADS, way);
}

static int has_scheduler(const thread_state *of)
{
    int runs = of->is == PYTHON || of->is == SAFEPOINT || of->is == IN_C || of->is == ENDED;
    return of->is == DISPATCHES || of->is == HEADS || of->is == SLEEPS ||
           (of->is == IDLES && of->state == S_CARRIER_RUNS) ||
           (runs && of->state == S_CARRIER_RUNS);
}

static const char *fault_of_thread(int t)
{
    const thread_state *of = &w.thread[t];
    int kept = 0, on_stack = of->is == PYTHON || of->is == SAFEPOINT || of->is == IN_C;
    for (int x = 0; x < TASKLETS; x++)
        kept += w.tasklet[x].hard == t + 1 && !is_over(&w.tasklet[x]);
    if (of->state == S_CARRIER_LOST || of->is == STOPPED || of->is == ENDED)
        return NULL;
    if (kept != of->kept && !w.closed)
        return "tasklets that are kept are not counted";
    if ((of->is == OFF) != (of->state == S_CARRIER_FREE))
        return "a thread has gone that is needed, or is there without need";
    int at_base = of->is == BASE || of->is == LOOKS || of->is == DECIDES || of->is == RESTS ||
                  (of->is == IDLES && of->state != S_CARRIER_RUNS);
    if (of->is == IDLES && (of->state == S_CARRIER_RUNS && !w.closed) != w.idle)
        return "an idle scheduler is not known as such, or another one is";
    if ((at_base || of->is == STARTS) != (of->state == S_CARRIER_WAITS))
        return "a carrier waits that is not at its base";
    if (on_stack != (of->runs != NOBODY))
        return "a thread runs no tasklet, or has lost one";
    if (on_stack && w.tasklet[of->runs].is != (of->state == S_CARRIER_SITS ? SITTING : CURRENT))
        return "a tasklet is on a thread that does not know it";
    if (of->sitter != (of->state == S_CARRIER_SITS ? of->runs : NOBODY))
        return "the carrier names another sitter";
    return NULL;
}

/* It is at its base, and nothing will ever wake it. */
static int sleeps_for_ever(int t)
{
    const thread_state *of = &w.thread[t];
    return of->is == BASE && of->state == S_CARRIER_WAITS && of->kept == 0 && t != w.home &&
           t != w.invited && !of->woken && !of->in_reserve && !w.over && !w.exited;
}

static const char *fault_of_reserve(void)
{
    int joined = 0, listed = 0;
    for (int t = 0; t < THREADS; t++)
        if (sleeps_for_ever(t))
            return "a carrier sleeps for ever though it keeps nothing";
    for (int t = 0; t < THREADS; t++)
        joined += w.thread[t].in_reserve;
    for (uint8_t t = w.reserve; t != NOBODY; t = w.thread[t].below) {
        const thread_state *of = &w.thread[t];
        if (t == w.home || of->kept > 0 || of->state != S_CARRIER_WAITS || ++listed > THREADS)
            return "home is in the reserve, or what keeps something, or is used";
    }
    return joined != listed ? "a carrier does not know whether it is in the reserve" : NULL;
}

static const char *fault_of_places(void)
{
    if (w.in_transit && !w.thread[w.at].woken && w.thread[w.at].is != LOOKS)
        return "nobody wakes the thread that the scheduler goes to";
    if (w.called == NOBODY || w.over || w.exited || w.thread[w.called].is == STARTS ||
        w.thread[w.called].is == LOOKS || w.thread[w.called].is == DECIDES)
        return NULL;
    return w.thread[w.called].woken ? NULL : "a call is never answered";
}

static const char *fault_of_model(void)
{
    int with_scheduler = 0;
    const char *fault = wrong;
    for (int t = 0; t < THREADS; t++) {
        with_scheduler += has_scheduler(&w.thread[t]);
        fault = fault != NULL ? fault : fault_of_thread(t);
    }
    if (fault == NULL && with_scheduler != !w.in_transit)
        fault = w.in_transit ? "a scheduler in transit is used" : "not one thread has it";
    if (fault == NULL)
        fault = fault_of_reserve();
    return fault != NULL ? fault : fault_of_places();
}

static int is_final(void)
{
    if (!w.over)
        return 0;
    for (int t = 0; t < THREADS && !w.exited; t++) {
        uint8_t is = w.thread[t].is;
        int lost = w.thread[t].state == S_CARRIER_LOST && (is == BASE || is == STOPPED);
        if (is != OFF && is != ENDED && !lost)
            return 0;
    }
    return 1;
}

static void print_step(int action)
{
    static const char *const threads[] = {"off",   "starts", "base",       "looks",   "decides",
                                          "rests", "heads",  "dispatches", "python",  "safepoint",
                                          "in C",  "sleeps", "idles",      "stopped", "ended"};
    static const char *const states[] = {"free", "runs", "sits", "waits", "lost"};
    if (action >= 0)
        printf("%d %s (%d)\n", action / WAYS % THREADS, kinds[action / (THREADS * WAYS)].name,
               action % WAYS);
    printf("    at %d%s", w.at, w.in_transit ? " in transit" : "");
    for (int t = 0; t < THREADS; t++)
        printf(" | %s %s%s", threads[w.thread[t].is], states[w.thread[t].state],
               w.gil == t + 1 ? " GIL" : "");
    printf(" | tasklets");
    for (int x = 0; x < TASKLETS; x++)
        printf(" %d/%d", w.tasklet[x].is, w.tasklet[x].hard);
    printf("\n");
}

static explore_result explore_with(int what, int made, int quiet)
{
    explore_model model = {.size = sizeof(world),
                           .actions = kind_count * THREADS * WAYS,
                           .state = &w,
                           .act = act_in_model,
                           .fault = fault_of_model,
                           .is_final = is_final,
                           .print = print_step};
    begin_world(what, made);
    return explore(&model, quiet);
}

TEST(a_scheduler_has_one_thread_and_loses_no_sitter)
{
    CHECK(explore_with(0, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(a_tasklet_that_sat_is_kept_apart)
{
    CHECK(explore_with(APART, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(a_scheduler_goes_on_in_the_child_of_a_fork)
{
    CHECK(explore_with(FORKS, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(a_scheduler_may_end_while_others_sit)
{
    CHECK(explore_with(LEAVES | APART, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(the_interpreter_may_end_while_others_sit)
{
    CHECK(explore_with(EXITS, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(a_call_may_depend_on_another_tasklet)
{
    CHECK(explore_with(DEPENDS, NO_MISTAKE, 0) == EXPLORE_RIGHT);
    CHECK(explore_with(DEPENDS | APART, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(threads_may_run_beside_each_other)
{
    CHECK(explore_with(NO_GIL, NO_MISTAKE, 0) == EXPLORE_RIGHT);
    CHECK(explore_with(NO_GIL | LEAVES, NO_MISTAKE, 0) == EXPLORE_RIGHT);
    CHECK(explore_with(NO_GIL | DEPENDS, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(a_tasklet_may_be_kept_apart_beside_others)
{
    CHECK(explore_with(NO_GIL | APART, NO_MISTAKE, 0) == EXPLORE_RIGHT);
}

TEST(the_model_finds_every_mistake_in_the_use_of_a_handoff)
{
    for (int made = NO_MISTAKE + 1; made < MISTAKES; made++) {
        int what = made < TAKES_UNHELD ? DEPENDS : NO_GIL | APART;
        explore_result result = explore_with(what, made, 1);
        printf("mistake %d: %d\n", made, result);
        CHECK(result != EXPLORE_RIGHT);
    }
}
