/* The attributes of a Stackless tasklet, its flags and its context.
 *
 * Any thread may read them.  What the owner thread could free meanwhile is read while that thread
 * is stopped (read_on_owner).  An answer about a tasklet that another thread is about to wake or
 * run may be out of date when it arrives.
 */
#include <stddef.h>

#include "bind/stackless/stackless.h"

#define SELF ((s_tasklet *)self)

/* Whether it is the current tasklet of its own thread. */
static int is_current_tasklet(const s_tasklet *t)
{
    return t->owner != NULL && t->owner->current == t;
}

/* Whether it is the current tasklet of the calling thread. */
static int runs_here(const s_tasklet *t)
{
    const s_sched *s = s_self_if_any();
    return s != NULL && s->current == t;
}

/* ---- states ---------------------------------------------------------------------------- */

typedef PyObject *(*reader)(s_tasklet *t);

typedef struct {
    s_tasklet *t;
    reader read;
    PyObject *seen;
} reading;

static void read_now(void *arg)
{
    reading *g = arg;
    g->seen = g->read(g->t);
}

/* The getter of an attribute: `closure` reads it on the owner thread, without Python code. */
static PyObject *read_on_owner(PyObject *self, void *closure)
{
    reading g = {SELF, (reader)closure, NULL};
    s_run_on_owner(SELF, read_now, &g);
    return g.seen;
}

/* Before the state is read: handles what other threads have sent. */
static void read_inbox(const s_tasklet *t)
{
    s_sched *s = s_self_if_any();
    if (s != NULL && t->owner == s)
        s_read_inbox(s);
}

/* Not without a thread that could run it. */
static int is_alive(const s_tasklet *t)
{
    return t->state != S_DONE && bind_has_thread(t);
}

static PyObject *stackless_get_alive(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(is_alive(SELF));
}

static PyObject *stackless_get_blocked(PyObject *self, void *unused)
{
    (void)unused;
    read_inbox(SELF);
    return PyBool_FromLong(n_stackless_blocked(SELF));
}

static PyObject *stackless_get_scheduled(PyObject *self, void *unused)
{
    (void)unused;
    read_inbox(SELF);
    return PyBool_FromLong(n_stackless_scheduled(SELF));
}

static PyObject *stackless_get_paused(PyObject *self, void *unused)
{
    (void)unused;
    read_inbox(SELF);
    return PyBool_FromLong(is_alive(SELF) && !n_stackless_scheduled(SELF));
}

static PyObject *stackless_get_is_current(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(is_current_tasklet(SELF));
}

static PyObject *stackless_get_thread_id(PyObject *self, void *unused)
{
    (void)unused;
    if (!bind_has_thread(SELF))
        return PyLong_FromLong(-1);
    return PyLong_FromUnsignedLong(SELF->owner->thread_id);
}

/* ---- tempval ------------------------------------------------------------------------- */

/* The exception in tempval, or the value. */
static PyObject *read_slot(s_tasklet *t)
{
    PyObject *content = t->error != NULL ? t->error : t->wait.value;
    return Py_NewRef(content != NULL ? content : Py_None);
}

static PyObject *read_error(s_tasklet *t)
{
    return Py_XNewRef(t->error);
}

static PyObject *stackless_get_tempval(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *error = read_on_owner(self, (void *)read_error);
    if (error == NULL)
        return read_on_owner(self, (void *)read_slot);
    PyObject *bomb = bind_bomb_around(error);
    Py_DECREF(error);
    return bomb;
}

typedef struct {
    s_tasklet *t;
    PyObject *value, *error;
} slot;

static void swap_slot(void *arg)
{
    slot *s = arg;
    slot before = {s->t, s->t->wait.value, s->t->error};
    s->t->wait.value = s->value;
    s->t->error = s->error;
    *s = before;
}

