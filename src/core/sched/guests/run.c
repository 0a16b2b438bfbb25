/* run() of the native API: the main tasklet is inside of one, or not.
 *
 * At its end every other tasklet of the thread is killed.  A scope around run() may be cancelled
 * then; the caller waits for the others all the same, and is cancelled again afterwards.
 *
 * Main's function runs on the thread's own stack, as a part of what has called run(): so main runs
 * in that thread only.  With handoff that is not good enough, because main would wait for any
 * tasklet that sits in C there.  Then the function begins on a stack of ours and with a data stack
 * of its own, as that of any tasklet; so it can be suspended softly, and runs wherever the
 * scheduler is.  It is main all the same: one tasklet, to which deadlocks, interrupts and the
 * exceptions of signal handlers go.  What has called run() is kept on the thread's stack, with the
 * frames, handled exceptions and limits that belong to it (run_caller), and continues there, as
 * main, when the function has ended.
 *
 * A main that is always switched hard gains nothing by that, and one that runs in a fiber, or has
 * code that keeps addresses of its stack (fixed_stack.c), must not leave it: such a one stays where
 * it is.  The fibers that it has are its caller's: it cannot switch to them meanwhile.
 *
 * Rejected.  A tasklet of its own for the function, for which main waits: all that is meant for
 * main would have to be passed on to it, in each face.
 */
#include "sched/guests/run.h"

#include "sched/carrier.h"
#include "sched/guests/fiber.h"
#include "sched/guests/fixed_stack.h"
#include "sched/guests/scope.h"
#include "sched/internal.h"

typedef struct {
    c_state state;
    p_stack *stack;
    s_fiber_set *fibers;
} run_caller;

int s_run_begin(s_sched *s)
{
    if (s->running || !s->current->is_main)
        return S_E_NESTED;
    s->running = 1;
    return S_OK;
}

int s_run_end(s_sched *s)
{
    if (!s->running)
        return S_OK;
    s->current->cancelled = 0;
    int code = s_kill_all(s);
    s->current->cancelled = (unsigned char)s_scope_effective((s_scope *)s->current->scope);
    s->running = 0;
    return code;
}

/* ---- main's function on a stack of ours ---------------------------------------------------- */

static int keeps_its_stack(const s_sched *s, const s_tasklet *main)
{
    const s_fiber_set *fibers = main->fibers;
    return main->attached & S_ONLY_HARD || s->fixed_stack_of == main->id ||
           (fibers != NULL && fibers->running != fibers->first);
}

/* What was saved of the caller is main's again. */
static void restore_caller(s_tasklet *main, const run_caller *caller, PyObject *context)
{
    main->c = caller->state;
    main->c.context = context;
    main->on_thread_stack = 1;
}

/* The state of main becomes that of a tasklet that begins with func(*args): 0 or S_E_. */
static int begin_function(s_sched *s, s_tasklet *main, run_caller *caller, PyObject *func,
                          PyObject *args)
{
    caller->state = main->c;
    caller->stack = s->stack;
    int code = s_call_init(s->ts, main, func, args, NULL);
    if (code < 0) {
        restore_caller(main, caller, caller->state.context);
        return code;
    }
    main->c.context = caller->state.context;
    main->on_thread_stack = 0;
    main->saved_as = S_NOT_STARTED;
    caller->fibers = s_fiber_set_put_aside(main);
    s->run_caller = caller;
    s->run_id = s_new_id();
    return S_OK;
}

/* The function's names are no longer main's. */
static void drop_function(s_sched *s, s_tasklet *main)
{
    PyObject *func = main->func, *args = main->args, *kwnames = main->kwnames;
    main->func = main->args = main->kwnames = NULL;
    s->trap++;
    Py_XDECREF(func);
    Py_XDECREF(args);
    Py_XDECREF(kwnames);
    s->trap--;
}

PyObject *s_run_main(s_sched *s, PyObject *func, PyObject *args, int *code)
{
    s_tasklet *main = s->current;
    run_caller caller;
    c_hard_state kept;
    *code = S_E_SET;
    if (keeps_its_stack(s, main))
        return PyObject_CallObject(func, args);
    p_stack *fresh = s_stack_take(s);
    if (fresh == NULL) {
        *code = S_E_MEMORY;
        return NULL;
    }
    c_hard_suspend(s->ts, &main->c, &kept, -1);
    *code = begin_function(s, main, &caller, func, args);
    if (*code < 0) {
        s_stack_give(s, fresh);
        c_hard_resume(s->ts, &main->c, &kept);
        drop_function(s, main);
        return NULL;
    }
    *code = S_E_SET;
    return s_leave_stack(s, main, fresh, &kept);
}

int s_is_run_caller_lost(const s_sched *s)
{
    const run_caller *caller = s->run_caller;
    return caller != NULL && s_is_stack_lost(s, caller->stack);
}

/* The caller is what main continues with, as the next tasklet. */
static void return_to_caller(s_sched *s, s_tasklet *main, PyObject *result)
{
    const run_caller *caller = s->run_caller;
    PyObject *error = result == NULL ? PyErr_GetRaisedException() : NULL;
    PyObject *context = s->ts->context;
    s_end_interval(s, main);
    if (c_trace_is_set(s->ts))
        s_report_traced(s, main);
    s_report_leave(s, main);
    s_become_idle(s);
    main->c.context = NULL;
    s_free_state(main);
    restore_caller(main, caller, context);
    main->stack = caller->stack;
    main->saved_as = S_C_STACK;
    main->wait.value = result;
    main->error = error;
    main->state = S_READY;
    b_prepend(&s->ready, &main->wait.link);
    s->run_caller = NULL;
    s->run_id = 0;
    if (main->attached & S_HAS_FIXED_STACK)
        s_lose_fixed_stack(s, main);
    s_fiber_set_restore(s, main, caller->fibers);
    drop_function(s, main);
}

const s_guest s_run_guest = {.main_ended = return_to_caller};
