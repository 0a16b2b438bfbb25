/* Threads that carry a scheduler in turn: what of a thread state is asked and lent for that.
 *
 * A tasklet's part of a thread state is saved and loaded at each switch (tasklet_state.c).  What
 * stays with the thread is the same for all threads that carry one scheduler: they share what
 * threading.local looks at with its first thread.  3.12 and later with the GIL: on 3.11 nothing is
 * soft, and without a GIL a thread could attach while its scheduler is taken.
 */
#include "cpython/bytecode.h"
#include "cpython/layout.h"

#ifdef C_HAS_HANDOFF

const int c_can_hand_over = 1;

int c_thread_is_detached(const PyThreadState *ts)
{
    return thread_is_detached(ts);
}

int c_is_in_call(PyThreadState *ts)
{
    c_frame *f = thread_frame(ts);
    if (f == NULL || f->owner > FRAME_OWNED_BY_GENERATOR)
        return 1; /* a C function is all that it runs */
    int op = ip_opcode(frame_ip(f));
    return op != RESUME && op != JUMP_BACKWARD;
}

void c_thread_locals_share(PyThreadState *ts, const PyThreadState *from)
{
    thread_share_keys(ts, from);
    Py_XSETREF(ts->dict, Py_XNewRef(from->dict));
}

void c_thread_locals_forget(PyThreadState *ts)
{
    thread_forget_keys(ts);
    Py_CLEAR(ts->dict);
}

void c_thread_enter_base(PyThreadState *ts)
{
    thread_set_base_frame(ts);
}

#else

const int c_can_hand_over = 0;

int c_thread_is_detached(const PyThreadState *ts)
{
    (void)ts;
    return 0;
}

int c_is_in_call(PyThreadState *ts)
{
    (void)ts;
    return 0;
}

void c_thread_locals_share(PyThreadState *ts, const PyThreadState *from)
{
    (void)ts, (void)from;
}

void c_thread_locals_forget(PyThreadState *ts)
{
    (void)ts;
}

void c_thread_enter_base(PyThreadState *ts)
{
    (void)ts;
}

#endif
