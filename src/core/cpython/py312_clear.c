/* CPython 3.12: destroying a frame that will not go on.
 *
 * The interpreter does this whenever a frame ends, but 3.12 exports no function
 * for it.  Three owners are served: a frame object that somebody else still
 * holds (a traceback, sys._getframe) takes the frame's contents over, so that its
 * locals stay readable; a generator keeps its frame's memory and its code; a
 * frame on the data stack is popped.
 *
 * Destructors run Python code, so the frame must be out of every chain of frames
 * before (its `previous` is NULL) and its memory is given back last.  The operands
 * above the locals go first: a frame object need not carry them on.
 */
#include "cpython/layout.h"

#ifdef C_OWN_FRAME_CLEAR

static void close_slots(c_frame *f, int keep)
{
    while (f->stacktop > keep)
        Py_XDECREF(f->localsplus[--f->stacktop]);
}

/* The frame object outlives its frame: it gets a copy, with all references. */
static void move_to_object(c_frame *f, PyFrameObject *object)
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

/* Everything but the code. */
static void release_contents(c_frame *f)
{
    PyFrameObject *object = f->frame_obj;
    close_slots(f, f->f_code->co_nlocalsplus);
    f->frame_obj = NULL;
    if (object != NULL && Py_REFCNT(object) > 1) {
        move_to_object(f, object);
        Py_DECREF(object);
        return;
    }
    Py_XDECREF(object);
    close_slots(f, 0);
    Py_XDECREF(f->f_locals);
    Py_DECREF(f->f_funcobj);
}

static void pop_memory(PyThreadState *ts, c_frame *f)
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

static void end_generator(PyThreadState *ts, PyGenObject *gen)
{
    gen->gi_frame_state = FRAME_CLEARED;
    ts->exc_info = gen->gi_exc_state.previous_item;
    gen->gi_exc_state.previous_item = NULL;
}

void c_frame_clear_pop(PyThreadState *ts, c_frame *f)
{
    if (f->owner == FRAME_OWNED_BY_GENERATOR) {
        end_generator(ts, frame_generator(f));
        release_contents(f);
        return;
    }
    release_contents(f);
    Py_DECREF(f->f_code);
    pop_memory(ts, f);
}

#endif
