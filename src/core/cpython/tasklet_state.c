/* What belongs to a tasklet, not to its thread: saving and loading it.
 *
 * A switch saves and loads the fields below and nothing else of PyThreadState; README.md says what
 * they mean on each version.  The handled exception is not copied: exc_info points at an item
 * inside the tasklet.  The context pointer moves with its reference, and the version is bumped only
 * when the context differs, because a bump empties the cache of every context variable.
 *
 * What each switch calls is declared inline, so that it becomes a part of it (LTO).
 *
 * No exception may be set when a state is saved: the functions that suspend are called without one,
 * and raise one only after they have been resumed.
 */
#include "cpython/layout.h"
#include "cpython/save_state.h"

#define EXC_ROOT(state) ((_PyErr_StackItem *)&(state)->exc_root)

static const char *const why_names[C_HARD_REASON_COUNT] = {
    [C_SOFT] = "soft",
    [C_NEVER] = "no soft switching on this interpreter",
    [C_MAIN] = "main tasklet",
    [C_FROM_C] = "from C",
    [C_NO_FRAME] = "no frame",
    [C_OPCODE] = "instruction",
    [C_OPERANDS] = "operands",
    [C_UNKNOWN_DEPTH] = "unknown depth",
    [C_NESTED] = "C between",
    [C_CRITICAL_SECTION] = "critical section",
    [C_DEALLOC] = "dealloc",
    [C_EVENT_LOOP] = "asyncio",
    [C_FIXED_STACK] = "fixed stack",
    [C_COPIED_OPERANDS] = "copied operands",
    [C_PREEMPTED] = "preempted",
};

const char *c_hard_reason(int why)
{
    return why_names[why];
}

PyThreadState *c_thread_state(void)
{
    return PyThreadState_Get();
}

static void chunk_init(c_state *state, void *memory, size_t size)
{
    _PyStackChunk *chunk = memory;
    chunk->previous = NULL;
    chunk->size = size;
    chunk->top = 0;
    state->root = state->chunk = chunk;
    /* The first slot stays unused, so that no frame begins where the interpreter would take the
     * chunk for empty and free it. */
    state->top = &chunk->data[1];
    state->limit = (char *)chunk + size;
}

void c_state_init(PyThreadState *ts, c_state *state, void *chunk, size_t size)
{
    memset(state, 0, sizeof(*state));
    chunk_init(state, chunk, size);
    state->exc_info = &state->exc_root;
    state->py_left = thread_py_budget(ts);
}

void c_state_init_empty(PyThreadState *ts, c_state *state)
{
    memset(state, 0, sizeof(*state));
    state->exc_info = &state->exc_root;
    state->py_left = thread_py_budget(ts);
}

void c_state_never_soft(c_state *state)
{
    state->rest = C_BELOW;
}

void c_state_save(PyThreadState *ts, c_state *state)
{
    save_common(ts, state, thread_frame(ts));
    thread_save_cframe(ts, state);
}

B_INLINE void c_state_load(PyThreadState *ts, const c_state *state)
{
    thread_load_frame(ts, state);
    ts->datastack_chunk = state->chunk;
    ts->datastack_top = state->top;
    ts->datastack_limit = state->limit;
    ts->exc_info = state->exc_info;
    thread_set_py_left(ts, state->py_left);
    if (ts->context != state->context) {
        ts->context = state->context;
        ts->context_ver++;
    }
}

void c_state_copy_position(c_state *to, const c_state *from)
{
    c_state kept = *to;
    *to = *from;
    to->root = kept.root;
    to->exc_root = kept.exc_root;
}

void c_state_prefetch(const c_state *state)
{
    const char *frame = (const char *)state->frame;
    B_PREFETCH(state->chunk);
    B_PREFETCH(frame);
    B_PREFETCH(frame + B_CACHE_LINE);
}

void c_state_clear(c_state *state)
{
    state->frame = state->rest = NULL;
    state->root = state->chunk = NULL;
    Py_CLEAR(state->exc_root.value);
    Py_CLEAR(state->context);
}

int c_state_grew(const c_state *state)
{
    return state->chunk != state->root;
}

int c_context_copy(PyThreadState *ts, PyObject **copy)
{
    PyObject *context = ts->context;
    *copy = NULL;
    if (context == NULL || context_size(context) == 0)
        return 0;
    *copy = PyContext_CopyCurrent();
    return *copy != NULL ? 0 : -1;
}

PyObject *c_context(PyThreadState *ts)
{
    if (ts->context == NULL) {
        ts->context = PyContext_New();
        ts->context_ver++;
    }
    return ts->context;
}

void c_context_swap(PyThreadState *ts, PyObject **context)
{
    PyObject *running = ts->context;
    ts->context = *context;
    ts->context_ver++;
    *context = running;
}

static PyFunctionObject *plain_function(PyObject *callable)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return PyFunction_Check(callable) ? (PyFunctionObject *)callable : NULL;
}

int c_makes_coroutine(PyObject *callable)
{
    PyFunctionObject *function = plain_function(callable);
    return function != NULL && ((PyCodeObject *)function->func_code)->co_flags &
                                   (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE);
}

const void *c_code_key(PyObject *callable)
{
    PyFunctionObject *function = plain_function(callable);
    return function ? function->func_code : NULL;
}

PyObject *c_function_name(PyObject *callable)
{
    PyFunctionObject *function = plain_function(callable);
    return function ? function->func_qualname : NULL;
}

size_t c_chunk_size_for(PyObject *callable)
{
    PyFunctionObject *function = plain_function(callable);
    int words = function ? code_frame_words((PyCodeObject *)function->func_code) : 16;
    size_t header = offsetof(_PyStackChunk, data) + sizeof(PyObject *);
    return header + (size_t)words * sizeof(PyObject *);
}

void c_stack_limits_init(PyThreadState *ts, p_stack *stack)
{
    stack_limits_init(ts, stack);
}

void c_stack_limits_of_thread(PyThreadState *ts, p_stack *stack)
{
    stack_limits_own(ts, stack);
}

void c_stack_limits_use(PyThreadState *ts, const p_stack *stack)
{
    stack_limits_use(ts, stack);
}

void c_stack_base_init(PyThreadState *ts, void **cell)
{
    stack_base_init(ts, cell);
}

void c_stack_base_enter(PyThreadState *ts, void **cell)
{
    stack_base_enter(ts, cell);
}

void c_hard_suspend(PyThreadState *ts, c_state *state, c_hard_state *kept, int top)
{
    c_state_save(ts, state);
    thread_nesting_save(ts, kept);
    kept->c_left = thread_c_left(ts);
    kept->top = !C_FRAME_KNOWS_DEPTH && top >= 0 && state->frame != NULL;
    if (kept->top)
        frame_set_top(state->frame, top);
}

B_INLINE void c_hard_resume(PyThreadState *ts, c_state *state, c_hard_state *kept)
{
    thread_nesting_restore(ts, kept);
    thread_set_c_left(ts, kept->c_left);
    if (state->finalizers_suppressed)
        c_state_allow_finalizers(state);
    if (kept->top)
        frame_set_top(state->frame, -1);
}

size_t c_chunk_size(const c_state *state)
{
    return ((_PyStackChunk *)state->root)->size;
}

int c_chunk_nearly_full(PyThreadState *ts, const c_state *state)
{
    return ts->datastack_chunk != state->root ||
           (char *)ts->datastack_limit - (char *)ts->datastack_top < 256;
}
