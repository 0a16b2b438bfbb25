/* Generators, channels, scopes, locks and queues as plain values: what frozen tasklets hold. */
#include "bind/snapshot/snapshot.h"
#include "sched/guests/scope.h"
#include "sync/sync.h"

/* ---- generators -------------------------------------------------------------------------- */

static int want_generator(PyObject *object)
{
    if (c_is_generator(object))
        return 1;
    PyErr_Format(PyExc_TypeError, "expected a generator, found %.100s", Py_TYPE(object)->tp_name);
    return 0;
}

/* _generator_tasklet(generator): the tasklet of this thread in which it runs, or None. */
static PyObject *generator_tasklet(PyObject *module, PyObject *gen)
{
    (void)module;
    s_tasklet *found;
    s_sched *s = s_self();
    if (s == NULL || !want_generator(gen))
        return NULL;
    int code = s_find_generator_tasklet(s, gen, &found);
    if (code < 0)
        return bind_fail(code, gen);
    return found != NULL ? (PyObject *)found : Py_NewRef(Py_None);
}

/* _generator_snapshot(generator): its snapshot, without its frame if it runs. */
static PyObject *generator_snapshot(PyObject *module, PyObject *gen)
{
    (void)module;
    return want_generator(gen) ? c_generator_read(gen, c_generator_is_running(gen)) : NULL;
}

/* _generator_empty(function): a new generator, coroutine or asynchronous generator of its code. */
static PyObject *generator_empty(PyObject *module, PyObject *function)
{
    (void)module;
    const int kinds = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (!PyFunction_Check(function) ||
        !(((PyCodeObject *)PyFunction_GET_CODE(function))->co_flags & kinds))
        return PyErr_Format(PyExc_TypeError, "expected a generator function, found %R", function);
    return c_generator_make((PyFunctionObject *)function);
}

/* _generator_fill(generator, snapshot): fills a new generator. */
static PyObject *generator_fill(PyObject *module, PyObject *args)
{
    PyObject *gen, *values;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:_generator_fill", &gen, &values) || !want_generator(gen))
        return NULL;
    const char *wrong = c_generator_build(gen, values);
    return wrong != NULL ? bind_raise_thaw_error(wrong) : Py_NewRef(Py_None);
}

/* _generator_finalizer(generator, new=None): the finalizer of an asynchronous generator, or None;
 * replaced by `new` if that is given. */
static PyObject *generator_finalizer(PyObject *module, PyObject *args)
{
    PyObject *gen, *new = Py_None;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!|O:_generator_finalizer", &PyAsyncGen_Type, &gen, &new))
        return NULL;
    PyObject *old = Py_NewRef(bind_or_none(c_generator_finalizer(gen)));
    if (new != Py_None)
        c_generator_set_finalizer(gen, new);
    return old;
}

/* _generator_origin(coroutine, origin): where it was created, as cr_origin shows it. */
static PyObject *generator_origin(PyObject *module, PyObject *args)
{
    PyObject *coroutine, *origin;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:_generator_origin", &PyCoro_Type, &coroutine, &PyTuple_Type,
                          &origin))
        return NULL;
    c_generator_set_finalizer(coroutine, origin);
    Py_RETURN_NONE;
}

/* _async_step(generator, method, args, state): asend() and the like; not begun (0), begun, ended.
 */
static PyObject *async_step(PyObject *module, PyObject *args)
{
    PyObject *gen, *method, *given;
    int state;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!UO!i:_async_step", &PyAsyncGen_Type, &gen, &method,
                          &PyTuple_Type, &given, &state))
        return NULL;
    return c_generator_step_make(gen, method, given, state);
}

/* _shim_learn(), called in an __init__: returns whether the frame below it is known now. */
static PyObject *shim_learn(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(c_shim_learn(c_thread_state()));
}

/* ---- channels ---------------------------------------------------------------------------- */

/* What was copied out of `object`: takes the `count` references in *block, which is freed.
 * Raises an error code. */
static PyObject *tuple_of_copied(PyObject *object, Py_ssize_t count, PyObject **const *block)
{
    if (count < 0)
        return bind_fail((int)count, object);
    PyObject **found = *block, *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (tuple != NULL)
            PyTuple_SET_ITEM(tuple, i, found[i]);
        else
            Py_DECREF(found[i]);
    }
    PyMem_RawFree(found);
    return tuple;
}

static PyObject *channel_part(n_channel *ch, enum n_channel_part part)
{
    PyObject **found;
    return tuple_of_copied((PyObject *)ch, n_channel_contents(ch, part, &found), &found);
}

/* _channel_snapshot(channel): (capacity, name, preference, closed, closing, schedule_all,
 * buffered values, waiting senders, waiting receivers). */
static PyObject *channel_snapshot(PyObject *module, PyObject *object)
{
    (void)module;
    if (!bind_is_channel(object))
        return PyErr_Format(PyExc_TypeError, "expected a channel, found %.100s",
                            Py_TYPE(object)->tp_name);
    n_channel *ch = (n_channel *)object;
    return Py_BuildValue("(nOiiiiNNN)", ch->capacity, bind_or_none(ch->name), ch->preference,
                         ch->closed, ch->closing, ch->schedule_all, channel_part(ch, N_VALUES),
                         channel_part(ch, N_SENDERS), channel_part(ch, N_RECEIVERS));
}

