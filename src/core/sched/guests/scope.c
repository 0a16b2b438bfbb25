/* Entering and leaving scopes, their deadlines; the children of groups: see scope.h. */
#include "sched/guests/scope.h"

#include "sched/internal.h"

#define TRIES 10 /* how often a group that is left at last waits for its children */

static s_scope *innermost_scope(const s_tasklet *t)
{
    return (s_scope *)t->scope;
}

/* ---- deadlines --------------------------------------------------------------- */

static void disarm_deadline(s_sched *s, s_scope *scope)
{
    if (scope->armed != s)
        return;
    scope->armed = NULL;
    s_timer_disarm(s, &scope->timer);
    Py_DECREF((PyObject *)scope);
}

static void deadline_passed(s_sched *s, s_timer *timer)
{
    s_scope *scope = timer->owner;
    scope->armed = NULL;
    if (scope->state == S_SCOPE_ENTERED) {
        scope->expired |= !scope->called;
        s_scope_cancel(s, scope);
    }
    Py_DECREF((PyObject *)scope);
}

/* Arms the timer of a scope that the current thread is inside of; a deadline that has passed takes
 * effect at once. */
static int arm_deadline(s_sched *s, s_scope *scope)
{
    if (scope->timer.node.when == S_FOREVER || scope->called)
        return S_OK;
    if (scope->timer.node.when <= s_now(s)) {
        scope->expired = 1;
        s_scope_cancel(s, scope);
        return S_OK;
    }
    scope->timer.fire = deadline_passed;
    scope->timer.owner = scope;
    int code = s_timer_arm(s, &scope->timer, scope->timer.node.when);
    if (code == S_OK) {
        scope->armed = s;
        Py_INCREF((PyObject *)scope);
    }
    return code;
}

int s_scope_set_deadline(s_sched *s, s_scope *scope, int64_t deadline)
{
    if (scope->state == S_SCOPE_ENTERED && scope->task->owner != s)
        return S_E_THREAD;
    if (scope->armed != NULL && scope->armed != s)
        return S_E_THREAD;
    disarm_deadline(s, scope);
    scope->timer.node.when = deadline;
    scope->relative = 0;
    return scope->state == S_SCOPE_ENTERED ? arm_deadline(s, scope) : S_OK;
}

/* ---- in and out ----------------------------------------------------------------- */

/* The time of a `timeout` begins to count. */
static void start_clock(s_sched *s, s_scope *scope)
{
    if (scope->relative && scope->timer.node.when != S_FOREVER) {
        int64_t now = s_now(s);
        scope->timer.node.when =
            scope->timer.node.when > S_FOREVER - 1 - now ? S_FOREVER : now + scope->timer.node.when;
    }
    scope->relative = 0;
}

static inline void note_where(s_sched *s, s_scope *scope)
{
    c_location here;
    if (c_peek_innermost(s->ts, &here)) {
        scope->opened = Py_NewRef(here.code);
        scope->opened_at = here.offset;
    }
}

static void leave_innermost(s_sched *s, s_tasklet *t, s_scope *scope);

int s_scope_enter_as(s_sched *s, s_tasklet *t, s_scope *scope)
{
    if (scope->state != S_SCOPE_NEW)
        return S_E_SCOPE_USED;
    start_clock(s, scope);
    scope->parent = innermost_scope(t);
    t->scope = Py_NewRef((PyObject *)scope);
    if (t == s->current)
        note_where(s, scope);
    c_lock_take(&scope->lock);
    scope->task = (s_tasklet *)Py_NewRef((PyObject *)t);
    scope->state = S_SCOPE_ENTERED;
    c_lock_give(&scope->lock);
    if (scope->called)
        t->cancelled = 1;
    else if (scope->shield)
        t->cancelled = 0;
    int code = arm_deadline(s, scope);
    if (code < 0)
        leave_innermost(s, t, scope);
    return code;
}

int s_scope_enter(s_sched *s, s_scope *scope)
{
    if (!s->trap)
        return s_scope_enter_as(s, s->current, scope);
    if (scope->state != S_SCOPE_NEW)
        return S_E_SCOPE_USED;
    start_clock(s, scope);
    scope->state = S_SCOPE_ENTERED;
    return S_OK;
}

