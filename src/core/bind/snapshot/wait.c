/* What a tasklet waits for, as a tuple, and waiting for it again.
 *
 *   ("send" | "receive" | "iterate", channel, seconds or None)
 *   ("send" | "receive", queue, seconds or None)    put and get of a loomlet.sync.Queue
 *   ("wait", queue, None)                     its join
 *   ("select", ((channel or None, is_send, value), ...), seconds or None), and, with a value for
 *       closed channels, a tuple of that value
 *   ("sleep", seconds)
 *   ("join", tasklet, seconds or None, wants its result)
 *   ("group", group)                          for the end of its children
 *   ("acquire", lock or semaphore, seconds or None)    a loomlet.Lock, a loomlet.Semaphore
 *   ("wait", event, seconds or None)          a loomlet.Event
 *   ("wait", condition, seconds or None, stage)    a loomlet.Condition, whose lock it had taken
 * once
 *   ("other", the name of the wait, object or None)    read only
 */
#include "bind/snapshot/snapshot.h"

#include "sched/guests/scope.h"
#include "sync/sync.h"

static PyObject *seconds_left(s_sched *s, const s_tasklet *t)
{
    int64_t left = s_deadline_left(s, t);
    return left == S_FOREVER ? Py_NewRef(Py_None) : PyFloat_FromDouble((double)left / 1e9);
}

static int is_wait_kind(const s_tasklet *t, const char *name)
{
    return strcmp(t->kind->name, name) == 0;
}

static int is_gate(PyObject *object)
{
    return bind_is_lock(object) || PyObject_TypeCheck(object, &bind_semaphore_type) ||
           PyObject_TypeCheck(object, &bind_event_type);
}

/* The operations of a queue by the names that those of a channel and an event have. */
static PyObject *read_wait_for_queue(s_sched *s, s_tasklet *t, PyObject *queue)
{
    if (is_wait_kind(t, "join"))
        return Py_BuildValue("(sNO)", "wait", queue, Py_None);
    const char *name = is_wait_kind(t, "put") ? "send" : "receive";
    return Py_BuildValue("(sNN)", name, queue, seconds_left(s, t));
}

/* A wait for one object, whose reference is stolen. */
static PyObject *read_wait_for_object(s_sched *s, s_tasklet *t, PyObject *object)
{
    const char *name = t->kind->name;
    if (bind_is_channel(object) && !is_wait_kind(t, "select"))
        return Py_BuildValue("(sNN)", name, object, seconds_left(s, t));
    if (bind_is_queue(object))
        return read_wait_for_queue(s, t, object);
    if (is_wait_kind(t, "join") && bind_is_tasklet(object))
        return Py_BuildValue("(sNNi)", name, object, seconds_left(s, t), t->wait.value != NULL);
    if (is_wait_kind(t, "join") && PyObject_TypeCheck(object, &bind_group_type))
        return Py_BuildValue("(sN)", "group", object);
    if (is_gate(object) && (is_wait_kind(t, "acquire") || is_wait_kind(t, "wait")))
        return Py_BuildValue("(sNN)", name, object, seconds_left(s, t));
    if (PyObject_TypeCheck(object, &bind_condition_type) && y_condition_is_plain(t))
        return Py_BuildValue("(sNNi)", name, object, seconds_left(s, t), (int)y_condition_stage(t));
    return Py_BuildValue("(ssN)", "other", name, object);
}

static PyObject *read_select(s_sched *s, s_tasklet *t)
{
    PyObject *closed = n_select_closed_value(t);
    if (closed == NULL)
        return Py_BuildValue("(sNN)", "select", n_select_cases(t), seconds_left(s, t));
    return Py_BuildValue("(sNN(O))", "select", n_select_cases(t), seconds_left(s, t), closed);
}

PyObject *bind_read_wait(s_sched *s, s_tasklet *t)
{
    if (t->state != S_BLOCKED)
        Py_RETURN_NONE;
    if (is_wait_kind(t, "sleep"))
        return Py_BuildValue("(sN)", "sleep", seconds_left(s, t));
    if (is_wait_kind(t, "select"))
        return read_select(s, t);
    PyObject *object = s_waited_object(t);
    if (object == NULL && PyErr_Occurred())
        return NULL;
    return read_wait_for_object(s, t, object != NULL ? object : Py_NewRef(Py_None));
}

static int read_deadline(s_sched *s, PyObject *seconds, int64_t *until)
{
    int64_t left;
    *until = S_FOREVER;
    if (seconds == Py_None)
        return 0;
    if (bind_read_seconds(seconds, &left) < 0)
        return -1;
    *until = s_now(s) + left;
    return 0;
}

