/* Saving the thread's fields into a tasklet's state: shared by soft and hard suspension. */
#ifndef LOOMLET_SAVE_STATE_H
#define LOOMLET_SAVE_STATE_H

#include "cpython/layout.h"

static inline void save_common(PyThreadState *ts, c_state *state, c_frame *frame)
{
    state->frame = frame;
    state->chunk = ts->datastack_chunk;
    state->top = ts->datastack_top;
    state->limit = ts->datastack_limit;
    state->exc_info = ts->exc_info;
    state->context = ts->context;
    state->py_left = thread_py_left(ts);
}

/* The C stack is given up, so the tasklet may use the whole budget of the next one. */
static inline void c_state_save_soft(PyThreadState *ts, c_state *state, c_frame *frame)
{
    save_common(ts, state, frame);
    thread_drop_cframe(state);
    thread_abandon_c_stack(ts);
}

#endif
