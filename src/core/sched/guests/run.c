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
 * Main bound anew (Stackless API).  While main waits in Python code on the thread's stack, another
 * tasklet gives it a new function.  That begins on a stack of ours as well.  When it has ended, an
 * exception takes main's old frames off, past all handlers (cpython/abandon.c), so that the thread
 * ends; the frames of threading itself do their work.  If main's function has a stack of ours
 * already and waits softly, the caller's is called anew with the new one in the place of the old.
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
    PyObject *func, *args; /* as given to s_run_main(); NULL: main was bound anew ... */
    int abandoned;         /* ... so the caller does not run on, and this is freed */
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
                          PyObject *args, PyObject *kwnames)
{
    caller->state = main->c;
    int code = s_call_init(s->ts, main, func, args, kwnames);
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
    run_caller caller = {.stack = s->stack, .func = func, .args = args};
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
    *code = begin_function(s, main, &caller, func, args, NULL);
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

/* What takes the frames off that main had before. */
static PyObject *end_of_thread(PyObject **result)
{
    Py_CLEAR(*result);
    PyErr_SetNone(PyExc_SystemExit);
    return PyErr_GetRaisedException();
}

/* The caller is what main continues with, as the next tasklet. */
static void return_to_caller(s_sched *s, s_tasklet *main, PyObject *result)
{
    const run_caller *caller = s->run_caller;
    PyObject *error = result == NULL ? PyErr_GetRaisedException() : NULL;
    if (caller->abandoned && error == NULL)
        error = end_of_thread(&result);
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
    if (caller->abandoned)
        PyMem_Free((void *)caller);
}

/* ---- main bound anew ----------------------------------------------------------------------- */

/* Main, which waits, is paused. */
static void pause_main(s_sched *s)
{
    s_tasklet *main = s->main;
    if (main->state == S_BLOCKED && main->kind->detach(main))
        Py_DECREF((PyObject *)main);
    main->state = S_PAUSED;
    main->kind = NULL;
    Py_CLEAR(main->wait.value);
    Py_CLEAR(main->error);
}

/* functools.partial(func, **kwargs), of the arguments that have names; *count: how many have none.
 */
static PyObject *bind_named(PyObject *func, PyObject *args, PyObject *kwnames, Py_ssize_t *count)
{
    Py_ssize_t named = kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0;
    *count = PyTuple_GET_SIZE(args) - named;
    if (named == 0)
        return Py_NewRef(func);
    PyObject *module = PyImport_ImportModule("functools"), *kwargs = PyDict_New();
    PyObject *partial = module ? PyObject_GetAttrString(module, "partial") : NULL;
    PyObject *bound = NULL, *given = PyTuple_Pack(1, func);
    if (partial != NULL && kwargs != NULL && given != NULL &&
        c_add_keywords(kwargs, kwnames, &PyTuple_GET_ITEM(args, *count)) == 0)
        bound = PyObject_Call(partial, given, kwargs);
    Py_XDECREF(module);
    Py_XDECREF(partial);
    Py_XDECREF(kwargs);
    Py_XDECREF(given);
    return bound;
}

/* The arguments of the caller's function, which are main's function, a tuple of its arguments, and
 * whatever else, with others in the first two places. */
static PyObject *arguments_anew(const run_caller *caller, PyObject *func, PyObject *args,
                                PyObject *kwnames)
{
    Py_ssize_t count, all = PyTuple_GET_SIZE(caller->args);
    PyObject *bound = bind_named(func, args, kwnames, &count);
    PyObject *own = bound != NULL ? PyTuple_GetSlice(args, 0, count) : NULL;
    PyObject *anew = own != NULL ? PyTuple_New(all) : NULL;
    if (anew == NULL) {
        Py_XDECREF(bound);
        Py_XDECREF(own);
        return NULL;
    }
    PyTuple_SET_ITEM(anew, 0, bound);
    PyTuple_SET_ITEM(anew, 1, own);
    for (Py_ssize_t i = 2; i < all; i++)
        PyTuple_SET_ITEM(anew, i, Py_NewRef(PyTuple_GET_ITEM(caller->args, i)));
    return anew;
}

/* Its function has a stack of ours, or none yet.  Without memory it has lost that, and will raise
 * the error. */
static int replace_main_function(s_sched *s, PyObject *func, PyObject *args, PyObject *kwnames)
{
    s_tasklet *main = s->main;
    const run_caller *caller = s->run_caller;
    PyObject *anew = caller->func ? arguments_anew(caller, func, args, kwnames) : Py_NewRef(args);
    if (anew == NULL)
        return S_E_SET;
    PyObject *context = Py_XNewRef(main->c.context);
    pause_main(s);
    if (s_is_soft(main))
        c_drop_frames(s->ts, &main->c);
    s_free_state(main);
    drop_function(s, main);
    main->saved_as = S_NOT_STARTED;
    int code = caller->func ? s_call_init(s->ts, main, caller->func, anew, NULL)
                            : s_call_init(s->ts, main, func, args, kwnames);
    Py_DECREF(anew);
    Py_XSETREF(main->c.context, context);
    if (code == S_E_SET)
        main->error = PyErr_GetRaisedException();
    return code == S_E_SET ? S_E_MEMORY : code;
}

int s_bind_main(s_sched *s, PyObject *func, PyObject *args, PyObject *kwnames)
{
    s_tasklet *main = s->main;
    if (main == s->current || main->state == S_READY)
        return S_E_BLOCKED;
    if (main->saved_as != S_C_STACK)
        return replace_main_function(s, func, args, kwnames);
    if (!main->on_thread_stack || s->running || keeps_its_stack(s, main))
        return S_E_STUCK;
    run_caller *caller = PyMem_Calloc(1, sizeof(*caller));
    if (caller == NULL)
        return S_E_MEMORY;
    *caller = (run_caller){.stack = main->stack, .abandoned = 1};
    int done = c_frames_abandon(&main->c, "threading");
    int code = done < 0 ? S_E_SET : S_E_STUCK;
    if (done > 0)
        code = begin_function(s, main, caller, func, args, kwnames);
    if (code < 0) {
        PyMem_Free(caller);
        return code;
    }
    main->stack = NULL;
    pause_main(s);
    return S_OK;
}

const s_guest s_run_guest = {.main_ended = return_to_caller};
