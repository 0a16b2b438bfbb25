/* The inbox of a scheduler: tasklets that other threads woke, messages, and completions.
 *
 * A woken tasklet is linked by its own wait node, so nothing is allocated.  A message asks for
 * something else (throw, insert, ...): a function that the owner calls.  Both lists are guarded by
 * inbox_lock, which is held for a few loads and stores only and never while Python may run; the
 * owner takes everything out at once and works on it later.
 *
 * The sender looks for a sleeping thread only after its message is visible, and the sleeper looks
 * for messages after it has announced that it sleeps (plat.h), so no message waits for a thread
 * that sleeps.
 *
 * A completion is pushed by one compare-and-swap, because its sender is no thread of the
 * interpreter: a fork may stop it anywhere, and then the word is as it was or as it shall be.
 *
 * A tasklet may get another owner while a message is on the way: the message is passed on, and a
 * woken tasklet is woken on its owner.  A thread that has ended accepts nothing.
 */
#include "sched/internal.h"

static void free_message(s_message *message)
{
    Py_DECREF((PyObject *)message->task);
    Py_XDECREF(message->error);
    PyMem_RawFree(message);
}

int s_post_message(s_sched *to, s_handler *handle, s_tasklet *t, PyObject *error)
{
    s_message *message = c_out_of_memory() ? NULL : PyMem_RawMalloc(sizeof(*message));
    if (message == NULL) {
        Py_XDECREF(error);
        return S_E_MEMORY;
    }
    *message = (s_message){NULL, handle, (s_tasklet *)Py_NewRef((PyObject *)t), error};
    p_lock_take(&to->inbox_lock);
    int closed = to->closed;
    if (!closed) {
        *to->messages_end = message;
        to->messages_end = &message->next;
        __atomic_store_n(&to->has_messages, 1, __ATOMIC_SEQ_CST);
    }
    p_lock_give(&to->inbox_lock);
    if (closed) {
        free_message(message);
        return S_E_THREAD;
    }
    s_wake_thread(to);
    return S_OK;
}

int s_post_woken(s_sched *to, s_tasklet *t)
{
    p_lock_take(&to->inbox_lock);
    int closed = to->closed;
    if (!closed) {
        b_append(&to->woken, &t->wait.link);
        __atomic_store_n(&to->has_messages, 1, __ATOMIC_SEQ_CST);
    }
    p_lock_give(&to->inbox_lock);
    return !closed;
}

void s_post_refresh(s_sched *to)
{
    p_lock_take(&to->inbox_lock);
    int closed = to->closed;
    if (!closed) {
        to->refresh = 1;
        __atomic_store_n(&to->has_messages, 1, __ATOMIC_SEQ_CST);
    }
    p_lock_give(&to->inbox_lock);
    if (!closed)
        s_wake_thread(to);
}

static void handle_message(s_sched *s, s_message *message)
{
    s_tasklet *t = message->task;
    if (t->owner != s)
        s_post_message(t->owner, message->handle, t, message->error);
    else
        message->handle(s, t, message->error);
    Py_DECREF((PyObject *)t);
    PyMem_RawFree(message);
}

/* Returns whether all tasklets must look again. */
static int take_all(s_sched *s, b_link *woken, s_message **messages)
{
    b_list_init(woken);
    p_lock_take(&s->inbox_lock);
    b_append_all(woken, &s->woken);
    *messages = s->messages;
    s->messages = NULL;
    s->messages_end = &s->messages;
    s->has_messages = 0;
    int refresh = s->refresh;
    s->refresh = 0;
    p_lock_give(&s->inbox_lock);
    return refresh;
}

/* ---- completions --------------------------------------------------------------------- */

static s_completion none_accepted; /* in the place of the first one */

int s_post_completion(s_sched *to, s_completion *completion)
{
    s_completion *seen = __atomic_load_n(&to->arrived, __ATOMIC_ACQUIRE);
    do {
        if (seen == &none_accepted)
            return S_E_THREAD;
        completion->next = seen;
    } while (!__atomic_compare_exchange_n(&to->arrived, &seen, completion, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_ACQUIRE));
    __atomic_store_n(&to->has_messages, 1, __ATOMIC_SEQ_CST);
    s_wake_thread(to);
    return S_OK;
}

/* In the order in which they came: the list has the last one first. */
static void complete_all(s_sched *s)
{
    s_completion *rest = s->closed ? &none_accepted : NULL, *ordered = NULL;
    s_completion *at = __atomic_exchange_n(&s->arrived, rest, __ATOMIC_SEQ_CST);
    while (at != NULL && at != &none_accepted) {
        s_completion *next = at->next;
        at->next = ordered;
        ordered = at;
        at = next;
    }
    while (ordered != NULL) {
        s_completion *next = ordered->next;
        ordered->complete(s, ordered);
        ordered = next;
    }
}

/* ---- reading ------------------------------------------------------------------------- */

void s_read_inbox(s_sched *s)
{
    if (!__atomic_load_n(&s->has_messages, __ATOMIC_SEQ_CST))
        return;
    b_link woken;
    s_message *message;
    int refresh = take_all(s, &woken, &message);
    for (b_link *at; (at = b_first(&woken)) != NULL;) {
        s_tasklet *t = s_of_link(at);
        b_unlink(at);
        s_wake_arrived(s, t);
    }
    while (message != NULL) {
        s_message *next = message->next;
        handle_message(s, message);
        message = next;
    }
    if (refresh)
        s_report_refresh(s);
    complete_all(s);
}

/* A tasklet that is woken now has survived being killed, and nothing will run it. */
void s_close_inbox(s_sched *s)
{
    b_link woken;
    s_message *message;
    p_lock_take(&s->inbox_lock);
    s->closed = 1;
    p_lock_give(&s->inbox_lock);
    take_all(s, &woken, &message);
    for (b_link *at; (at = b_first(&woken)) != NULL;) {
        b_unlink(at);
        s_arrive(s_of_link(at));
        s_wake_slow(s, s_of_link(at));
    }
    while (message != NULL) {
        s_message *next = message->next;
        free_message(message);
        message = next;
    }
    complete_all(s);
}