static int stackless_set_tempval(PyObject *self, PyObject *value, void *unused)
{
    PyObject *error = NULL;
    (void)unused;
    if (value != NULL && bind_is_bomb(value))
        error = bind_bomb_exception(value);
    slot s = {SELF, error != NULL ? NULL : Py_NewRef(value ? value : Py_None), error};
    s_run_on_owner(SELF, swap_slot, &s);
    Py_XDECREF(s.value);
    Py_XDECREF(s.error);
    return 0;
}

/* ---- flags ------------------------------------------------------------------------------ */

static PyObject *stackless_get_flag(PyObject *self, void *unused)
{
    return PyBool_FromLong(*((unsigned char *)self + (size_t)unused));
}

static int stackless_set_block_trap(PyObject *self, PyObject *value, void *unused)
{
    (void)unused;
    int flag = bind_read_flag(value, "block_trap must be set to a bool or integer");
    if (flag >= 0)
        SELF->stackless.block_trap = (unsigned char)flag;
    return flag < 0 ? -1 : 0;
}

/* A preemption that only this flag has withheld happens at once. */
static PyObject *change_flag(PyObject *self, unsigned char *flag, int wanted)
{
    int before = *flag;
    if (wanted < 0)
        return NULL;
    *flag = (unsigned char)wanted;
    if (SELF->due && runs_here(SELF)) {
        s_deliver_due(s_self_here());
        if (PyErr_Occurred())
            return NULL;
    }
    return PyBool_FromLong(before);
}

PyObject *bind_stackless_set_atomic(PyObject *self, PyObject *flag)
{
    int wanted = bind_read_flag(flag, "set_atomic needs exactly one bool or integer");
    return change_flag(self, &SELF->stackless.atomic, wanted);
}

PyObject *bind_stackless_set_ignore_nesting(PyObject *self, PyObject *flag)
{
    int wanted = bind_read_flag(flag, "set_ignore_nesting needs exactly one bool or integer");
    return change_flag(self, &SELF->stackless.ignore_nesting, wanted);
}

/* ---- frames ------------------------------------------------------------------------------ */

static int is_suspended(const s_tasklet *t)
{
    return s_is_soft(t) || t->saved_as == S_C_STACK;
}

static int nesting_level_of(s_tasklet *t)
{
    int running = runs_here(t);
    if (!running && t->saved_as != S_C_STACK)
        return 0;
    int level = c_nesting_level(c_thread_state(), &t->c, running);
    if (running)
        return level;
    level += t->why == C_NEVER || t->why == C_OPCODE || t->why == C_OPERANDS;
    return level > 0 ? level : 1;
}

static PyObject *read_nesting_level(s_tasklet *t)
{
    return PyLong_FromLong(nesting_level_of(t));
}

static PyObject *read_restorable(s_tasklet *t)
{
    return PyBool_FromLong(nesting_level_of(t) == 0);
}

static PyObject *read_recursion_depth(s_tasklet *t)
{
    int running = runs_here(t), known = running || is_suspended(t);
    return PyLong_FromLong(known ? c_recursion_depth(c_thread_state(), &t->c, running) : 0);
}

static PyObject *read_frame(s_tasklet *t)
{
    PyObject *frame = NULL;
    if (runs_here(t))
        frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
    else if (is_suspended(t))
        frame = c_frame_object(c_thread_state(), &t->c);
    return frame != NULL ? frame : Py_NewRef(Py_None);
}

static PyObject *stackless_get_cstate(PyObject *self, void *unused)
{
    (void)unused;
    return bind_cstack_for(SELF);
}

/* ---- neighbours ---------------------------------------------------------------------------- */

static PyObject *read_neighbour(s_tasklet *t, int forward)
{
    s_tasklet *found = n_stackless_neighbour(t, forward);
    return found != NULL ? (PyObject *)found : Py_NewRef(Py_None);
}

static PyObject *read_next(s_tasklet *t)
{
    return read_neighbour(t, 1);
}

static PyObject *read_prev(s_tasklet *t)
{
    return read_neighbour(t, 0);
}