/* _channel_fill(channel, preference, closed, closing, schedule_all, values): fills an empty one. */
static PyObject *channel_fill(PyObject *module, PyObject *args)
{
    PyObject *object, *values;
    n_channel_flags set;
    int preference, closed, closing, schedule_all;
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || !PyArg_ParseTuple(args, "OipppO!:_channel_fill", &object, &preference, &closed,
                                       &closing, &schedule_all, &PyTuple_Type, &values))
        return NULL;
    if (!bind_is_channel(object))
        return bind_raise_thaw_object("a channel", object);
    if (preference < -1 || preference > 1)
        return bind_raise_thaw_error("a channel's preference must be -1, 0 or 1");
    set =
        (n_channel_flags){(signed char)preference, (char)closed, (char)closing, (char)schedule_all};
    int code = n_restore_channel(s, (n_channel *)object, values, &set);
    if (code == S_E_SNAPSHOT)
        return bind_raise_thaw_error("the channel holds more values than its capacity");
    return code < 0 ? bind_fail(code, object) : Py_NewRef(Py_None);
}

/* ---- scopes ------------------------------------------------------------------------------- */

/* _scope_snapshot(scope): ((state, seconds or None, relative, called, expired, caught, shield), the
 * tasklet that has entered it or None, the children of a group, how many have failed). */
static PyObject *scope_snapshot(PyObject *module, PyObject *object)
{
    (void)module;
    s_scope_snapshot read;
    s_sched *s = s_self();
    if (s == NULL || !bind_is_scope(object))
        return s ? bind_raise_thaw_object("a scope", object) : NULL;
    s_scope *scope = (s_scope *)object;
    s_scope_read(s, scope, &read);
    PyObject *seconds =
        read.left == S_FOREVER ? Py_NewRef(Py_None) : PyFloat_FromDouble((double)read.left / 1e9);
    PyObject *children = c_list_of_keys(scope->children);
    PyObject *ended = scope->children != NULL ? s_as_group(scope)->failed : NULL;
    Py_ssize_t failed = ended != NULL ? PyList_GET_SIZE(ended) : 0;
    return Py_BuildValue("((iNiiiii)ONn)", read.state, seconds, read.relative, read.called,
                         read.expired, read.caught, read.shield,
                         bind_or_none((PyObject *)scope->task), children, failed);
}

/* _scope_fill(scope, snapshot): fills a new scope; _scope_enter() makes a tasklet enter it. */
static PyObject *scope_fill(PyObject *module, PyObject *args)
{
    PyObject *object, *seconds;
    s_scope_snapshot given = {.left = S_FOREVER};
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || !PyArg_ParseTuple(args, "O(iOppppp):_scope_fill", &object, &given.state,
                                       &seconds, &given.relative, &given.called, &given.expired,
                                       &given.caught, &given.shield))
        return NULL;
    if (!bind_is_scope(object))
        return bind_raise_thaw_object("a scope", object);
    if (((s_scope *)object)->state != S_SCOPE_NEW)
        return bind_raise_thaw_error("expected a new scope, found one that was entered");
    if (seconds != Py_None && bind_read_seconds(seconds, &given.left) < 0)
        return NULL;
    s_scope_restore(s, (s_scope *)object, &given);
    Py_RETURN_NONE;
}

/* _scope_enter(scope, tasklet): makes a paused tasklet enter a scope; the outermost scope first. */
static PyObject *scope_reenter(PyObject *module, PyObject *args)
{
    PyObject *scope, *t;
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || !PyArg_ParseTuple(args, "OO:_scope_enter", &scope, &t))
        return NULL;
    if (!bind_is_scope(scope) || !bind_is_tasklet(t) || ((s_tasklet *)t)->state != S_PAUSED ||
        ((s_tasklet *)t)->owner != s)
        return bind_raise_thaw_error("only a paused tasklet of this thread can enter a scope");
    int code = s_scope_enter_as(s, (s_tasklet *)t, (s_scope *)scope);
    return code < 0 ? bind_fail(code, scope) : Py_NewRef(Py_None);
}

/* _scope_adopt(group, tasklet): makes a paused tasklet a child of the group. */
static PyObject *scope_adopt(PyObject *module, PyObject *args)
{
    PyObject *group, *t;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:_scope_adopt", &group, &t))
        return NULL;
    if (!PyObject_TypeCheck(group, &bind_group_type) || !bind_is_tasklet(t) ||
        ((s_tasklet *)t)->state == S_DONE || ((s_tasklet *)t)->scope != NULL)
        return bind_raise_thaw_error(
            "the child of a group must be a tasklet that has not ended and is in no other scope");
    int code = s_scope_adopt((s_scope *)group, (s_tasklet *)t);
    return code < 0 ? bind_fail(code, group) : Py_NewRef(Py_None);
}

