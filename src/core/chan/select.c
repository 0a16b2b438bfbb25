/* select: waits on several channels, and does exactly one of the cases.
 *
 * While it waits, a select has a node in the queue of each of its channels; all nodes belong to one
 * n_selection with one claim word.  A party that finds a node (a partner, a deadline, a cancel)
 * must win the claim first; the winner removes the other nodes from their queues, each under its
 * channel's lock, before it wakes the tasklet.  Each queued node owns one reference to the tasklet.
 *
 * All channels are locked while the cases are tried once more and queued, so no partner is missed,
 * and a select never meets a node of its own.
 *
 * Fair: the first channel looked at is chosen at random.
 */
#include "chan/handover.h"

static void unlink_nodes(n_selection *selection, const s_wait *except)
{
    for (int i = 0; i < selection->count; i++) {
        n_select_node *node = &selection->nodes[i];
        if (&node->wait == except || node->channel == NULL)
            continue;
        c_lock_take(&node->channel->lock);
        int queued = b_linked(&node->wait.link);
        if (queued)
            b_unlink(&node->wait.link);
        c_lock_give(&node->channel->lock);
        if (queued)
            Py_DECREF((PyObject *)node->wait.task);
    }
}

void n_selection_free(n_selection *selection)
{
    for (int i = 0; i < selection->count; i++) {
        Py_XDECREF(selection->nodes[i].wait.value);
        Py_XDECREF((PyObject *)selection->nodes[i].channel);
    }
    Py_XDECREF(selection->closed);
    PyMem_Free(selection);
}

