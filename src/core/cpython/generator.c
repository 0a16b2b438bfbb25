/* Generators, coroutines and asynchronous generators as plain records.
 *
 * They carry their frame inside themselves, so a record can be taken whenever they
 * do not run, on every version.  One that runs inside a suspended tasklet is read
 * with that tasklet (frames.c), of whose chain of frames it is a part.
 *
 * A record is (function, code, name, qualname, frame, exception, state): function
 * and frame are None once it has ended; exception is the one that it is handling;
 * state is the interpreter's own word for where it stands, with three marks of an
 * asynchronous generator above it.
 *
 * Building needs a new generator of the same code, which CPython itself makes when
 * the function is called: only its frame is exchanged here.
 */
#include "cpython/frame_snapshot.h"

enum { HOOKS_INITED = 1 << 8, CLOSED = 1 << 9, RUNNING_ASYNC = 1 << 10 };

int c_is_generator(PyObject *object)
{
    return PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object);
}

static int read_state(const PyGenObject *gen)
{
    return (gen->gi_frame_state & 0xFF) | (gen->gi_hooks_inited ? HOOKS_INITED : 0) |
           (gen->gi_closed ? CLOSED : 0) | (gen->gi_running_async ? RUNNING_ASYNC : 0);
}

PyObject *c_generator_read(PyObject *object, int running)
{
    PyGenObject *gen = (PyGenObject *)object;
    c_frame *f = generator_frame(object);
    int ended = gen->gi_frame_state >= FRAME_COMPLETED;
    PyObject *function = ended ? Py_None : frame_function(f), *frame = Py_NewRef(Py_None);
    PyObject *handled = gen->gi_exc_state.exc_value;
    if (!ended && !running)
        Py_XSETREF(frame, c_frame_snapshot_read(f, frame_top(f), 0));
    if (frame == NULL)
        return NULL;
    return Py_BuildValue("(OOOONOi)", function, (PyObject *)frame_code(f), gen->gi_name,
                         gen->gi_qualname, frame, handled ? handled : Py_None, read_state(gen));
}

int c_generator_is_running(PyObject *gen)
{
    return ((PyGenObject *)gen)->gi_frame_state == FRAME_EXECUTING;
}

const char *c_generator_check(PyObject *object, const c_frame_snapshot *record)
{
    PyGenObject *gen = (PyGenObject *)object;
    if (!c_is_generator(object) || gen->gi_frame_state != FRAME_CREATED)
        return "the frame of a generator needs a new one";
    if (frame_code(generator_frame(object)) != record->code)
        return "the generator is of another code";
    return NULL;
}

/* Empties a new one.  Meanwhile it passes for running: a destructor may look at it. */
static void empty(PyGenObject *gen, PyObject *function)
{
    c_frame *f = generator_frame((PyObject *)gen);
    int top = frame_top(f);
    gen->gi_frame_state = FRAME_EXECUTING;
    frame_set_top(f, 0);
    for (int i = 0; i < top; i++)
        slot_close(f->localsplus[i]);
    frame_exchange_function(f, function);
}

void c_generator_put(PyObject *object, const c_frame_snapshot *record, int frame_state)
{
    PyGenObject *gen = (PyGenObject *)object;
    empty(gen, record->function);
    c_frame_snapshot_fill(record, generator_frame(object));
    gen->gi_frame_state = (int8_t)frame_state;
}

static void put_ended(PyGenObject *gen)
{
    empty(gen, NULL);
    gen->gi_frame_state = FRAME_CLEARED;
}

static int small(PyObject *value)
{
    long number = PyLong_Check(value) ? PyLong_AsLong(value) : -1;
    if (number == -1)
        PyErr_Clear();
    return (int)number;
}

static void set_marks(PyGenObject *gen, PyObject *const *item, int state)
{
    if (PyUnicode_CheckExact(item[2]) && PyUnicode_CheckExact(item[3])) {
        Py_XSETREF(gen->gi_name, Py_NewRef(item[2]));
        Py_XSETREF(gen->gi_qualname, Py_NewRef(item[3]));
    }
    if (item[5] != Py_None)
        Py_XSETREF(gen->gi_exc_state.exc_value, Py_NewRef(item[5]));
    gen->gi_hooks_inited = (state & HOOKS_INITED) != 0;
    gen->gi_closed = (state & CLOSED) != 0;
    gen->gi_running_async = (state & RUNNING_ASYNC) != 0;
}

/* One without a frame has ended, or runs in a tasklet whose record brings the frame. */
static const char *build_frameless(PyObject *object, int where)
{
    PyGenObject *gen = (PyGenObject *)object;
    if (where < FRAME_EXECUTING || gen->gi_frame_state != FRAME_CREATED)
        return "a generator that goes on needs its frame";
    if (where >= FRAME_COMPLETED)
        put_ended(gen);
    return NULL;
}

static const char *build_frame(PyObject *object, PyObject *tuple, int where)
{
    c_frame_snapshot record;
    const char *wrong = c_frame_snapshot_parse(tuple, &record);
    if (wrong == NULL && (where >= FRAME_EXECUTING || where < FRAME_CREATED))
        wrong = "the state of a generator is not known";
    if (wrong == NULL)
        wrong = c_frame_snapshot_check(&record);
    if (wrong == NULL)
        wrong = c_location_check_generator(&record, where);
    if (wrong == NULL)
        wrong = c_generator_check(object, &record);
    if (wrong == NULL)
        c_generator_put(object, &record, where);
    return wrong;
}

const char *c_generator_build(PyObject *object, PyObject *tuple)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) != 7)
        return "a generator is a tuple of 7";
    PyObject **item = ((PyTupleObject *)tuple)->ob_item;
    int state = small(item[6]), where = (int8_t)(state & 0xFF);
    if (state < 0 || !(item[5] == Py_None || PyExceptionInstance_Check(item[5])))
        return "the state of a generator is not known";
    const char *wrong =
        item[4] == Py_None ? build_frameless(object, where) : build_frame(object, item[4], where);
    if (wrong == NULL)
        set_marks((PyGenObject *)object, item, state);
    return wrong;
}

PyObject *c_generator_finalizer(PyObject *gen)
{
    return ((PyAsyncGenObject *)gen)->ag_origin_or_finalizer;
}

void c_generator_set_finalizer(PyObject *gen, PyObject *finalizer)
{
    Py_XSETREF(((PyAsyncGenObject *)gen)->ag_origin_or_finalizer, Py_NewRef(finalizer));
}
