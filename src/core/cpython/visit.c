/* What the garbage collector and debuggers see of a suspended tasklet.
 *
 * Each frame that the tasklet owns is visited with the slots that are in use: all locals, and the
 * value stack as far as its depth is known.  Frames that belong to generators are left out, because
 * their generator visits them (visiting them twice would make the collector free live objects).
 * Visiting too little is safe, a cycle then stays; visiting too much is not.
 *
 * A generator that runs in the tasklet ends with it.  If the collector finds both and comes to the
 * generator first, it would try to close it and print that it "is already executing".  So a visit
 * marks such generators as finalized already (their finalizers are suppressed), and the marks are
 * removed when the tasklet resumes.
 */
#include "cpython/layout.h"

#include <internal/pycore_gc.h>

#define BEYOND 0xffff /* an instruction that such a number does not reach */

static int visit_frame(const c_frame *f, visitproc visit, void *arg)
{
    int locals = frame_code(f)->co_nlocalsplus, top = frame_top(f);
    int used = top > locals ? top : locals;
    for (int i = 0; i < used; i++)
        Py_VISIT(slot_owned(f->localsplus[i]));
    Py_VISIT(frame_funcobj(f));
    Py_VISIT(frame_executable(f));
    Py_VISIT(f->f_locals);
    Py_VISIT(f->frame_obj);
    return 0;
}

static void set_finalized(PyObject *object, int done)
{
#ifdef Py_GIL_DISABLED
    if (done)
        __atomic_fetch_or(&object->ob_gc_bits, (uint8_t)_PyGC_BITS_FINALIZED, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&object->ob_gc_bits, (uint8_t)~_PyGC_BITS_FINALIZED, __ATOMIC_RELAXED);
#else
    uintptr_t mask = _PyGC_PREV_MASK_FINALIZED, *bits = &_Py_AS_GC(object)->_gc_prev;
    *bits = done ? *bits | mask : *bits & ~mask;
#endif
}

int c_state_visit(c_state *state, int started, visitproc visit, void *arg)
{
    Py_VISIT(state->exc_root.value);
    Py_VISIT(state->context);
    if (!started)
        return 0;
    for (c_frame *f = state->frame; f != NULL; f = f->previous) {
        if (f->owner == FRAME_OWNED_BY_GENERATOR) {
            state->finalizers_suppressed = 1;
            set_finalized((PyObject *)frame_generator(f), 1);
        }
        if (f->owner != FRAME_OWNED_BY_THREAD)
            continue;
        int stop = visit_frame(f, visit, arg);
        if (stop)
            return stop;
    }
    return 0;
}

void c_state_allow_finalizers(c_state *state)
{
    state->finalizers_suppressed = 0;
    for (c_frame *f = state->frame; f != NULL; f = f->previous) {
        if (f->owner == FRAME_OWNED_BY_GENERATOR)
            set_finalized((PyObject *)frame_generator(f), 0);
    }
}

void c_finalize_again(PyObject *object)
{
    set_finalized(object, 0);
}

static int describe_innermost(const c_frame *f, PyObject **code, int *line)
{
    while (f != NULL && frame_is_entry(f))
        f = f->previous;
    if (f == NULL)
        return 0;
    PyCodeObject *found = frame_code(f);
    *code = Py_NewRef((PyObject *)found);
    int offset = (int)((char *)frame_ip(f) - (char *)_PyCode_CODE(found));
    *line = PyCode_Addr2Line(found, offset);
    return 1;
}

int c_suspended_location(const c_state *state, PyObject **code, int *line)
{
    return describe_innermost(state->frame, code, line);
}

int c_running_location(PyThreadState *ts, PyObject **code, int *line)
{
    return describe_innermost(thread_frame(ts), code, line);
}

PyObject *c_caller_code(PyThreadState *ts, unsigned short *at)
{
    const c_frame *f = thread_frame(ts);
    while (f != NULL && frame_is_entry(f))
        f = f->previous;
    if (f == NULL)
        return NULL;
    PyCodeObject *code = frame_code(f);
    ptrdiff_t units = frame_ip(f) - _PyCode_CODE(code);
    *at = units >= 0 && units < BEYOND ? (unsigned short)units : BEYOND;
    return Py_NewRef((PyObject *)code);
}

int c_line_at(PyObject *code, unsigned short at)
{
    PyCodeObject *co = (PyCodeObject *)code;
    if (at == BEYOND)
        return co->co_firstlineno;
    return PyCode_Addr2Line(co, at * (int)sizeof(_Py_CODEUNIT));
}

static int count_activations(const c_frame *f)
{
    int count = 0;
    for (; f != NULL; f = f->previous)
        count += frame_begins_activation(f);
    return count;
}

/* The main tasklet, which has no chunk of ours, is entered through the interpreter itself: its
 * first activation is not counted. */
int c_nesting_level(PyThreadState *ts, const c_state *state, int running)
{
    int count = count_activations(running ? thread_frame(ts) : state->frame);
    if (state->rest == C_BELOW && state->root != NULL)
        return count;
    return count > 0 ? count - 1 : 0;
}

int c_recursion_depth(PyThreadState *ts, const c_state *state, int running)
{
    int count = 0;
    for (const c_frame *f = running ? thread_frame(ts) : state->frame; f != NULL; f = f->previous)
        count += !frame_is_entry(f);
    return count;
}

/* PyThreadState_GetFrame is called with the frame as the running one; no garbage collection may run
 * meanwhile. */
PyObject *c_frame_object(PyThreadState *ts, const c_state *state)
{
    if (state->frame == NULL)
        return NULL;
    int collects = PyGC_Disable();
    c_frame *running = thread_frame(ts);
    thread_set_frame(ts, state->frame);
    PyObject *found = (PyObject *)PyThreadState_GetFrame(ts);
    thread_set_frame(ts, running);
    if (collects)
        PyGC_Enable();
    return found;
}

PyObject *c_caught_exception(PyThreadState *ts, const c_state *state)
{
    const _PyErr_StackItem *item = state->exc_info;
    (void)ts;
    while (item != NULL && (item->exc_value == NULL || item->exc_value == Py_None))
        item = item->previous_item;
    return item != NULL ? exception_as_listed(item->exc_value) : Py_NewRef(Py_None);
}
