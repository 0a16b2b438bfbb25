/* The contexts that a suspended tasklet has entered by context.run().
 *
 * Each frame that waits in such a call has the context among its operands, and the context knows
 * which one ran before.  A snapshot holds the outermost one as that of the tasklet, and the others
 * in the frames.  When it is restored they are entered anew, from the outermost frame inwards.
 */
#include "cpython/frame_snapshot.h"
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

/* Of a frame that waits in context.run(): borrowed. */
static PyObject *context_of_frame(const c_frame *f)
{
    int operands = f->return_offset & 255;
    const slot *base = f->localsplus + frame_top(f) - operands;
    return c_context_of_run(C_CALL_TARGET(base), C_CALL_SELF(base));
}

int c_waits_in_context(const c_state *state)
{
    for (const c_frame *f = state->frame; f != NULL && !frame_is_entry(f); f = f->previous)
        if (f != state->frame && c_splice_is_in_context(f))
            return 1;
    return 0;
}

int c_outermost_context(const c_state *state, PyObject **context)
{
    *context = state->context;
    for (const c_frame *f = state->frame; f != NULL && !frame_is_entry(f); f = f->previous) {
        if (f == state->frame || !c_splice_is_in_context(f))
            continue;
        if (*context == NULL || context_of_frame(f) != *context)
            return 0;
        *context = context_outside(*context);
    }
    return 1;
}

int c_snapshot_is_in_context(const c_frame_snapshot *snapshot)
{
    return snapshot->offset >= C_SPLICED && (snapshot->offset >> 8 & 15) == C_KIND_RUN &&
           c_plain_instruction_at(snapshot->code, snapshot->ip).op == C_OP_CALL;
}

PyObject *c_snapshot_context(const c_frame_snapshot *snapshot)
{
    int operands = snapshot->offset & 255, base = snapshot->slots - operands;
    PyObject *first = c_frame_snapshot_slot(snapshot, base);
    PyObject *second = c_frame_snapshot_slot(snapshot, base + 1);
    PyObject *context = first != NULL ? c_context_of_run(first, second) : NULL;
    return context == NULL && second != NULL ? c_context_of_run(second, NULL) : context;
}

static void enter_from(c_state *state, const c_frame *f)
{
    PyObject *context;
    for (; f != NULL; f = f->previous) {
        if (f == state->frame || !c_splice_is_in_context(f))
            continue;
        context = context_of_frame(f);
        if (context_is_entered(context))
            continue;
        enter_from(state, f->previous);
        context_enter(context, state->context);
        state->context = Py_NewRef(context);
        return;
    }
}

void c_context_enter_again(c_state *state)
{
    enter_from(state, state->frame);
}

#else

int c_waits_in_context(const c_state *state)
{
    (void)state;
    return 0;
}

int c_outermost_context(const c_state *state, PyObject **context)
{
    *context = state->context;
    return 1;
}

void c_context_enter_again(c_state *state)
{
    (void)state;
}

#endif
