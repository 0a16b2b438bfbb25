/* Mail from other threads: tasklets that they woke, and requests.
 *
 * A woken tasklet is linked by its own queue place, nothing is allocated.  A
 * request (throw, insert, ...) is a letter.  Both lists are guarded by
 * inbox_lock, which is held for a few loads and stores only and never while
 * Python may run; the owner takes everything out at once and works on it later.
 *
 * The sender looks whether the thread sleeps only after its mail is visible, the
 * sleeper looks for mail after it announced that it sleeps (plat.h), so that no
 * mail waits for a thread that sleeps.
 *
 * A parcel is put before the others by one exchange of a word, because its sender is no thread of
 * the interpreter's: a fork may leave it behind anywhere, and then the word is as it was or
 * as it shall be.
 *
 * A tasklet may move while its mail is on the way: the letter is sent on, and who is
 * woken is woken at its home.  A thread that has ended takes no mail.
 */
#include "sched/guests/scope.h"
#include "sched/guests/stackless_run.h"
#include "sched/internal.h"

static void throw_away(s_message *letter)
{
    Py_DECREF((PyObject *)letter->task);
    Py_XDECREF(letter->error);
    PyMem_RawFree(letter);
}

int s_post_message(s_sched *to, enum s_request request, s_tasklet *t, PyObject *error)
{
    s_message *letter = c_out_of_memory() ? NULL : PyMem_RawMalloc(sizeof(*letter));
    if (letter == NULL) {
        Py_XDECREF(error);
        return S_E_MEMORY;
    }
    *letter = (s_message){NULL, request, (s_tasklet *)Py_NewRef((PyObject *)t), error};
    p_lock_take(&to->inbox_lock);
    int closed = to->closed;
    if (!closed) {
        *to->messages_end = letter;
        to->messages_end = &letter->next;
        __atomic_store_n(&to->has_messages, 1, __ATOMIC_SEQ_CST);
    }
    p_lock_give(&to->inbox_lock);
    if (closed) {
        throw_away(letter);
        return S_E_THREAD;
    }
    s_wake_thread(to);
    return S_OK;
}

static void take_out(s_sched *s, s_tasklet *t)
{
    if (t->state == S_READY)
        b_unlink(&t->wait.link);
    else if (t->state == S_PAUSED || t->state == S_NEW)
        Py_INCREF((PyObject *)t);
}

/* Throws from afar: the tasklet goes to the tail with the exception.  One that runs
 * now, or that somebody has just claimed, gets the letter again when it is queued. */
static void throw_later(s_sched *s, s_tasklet *t, PyObject *error)
{
    if (t->state == S_DONE) {
        Py_DECREF(error);
        return;
    }
    if (t->state == S_RUNNING || t->state == S_BLOCKED) {
        if (t->state == S_RUNNING || !s_interrupt(s, t, Py_NewRef(error)))
            s_post_message(s, S_ASK_THROW, t, Py_NewRef(error));
        Py_DECREF(error);
        return;
    }
    take_out(s, t);
    s_ready(s, t);
    Py_XSETREF(t->error, error);
    s_refuse(s, t);
}

/* The home does what it was asked; steals `error`. */
static void obey(s_sched *s, enum s_request request, s_tasklet *t, PyObject *error)
{
    switch (request) {
    case S_ASK_INSERT:
        if (t->state == S_PAUSED || s_is_run_caller(t))
            s_insert(s, t);
        break;
    case S_ASK_REMOVE:
        if (t->state == S_READY)
            s_unqueue(t);
        break;
    case S_ASK_RUN:
        if (s_is_run_caller(t))
            s_insert(s, t);
        if (t->state == S_PAUSED || t->state == S_READY) {
            take_out(s, t);
            t->state = S_READY;
            b_prepend(&s->ready, &t->wait.link);
        }
        break;
    case S_ASK_THROW:
        throw_later(s, t, error);
        break;
    case S_ASK_INTERRUPT:
        s_interrupt(s, t, error);
        break;
    case S_ASK_CANCEL:
        s_scope_notify(s, t);
        break;
    }
}

/* A tasklet that has moved gets its mail sent on. */
static void open_letter(s_sched *s, s_message *letter)
{
    s_tasklet *t = letter->task;
    if (t->owner != s)
        s_post_message(t->owner, letter->request, t, letter->error);
    else
        obey(s, letter->request, t, letter->error);
    Py_DECREF((PyObject *)t);
    PyMem_RawFree(letter);
}

static void take_mail(s_sched *s, b_link *woken, s_message **letters)
{
    b_list_init(woken);
    p_lock_take(&s->inbox_lock);
    b_append_all(woken, &s->woken);
    *letters = s->messages;
    s->messages = NULL;
    s->messages_end = &s->messages;
    s->has_messages = 0;
    p_lock_give(&s->inbox_lock);
}

/* ---- parcels ------------------------------------------------------------------------ */

static s_completion closed_box; /* in the place of a first parcel: no more are taken */

int s_post_completion(s_sched *to, s_completion *parcel)
{
    s_completion *seen = __atomic_load_n(&to->arrived, __ATOMIC_ACQUIRE);
    do {
        if (seen == &closed_box)
            return S_E_THREAD;
        parcel->next = seen;
    } while (!__atomic_compare_exchange_n(&to->arrived, &seen, parcel, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_ACQUIRE));
    __atomic_store_n(&to->has_messages, 1, __ATOMIC_SEQ_CST);
    s_wake_thread(to);
    return S_OK;
}

/* The first one first. */
static void open_parcels(s_sched *s)
{
    s_completion *rest = s->closed ? &closed_box : NULL, *turned = NULL;
    s_completion *at = __atomic_exchange_n(&s->arrived, rest, __ATOMIC_SEQ_CST);
    while (at != NULL && at != &closed_box) {
        s_completion *next = at->next;
        at->next = turned;
        turned = at;
        at = next;
    }
    while (turned != NULL) {
        s_completion *next = turned->next;
        turned->open(s, turned);
        turned = next;
    }
}

/* ---- all of it ---------------------------------------------------------------------- */

void s_read_inbox(s_sched *s)
{
    if (!__atomic_load_n(&s->has_messages, __ATOMIC_SEQ_CST))
        return;
    b_link woken;
    s_message *letter;
    take_mail(s, &woken, &letter);
    for (b_link *at; (at = b_first(&woken)) != NULL;) {
        s_tasklet *t = s_of_link(at);
        b_unlink(at);
        s_wake_arrived(s, t);
    }
    while (letter != NULL) {
        s_message *next = letter->next;
        open_letter(s, letter);
        letter = next;
    }
    open_parcels(s);
}

/* Who is woken now has survived being killed, and has nobody to run it. */
void s_close_inbox(s_sched *s)
{
    b_link woken;
    s_message *letter;
    p_lock_take(&s->inbox_lock);
    s->closed = 1;
    p_lock_give(&s->inbox_lock);
    take_mail(s, &woken, &letter);
    for (b_link *at; (at = b_first(&woken)) != NULL;) {
        b_unlink(at);
        s_arrive(s_of_link(at));
        s_wake_slow(s, s_of_link(at));
    }
    while (letter != NULL) {
        s_message *next = letter->next;
        throw_away(letter);
        letter = next;
    }
    open_parcels(s);
}