static PyObject *read_channel(s_tasklet *t)
{
    n_channel *ch = n_stackless_blocked(t) ? n_channel_of(t) : NULL;
    return Py_NewRef(ch != NULL ? (PyObject *)ch : Py_None);
}

/* The getter of an attribute that depends on a queue that other threads may change. */
static PyObject *read_while_stopped(PyObject *self, void *closure)
{
    reading g = {SELF, (reader)closure, NULL};
    read_inbox(SELF);
    c_while_world_stopped(read_now, &g);
    return g.seen;
}

/* ---- contextvars --------------------------------------------------------------------- */

typedef struct {
    s_tasklet *t;
    PyObject *context;
} setting;

static void swap_context(void *arg)
{
    setting *s = arg;
    PyObject *before = s->t->c.context;
    s->t->c.context = s->context;
    s->context = before;
}

static PyObject *read_context(s_tasklet *t)
{
    return Py_XNewRef(is_current_tasklet(t) ? t->owner->ts->context : t->c.context);
}

static void give_context(s_tasklet *t, PyObject *context)
{
    setting s = {t, Py_NewRef(context)};
    s_run_on_owner(t, swap_context, &s);
    Py_XDECREF(s.context);
}

/* The context of a tasklet, created if it has none: a new reference. */
static PyObject *make_context_of(s_tasklet *t)
{
    PyObject *context = runs_here(t) ? Py_XNewRef(c_context(s_self_here()->ts))
                                     : read_on_owner((PyObject *)t, (void *)read_context);
    if (context == NULL && !is_current_tasklet(t) && (context = PyContext_New()) != NULL)
        give_context(t, context);
    return context != NULL ? context : PyContext_New();
}

static PyObject *stackless_get_context_id(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *context = s_self() != NULL ? make_context_of(SELF) : NULL;
    PyObject *id = context != NULL ? PyLong_FromVoidPtr(context) : NULL;
    Py_XDECREF(context);
    return id;
}

PyObject *bind_stackless_set_context(PyObject *self, PyObject *context)
{
    if (!PyContext_CheckExact(context))
        return PyErr_Format(PyExc_TypeError, "a contextvars.Context was expected, found %.100s",
                            Py_TYPE(context)->tp_name);
    if (is_current_tasklet(SELF))
        return bind_stackless_refuse("the context of the current tasklet cannot be set");
    if (s_is_soft(SELF) && c_waits_in_context(&SELF->c))
        return bind_stackless_refuse("a tasklet that waits in Context.run() keeps its context");
    give_context(SELF, context);
    return Py_NewRef(self);
}

PyObject *bind_stackless_context_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames)
{
    if (nargs < 1)
        return PyErr_Format(PyExc_TypeError, "context_run() takes a callable");
    if (runs_here(SELF))
        return PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, kwnames);
    PyObject *context = s_self() != NULL ? make_context_of(SELF) : NULL, *done = NULL;
    if (context != NULL && PyContext_Enter(context) == 0) {
        done = PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, kwnames);
        PyObject *pending = done == NULL ? PyErr_GetRaisedException() : NULL;
        if (PyContext_Exit(context) < 0)
            Py_CLEAR(done);
        if (pending != NULL)
            PyErr_SetRaisedException(pending);
    }
    Py_XDECREF(context);
    return done;
}

/* ---- extensions ---------------------------------------------------------------------- */

/* An attribute of loomlet.Tasklet that Stackless does not have.  It is a descriptor without a
 * setter, so programs may use the name for an attribute of their own. */
typedef struct {
    PyObject_HEAD
    PyObject *original;
} extension;

static PyObject *extension_get(PyObject *self, PyObject *object, PyObject *type)
{
    PyObject *original = ((extension *)self)->original;
    if (object == NULL)
        return Py_NewRef(self);
    return Py_TYPE(original)->tp_descr_get(original, object, type);
}