/* `rest`: NULL, or a tuple with what is given for a closed channel. */
static int restore_select(s_sched *s, s_tasklet *t, PyObject *items, int64_t until, PyObject *rest)
{
    Py_ssize_t count = PyTuple_CheckExact(items) ? PyTuple_GET_SIZE(items) : 0;
    n_case *cases = count > 0 ? c_malloc((size_t)count * sizeof(*cases)) : NULL;
    int code = count == 0 ? S_E_SNAPSHOT : cases == NULL ? S_E_MEMORY : S_OK;
    for (Py_ssize_t i = 0; i < count && code == S_OK; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i), *channel, *value;
        int sends;
        if (!PyTuple_CheckExact(item) || !PyArg_ParseTuple(item, "OpO", &channel, &sends, &value) ||
            !(channel == Py_None || bind_is_channel(channel)))
            code = S_E_SNAPSHOT;
        else if (channel == Py_None)
            cases[i] = (n_case){NULL, NULL};
        else
            cases[i] = (n_case){(n_channel *)channel, sends ? value : NULL};
    }
    n_choice choice = {cases, (int)count, NULL, until};
    if (rest != NULL && PyTuple_CheckExact(rest) && PyTuple_GET_SIZE(rest) == 1)
        choice.closed = PyTuple_GET_ITEM(rest, 0);
    if (code == S_OK)
        code = n_restore_select(s, t, &choice);
    PyMem_Free(cases);
    return code;
}

static int restore_queue_wait(s_sched *s, s_tasklet *t, const char *kind, y_queue *queue,
                              PyObject *item, int64_t until)
{
    if (strcmp(kind, "receive") == 0)
        return y_queue_get_as(s, t, queue, until);
    if (strcmp(kind, "send") == 0)
        return y_queue_put_as(s, t, queue, item, until);
    return strcmp(kind, "wait") == 0 ? y_queue_join_as(s, t, queue) : S_E_SNAPSHOT;
}

/* `stage`: NULL, or an int. */
static int restore_condition_wait(s_sched *s, s_tasklet *t, y_condition *condition, int64_t until,
                                  PyObject *stage)
{
    long reached = stage != NULL ? PyLong_AsLong(stage) : Y_WAITS;
    if (reached == -1 && PyErr_Occurred())
        return S_E_SET;
    if (reached < Y_WAITS || reached > Y_RETURNS)
        return S_E_SNAPSHOT;
    return y_condition_wait_as(s, t, condition, until, (enum y_condition_stage)reached);
}

static int restore_channel_wait(s_sched *s, s_tasklet *t, const char *kind, PyObject *on,
                                PyObject *value, int64_t until)
{
    int sends = strcmp(kind, "send") == 0, iterates = strcmp(kind, "iterate") == 0;
    if (!bind_is_channel(on) || !(sends || iterates || strcmp(kind, "receive") == 0))
        return S_E_SNAPSHOT;
    int code = n_restore_wait(s, t, (n_channel *)on, sends ? value : NULL, iterates);
    if (code == S_OK && t->state == S_BLOCKED)
        code = s_deadline_set(s, t, until);
    return code;
}

static int restore_wait(s_sched *s, s_tasklet *t, PyObject *wait, PyObject *value, PyObject **on)
{
    const char *kind;
    PyObject *seconds = Py_None;
    PyObject *rest = NULL;
    int64_t until, left;
    if (!PyTuple_CheckExact(wait) || !PyArg_ParseTuple(wait, "sO|OO", &kind, on, &seconds, &rest))
        return S_E_SNAPSHOT;
    if (strcmp(kind, "sleep") == 0)
        return bind_read_seconds(*on, &left) < 0 ? S_E_SET : s_sleep_again(s, t, left);
    if (read_deadline(s, seconds, &until) < 0)
        return S_E_SET;
    if (strcmp(kind, "select") == 0)
        return restore_select(s, t, *on, until, rest);
    if (bind_is_queue(*on))
        return restore_queue_wait(s, t, kind, (y_queue *)*on, value, until);
    if (strcmp(kind, "join") == 0 && bind_is_tasklet(*on))
        return s_join_again(s, t, (s_tasklet *)*on, rest != NULL && PyObject_IsTrue(rest), until);
    if (strcmp(kind, "group") == 0 && PyObject_TypeCheck(*on, &bind_group_type))
        return s_scope_wait_as(s, t, (s_scope *)*on);
    if (strcmp(kind, "acquire") == 0 && bind_is_lock(*on))
        return y_lock_acquire_as(s, t, (y_lock *)*on, until);
    if (strcmp(kind, "acquire") == 0 && PyObject_TypeCheck(*on, &bind_semaphore_type))
        return y_semaphore_acquire_as(s, t, (y_semaphore *)*on, until);
    if (strcmp(kind, "wait") == 0 && PyObject_TypeCheck(*on, &bind_event_type))
        return y_event_wait_as(s, t, (y_event *)*on, until);
    if (strcmp(kind, "wait") == 0 && PyObject_TypeCheck(*on, &bind_condition_type))
        return restore_condition_wait(s, t, (y_condition *)*on, until, rest);
    return restore_channel_wait(s, t, kind, *on, value, until);
}

int bind_restore_wait(s_sched *s, s_tasklet *t, PyObject *wait, PyObject *value)
{
    PyObject *on = NULL;
    if (t->saved_as != S_FRAMES && t->saved_as != S_NOT_STARTED)
        return S_E_SNAPSHOT;
    int code = restore_wait(s, t, wait, value, &on);
    if (code == S_OK && t->state == S_BLOCKED && t->saved_as == S_FRAMES)
        c_frames_keep_alive(&t->c, on);
    return code;
}
