/* Proof at import that the running interpreter has the layout that we were built for.
 *
 * Micro releases append and move fields, and a distributor may patch headers, so a module built
 * against one 3.13 can meet another.  Each field that switching touches is therefore compared with
 * what the public API reports, either as it stands or after a public call that must change it.  A
 * mismatch is an ImportError that names the field: nothing has been switched yet, so nothing can
 * have gone wrong.
 *
 * The rules of soft switching themselves are tried afterwards in Python (loomlet/_selftest.py):
 * each form of call, with reference counts; a failure there turns soft switching off.
 */
#include "cpython/layout.h"

static const char *check_version(PyThreadState *ts)
{
    (void)ts;
    if (Py_Version >> 16 != PY_VERSION_HEX >> 16)
        return "minor version";
    return (PyImport_GetMagicNumber() & 0xFFFF) == LOOMLET_BYTECODE_MAGIC ? NULL
                                                                          : "bytecode format";
}

static const char *check_identity(PyThreadState *ts)
{
    if (PyThreadState_GetInterpreter(ts) != ts->interp)
        return "PyThreadState.interp";
    if (PyThreadState_GetID(ts) != ts->id)
        return "PyThreadState.id";
    return PyThreadState_GetDict() == ts->dict ? NULL : "PyThreadState.dict";
}

static const char *check_recursion(PyThreadState *ts)
{
    int limit = Py_GetRecursionLimit(), left = thread_py_left(ts);
    if (thread_py_limit(ts) != limit)
        return "PyThreadState.py_recursion_limit";
    if (left <= 0 || left > limit)
        return "PyThreadState.py_recursion_remaining";
#ifdef C_STACK_PER_COUNT
    int before = thread_c_left(ts);
    if (Py_EnterRecursiveCall(" in loomlet's self-test"))
        return "C recursion";
    int inside = thread_c_left(ts);
    Py_LeaveRecursiveCall();
    if (inside != before - 1 || thread_c_left(ts) != before)
        return "PyThreadState.c_recursion_remaining";
#endif
    return NULL;
}

static const char *check_exceptions(PyThreadState *ts)
{
    PyObject *before = PyErr_GetHandledException();
    PyObject *probe = PyObject_CallNoArgs(PyExc_Exception);
    if (probe == NULL)
        return "memory";
    PyErr_SetHandledException(probe);
    int same = ts->exc_info != NULL && ts->exc_info->exc_value == probe;
    PyErr_SetHandledException(before);
    Py_DECREF(probe);
    Py_XDECREF(before);
    return same ? NULL : "PyThreadState.exc_info";
}

static const char *check_context(PyThreadState *ts)
{
    PyObject *probe = PyContext_New();
    if (probe == NULL || PyContext_Enter(probe) < 0)
        return "memory";
    uint64_t version = ts->context_ver;
    int same = ts->context == probe && context_size(probe) == 0;
    PyContext_Exit(probe);
    int moved = ts->context != probe && ts->context_ver != version;
    Py_DECREF(probe);
    return same && moved ? NULL : "PyThreadState.context";
}

static const char *check_tracing(PyThreadState *ts)
{
    int before = ts->tracing;
    PyThreadState_EnterTracing(ts);
    int inside = ts->tracing;
    PyThreadState_LeaveTracing(ts);
    return inside == before + 1 && ts->tracing == before ? NULL : "PyThreadState.tracing";
}

static int chunk_contains(const _PyStackChunk *chunk, const void *at)
{
    const char *low = (const char *)chunk;
    return (const char *)at > low && (const char *)at < low + chunk->size;
}

static const char *check_data_stack(PyThreadState *ts, const c_frame *f)
{
    const _PyStackChunk *chunk = ts->datastack_chunk;
    if (chunk == NULL)
        return f == NULL ? NULL : "PyThreadState.datastack_chunk";
    if ((char *)ts->datastack_limit != (char *)chunk + chunk->size ||
        (char *)ts->datastack_top <= (char *)chunk || ts->datastack_top > ts->datastack_limit)
        return "PyThreadState.datastack_top";
    while (f != NULL && f->owner != FRAME_OWNED_BY_THREAD)
        f = f->previous;
    while (f != NULL && chunk != NULL && !chunk_contains(chunk, f))
        chunk = chunk->previous;
    return f == NULL || chunk != NULL ? NULL : "frames on the data stack";
}

static const char *compare_frame(const c_frame *f, PyFrameObject *object)
{
    PyCodeObject *code = PyFrame_GetCode(object);
    int offset = (int)((const char *)frame_ip(f) - (const char *)_PyCode_CODE(code));
    const char *wrong = NULL;
    if (f->frame_obj != object)
        wrong = "_PyInterpreterFrame.frame_obj";
    else if (frame_code(f) != code)
        wrong = "_PyInterpreterFrame.f_executable";
    else if (PyFrame_GetLasti(object) != offset)
        wrong = "_PyInterpreterFrame.instr_ptr";
    Py_DECREF((PyObject *)code);
    return wrong;
}

static const char *check_frame(PyThreadState *ts)
{
    PyFrameObject *object = PyThreadState_GetFrame(ts);
    const c_frame *f = thread_frame(ts);
    if (object == NULL)
        return NULL;
    if (f == NULL)
        return "PyThreadState.current_frame";
    const char *wrong = compare_frame(f, object);
    Py_DECREF((PyObject *)object);
    return wrong ? wrong : check_data_stack(ts, f);
}

static const char *(*const checks[])(PyThreadState *) = {
    check_version, check_identity, check_recursion, check_exceptions,
    check_context, check_tracing,  check_frame,
};

int c_check_layout(void)
{
    PyThreadState *ts = c_thread_state();
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        const char *wrong = checks[i](ts);
        if (wrong == NULL)
            continue;
        PyErr_Clear();
        PyErr_Format(PyExc_ImportError,
                     "loomlet was built for CPython %s, and the running %s has another layout: %s "
                     "differs; rebuild loomlet with this interpreter (pip install --no-binary "
                     "loomlet --force-reinstall loomlet)",
                     PY_VERSION, Py_GetVersion(), wrong);
        return -1;
    }
    return 0;
}
