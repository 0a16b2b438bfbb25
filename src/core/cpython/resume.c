/* Soft suspension: how a tasklet's frames are left, resumed and destroyed.
 *
 * Suspending.  The instruction pointer stays at the instruction that called us and the operands
 * stay on the value stack, so that a suspended tasklet shows the right line, an exception finds the
 * right handler, and the garbage collector sees every reference.  The distance to step over is
 * stored apart.
 *
 * Resuming.  With a value: drop the operands, push the value, step over the instruction, run the
 * interpreter on the frame.  With an exception: drop the operands, set the exception, run the
 * interpreter with the throw flag.  The interpreter returns when the outermost frame of the
 * activation returns (or yields: then the generator's state says so); the result is handed to the
 * frames below it, one after the other, until none is left.
 *
 * All this runs at the base of a C stack; any call in here may never return, because the tasklet
 * may be suspended again and the stack abandoned.  So no C variable owns a reference across a run
 * of the interpreter.
 */
#include "cpython/layout.h"
#include "cpython/save_state.h"
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

/* Takes over the references of the abandoned BEFORE_WITH: __exit__ stays on the value stack, as
 * that instruction would have left it. */
static void adopt_with_references(c_frame *f, const c_soft_point *point)
{
    f->localsplus[point->top] = slot_steal(point->exit);
    frame_set_top(f, point->top + 1);
    Py_DECREF(point->enter);
}

void c_suspend(PyThreadState *ts, c_state *state, const c_soft_point *point)
{
    c_frame *f = thread_frame(ts);
    frame_set_top(f, point->top);
    if (point->exit != NULL)
        adopt_with_references(f, point);
    for (int i = 0; i < point->splices; i++)
        c_splice_join(point, i);
    point->bottom->previous = state->rest;
    state->depth = point->depth;
    state->advance = point->advance;
    state->end_advance = point->end_advance;
    c_state_save_soft(ts, state, f);
}

/* The depth is set first, so that a destructor that runs here sees a consistent frame. */
static inline void drop_operands(c_frame *f, int depth)
{
    slot *end = f->localsplus + frame_top(f), *at = f->localsplus + depth;
    frame_set_top(f, depth);
    for (; at < end; at++)
        slot_close(*at);
}

static inline void push_value(c_frame *f, PyObject *value)
{
    int top = frame_top(f);
    f->localsplus[top] = slot_steal(value);
    frame_set_top(f, top + 1);
}

static inline PyObject *run_frame(PyThreadState *ts, c_state *state, c_frame *f, int throwing)
{
    state->rest = f->previous;
    thread_set_frame(ts, f->previous);
    thread_set_py_left(ts, thread_py_left(ts) + 1);
    return _PyEval_EvalFrameDefault(ts, f, throwing);
}

/* Runs `f` and then every frame below it that waits for its result. */
static inline PyObject *run_chain(PyThreadState *ts, c_state *state, c_frame *f, int throwing)
{
    for (;;) {
        PyGenObject *gen = f->owner == FRAME_OWNED_BY_GENERATOR ? frame_generator(f) : NULL;
        PyObject *result = run_frame(ts, state, f, throwing);
        f = state->rest;
        if (f == NULL || frame_is_entry(f))
            return result;
        int yielded = result != NULL && gen != NULL && generator_is_suspended(gen);
        if (B_UNLIKELY(f->return_offset >= C_SPLICED) && c_splice_is_waiting(f, gen)) {
            state->rest = C_BELOW; /* a destructor must not abandon our result */
            throwing = !c_splice_finish(f, result, yielded);
            continue;
        }
        throwing = result == NULL;
        if (throwing)
            continue;
        push_value(f, result);
        frame_set_ip(f, frame_ip(f) + (yielded ? C_YIELD_ADVANCE : f->return_offset));
    }
}

PyObject *c_resume(PyThreadState *ts, c_state *state, PyObject *value, PyObject *error)
{
    c_frame *f = state->frame;
    int ends = value == NULL && error == NULL;
    thread_set_c_left(ts, stack_call_budget());
    if (B_UNLIKELY(state->finalizers_suppressed))
        c_state_allow_finalizers(state);
    drop_operands(f, state->depth - (ends ? C_ITER_END_POPS : 0));
    if (B_UNLIKELY(error != NULL)) {
        Py_XDECREF(value);
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    } else if (B_UNLIKELY(ends)) {
        frame_set_ip(f, frame_ip(f) + state->end_advance);
    } else {
        push_value(f, value);
        frame_set_ip(f, frame_ip(f) + state->advance);
    }
    return run_chain(ts, state, f, error != NULL);
}

void c_call_on_frames(PyThreadState *ts, c_state *state)
{
    thread_set_frame(ts, state->frame);
    thread_set_c_left(ts, stack_call_budget());
    if (state->finalizers_suppressed)
        c_state_allow_finalizers(state);
}

void c_leave_frames(PyThreadState *ts, c_state *state)
{
    c_state_save_soft(ts, state, thread_frame(ts));
}

PyObject *c_resume_at_safepoint(PyThreadState *ts, c_state *state, PyObject *error)
{
    c_frame *f = state->frame;
    c_call_on_frames(ts, state);
    frame_set_ip(f, frame_ip(f) + (error != NULL ? state->advance : state->end_advance));
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return run_chain(ts, state, f, error != NULL);
}

/* Destructors run on the tasklet's data stack, but above the caller's frame: so their calls are
 * never taken for the caller's own first activation. */
void c_drop_frames(PyThreadState *ts, c_state *state)
{
    c_state outer;
    c_frame *f = state->frame;
    PyObject *pending = PyErr_GetRaisedException();
    c_state_save(ts, &outer);
    state->py_left = outer.py_left;
    state->frame = outer.frame;
    c_state_load(ts, state);
    while (f != NULL && !frame_is_entry(f)) {
        c_frame *below = f->previous;
        f->previous = NULL;
        frame_clear_pop(ts, f);
        f = below;
    }
    state->context = ts->context;
    c_state_load(ts, &outer);
    PyErr_SetRaisedException(pending);
}

#else

void c_suspend(PyThreadState *ts, c_state *state, const c_soft_point *point)
{
    (void)ts, (void)state, (void)point;
    Py_FatalError("loomlet: soft suspension on an interpreter without it");
}

PyObject *c_resume(PyThreadState *ts, c_state *state, PyObject *value, PyObject *error)
{
    (void)ts, (void)state, (void)value, (void)error;
    Py_FatalError("loomlet: soft resumption on an interpreter without it");
}

void c_call_on_frames(PyThreadState *ts, c_state *state)
{
    (void)ts, (void)state;
}

void c_leave_frames(PyThreadState *ts, c_state *state)
{
    (void)ts, (void)state;
}

PyObject *c_resume_at_safepoint(PyThreadState *ts, c_state *state, PyObject *error)
{
    return c_resume(ts, state, NULL, error);
}

void c_drop_frames(PyThreadState *ts, c_state *state)
{
    (void)ts, (void)state;
}

#endif
