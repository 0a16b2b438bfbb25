/* CPython 3.12: destroying a frame that will not be resumed.
 *
 * The interpreter does this whenever a frame ends, but 3.12 exports no function for it.  There are
 * three cases: a frame object that has another owner (a traceback, sys._getframe) takes over the
 * frame's contents, so that its locals stay readable; a generator keeps its frame's memory and its
 * code; a frame on the data stack is popped.
 *
 * Destructors run Python code, so the frame must have left every chain of frames before (its
 * `previous` is NULL), and its memory is freed last.  The operands above the locals are dropped
 * first: a frame object need not keep them.
 */
#include "cpython/layout.h"

#ifdef C_OWN_FRAME_CLEAR

static void pop_slots(c_frame *f, int keep)
{
    while (f->stacktop > keep)
        Py_XDECREF(f->localsplus[--f->stacktop]);
}

/* The frame object outlives its frame: it gets a copy of the frame, with all references. */
static void move_frame_to_object(c_frame *f, PyFrameObject *object)
{
    c_frame *copy = (c_frame *)object->_f_frame_data;
    memcpy(copy, f, offsetof(c_frame, localsplus) + (size_t)f->stacktop * sizeof(PyObject *));
    Py_INCREF(copy->f_code);
    copy->owner = FRAME_OWNED_BY_FRAME_OBJECT;
    copy->previous = NULL;
    object->f_frame = copy;
    if (!PyObject_GC_IsTracked((PyObject *)object))
        PyObject_GC_Track((PyObject *)object);
}

/* Releases everything but the code. */
static void release_frame_contents(c_frame *f)
{
    PyFrameObject *object = f->frame_obj;
    pop_slots(f, f->f_code->co_nlocalsplus);
    f->frame_obj = NULL;
    if (object != NULL && Py_REFCNT(object) > 1) {
        move_frame_to_object(f, object);
        Py_DECREF(object);
        return;
    }
    Py_XDECREF(object);
    pop_slots(f, 0);
    Py_XDECREF(f->f_locals);
    Py_DECREF(f->f_funcobj);
}

static void pop_frame_memory(PyThreadState *ts, c_frame *f)
{
    _PyStackChunk *chunk = ts->datastack_chunk, *below = chunk->previous;
    PyObject **base = (PyObject **)f;
    if (base != chunk->data) {
        ts->datastack_top = base;
        return;
    }
    PyObjectArenaAllocator arena;
    PyObject_GetArenaAllocator(&arena);
    ts->datastack_chunk = below;
    ts->datastack_top = below->data + below->top;
    ts->datastack_limit = (PyObject **)((char *)below + below->size);
    arena.free(arena.ctx, chunk, chunk->size);
}

static void mark_generator_cleared(PyThreadState *ts, PyGenObject *gen)
{
    gen->gi_frame_state = FRAME_CLEARED;
    ts->exc_info = gen->gi_exc_state.previous_item;
    gen->gi_exc_state.previous_item = NULL;
}

void c_frame_clear_pop(PyThreadState *ts, c_frame *f)
{
    if (f->owner == FRAME_OWNED_BY_GENERATOR) {
        mark_generator_cleared(ts, frame_generator(f));
        release_frame_contents(f);
        return;
    }
    release_frame_contents(f);
    Py_DECREF(f->f_code);
    pop_frame_memory(ts, f);
}

#endif
