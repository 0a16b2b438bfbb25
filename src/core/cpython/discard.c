/* Dropping frames together with the generators that only they refer to.
 *
 * A suspended generator that is destroyed is closed first: CPython raises GeneratorExit in it, and
 * its `finally` blocks run.  So would those of a `with` whose context manager is a generator, when
 * the frame of the `with` is dropped.  Who discards a tasklet wants none of that.
 *
 * The three types of generators close in tp_finalize.  From the first discarding on that slot leads
 * here, and nothing is closed while this thread drops frames, unless Python code runs meanwhile,
 * which means its generators to be closed as always: a destructor that is written in Python.  The
 * deallocator, which runs next, clears the frame of a generator that was not closed.
 *
 * Rejected: looking for the generators before (they may be behind any object, and others may refer
 * to them); taking the slot back afterwards (another thread may be about to call it).
 */
#include "cpython/layout.h"

static destructor close_generator;            /* what the slot of all three types was */
static __thread const c_frame *dropped_above; /* the Python code that drops frames; or NULL */

static void close_unless_discarded(PyObject *generator)
{
    PyThreadState *ts = PyThreadState_GET();
    if (dropped_above == NULL || dropped_above != thread_frame(ts))
        close_generator(generator);
}

static void take_slots(void *unused)
{
    (void)unused;
    PyTypeObject *types[] = {&PyGen_Type, &PyCoro_Type, &PyAsyncGen_Type};
    if (close_generator != NULL)
        return;
    close_generator = PyGen_Type.tp_finalize;
    for (int i = 0; i < 3; i++)
        types[i]->tp_finalize = close_unless_discarded;
}

void c_discard_frames(PyThreadState *ts, c_state *state)
{
    c_while_world_stopped(take_slots, NULL);
    const c_frame *outer = dropped_above;
    dropped_above = thread_frame(ts);
    c_drop_frames(ts, state);
    dropped_above = outer;
}
