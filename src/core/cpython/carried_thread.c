/* Threads that carry a scheduler in turn: what of a thread state is asked and lent for that.
 *
 * A tasklet's part of a thread state is saved and loaded at each switch (tasklet_state.c).  What
 * stays with the thread is the same for all threads that carry one scheduler: they share the
 * dictionary and the keys of threading.local with its first thread.  3.13 and 3.14 with the GIL;
 * before, all threads look at one flag when any is interrupted, and without a GIL a thread could
 * attach while its scheduler is taken.
 */
#include "cpython/bytecode.h"
#include "cpython/layout.h"

#ifdef C_HAS_HANDOFF

const int c_can_hand_over = 1;

int c_thread_is_detached(const PyThreadState *ts)
{
    return __atomic_load_n(&ts->state, __ATOMIC_RELAXED) == _Py_THREAD_DETACHED;
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
    Py_XSETREF(ts->dict, Py_XNewRef(from->dict));
    Py_XSETREF(ts->threading_local_key, Py_XNewRef(from->threading_local_key));
    Py_XSETREF(ts->threading_local_sentinel, Py_XNewRef(from->threading_local_sentinel));
}

void c_thread_locals_forget(PyThreadState *ts)
{
    Py_CLEAR(ts->threading_local_sentinel);
    Py_CLEAR(ts->threading_local_key);
    Py_CLEAR(ts->dict);
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

#endif
