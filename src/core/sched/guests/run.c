/* run() of the native API: the main tasklet is inside of one, or not.
 *
 * At its end every other tasklet of the thread is killed.  A scope around run() may be cancelled
 * then; the caller waits for the others all the same, and is cancelled again afterwards.
 */
#include "sched/guests/run.h"

#include "sched/guests/scope.h"
#include "sched/internal.h"

int s_run_begin(s_sched *s)
{
    if (s->running || !s->current->is_main)
        return S_E_NESTED;
    s->running = 1;
    return S_OK;
}

int s_run_end(s_sched *s)
{
    s->current->cancelled = 0;
    int code = s_kill_all(s);
    s->current->cancelled = (unsigned char)s_scope_effective((s_scope *)s->current->scope);
    s->running = 0;
    return code;
}
