/* A tasklet that holds the core is reported while it does.
 *
 * The watchdog thread (preempt.c) tells of each tasklet that it has asked to stop in vain:
 * a call of C does not end, or it must not be interrupted.  When that has lasted for long
 * and others wait, it is reported on stderr, once.  Who waits, and where the tasklet is,
 * is found out in a copy of the process (dump.h), which writes and ends: so a report
 * needs no GIL, and stderr that nobody reads holds up nobody.  When nobody waits it is
 * looked at again after twice the time.  One copy lives at a time; its end is seen at a
 * later look.
 *
 * Rejected: reading the running frame in the process itself, where it may just be freed;
 * reporting who keeps nobody waiting, because programs of one flow may take their time.
 */
#include "sched/report.h"

#include "sched/dump.h"

enum { STDERR = 2 };

int64_t s_report_after = 1000000000;

static int reporter; /* the copy; 0: there is none */
static s_stall *reported;

void s_stall_goes_on(s_stall *stall, const s_sched *s, const s_tasklet *held, int64_t since,
                     int64_t now)
{
    int64_t none = 0, after = __atomic_load_n(&s_report_after, __ATOMIC_RELAXED);
    if (__atomic_compare_exchange_n(&stall->began, &none, since, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        stall->due = after ? since + after : S_FOREVER;
    stall->s = s;
    stall->held = held;
    stall->suspect = now >= stall->due;
}

/* Whether the last copy has ended.  When nobody waited it is tried again later. */
static int is_free(int64_t now)
{
    int status = reporter ? p_copy_ended(reporter, 0) : 0;
    if (status < 0)
        return 0;
    if (reporter && status == 1 && reported->due == S_FOREVER)
        reported->due = now + (now - __atomic_load_n(&reported->began, __ATOMIC_RELAXED));
    reporter = 0;
    return 1;
}

void s_stall_report(s_stall *stall, int64_t now)
{
    int64_t began = __atomic_load_n(&stall->began, __ATOMIC_RELAXED);
    if (!is_free(now) || !stall->suspect || began == 0)
        return;
    stall->suspect = 0;
    stall->due = S_FOREVER;
    int pid = p_copy();
    if (pid == 0) {
        p_copy_begin(STDERR);
        p_copy_end(s_dump_stall(STDERR, stall->s, stall->held, now - began));
    }
    reporter = pid > 0 ? pid : 0;
    reported = stall;
}

void s_reports_after_fork(void)
{
    reporter = 0;
}
