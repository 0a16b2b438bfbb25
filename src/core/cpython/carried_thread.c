/* Threads that carry a scheduler in turn: what of a thread state is asked and lent for that.
 *
 * A tasklet's part of a thread state is saved and loaded at each switch (tasklet_state.c).  What
 * stays with the thread is the same for all threads that carry one scheduler: they share what
 * threading.local looks at with its first thread.  3.12 and later: on 3.11 nothing is soft.
 *
 * Holding.  With a GIL a detached thread stays so while the one that looks at it is attached.
 * Without, it may attach at any moment, so it is suspended as a stop of the world does that, but
 * alone and by one store: from DETACHED to SUSPENDED, where it waits if it wants to attach, and
 * back.  A stop of the world that begins meanwhile waits, because whoever holds is attached; so
 * between the two it must not detach, or both would wait for ever.  A stop that has begun may have
 * suspended the thread already: then it is not held, for that stop will wake it.  A start of the
 * world comes after its stop, in which nobody holds, and wakes nobody that is held.
 */
#include "cpython/bytecode.h"
#include "cpython/layout.h"

#include "cpython/carried_thread.h"

#ifdef C_HAS_HANDOFF

const int c_can_hand_over = 1;

#ifdef Py_GIL_DISABLED
_Static_assert(offsetof(c_frame, instr_ptr) == C_FRAME_IP, "c_position() reads another field");
#endif

int c_thread_is_detached(const PyThreadState *ts)
{
    return thread_is_detached(ts);
}

int c_thread_suspend(PyThreadState *ts)
{
#ifdef Py_GIL_DISABLED
    int detached = _Py_THREAD_DETACHED;
    return __atomic_compare_exchange_n(&ts->state, &detached, _Py_THREAD_SUSPENDED, 0,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
#else
    return c_thread_is_detached(ts);
#endif
}

void c_thread_release(PyThreadState *ts)
{
#ifdef Py_GIL_DISABLED
    __atomic_store_n(&ts->state, _Py_THREAD_DETACHED, __ATOMIC_SEQ_CST);
    _PyParkingLot_UnparkAll(&ts->state);
#else
    (void)ts;
#endif
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

void c_thread_locals_take(PyThreadState *ts, c_thread_locals *locals)
{
    *locals = (c_thread_locals){NULL, NULL, ts->dict};
    ts->dict = NULL;
    thread_take_keys(ts, &locals->sentinel, &locals->key);
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

int c_thread_suspend(PyThreadState *ts)
{
    (void)ts;
    return 0;
}

void c_thread_release(PyThreadState *ts)
{
    (void)ts;
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

void c_thread_locals_take(PyThreadState *ts, c_thread_locals *locals)
{
    (void)ts, (void)locals;
}

void c_thread_enter_base(PyThreadState *ts)
{
    (void)ts;
}

#endif

void c_thread_locals_drop(c_thread_locals *locals)
{
    Py_CLEAR(locals->sentinel);
    Py_CLEAR(locals->key);
    Py_CLEAR(locals->dict);
}

__thread int c_lock_waits_ __attribute__((tls_model("initial-exec")));

int *c_lock_waits_cell(void)
{
    return &c_lock_waits_;
}

#ifdef Py_GIL_DISABLED
#define LOOKS 100

/* A lock of ours is held for a few loads and stores.  The interpreter's function yields to the
 * system after each look, which takes longer than that. */
static int take_soon(c_lock *lock)
{
    for (int i = 0; i < LOOKS; i++) {
        uint8_t free = 0;
        p_relax();
        if (c_lock_is_free(lock) && __atomic_compare_exchange_n(&lock->mutex._bits, &free, 1, 0,
                                                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

void c_lock_wait(c_lock *lock)
{
    if (take_soon(lock))
        return;
    c_lock_waits_++;
    PyMutex_Lock(&lock->mutex);
    c_lock_waits_--;
}
#endif
