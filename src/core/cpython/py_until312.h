/* What CPython 3.11 and 3.12 have in common, and no later version has.
 *
 * The instruction pointer (prev_instr) is the last code unit before the next instruction.  What
 * runs is found through a _PyCFrame: each activation of the interpreter keeps one on its C stack,
 * and the thread state points at the innermost one.
 */
#ifndef LOOMLET_PY_UNTIL312_H
#define LOOMLET_PY_UNTIL312_H

#include "cpython/py_common.h"

#include <internal/pycore_opcode.h>

/* The name that 3.13 made public. */
#define Py_IsFinalizing _Py_IsFinalizing

/* threading.local: the dictionary of a thread state leads to a thread's values. */
#define C_LOCAL_IN_THREAD 1

/* ---- frames and code ---- */

static inline PyCodeObject *frame_code(const c_frame *f)
{
    return f->f_code;
}
static inline PyObject *frame_executable(const c_frame *f)
{
    return (PyObject *)f->f_code;
}
static inline void frame_set_code(c_frame *f, PyCodeObject *code)
{
    Py_SETREF(f->f_code, (PyCodeObject *)Py_NewRef(code));
}
static inline _Py_CODEUNIT *frame_ip(const c_frame *f)
{
    return f->prev_instr;
}
static inline void frame_set_ip(c_frame *f, _Py_CODEUNIT *ip)
{
    f->prev_instr = ip;
}
/* The state of a generator that has delegated to another one. */
#define C_DELEGATING FRAME_SUSPENDED
/* From the instruction pointer of a frame to the instruction that runs next. */
#define C_IP_TO_NEXT 1

/* [NULL, callable, args...] or [method, self, args...].  Without a method the arguments begin right
 * after the callable, or after the object that an unbound method is called with; if they do not, a
 * C function has put something else in the callable's slot (functools.partial does) and called
 * us. */
#define C_CALL_TARGET(slots) slot_object((slots)[0] ? (slots)[0] : (slots)[1])
#define C_CALL_FITS(slots, site)                                                                   \
    ((slots)[0] != NULL ||                                                                         \
     (slot *)(site)->args == (slots) + 2 + Py_IS_TYPE((slots)[1], &PyMethodDescr_Type))

/* ---- thread states ---- */

static inline c_frame *thread_frame(PyThreadState *ts)
{
    return ts->cframe->current_frame;
}
static inline void thread_set_frame(PyThreadState *ts, c_frame *f)
{
    ts->cframe->current_frame = f;
}
static inline void thread_save_cframe(PyThreadState *ts, c_state *state)
{
    state->cframe = ts->cframe;
}
static inline void thread_drop_cframe(c_state *state)
{
    state->cframe = NULL;
}
static inline void thread_load_frame(PyThreadState *ts, const c_state *state)
{
    if (state->cframe != NULL) {
        ts->cframe = state->cframe;
        ts->cframe->current_frame = state->frame;
    }
}
/* The _PyCFrame under all activations on this stack. */
static inline void stack_base_init(PyThreadState *ts, void **cell)
{
    _PyCFrame *base = (_PyCFrame *)cell;
    base->current_frame = NULL;
    base->previous = &ts->root_cframe;
    ts->cframe = base;
}
static inline void write_thread_exception(PyObject *function)
{
    _PyErr_WriteUnraisableMsg("in thread started by", function);
}
/* The mark by which the eval loop of the main thread learns of signals. */
static inline int signal_has_mark(PyThreadState *ts)
{
    (void)ts;
    return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending);
}
static inline void signal_clear_mark(PyThreadState *ts)
{
    (void)ts;
    _Py_atomic_store(&_PyRuntime.ceval.signals_pending, 0);
}
/* The lock that the end of this thread releases in C, or NULL. */
static inline void *thread_end_lock(PyThreadState *ts)
{
    PyObject *ref = ts->on_delete_data;
    return ref != NULL && PyWeakref_CheckRef(ref) ? PyWeakref_GET_OBJECT(ref) : NULL;
}

/* One flag for all threads: whoever has the GIL drops it at its next safepoint, and then waits
 * until another thread has it. */
static inline void gil_ask_holder(struct _gil_runtime_state *gil)
{
    struct _ceval_state *ceval = &PyInterpreterState_Main()->ceval;
    (void)gil;
    __atomic_store_n(&ceval->gil_drop_request._value, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ceval->eval_breaker._value, 1, __ATOMIC_SEQ_CST);
}
static inline void gil_withdraw_request(PyThreadState *ts)
{
    (void)ts;
    __atomic_store_n(&PyInterpreterState_Main()->ceval.gil_drop_request._value, 0,
                     __ATOMIC_SEQ_CST);
}

#endif