/* `t` leaves its innermost scope. */
static void leave_innermost(s_sched *s, s_tasklet *t, s_scope *scope)
{
    disarm_deadline(s, scope);
    c_lock_take(&scope->lock);
    scope->task = NULL;
    scope->state = S_SCOPE_LEFT;
    c_lock_give(&scope->lock);
    t->scope = (PyObject *)scope->parent;
    scope->parent = NULL;
    if (B_UNLIKELY(scope->called | scope->shield | t->cancelled))
        t->cancelled = (unsigned char)s_scope_effective(innermost_scope(t));
    Py_DECREF((PyObject *)t);
    Py_DECREF((PyObject *)scope);
}

static int is_on_own_chain(const s_tasklet *t, const s_scope *scope)
{
    const s_scope *at = innermost_scope(t);
    while (at != NULL && at->task == t && at != scope)
        at = at->parent;
    return at == scope && scope->task == t;
}

/* A scope is left while others inside it are still open (a generator that was
 * suspended in its `with`): those are left too, what runs in them is cancelled. */
static void leave_with_inner(s_sched *s, s_tasklet *t, s_scope *scope)
{
    while (innermost_scope(t) != scope) {
        s_scope *inner = innermost_scope(t);
        if (inner->children != NULL)
            s_scope_cancel(s, inner);
        leave_innermost(s, t, inner);
    }
    leave_innermost(s, t, scope);
}

void s_scope_leave_all(s_sched *s, s_tasklet *t)
{
    s_scope *scope = innermost_scope(t);
    for (; scope != NULL && scope->task == t; scope = innermost_scope(t))
        leave_innermost(s, t, scope);
}

PyObject *s_scope_children(s_scope *scope)
{
    c_lock_take(&scope->lock);
    PyObject *children = scope->children != NULL ? c_list_of_keys(scope->children) : PyList_New(0);
    c_lock_give(&scope->lock);
    return children;
}

static int has_children(s_scope *scope)
{
    return scope->children != NULL && PyDict_GET_SIZE(scope->children) > 0;
}

/* No more children from now on: 1, or 0 while there are some. */
static int close_group(s_scope *scope)
{
    c_lock_take(&scope->lock);
    int empty = !has_children(scope);
    if (empty)
        scope->state = S_SCOPE_LEFT;
    c_lock_give(&scope->lock);
    return empty;
}

int s_scope_leave(s_sched *s, s_scope *scope, int force)
{
    s_tasklet *t = s->current;
    if (scope->state == S_SCOPE_LEFT) /* by leave_with_inner, which has been reported */
        return !force && has_children(scope);
    int inert = scope->state == S_SCOPE_ENTERED && scope->task == NULL;
    if (B_UNLIKELY(innermost_scope(t) != scope || scope->task != t) && !inert &&
        !is_on_own_chain(t, scope))
        return S_E_SCOPE_ORDER;
    if (scope->children != NULL && !force && !close_group(scope))
        return 1;
    if (B_UNLIKELY(inert)) {
        scope->state = S_SCOPE_LEFT;
        return S_OK;
    }
    int in_order = innermost_scope(t) == scope;
    leave_with_inner(s, t, scope);
    return in_order ? S_OK : S_E_SCOPE_ORDER;
}

/* ---- groups ------------------------------------------------------------------------ */

int s_scope_adopt(s_scope *group, s_tasklet *t)
{
    int code = S_E_GROUP_CLOSED;
    c_lock_take(&group->lock);
    if (group->state == S_SCOPE_ENTERED && !group->called)
        code = PyDict_SetItem(group->children, (PyObject *)t, Py_None) < 0 ? S_E_SET : S_OK;
    if (code == S_OK) {
        t->scope = Py_NewRef((PyObject *)group);
        t->owned = 1;
        t->cancelled = (unsigned char)s_scope_effective(group);
    }
    c_lock_give(&group->lock);
    return code;
}

s_scope *s_scope_group_of(const s_tasklet *t)
{
    s_scope *at = innermost_scope(t);
    while (at != NULL && at->task == t)
        at = at->parent;
    return at;
}

int s_scope_shared(const s_tasklet *t, const s_tasklet *child)
{
    const s_scope *group = s_scope_group_of(child), *at = innermost_scope(t);
    while (at != NULL && at != group)
        at = at->parent;
    return at == group;
}