/* _tasklet_scopes(tasklet): (the scopes it has entered, outermost first; the group of which it is
 * a child, or None). */
static PyObject *tasklet_scopes(PyObject *module, PyObject *object)
{
    (void)module;
    if (!bind_is_tasklet(object))
        return PyErr_Format(PyExc_TypeError, "expected a tasklet, found %R", object);
    s_scope *group;
    PyObject *entered = s_scope_list((s_tasklet *)object, &group);
    return entered ? Py_BuildValue("(NO)", entered, bind_or_none((PyObject *)group)) : NULL;
}

/* ---- locks --------------------------------------------------------------------------------- */

/* _lock_snapshot(lock): None, or the id of the tasklet that holds it, and how often. */
static PyObject *lock_snapshot(PyObject *module, PyObject *lock)
{
    (void)module;
    if (!bind_is_lock(lock))
        return PyErr_Format(PyExc_TypeError, "expected a lock, found %R", lock);
    const y_lock *found = (y_lock *)lock;
    if (!found->held)
        Py_RETURN_NONE;
    return Py_BuildValue("(KI)", (unsigned long long)found->holder, found->depth);
}

/* _lock_fill(lock, tasklet, depth): makes that tasklet the holder of a free lock. */
static PyObject *lock_fill(PyObject *module, PyObject *args)
{
    PyObject *object, *t;
    unsigned depth;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!I:_lock_fill", &bind_lock_type, &object, &bind_tasklet_type,
                          &t, &depth))
        return NULL;
    if (y_lock_restore((y_lock *)object, (s_tasklet *)t, depth) < 0)
        return bind_raise_thaw_error("the lock is held already");
    Py_RETURN_NONE;
}

/* ---- queues -------------------------------------------------------------------------------- */

static PyObject *queue_part(y_queue *queue, enum y_queue_part part)
{
    PyObject **found;
    return tuple_of_copied((PyObject *)queue, y_queue_contents(queue, part, &found), &found);
}

/* _queue_snapshot(queue): (items, tasks not done, shut down, last first, maxsize, those that wait
 * to get, to put, and for the end of all tasks). */
static PyObject *queue_snapshot(PyObject *module, PyObject *object)
{
    (void)module;
    if (!bind_is_queue(object))
        return PyErr_Format(PyExc_TypeError, "expected a queue, found %R", object);
    y_queue *queue = (y_queue *)object;
    return Py_BuildValue("(NniinNNN)", queue_part(queue, Y_ITEMS), queue->tasks, queue->shut,
                         queue->last_first, queue->most == PY_SSIZE_T_MAX ? 0 : queue->most,
                         queue_part(queue, Y_GETTERS), queue_part(queue, Y_PUTTERS),
                         queue_part(queue, Y_JOINERS));
}

/* _queue_fill(queue, items, tasks, shut): fills an empty one. */
static PyObject *queue_fill(PyObject *module, PyObject *args)
{
    PyObject *object, *items;
    Py_ssize_t tasks;
    int shut;
    (void)module;
    s_sched *s = s_self();
    if (s == NULL || !PyArg_ParseTuple(args, "O!O!np:_queue_fill", &bind_queue_type, &object,
                                       &PyTuple_Type, &items, &tasks, &shut))
        return NULL;
    if (tasks < 0)
        return bind_raise_thaw_error("expected a number of tasks that is not below 0");
    int code = y_queue_restore(s, (y_queue *)object, items, tasks, shut);
    return code < 0 ? bind_fail(code, object) : Py_NewRef(Py_None);
}

PyMethodDef bind_snapshot_part_functions[] = {
    {"_generator_tasklet", generator_tasklet, METH_O, NULL},
    {"_generator_snapshot", generator_snapshot, METH_O, NULL},
    {"_generator_empty", generator_empty, METH_O, NULL},
    {"_generator_fill", generator_fill, METH_VARARGS, NULL},
    {"_generator_finalizer", generator_finalizer, METH_VARARGS, NULL},
    {"_generator_origin", generator_origin, METH_VARARGS, NULL},
    {"_async_step", async_step, METH_VARARGS, NULL},
    {"_shim_learn", shim_learn, METH_NOARGS, NULL},
    {"_channel_snapshot", channel_snapshot, METH_O, NULL},
    {"_channel_fill", channel_fill, METH_VARARGS, NULL},
    {"_scope_snapshot", scope_snapshot, METH_O, NULL},
    {"_scope_fill", scope_fill, METH_VARARGS, NULL},
    {"_scope_enter", scope_reenter, METH_VARARGS, NULL},
    {"_scope_adopt", scope_adopt, METH_VARARGS, NULL},
    {"_tasklet_scopes", tasklet_scopes, METH_O, NULL},
    {"_lock_snapshot", lock_snapshot, METH_O, NULL},
    {"_lock_fill", lock_fill, METH_VARARGS, NULL},
    {"_queue_snapshot", queue_snapshot, METH_O, NULL},
    {"_queue_fill", queue_fill, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
