/* The steps of asynchronous generators.
 *
 * Each runs the generator until that awaits something or yields.  What it awaits is returned as it
 * is; what it yields comes in a wrapper, and is the result of the step: send() raises StopIteration
 * with it, as it does in a coroutine that returns.  CPython does not export the types, so they are
 * known by their names, and the state is the last of three fields: generator, value, state.
 *
 * The C code of send() owns nothing while the generator runs.  What it does afterwards is done here
 * when it was given up (splice.c).
 *
 * What __await__() of a coroutine returns is like a step of it.
 */
#include "cpython/async_step.h"

enum { GENERATOR, VALUE, STATE, FIELDS };

static int is_named(const PyObject *object, const char *type)
{
    return strcmp(Py_TYPE(object)->tp_name, type) == 0;
}

static void **field_of(PyObject *step, int which)
{
    return (void **)((char *)step + sizeof(PyObject)) + which;
}

int *c_step_state(PyObject *step)
{
    if ((!is_named(step, "async_generator_asend") && !is_named(step, "async_generator_athrow")) ||
        Py_TYPE(step)->tp_basicsize != (Py_ssize_t)(sizeof(PyObject) + FIELDS * sizeof(void *)))
        return NULL;
    return (int *)field_of(step, STATE);
}

int c_step_is_running(PyObject *step, const PyGenObject *gen)
{
    if (PyCoro_CheckExact(gen))
        return is_named(step, "coroutine_wrapper") && *field_of(step, GENERATOR) == gen;
    const int *state = PyAsyncGen_CheckExact(gen) ? c_step_state(step) : NULL;
    return state != NULL && *state == C_STEP_RUNS && gen->gi_running_async &&
           *field_of(step, GENERATOR) == gen;
}

static PyObject *stop_with(PyObject *value)
{
    if (value == Py_None)
        PyErr_SetNone(PyExc_StopIteration);
    else
        _PyGen_SetStopIterationValue(value);
    return NULL;
}

/* What a wrapper of a yielded value holds: borrowed; NULL: it is none. */
static PyObject *yielded_value(PyObject *result)
{
    return is_named(result, "async_generator_wrapped_value") ? *field_of(result, 0) : NULL;
}

/* The generator has yielded, although it was told to close. */
static PyObject *refuse_yield(void)
{
    PyErr_SetString(PyExc_RuntimeError, "async generator ignored GeneratorExit");
    return NULL;
}

/* The generator has raised, perhaps that it is over. */
static PyObject *end_with_exception(PyGenObject *gen, int closes)
{
    if (!PyErr_ExceptionMatches(PyExc_StopAsyncIteration) &&
        !PyErr_ExceptionMatches(PyExc_GeneratorExit))
        return NULL;
    gen->gi_closed = 1;
    if (closes) {
        PyErr_Clear();
        PyErr_SetNone(PyExc_StopIteration);
    }
    return NULL;
}

static PyObject *end_of_coroutine(PyObject *result)
{
    if (result != NULL) {
        stop_with(result);
        Py_DECREF(result);
    }
    return NULL;
}

PyObject *c_step_end(PyObject *step, PyObject *result, int yielded)
{
    PyGenObject *gen = *field_of(step, GENERATOR);
    int *state = c_step_state(step);
    if (state == NULL)
        return yielded ? result : end_of_coroutine(result);
    PyObject *value = yielded ? yielded_value(result) : NULL;
    if (yielded && value == NULL)
        return result;
    int closes = is_named(step, "async_generator_athrow") && *field_of(step, VALUE) == NULL;
    gen->gi_running_async = 0;
    *state = C_STEP_ENDED;
    if (result != NULL && !yielded)
        PyErr_SetNone(PyExc_StopAsyncIteration);
    if (value == NULL)
        end_with_exception(gen, closes);
    else if (closes)
        refuse_yield();
    else
        stop_with(value);
    Py_XDECREF(result);
    return NULL;
}