static void extension_dealloc(PyObject *self)
{
    Py_XDECREF(((extension *)self)->original);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject extension_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_stackless.extension",
    .tp_basicsize = sizeof(extension),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_descr_get = extension_get,
    .tp_dealloc = extension_dealloc,
};

static const char *const extensions[] = {"name", "id", "state", "waiting_for", "waiting_in"};

int bind_stackless_extend(PyTypeObject *type)
{
    if (PyType_Ready(&extension_type) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        extension *made = PyObject_New(extension, &extension_type);
        if (made == NULL)
            return -1;
        made->original = PyObject_GetAttrString((PyObject *)type->tp_base, extensions[i]);
        int code = made->original == NULL
                       ? -1
                       : PyDict_SetItemString(type->tp_dict, extensions[i], (PyObject *)made);
        Py_DECREF(made);
        if (code < 0)
            return -1;
    }
    PyType_Modified(type);
    return 0;
}

#define FLAG(field) stackless_get_flag, NULL, NULL, (void *)offsetof(s_tasklet, field)

PyGetSetDef bind_stackless_tasklet_getset[] = {
    {"tempval", stackless_get_tempval, stackless_set_tempval,
     PyDoc_STR("What the pending call of this tasklet will return; a bomb in it is raised."), NULL},
    {"block_trap", stackless_get_flag, stackless_set_block_trap,
     PyDoc_STR("While true, an operation that would block raises RuntimeError."),
     (void *)offsetof(s_tasklet, stackless.block_trap)},
    {"trace_function", bind_get_trace, bind_set_trace,
     PyDoc_STR("The trace function of this tasklet, as sys.settrace() sets it, or None."), NULL},
    {"profile_function", bind_get_trace, bind_set_trace,
     PyDoc_STR("The profile function of this tasklet, as sys.setprofile() sets it, or None."),
     (void *)1},
    {"alive", stackless_get_alive, NULL, PyDoc_STR("Whether it has anything left to run."), NULL},
    {"paused", stackless_get_paused, NULL, PyDoc_STR("Alive and in no queue."), NULL},
    {"blocked", stackless_get_blocked, NULL, PyDoc_STR("Waits on a channel or another tasklet."),
     NULL},
    {"scheduled", stackless_get_scheduled, NULL, PyDoc_STR("In the run queue, or blocked."), NULL},
    {"atomic", FLAG(stackless.atomic)},
    {"ignore_nesting", FLAG(stackless.ignore_nesting)},
    {"is_current", stackless_get_is_current, NULL, PyDoc_STR("Runs now, on its own thread."), NULL},
    {"restorable", read_on_owner, NULL, PyDoc_STR("nesting_level is 0."), (void *)read_restorable},
    {"nesting_level", read_on_owner, NULL,
     PyDoc_STR("C callers between its frames and the scheduler."), (void *)read_nesting_level},
    {"recursion_depth", read_on_owner, NULL, PyDoc_STR("Open Python calls."),
     (void *)read_recursion_depth},
    {"frame", read_on_owner, NULL, PyDoc_STR("Its innermost Python frame, or None."),
     (void *)read_frame},
    {"next", read_while_stopped, NULL, PyDoc_STR("The next tasklet in the same queue, or None."),
     (void *)read_next},
    {"prev", read_while_stopped, NULL, PyDoc_STR("The one before it in the same queue, or None."),
     (void *)read_prev},
    {"_channel", read_while_stopped, NULL, PyDoc_STR("The channel it is blocked on, or None."),
     (void *)read_channel},
    {"thread_id", stackless_get_thread_id, NULL,
     PyDoc_STR("Of its thread; -1 once that has ended."), NULL},
    {"cstate", stackless_get_cstate, NULL, PyDoc_STR("Stands for its C stack: a cstack."), NULL},
    {"context_id", stackless_get_context_id, NULL, PyDoc_STR("Identifies its contextvars.Context."),
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
