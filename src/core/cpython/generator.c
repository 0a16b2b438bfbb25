/* Snapshots of generators, coroutines and asynchronous generators.
 *
 * A generator holds its frame inside itself, so a snapshot can be taken whenever it does not run,
 * on every version.  A generator that runs inside a suspended tasklet is read with that tasklet
 * (frames.c), because its frame is part of the tasklet's chain of frames.
 *
 * A snapshot is (function, code, name, qualname, frame, exception, state): function and frame are
 * None once the generator has ended; exception is the one that it is handling; state is the
 * interpreter's own gi_frame_state, with three flags of an asynchronous generator above it.
 *
 * Building needs a new generator of the same code, which CPython itself makes when the function is
 * called: only its frame is replaced here.
 */
#include "cpython/async_step.h"
#include "cpython/frame_snapshot.h"

enum { HOOKS_INITED = 1 << 8, CLOSED = 1 << 9, RUNNING_ASYNC = 1 << 10 };

int c_is_generator(PyObject *object)
{
    return PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object);
}

static int read_generator_state(const PyGenObject *gen)
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
                         gen->gi_qualname, frame, handled ? handled : Py_None,
                         read_generator_state(gen));
}

int c_generator_is_running(PyObject *gen)
{
    return ((PyGenObject *)gen)->gi_frame_state == FRAME_EXECUTING;
}

const char *c_generator_check(PyObject *object, const c_frame_snapshot *snapshot)
{
    PyGenObject *gen = (PyGenObject *)object;
    if (!c_is_generator(object) || gen->gi_frame_state != FRAME_CREATED)
        return "the frame belongs to a generator that has begun already";
    if (frame_code(generator_frame(object)) != snapshot->code)
        return "the code of the generator is not that of its frame";
    return NULL;
}

/* Empties the frame of a new generator.  Meanwhile the generator is marked as running, because a
 * destructor may look at it. */
static void empty_generator_frame(PyGenObject *gen, PyObject *function)
{
    c_frame *f = generator_frame((PyObject *)gen);
    int top = frame_top(f);
    gen->gi_frame_state = FRAME_EXECUTING;
    frame_set_top(f, 0);
    for (int i = 0; i < top; i++)
        slot_close(f->localsplus[i]);
    frame_replace_function(f, function);
}

void c_generator_put(PyObject *object, const c_frame_snapshot *snapshot, int frame_state)
{
    PyGenObject *gen = (PyGenObject *)object;
    empty_generator_frame(gen, snapshot->function);
    c_frame_snapshot_fill(snapshot, generator_frame(object));
    gen->gi_frame_state = (int8_t)frame_state;
}

static void end_new_generator(PyGenObject *gen)
{
    empty_generator_frame(gen, NULL);
    gen->gi_frame_state = FRAME_CLEARED;
}

/* A function with the same code that can be called without arguments. */
static PyObject *bare_function(PyFunctionObject *function)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    PyObject *bare = PyFunction_New((PyObject *)code, function->func_globals);
    PyObject *defaults = PyTuple_New(code->co_argcount), *named = PyDict_New();
    int bad = bare == NULL || defaults == NULL || named == NULL;
    for (int i = 0; !bad && i < code->co_argcount; i++)
        PyTuple_SET_ITEM(defaults, i, Py_NewRef(Py_None));
    for (int i = 0; !bad && i < code->co_kwonlyargcount; i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, code->co_argcount + i);
        bad = PyDict_SetItem(named, name, Py_None) < 0;
    }
    if (bad || PyFunction_SetDefaults(bare, defaults) < 0 ||
        PyFunction_SetKwDefaults(bare, named) < 0 ||
        (function->func_closure && PyFunction_SetClosure(bare, function->func_closure) < 0))
        Py_CLEAR(bare);
    Py_XDECREF(defaults);
    Py_XDECREF(named);
    return bare;
}

PyObject *c_generator_make(PyFunctionObject *function)
{
    PyObject *bare = bare_function(function);
    PyObject *gen = bare != NULL ? PyObject_CallNoArgs(bare) : NULL;
    Py_XDECREF(bare);
    return gen;
}

static int small_nonnegative(PyObject *value)
{
    long number = PyLong_Check(value) ? PyLong_AsLong(value) : -1;
    if (number == -1)
        PyErr_Clear();
    return (int)number;
}

static void set_generator_fields(PyGenObject *gen, PyObject *const *item, int state)
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

/* A generator without a frame has ended, or runs in a tasklet whose snapshot contains the frame. */
static const char *build_without_frame(PyObject *object, int where)
{
    PyGenObject *gen = (PyGenObject *)object;
    if (where < FRAME_EXECUTING || gen->gi_frame_state != FRAME_CREATED)
        return "a generator that has not ended must have a frame";
    if (where >= FRAME_COMPLETED)
        end_new_generator(gen);
    return NULL;
}

static const char *build_with_frame(PyObject *object, PyObject *tuple, int where)
{
    c_frame_snapshot snapshot;
    const char *wrong = c_frame_snapshot_parse(tuple, &snapshot);
    if (wrong == NULL && (where >= FRAME_EXECUTING || where < FRAME_CREATED))
        wrong = "the state of a generator is unknown";
    if (wrong == NULL)
        wrong = c_frame_snapshot_check(&snapshot);
    if (wrong == NULL)
        wrong = c_location_check_generator(&snapshot, where);
    if (wrong == NULL)
        wrong = c_generator_check(object, &snapshot);
    if (wrong == NULL)
        c_generator_put(object, &snapshot, where);
    return wrong;
}

const char *c_generator_build(PyObject *object, PyObject *tuple)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) != 7)
        return "expected a tuple of 7 values for a generator";
    PyObject **item = ((PyTupleObject *)tuple)->ob_item;
    int state = small_nonnegative(item[6]), where = (int8_t)(state & 0xFF);
    if (state < 0 || !(item[5] == Py_None || PyExceptionInstance_Check(item[5])))
        return "the state of a generator is unknown";
    const char *wrong = item[4] == Py_None ? build_without_frame(object, where)
                                           : build_with_frame(object, item[4], where);
    if (wrong == NULL)
        set_generator_fields((PyGenObject *)object, item, state);
    return wrong;
}

PyObject *c_generator_finalizer(PyObject *gen)
{
    return ((PyGenObject *)gen)->gi_origin_or_finalizer;
}

void c_generator_set_finalizer(PyObject *gen, PyObject *finalizer)
{
    Py_XSETREF(((PyGenObject *)gen)->gi_origin_or_finalizer, Py_NewRef(finalizer));
}

/* ---- the steps of asynchronous generators ------------------------------------------------ */

/* The generator's hooks are its own business: they are not called for that. */
PyObject *c_generator_step_make(PyObject *gen, PyObject *method, PyObject *args, int state)
{
    PyGenObject *agen = (PyGenObject *)gen;
    PyObject *bound = PyObject_GetAttr(gen, method);
    int inited = agen->gi_hooks_inited;
    agen->gi_hooks_inited = 1;
    PyObject *step = bound != NULL ? PyObject_CallObject(bound, args) : NULL;
    agen->gi_hooks_inited = inited;
    Py_XDECREF(bound);
    int *at = step != NULL ? c_step_state(step) : NULL;
    if (at != NULL && state >= 0 && state <= C_STEP_ENDED) {
        *at = state;
        return step;
    }
    if (step != NULL)
        PyErr_SetString(PyExc_TypeError, "not a step of an asynchronous generator");
    Py_XDECREF(step);
    return NULL;
}
