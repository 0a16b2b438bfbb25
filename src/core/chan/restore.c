/* What a snapshot needs of a channel: copying what it holds, and restoring waits.
 *
 * The parts of a channel are copied under its lock, because other threads may change them.
 *
 * A tasklet that was built from a snapshot returns to its channel: the operation in which it was
 * blocked is started on its behalf.  If it need not wait, it is done and the tasklet becomes
 * runnable with the result; else the tasklet enters the end of the queue.  Either way the queue, or
 * the run queue, owns a new reference to it.
 */
#include "chan/handover.h"
#include "sched/guests/snapshot.h"

Py_ssize_t n_channel_contents(n_channel *ch, enum n_channel_part part, PyObject ***found)
{
    c_lock_take(&ch->lock);
    Py_ssize_t count =
        part == N_VALUES ? s_copy_ring(ch->items, ch->first, ch->count, ch->room, found)
                         : s_copy_waiters(part == N_SENDERS ? &ch->senders : &ch->receivers, found);
    c_lock_give(&ch->lock);
    return count;
}

int n_restore_channel(s_sched *s, n_channel *ch, PyObject *values, const n_channel_flags *set)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); i++) {
        int done = n_try_send(s, ch, PyTuple_GET_ITEM(values, i));
        if (done <= 0)
            return done < 0 ? done : S_E_SNAPSHOT;
    }
    ch->preference = set->preference;
    ch->closed = set->closed;
    ch->closing = set->closing;
    ch->schedule_all = set->schedule_all;
    return S_OK;
}

static const s_wait_kind *kind_of(const s_tasklet *t, int sends, int iterates)
{
    if (sends)
        return t->stackless_rules ? &n_stackless_sending : &n_sending;
    if (iterates)
        return t->stackless_rules ? &n_stackless_iterating : &n_iterating;
    return t->stackless_rules ? &n_stackless_receiving : &n_receiving;
}

static PyObject *channel_error(int code, n_channel *ch)
{
    PyObject *error = s_hook.error(code, (PyObject *)ch);
    return error != NULL ? error : PyErr_GetRaisedException();
}

int n_restore_wait(s_sched *s, s_tasklet *t, n_channel *ch, PyObject *value, int iterates)
{
    s_wait *partner;
    PyObject *got = NULL;
    Py_CLEAR(t->wait.value);
    c_lock_take(&ch->lock);
    int done = value != NULL ? n_give(ch, value, &partner) : n_take(ch, &got, &partner);
    if (done == 0) {
        t->wait.value = Py_XNewRef(value);
        s_enqueue(t, value != NULL ? &ch->senders : &ch->receivers,
                  kind_of(t, value != NULL, iterates), ch);
        Py_INCREF((PyObject *)t);
    }
    c_lock_give(&ch->lock);
    if (done == S_E_MEMORY)
        return done;
    if (partner != NULL)
        s_wake(s, n_set_outcome(partner, Py_NewRef(value != NULL ? value : Py_None), NULL));
    if (done > 0)
        s_resume_with(s, t, value != NULL ? Py_NewRef(Py_None) : got, NULL);
    else if (done < 0)
        s_resume_with(s, t, NULL, iterates ? NULL : channel_error(done, ch));
    return S_OK;
}

int n_restore_select(s_sched *s, s_tasklet *t, const n_choice *choice)
{
    PyObject *result = NULL;
    int at, code;
    n_selection *selection = n_selection_new(t, choice);
    code = selection != NULL ? s_deadline_set(s, t, choice->until) : S_E_MEMORY;
    if (code == S_OK) {
        t->kind = &n_selecting;
        t->on = selection;
        t->state = S_BLOCKED;
        if (n_selection_queue(s, selection, choice, &result, &at, &code))
            return S_OK;
        t->state = S_PAUSED;
        s_deadline_drop(s, t);
        if (result == NULL && code == S_OK)
            code = S_E_SET;
        if (result != NULL || code == S_E_CLOSED) {
            s_resume_with(s, t, result,
                          result ? NULL : channel_error(code, choice->cases[at].channel));
            code = S_OK;
        }
    }
    if (selection != NULL)
        n_selection_free(selection);
    return code;
}

PyObject *n_select_cases(const s_tasklet *t)
{
    n_selection *selection = t->on;
    PyObject *cases = PyTuple_New(selection->count);
    for (int i = 0; cases != NULL && i < selection->count; i++) {
        n_select_node *node = &selection->nodes[i];
        PyObject *value = node->wait.value;
        PyObject *channel = node->channel != NULL ? (PyObject *)node->channel : Py_None;
        PyObject *item =
            Py_BuildValue("(OOO)", channel, value ? Py_True : Py_False, value ? value : Py_None);
        if (item == NULL)
            Py_CLEAR(cases);
        else
            PyTuple_SET_ITEM(cases, i, item);
    }
    return cases;
}

PyObject *n_select_closed_value(const s_tasklet *t)
{
    return ((n_selection *)t->on)->closed;
}
