/* A tasklet that holds its scheduler is reported on stderr while it does.
 *
 * The monitor thread (sched/guests/preempt.c) passes on each tasklet that it has asked in vain to
 * stop: a call of C does not return, or the tasklet must not be interrupted.  When that has lasted
 * long enough and others wait, it is reported, once.  A copy of the process (text.h) finds out who
 * waits and where the tasklet is, writes that and ends: so a report needs no GIL, and a stderr that
 * is not read blocks nothing.  When nothing waits the report is tried again after twice the time.
 * One copy lives at a time; a later look notices that it has ended.
 *
 * Rejected: reading the running frame in the process itself, where it may just be freed;
 * reporting tasklets that keep nothing waiting, because a program with a single tasklet may take
 * its time.
 */
#include "debug/debug.h"
#include "debug/text.h"
#include "sched/guests/stall.h"

#define CALLERS 8
enum { STDERR = 2 };

int64_t d_report_after = 1000000000;

static int reporter; /* the process number of the copy; 0: there is none */
static s_stall *reported;

/* ---- in the copy ---------------------------------------------------------------------------- */

static struct {
    const s_sched *s;
    const s_tasklet *running;
    int64_t now, nanoseconds;
    long waiting;
    char library[P_LIBRARY_NAME];
} stall_here;

/* Tasklets that are ready, whose time has come, or whose descriptors may be ready. */
static void count_waiting(void *unused)
{
    const s_sched *s = stall_here.s;
    (void)unused;
    stall_here.waiting = d_count_ready(s) + (s->has_messages != 0) + (long)s->io_waits;
    for (size_t i = 0; i < s->timers.used; i++)
        stall_here.waiting += s->timers.entries[i].when <= stall_here.now;
}

static void put_seconds(int64_t nanoseconds)
{
    uint64_t tenths = (uint64_t)nanoseconds / 100000000;
    d_put_number(tenths / 10);
    d_put(".");
    d_put_number(tenths % 10);
}

static void put_line_of(const c_location *frame)
{
    d_put_text(c_peek_file(frame));
    d_put(":");
    d_put_number((uint64_t)c_peek_line(frame));
    d_put(" in ");
    d_put_text(c_peek_function(frame));
    d_put("\n");
}

static void put_stall(void *unused)
{
    c_location frames[D_FRAMES];
    char name[D_NAME];
    int more, count = d_frames_of(stall_here.s, stall_here.running, frames, &more);
    (void)unused;
    s_peek_name(stall_here.running, name, sizeof(name));
    d_begin_line("loomlet: tasklet ");
    d_put(name);
    d_put(" has held its thread for ");
    put_seconds(stall_here.nanoseconds);
    d_put(" s while other tasklets wait (");
    d_put_number((uint64_t)stall_here.waiting);
    d_put("): ");
    if (count == 0)
        d_put("?\n");
    for (int i = 0; i < count && i < CALLERS; i++) {
        d_put(i ? "  called at " : "");
        put_line_of(&frames[i]);
    }
    if (stall_here.library[0] == 0)
        return;
    d_put("  not interrupted below ");
    d_put(stall_here.library);
    d_put(", which needs its calls to return in order\n");
}

/* 1 when the tasklet does not run any more or nothing waits for it: then nothing is written. */
static int write_stall(int fd, const s_stall *stall, int64_t nanoseconds)
{
    stall_here.s = stall->s;
    stall_here.running = stall->running;
    stall_here.now = p_now();
    stall_here.nanoseconds = nanoseconds;
    memcpy(stall_here.library, stall->library, P_LIBRARY_NAME - 1);
    d_begin_text(fd);
    if (!d_is_running(stall->s, stall->running) || p_process_copy_try(count_waiting, NULL) < 0 ||
        stall_here.waiting == 0)
        return 1;
    if (p_process_copy_try(put_stall, NULL) < 0)
        d_put("\n");
    d_flush_text();
    return 0;
}

/* ---- on the monitor thread --------------------------------------------------------------------
 */

static int64_t report_time(int64_t since)
{
    int64_t after = __atomic_load_n(&d_report_after, __ATOMIC_RELAXED);
    return after ? since + after : S_FOREVER;
}

/* Whether the last copy has ended.  When nothing waited the report is tried again later. */
static int last_copy_ended(int64_t now)
{
    int status = reporter ? p_process_copy_ended(reporter, 0) : 0;
    if (status < 0)
        return 0;
    if (reporter && status == 1 && reported->report_at == S_FOREVER)
        reported->report_at = now + (now - __atomic_load_n(&reported->began, __ATOMIC_RELAXED));
    reporter = 0;
    return 1;
}

static void report_stall(s_stall *stall, int64_t now)
{
    int64_t began = __atomic_load_n(&stall->began, __ATOMIC_RELAXED);
    if (!last_copy_ended(now) || !stall->is_due || began == 0)
        return;
    stall->is_due = 0;
    stall->report_at = S_FOREVER;
    int pid = p_process_copy();
    if (pid == 0) {
        p_process_copy_begin(STDERR);
        p_process_copy_end(write_stall(STDERR, stall, now - began));
    }
    reporter = pid > 0 ? pid : 0;
    reported = stall;
}

static void forget_reporter(void)
{
    reporter = 0;
}

void d_init(void)
{
    s_hook.find_ring = d_find_ring;
    s_stall_hook = (s_stall_hooks){report_time, report_stall, forget_reporter};
}