static int is_failure(PyObject *exception)
{
    return !s_hook.is_exit(exception) || s_hook.is_foreign_kill(exception);
}

static int note_failure(s_scope *group, s_tasklet *t)
{
    if (t->failure == NULL || !is_failure(t->failure))
        return 0;
    c_lock_take(&group->lock);
    if (s_as_group(group)->failed == NULL)
        s_as_group(group)->failed = PyList_New(0);
    int code =
        s_as_group(group)->failed ? PyList_Append(s_as_group(group)->failed, (PyObject *)t) : -1;
    c_lock_give(&group->lock);
    if (code < 0) {
        group->lost_failure = 1;
        PyErr_WriteUnraisable((PyObject *)t);
        s_hook.failed(t, t->failure);
    }
    return 1;
}

/* The waiter is woken before the cancel can reach it: the last child's failure then
 * costs it one wake, not two. */
static void end_child(s_sched *s, s_scope *group, s_tasklet *t)
{
    int failed = note_failure(group, t);
    s_tasklet *waiter = NULL;
    c_lock_take(&group->lock);
    if (PyDict_DelItem(group->children, (PyObject *)t) < 0)
        PyErr_Clear();
    if (PyDict_GET_SIZE(group->children) == 0) {
        waiter = s_as_group(group)->waiter;
        s_as_group(group)->waiter = NULL;
    }
    c_lock_give(&group->lock);
    if (waiter != NULL)
        s_wake(s, waiter);
    if (failed)
        s_scope_cancel(s, group);
}

static void child_ended(s_sched *s, s_tasklet *t)
{
    s_scope *group = s_scope_group_of(t);
    if (group == NULL || group->children == NULL)
        return;
    Py_INCREF((PyObject *)group);
    end_child(s, group, t);
    if (s_as_group(group)->permits != NULL)
        s_as_group(group)->give_back(s, s_as_group(group)->permits);
    Py_DECREF((PyObject *)group);
}

void s_scope_disown(s_tasklet *t)
{
    end_child(s_self_here(), s_scope_group_of(t), t);
}

s_sched *s_scope_owner(s_scope *scope)
{
    c_lock_take(&scope->lock);
    s_sched *owner = scope->task != NULL ? scope->task->owner : NULL;
    c_lock_give(&scope->lock);
    return owner;
}

static int group_detach(s_tasklet *t)
{
    s_scope *group = t->on;
    c_lock_take(&group->lock);
    int waits = s_as_group(group)->waiter == t;
    if (waits)
        s_as_group(group)->waiter = NULL;
    c_lock_give(&group->lock);
    return waits;
}

/* The i-th child of the group. */
static int group_target(const s_tasklet *t, int i, s_target *found)
{
    s_scope *group = t->on;
    PyObject *child;
    Py_ssize_t at = 0;
    found->object = (PyObject *)group;
    for (int left = i; PyDict_Next(group->children, &at, &child, NULL); left--) {
        if (left == 0) {
            found->holder = ((s_tasklet *)child)->id;
            return 1;
        }
    }
    return 0;
}

static int end_stuck_children(s_sched *s, s_tasklet *t);

static const s_wait_kind joining_group = {.name = "join",
                                          .detach = group_detach,
                                          .target = group_target,
                                          .break_deadlock = end_stuck_children};

int s_scope_is_waited_for(const s_tasklet *t)
{
    return t->state == S_BLOCKED && t->kind == &joining_group;
}

/* Cancelled is raised even behind a shield in the children of a cancelled group that wait for ever.
 * Those that go on waiting ten times stay behind: the group is left. */
static int end_stuck_children(s_sched *s, s_tasklet *t)
{
    s_scope *group = t->on;
    if (!group->called)
        return 0;
    PyObject *children = group->stuck++ < TRIES ? c_list_of_keys(group->children) : NULL;
    if (children == NULL) {
        PyErr_Clear();
        leave_with_inner(s, t, group);
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(children); i++) {
        s_tasklet *child = (s_tasklet *)PyList_GET_ITEM(children, i);
        PyObject *error = s_scope_error(child);
        s_request_interrupt(s, child, error ? error : PyErr_GetRaisedException());
    }
    Py_DECREF(children);
    return 1;
}

