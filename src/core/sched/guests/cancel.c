/* Cancelling: which scopes are cancelled, who learns of it, and what is said of it.
 *
 * A cancel looks for the tasklets that it concerns breadth first.  When there is no memory for the
 * list of those that are still to be visited, or for a message to another thread, every tasklet
 * looks at its own scopes instead, which takes longer and needs no memory: a cancel reaches all or
 * has not happened.
 */
#include "sched/guests/scope.h"

#include "sched/internal.h"

#define MOST_SKIPPED 8 /* notes that a scope keeps */

static s_scope *scope_inside(const s_tasklet *t)
{
    return (s_scope *)t->scope;
}

int s_scope_effective(const s_scope *scope)
{
    for (; scope != NULL; scope = scope->parent) {
        if (scope->called)
            return 1;
        if (scope->shield)
            return 0;
    }
    return 0;
}

int s_scope_outer(const s_scope *scope)
{
    return !scope->shield && s_scope_effective(scope->parent);
}

/* ---- what is said of it ------------------------------------------------------------------ */

s_scope *s_scope_cancelled(s_scope *scope)
{
    s_scope *found = NULL;
    for (; scope != NULL; scope = scope->parent) {
        if (scope->called)
            found = scope;
        if (scope->shield)
            break;
    }
    return found;
}

c_location s_scope_location(const s_scope *scope)
{
    return (c_location){scope->opened, scope->opened_at};
}

static PyObject *describe_scope(const s_scope *scope)
{
    const char *name = Py_TYPE(scope)->tp_name, *dot = strrchr(name, '.');
    name = dot != NULL ? dot + 1 : name;
    const char *before = scope->expired ? "the time of the " : "the ";
    const char *after = scope->expired ? "is over" : "was cancelled";
    c_location at = s_scope_location(scope);
    if (at.code == NULL)
        return PyUnicode_FromFormat("%s%s around this operation %s", before, name, after);
    return PyUnicode_FromFormat("%s%s opened at %U:%d in %U %s", before, name, c_peek_file(&at),
                                c_peek_line(&at), c_peek_function(&at), after);
}

/* What is said of a cancelled scope, made once: 0 or -1 with an exception. */
static int describe_once(s_scope *scope)
{
    if (scope->words != NULL)
        return 0;
    PyObject *text = describe_scope(scope);
    scope->words = text != NULL ? c_list_with(text) : NULL;
    Py_XDECREF(text);
    return scope->words != NULL ? 0 : -1;
}

PyObject *s_scope_error(const s_tasklet *t)
{
    s_scope *scope = s_scope_cancelled(scope_inside(t));
    if (scope != NULL && describe_once(scope) < 0)
        return NULL;
    return s_hook.error(S_E_CANCELLED, scope != NULL ? PyList_GET_ITEM(scope->words, 0) : NULL);
}

int s_scope_add_note(s_scope *scope, PyObject *note)
{
    if (describe_once(scope) < 0)
        return -1;
    if (PyList_GET_SIZE(scope->words) > MOST_SKIPPED)
        return 0;
    int known = PySequence_Contains(scope->words, note);
    return known != 0 ? known : PyList_Append(scope->words, note);
}

PyObject *s_scope_note_list(const s_scope *scope)
{
    return scope->words ? PyList_GetSlice(scope->words, 1, PY_SSIZE_T_MAX) : PyList_New(0);
}

/* ---- notifying ----------------------------------------------------------------------- */

/* The children of the groups that `t` has open inside `stop`. */
static int add_groups(s_tasklet *t, const s_scope *stop, PyObject *todo)
{
    int code = 0;
    s_scope *at = scope_inside(t);
    for (; code == 0 && at != NULL && at != stop && at->task == t; at = at->parent)
        code = c_list_add_keys(todo, at->children);
    return code;
}

static void handle_cancel(s_sched *s, s_tasklet *t, PyObject *unused)
{
    (void)unused;
    s_scope_notify(s, t);
}

/* 0, also when the owner's thread has ended: nothing runs there. */
static int post_cancel(s_tasklet *t)
{
    return s_post_message(t->owner, handle_cancel, t, NULL) == S_E_MEMORY ? -1 : 0;
}

static void update_flag(s_sched *s, s_tasklet *t)
{
    t->cancelled = (unsigned char)s_scope_effective(scope_inside(t));
    if (!t->cancelled || t->state != S_BLOCKED || t->kind->shielded)
        return;
    PyObject *error = s_scope_error(t);
    s_interrupt(s, t, error ? error : PyErr_GetRaisedException());
}