static int win_claim(n_selection *selection)
{
    int open = 0;
    return __atomic_compare_exchange_n(&selection->claimed, &open, 1, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

int n_select_claim(s_wait *wait)
{
    return win_claim(B_CONTAINER(wait, n_select_node, wait)->selection);
}

PyObject *n_select_closed(const s_wait *wait)
{
    return B_CONTAINER(wait, n_select_node, wait)->selection->closed;
}

/* Drops the reference of a node whose select was done by another channel.  This runs under the
 * lock, but frees nothing: the node that was claimed still holds the tasklet. */
void n_select_forget(s_wait *wait)
{
    Py_DECREF((PyObject *)wait->task);
}

static PyObject *index_and_value(int index, PyObject *value)
{
    return Py_BuildValue("(iN)", index, value);
}

/* The selection is freed on the owner's thread only: there a deadline may be looking at its claim.
 */
static void select_arrived(s_tasklet *t)
{
    n_selection_free(t->on);
    t->on = NULL;
}

s_tasklet *n_select_set_outcome(s_wait *wait, PyObject *value, PyObject *error)
{
    n_select_node *node = B_CONTAINER(wait, n_select_node, wait);
    n_selection *selection = node->selection;
    s_tasklet *t = wait->task;
    unlink_nodes(selection, wait);
    if (error == NULL && (value = index_and_value((int)(node - selection->nodes), value)) == NULL)
        error = PyErr_GetRaisedException();
    t->wait.value = value;
    t->error = error;
    if (t->owner == s_self_here())
        select_arrived(t);
    return t;
}

static int select_detach(s_tasklet *t)
{
    n_selection *selection = t->on;
    if (!win_claim(selection))
        return 0;
    Py_INCREF((PyObject *)t);
    unlink_nodes(selection, NULL);
    select_arrived(t);
    return 1;
}

PyObject *n_select_channels(s_tasklet *t)
{
    n_selection *selection = t->on;
    PyObject *found = PyList_New(0);
    for (int i = 0; found != NULL && i < selection->count; i++) {
        n_channel *ch = selection->nodes[i].channel;
        if (ch != NULL && PyList_Append(found, (PyObject *)ch) < 0)
            Py_CLEAR(found);
    }
    PyObject *channels = found != NULL ? PyList_AsTuple(found) : NULL;
    Py_XDECREF(found);
    return channels;
}

static int select_visit(s_tasklet *t, visitproc visit, void *arg)
{
    n_selection *selection = t->on;
    for (int i = 0; i < selection->count; i++) {
        Py_VISIT(selection->nodes[i].wait.value);
        Py_VISIT(selection->nodes[i].channel);
    }
    Py_VISIT(selection->closed);
    return 0;
}

static int select_target(const s_tasklet *t, int i, s_target *found)
{
    const n_selection *selection = t->on;
    for (int at = 0; selection != NULL && at < selection->count; at++) {
        n_channel *ch = selection->nodes[at].channel;
        if (ch == NULL || i-- > 0)
            continue;
        found->object = (PyObject *)ch;
        found->name = ch->name;
        return 1;
    }
    return 0;
}

const s_wait_kind n_selecting = {.name = "select",
                                 .detach = select_detach,
                                 .object = n_select_channels,
                                 .target = select_target,
                                 .visit = select_visit,
                                 .arrived = select_arrived};

static int try_case(const n_case *c, PyObject **value, s_wait **partner)
{
    *partner = NULL;
    if (c->channel == NULL)
        return 0;
    if (c->value == NULL)
        return n_take(c->channel, value, partner);
    int done = n_give(c->channel, c->value, partner);
    if (done > 0)
        *value = NULL;
    return done;
}

/* The handover of a case is done: wakes the partner, makes the result. */
static PyObject *finish_case(s_sched *s, const n_case *c, int index, PyObject *value,
                             s_wait *partner)
{
    if (partner != NULL) {
        PyObject *theirs = c->value != NULL ? c->value : Py_None;
        s_wake(s, n_set_outcome(partner, Py_NewRef(theirs), NULL));
    }
    return index_and_value(index, value != NULL ? value : Py_NewRef(Py_None));
}

static int first_case(s_sched *s, int count)
{
    static uint64_t random_state = 88172645463325252u;
    uint64_t bits = s->random ? s->random : random_state;
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    if (!s->random)
        random_state = bits;
    return (int)(bits % (uint64_t)count);
}

/* Tries a case under the lock of its channel. */
static int try_case_alone(const n_case *c, PyObject **value, s_wait **partner)
{
    if (c->channel == NULL)
        return 0;
    c_lock_take(&c->channel->lock);
    int done = try_case(c, value, partner);
    c_lock_give(&c->channel->lock);
    return done;
}

/* What has been done with case *at, as result or code. */
static PyObject *end_with_case(s_sched *s, const n_choice *choice, int at, int done,
                               PyObject *value, s_wait *partner, int *code)
{
    if (done > 0)
        return finish_case(s, &choice->cases[at], at, value, partner);
    if (done == S_E_CLOSED && choice->closed != NULL)
        return index_and_value(at, Py_NewRef(choice->closed));
    *code = done;
    return NULL;
}

/* Does one case that need not wait.  NULL with S_OK if all would wait, or with the error of case
 * *at. */
static PyObject *select_now(s_sched *s, const n_choice *choice, int *at, int *code)
{
    int first = first_case(s, choice->count), done = 0;
    PyObject *value = NULL;
    s_wait *partner = NULL;
    *code = S_OK;
    for (int i = 0; i < choice->count && done == 0; i++) {
        *at = (first + i) % choice->count;
        done = try_case_alone(&choice->cases[*at], &value, &partner);
    }
    return done != 0 ? end_with_case(s, choice, *at, done, value, partner, code) : NULL;
}

n_selection *n_selection_new(s_tasklet *me, const n_choice *choice)
{
    int count = choice->count;
    size_t size = sizeof(n_selection) + (size_t)count * sizeof(n_select_node);
    n_selection *selection = c_calloc(size);
    if (selection == NULL)
        return NULL;
    selection->count = count;
    selection->closed = Py_XNewRef(choice->closed);
    for (int i = 0; i < count; i++) {
        n_select_node *node = &selection->nodes[i];
        node->selection = selection;
        node->channel = (n_channel *)Py_XNewRef((PyObject *)choice->cases[i].channel);
        node->wait.task = me;
        node->wait.value = Py_XNewRef(choice->cases[i].value);
    }
    return selection;
}

/* Takes or gives the locks of all channels, each once, in the order of their
 * addresses, so that two selects cannot wait for each other. */
static void lock_channels(const n_case *cases, int count, int take)
{
    n_channel *last = NULL;
    while (C_FREE_THREADED) {
        n_channel *next = NULL;
        for (int i = 0; i < count; i++) {
            n_channel *ch = cases[i].channel;
            if (ch > last && (next == NULL || ch < next))
                next = ch;
        }
        if (next == NULL)
            return;
        if (take)
            c_lock_take(&next->lock);
        else
            c_lock_give(&next->lock);
        last = next;
    }
}

int n_selection_queue(s_sched *s, n_selection *selection, const n_choice *choice, PyObject **result,
                      int *at, int *code)
{
    const n_case *cases = choice->cases;
    int done = 0, count = selection->count;
    PyObject *value = NULL;
    s_wait *partner = NULL;
    lock_channels(cases, count, 1);
    for (int i = 0; i < count && done == 0; i++) {
        *at = i;
        done = try_case(&cases[i], &value, &partner);
    }
    for (int i = 0; i < count && done == 0; i++) {
        n_channel *ch = cases[i].channel;
        if (ch == NULL)
            continue;
        Py_INCREF((PyObject *)selection->nodes[i].wait.task);
        b_append(cases[i].value ? &ch->senders : &ch->receivers, &selection->nodes[i].wait.link);
    }
    lock_channels(cases, count, 0);
    *code = S_OK;
    if (done != 0)
        *result = end_with_case(s, choice, *at, done, value, partner, code);
    return done == 0;
}

/* Begins to wait for the cases: 1.  0 if a case was done meanwhile, as select_now. */
static int select_wait(s_sched *s, const n_choice *choice, PyObject **result, int *at, int *code)
{
    s_tasklet *me = s->current;
    if ((*code = s_may_block(s)) < 0)
        return 0;
    n_selection *selection = n_selection_new(me, choice);
    *code = selection ? s_deadline_set(s, me, choice->until) : S_E_MEMORY;
    if (*code < 0) {
        if (selection != NULL)
            n_selection_free(selection);
        return 0;
    }
    me->kind = &n_selecting;
    me->on = selection;
    me->state = S_BLOCKED;
    if (n_selection_queue(s, selection, choice, result, at, code)) {
        Py_DECREF((PyObject *)me); /* the nodes own it now, or its deadline does */
        return 1;
    }
    me->state = S_RUNNING;
    s_deadline_drop(s, me);
    n_selection_free(selection);
    return 0;
}

int n_select(s_sched *s, const n_choice *choice, PyObject **result, int *at, int *code)
{
    *result = select_now(s, choice, at, code);
    if (*result != NULL || *code != S_OK)
        return 0;
    if (choice->until > s_now(s))
        return select_wait(s, choice, result, at, code);
    *code = S_E_TIMEOUT;
    return 0;
}