/* A group that cannot wait for its children cancels them and is left. */
static void abandon_group(s_sched *s, s_scope *group)
{
    s_scope_cancel(s, group);
    s_scope_leave(s, group, 1);
}

PyObject *s_scope_wait(s_sched *s, s_scope *group, int shielded, const c_call_site *site, int *code)
{
    s_tasklet *me = s->current;
    *code = S_OK;
    c_lock_take(&group->lock);
    int waits = has_children(group);
    if (waits)
        *code = s_as_group(group)->waiter != NULL ? S_E_SCOPE_ORDER : s_may_block(s);
    if (*code == S_E_CANCELLED && shielded)
        *code = S_OK;
    if (waits && *code == S_OK) {
        me->wait.value = Py_NewRef(Py_None);
        me->kind = &joining_group;
        me->on = group;
        me->state = S_BLOCKED;
        s_as_group(group)->waiter = me;
        s->tasklet_waits++;
    }
    c_lock_give(&group->lock);
    if (*code == S_E_TRAPPED || *code == S_E_SCOPE_ORDER)
        abandon_group(s, group);
    if (*code < 0)
        return NULL;
    return waits ? s_suspend(s, site) : Py_NewRef(Py_None);
}

/* An exception that ends a wait is kept, the last one; where nothing can wait, s_scope_wait has
 * left the group. */
int s_scope_leave_open(s_sched *s, s_scope *group)
{
    PyObject *raised = NULL;
    if (group->state != S_SCOPE_ENTERED || !is_on_own_chain(s->current, group))
        return S_OK;
    for (int tries = 0; tries < TRIES && group->state == S_SCOPE_ENTERED; tries++) {
        int code;
        s_scope_cancel(s, group);
        PyObject *done = s_scope_wait(s, group, 1, NULL, &code);
        if (done != NULL) {
            Py_DECREF(done);
            break;
        }
        Py_XSETREF(raised, PyErr_GetRaisedException());
    }
    s_scope_leave(s, group, 1);
    if (raised == NULL)
        return S_OK;
    PyErr_SetRaisedException(raised);
    return S_E_SET;
}

int s_scope_wait_as(s_sched *s, s_tasklet *t, s_scope *group)
{
    c_lock_take(&group->lock);
    int waits = has_children(group) && s_as_group(group)->waiter == NULL;
    if (waits) {
        t->kind = &joining_group;
        t->on = group;
        t->state = S_BLOCKED;
        s_as_group(group)->waiter = t;
    }
    c_lock_give(&group->lock);
    Py_XSETREF(t->wait.value, Py_NewRef(Py_None));
    Py_INCREF((PyObject *)t);
    if (!waits)
        s_ready(s, t);
    return S_OK;
}

/* ---- the object ---------------------------------------------------------------------- */

void s_scope_init(s_scope *scope)
{
    scope->timer.node.when = S_FOREVER;
}

int s_scope_visit(s_scope *scope, visitproc visit, void *arg)
{
    Py_VISIT((PyObject *)scope->parent);
    Py_VISIT((PyObject *)scope->task);
    Py_VISIT(scope->children);
    Py_VISIT(scope->words);
    if (scope->children != NULL) {
        Py_VISIT(s_as_group(scope)->failed);
        Py_VISIT(s_as_group(scope)->permits);
        Py_VISIT((PyObject *)s_as_group(scope)->waiter);
    }
    return 0;
}

static void clear_group(s_group *group)
{
    s_tasklet *waiter = group->waiter;
    if (waiter != NULL && group_detach(waiter)) {
        waiter->state = S_PAUSED;
        waiter->kind = NULL;
        Py_DECREF((PyObject *)waiter);
    }
    Py_CLEAR(group->failed);
    Py_CLEAR(group->permits);
    Py_CLEAR(group->scope.children);
}

void s_scope_clear(s_scope *scope)
{
    if (scope->children != NULL)
        clear_group(s_as_group(scope));
    Py_CLEAR(scope->parent);
    Py_CLEAR(scope->task);
    Py_CLEAR(scope->words);
    Py_CLEAR(scope->opened);
}

const s_guest s_scope_guest = {.child_ended = child_ended, .refresh = s_scope_refresh};