static int notify_one(s_sched *s, s_tasklet *t, const s_scope *stop, PyObject *todo)
{
    if (t->owner != s)
        return post_cancel(t);
    if (add_groups(t, stop, todo) < 0)
        return -1;
    update_flag(s, t);
    return 0;
}

static int has_old_flag(const s_sched *s, const s_tasklet *t)
{
    return t->owner == s && t->cancelled != s_scope_effective(scope_inside(t));
}

/* The first tasklet behind `last`, or of all when that has ended, whose flag is not what its scopes
 * say: a new reference. */
static s_tasklet *find_old_flag(s_sched *s, const s_tasklet *last)
{
    s_tasklet *found = NULL;
    c_lock_take(&s->all_lock);
    int listed = last != NULL && last->owner == s && last->state != S_DONE && b_linked(&last->all);
    b_link *at = listed ? last->all.next : s->all.next;
    for (; found == NULL && at != &s->all; at = at->next) {
        s_tasklet *t = B_CONTAINER(at, s_tasklet, all);
        if (has_old_flag(s, t) && c_try_incref((PyObject *)t))
            found = t;
    }
    c_lock_give(&s->all_lock);
    return found;
}

/* What runs meanwhile may end the last one: then all are searched again. */
void s_scope_refresh(s_sched *s)
{
    if (has_old_flag(s, s->main))
        update_flag(s, s->main);
    s_tasklet *t = find_old_flag(s, NULL);
    while (t != NULL) {
        update_flag(s, t);
        s_tasklet *next = find_old_flag(s, t);
        Py_DECREF((PyObject *)t);
        t = next;
    }
}

/* There is no memory to find those whom a cancel concerns: everyone looks again, which needs
 * none. */
static void notify_without_memory(s_sched *s)
{
    PyErr_Clear();
    for (const s_sched *other = s_first_scheduler(); other != NULL; other = other->next) {
        if (other != s && !other->ended)
            s_post_refresh((s_sched *)other);
    }
    s_scope_refresh(s);
}

/* Breadth first, without recursion: groups may be nested deeply. */
static int notify_all(s_sched *s, PyObject *todo)
{
    int code = 0;
    for (Py_ssize_t i = 0; code == 0 && i < PyList_GET_SIZE(todo); i++)
        code = notify_one(s, (s_tasklet *)PyList_GET_ITEM(todo, i), NULL, todo);
    return code;
}

static void notify_from(s_sched *s, s_tasklet *t, const s_scope *stop)
{
    PyObject *pending = PyErr_GetRaisedException();
    PyObject *todo = PyList_New(0);
    if (todo == NULL || notify_one(s, t, stop, todo) < 0 || notify_all(s, todo) < 0)
        notify_without_memory(s);
    Py_XDECREF(todo);
    PyErr_SetRaisedException(pending);
}

/* The children of a group that is on no tasklet's chain. */
static void notify_children(s_sched *s, s_scope *group)
{
    PyObject *pending = PyErr_GetRaisedException();
    PyObject *todo = PyList_New(0);
    if (todo == NULL || c_list_add_keys(todo, group->children) < 0 || notify_all(s, todo) < 0)
        notify_without_memory(s);
    Py_XDECREF(todo);
    PyErr_SetRaisedException(pending);
}

void s_scope_notify(s_sched *s, s_tasklet *t)
{
    notify_from(s, t, NULL);
}

/* Something about the scope has changed: notifies its task, or else its children.  A cancel inside
 * a cancelled scope changes nothing for any tasklet. */
static void notify_change(s_sched *s, s_scope *scope, int is_cancel)
{
    c_lock_take(&scope->lock);
    s_tasklet *t = scope->task;
    Py_XINCREF((PyObject *)t);
    c_lock_give(&scope->lock);
    if (t == NULL)
        notify_children(s, scope);
    else if (t->owner != s && post_cancel(t) < 0)
        notify_without_memory(s);
    else if (t->owner == s && (!is_cancel || !s_scope_outer(scope)))
        notify_from(s, t, scope->parent);
    Py_XDECREF((PyObject *)t);
}

void s_scope_cancel(s_sched *s, s_scope *scope)
{
    c_lock_take(&scope->lock);
    int before = scope->called;
    scope->called = 1;
    c_lock_give(&scope->lock);
    if (!before)
        notify_change(s, scope, 1);
}

void s_scope_set_shield(s_sched *s, s_scope *scope, int shield)
{
    scope->shield = (unsigned char)shield;
    notify_change(s, scope, 0);
}
