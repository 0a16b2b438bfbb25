/* The interpreter around us: its threads, its end, and whether it supports us. */
#include "cpython/layout.h"

#include "cpython/carried_thread.h"

int c_soft_supported =
#ifdef C_HAS_SOFT
    1;
#else
    0;
#endif

int c_fail_allocation_in;

#ifdef Py_GIL_DISABLED
/* As the interpreter does it: without detaching, because nobody who has this lock detaches, and
 * nobody gets it while detached. */
static void lock_thread_list(void)
{
    uint8_t *bits = &_PyRuntime.interpreters.mutex._bits, seen;
    do {
        while ((seen = __atomic_load_n(bits, __ATOMIC_RELAXED)) & _Py_LOCKED)
            p_yield();
    } while (!__atomic_compare_exchange_n(bits, &seen, (uint8_t)(seen | _Py_LOCKED), 0,
                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

static void unlock_thread_list(void)
{
    PyMutex_Unlock(&_PyRuntime.interpreters.mutex);
}
#else
static void lock_thread_list(void)
{
}

static void unlock_thread_list(void)
{
}
#endif

int c_each_other_thread(PyThreadState *ts, int (*each)(PyThreadState *other, void *arg), void *arg)
{
    PyInterpreterState *interp = PyThreadState_GetInterpreter(ts);
    int found = 0;
    lock_thread_list();
    PyThreadState *other = PyInterpreterState_ThreadHead(interp);
    for (; other != NULL && !found; other = PyThreadState_Next(other))
        found = other != ts && each(other, arg);
    unlock_thread_list();
    return found;
}

#ifdef Py_GIL_DISABLED
typedef struct {
    void (*work)(void *arg);
    void *arg;
    int done;
} stopped_work;

static int run_at_first_object(PyObject *unused, void *arg)
{
    stopped_work *stopped = arg;
    (void)unused;
    if (!stopped->done)
        stopped->work(stopped->arg);
    stopped->done = 1;
    return 0;
}

/* The only public function that stops the world visits all objects; the work is done at the
 * first. */
void c_while_world_stopped(void (*work)(void *arg), void *arg)
{
    stopped_work stopped = {work, arg, 0};
    c_lock_waits_++;
    PyUnstable_GC_VisitObjects(run_at_first_object, &stopped);
    c_lock_waits_--;
}
#else
void c_while_world_stopped(void (*work)(void *arg), void *arg)
{
    work(arg);
}
#endif

int c_check_interpreter(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return 0;
    PyErr_SetString(PyExc_ImportError, "loomlet works in the main interpreter only, and this is a "
                                       "sub-interpreter: import it in the main interpreter");
    return -1;
}

unsigned long c_main_thread_id(void)
{
    return _PyRuntime.main_thread;
}

unsigned long c_thread_ident(const PyThreadState *ts)
{
    return ts->thread_id;
}

unsigned long c_thread_native_id(const PyThreadState *ts)
{
    return ts->native_thread_id;
}

void c_main_thread_set(unsigned long id)
{
    _PyRuntime.main_thread = id;
}

int c_on_main_thread(void)
{
    return PyThread_get_thread_ident() == c_main_thread_id();
}

static int new_threads_coming; /* atomic */
static int new_threads_ended;  /* atomic */

int c_new_threads_ended(void)
{
    return __atomic_load_n(&new_threads_ended, __ATOMIC_SEQ_CST);
}

PyThreadState *c_thread_state_new(void)
{
    PyThreadState *ts = NULL;
    __atomic_fetch_add(&new_threads_coming, 1, __ATOMIC_SEQ_CST);
    if (!c_new_threads_ended() && !c_out_of_memory())
        ts = PyThreadState_New(PyInterpreterState_Main());
    __atomic_fetch_sub(&new_threads_coming, 1, __ATOMIC_SEQ_CST);
    return ts;
}

void c_new_threads_end(void)
{
    PyThreadState *ts = PyEval_SaveThread(); /* making one may need the GIL */
    __atomic_store_n(&new_threads_ended, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&new_threads_coming, __ATOMIC_SEQ_CST) > 0)
        p_yield();
    PyEval_RestoreThread(ts);
}

void c_new_threads_after_fork(void)
{
    __atomic_store_n(&new_threads_coming, 0, __ATOMIC_SEQ_CST);
}

void c_thread_state_end(PyThreadState *ts)
{
    PyThreadState_Clear(ts);
    PyThreadState_DeleteCurrent();
}

void c_report_thread_exception(PyObject *function)
{
    write_thread_exception(function);
}

int c_is_finalizing(void)
{
    return Py_IsFinalizing();
}

int c_signal_waits(PyThreadState *ts)
{
    return c_on_main_thread() && signal_has_mark(ts);
}

int c_signal_waits_for(PyThreadState *ts)
{
    return signal_has_mark(ts);
}

void c_signal_look(PyThreadState *ts)
{
#ifdef Py_GIL_DISABLED
    _Py_set_eval_breaker_bit(ts, _PY_SIGNALS_PENDING_BIT);
#else
    (void)ts;
#endif
}

int c_run_signal_handlers(PyThreadState *ts)
{
    signal_clear_mark(ts);
    return PyErr_CheckSignals();
}

#ifdef Py_GIL_DISABLED
int c_try_incref(PyObject *object)
{
    return _Py_TryIncref(object);
}

void c_allow_try_incref(PyObject *object)
{
    _PyObject_SetMaybeWeakref(object);
}

int c_decref_shared(PyObject *object)
{
    if (!_Py_IsOwnedByCurrentThread(object) || object->ob_ref_local < 2)
        return 0;
    Py_DECREF(object);
    return 1;
}
#else
int c_try_incref(PyObject *object)
{
    if (Py_REFCNT(object) == 0)
        return 0;
    Py_INCREF(object);
    return 1;
}

void c_allow_try_incref(PyObject *object)
{
    (void)object;
}

int c_decref_shared(PyObject *object)
{
    if (Py_REFCNT(object) < 2)
        return 0;
    Py_DECREF(object);
    return 1;
}
#endif

PyObject *c_list_with(PyObject *only)
{
    PyObject *list = PyList_New(0);
    if (list != NULL && PyList_Append(list, only) < 0)
        Py_CLEAR(list);
    return list;
}

/* Not by PyDict_Keys(), which makes a list of its size (rule 21). */
static int add_dict(PyObject *list, PyObject *dict, int values)
{
    PyObject *pair[2];
    Py_ssize_t at = 0;
    int code = 0;
    if (dict == NULL)
        return 0;
    C_BEGIN_CRITICAL_SECTION(dict);
    while (code == 0 && PyDict_Next(dict, &at, &pair[0], &pair[1]))
        code = PyList_Append(list, pair[values]);
    C_END_CRITICAL_SECTION();
    return code;
}

int c_list_add_keys(PyObject *list, PyObject *dict)
{
    return add_dict(list, dict, 0);
}

static PyObject *list_of_dict(PyObject *dict, int values)
{
    PyObject *list = PyList_New(0);
    if (list != NULL && add_dict(list, dict, values) < 0)
        Py_CLEAR(list);
    return list;
}

PyObject *c_list_of_keys(PyObject *dict)
{
    return list_of_dict(dict, 0);
}

PyObject *c_list_of_values(PyObject *dict)
{
    return list_of_dict(dict, 1);
}
