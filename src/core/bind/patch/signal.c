/* The functions of _signal that set handlers and a descriptor to write to, and the handler of
 * Ctrl-C.
 *
 * For threads that are tasklets:
 *
 * A handler that a program sets is put into a function of ours, which the interpreter calls; the
 * program never sees that one.  The handler that raises KeyboardInterrupt is replaced in its
 * definition.  What they do is in patch/signal.c.  Handlers that were set before stay as they are.
 * signal() and set_wakeup_fd() fail in such a thread as in any but the first: by that libraries
 * find out where they are, and leave signals to the first thread.
 *
 * For schedulers that are handed over: both work in the first thread only, so while its scheduler
 * is in another one, the interpreter takes that one for the first, for the one call.
 */
#include "bind/patch/patch.h"
#include "cpython/replace.h"
#include "patch/thread.h"
#include "sched/carrier.h"

static PyCFunction interrupt_original, set_original, get_original, set_at_home, wakeup_original;

/* default_int_handler(number, frame) */
static PyObject *signal_interrupt(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *error = patch_thread() ? PyObject_CallNoArgs(PyExc_KeyboardInterrupt) : NULL;
    int taken = error != NULL && patch_signal_raise(error);
    PyErr_Clear();
    Py_XDECREF(error);
    if (taken)
        Py_RETURN_NONE;
    return ((patch_fast_call)(void (*)(void))interrupt_original)(module, args, nargs);
}

/* Called by the interpreter with (number, frame). */
static PyObject *signal_handle(PyObject *handler, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs == 2 && patch_thread() != NULL && patch_signal_leave(handler, args[0]))
        Py_RETURN_NONE;
    PyObject *done = PyObject_Vectorcall(handler, args, (size_t)nargs, NULL);
    if (done != NULL || patch_thread() == NULL)
        return done;
    PyObject *error = PyErr_GetRaisedException();
    if (!patch_signal_raise(error)) {
        PyErr_SetRaisedException(error);
        return NULL;
    }
    Py_DECREF(error);
    Py_RETURN_NONE;
}

static PyMethodDef handle_definition = {"handler", BIND_FN(signal_handle), METH_FASTCALL, NULL};

static int is_our_function(PyObject *handler, PyMethodDef *definition)
{
    return PyCFunction_Check(handler) && PyCFunction_GET_FUNCTION(handler) == definition->ml_meth;
}

/* What the program has set: takes over the reference, which may be NULL. */
static PyObject *without_ours(PyObject *handler)
{
    if (handler != NULL && is_our_function(handler, &handle_definition))
        Py_SETREF(handler, Py_NewRef(PyCFunction_GET_SELF(handler)));
    return handler;
}

/* Whether the calling thread is a tasklet, and so not the first one: 0, or -1 with the exception
 * that the interpreter has for other threads. */
static int check_first_thread(const char *name)
{
    if (patch_thread() == NULL)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s only works in main thread of the main interpreter", name);
    return -1;
}

/* signal(number, handler) */
static PyObject *signal_set(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    patch_fast_call original = (patch_fast_call)(void (*)(void))set_original;
    if (nargs == 2 && check_first_thread("signal") < 0)
        return NULL;
    if (nargs != 2 || !PyCallable_Check(args[1]) ||
        (PyCFunction_Check(args[1]) &&
         PyCFunction_GET_FUNCTION(args[1]) == BIND_FN(signal_interrupt)))
        return without_ours(original(module, args, nargs));
    PyObject *ours = PyCFunction_New(&handle_definition, args[1]);
    PyObject *both[] = {args[0], ours};
    PyObject *before = ours != NULL ? original(module, both, 2) : NULL;
    Py_XDECREF(ours);
    return without_ours(before);
}

/* getsignal(number) */
static PyObject *signal_get(PyObject *module, PyObject *number)
{
    return without_ours(get_original(module, number));
}

/* While the scheduler of the first thread runs in another thread, the interpreter takes that thread
 * for the first one. */
typedef struct {
    const s_sched *moved; /* that scheduler; or NULL: it was where it belongs */
    int process;          /* in which it was moved */
} main_thread_move;

static main_thread_move move_main_thread_here(void)
{
    main_thread_move move = {NULL, p_process_id()};
    const s_sched *s = s_self_if_any();
    if (s != NULL && s->away && s->thread_id == c_main_thread_id()) {
        move.moved = s;
        c_main_thread_set(PyThread_get_thread_ident());
    }
    return move;
}

/* Not in a process that has been forked meanwhile, by a handler. */
static void move_main_thread_home(main_thread_move move)
{
    const s_sched *s = move.moved;
    if (s == NULL || move.process != p_process_id())
        return;
    c_main_thread_set(s->thread_id);
    c_signal_look(s->carriers->home->ts); /* it may have looked meanwhile, and not known itself */
}

/* signal(number, handler), wherever the scheduler of the first thread is. */
static PyObject *signal_set_anywhere(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    main_thread_move move = move_main_thread_here();
    PyObject *before = ((patch_fast_call)(void (*)(void))set_at_home)(module, args, nargs);
    move_main_thread_home(move);
    return before;
}

/* set_wakeup_fd(fd, *, warn_on_full_buffer=True), likewise (3.13 on). */
static PyObject *wakeup_set_anywhere(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames)
{
    patch_keyword_call original = (patch_keyword_call)(void (*)(void))wakeup_original;
    if (check_first_thread("set_wakeup_fd") < 0)
        return NULL;
    main_thread_move move = move_main_thread_here();
    PyObject *before = original(module, args, nargs, kwnames);
    move_main_thread_home(move);
    return before;
}

/* The same before 3.13. */
static PyObject *wakeup_set_by_tuple(PyObject *module, PyObject *args, PyObject *kwargs)
{
    PyCFunctionWithKeywords original = (PyCFunctionWithKeywords)(void (*)(void))wakeup_original;
    if (check_first_thread("set_wakeup_fd") < 0)
        return NULL;
    main_thread_move move = move_main_thread_here();
    PyObject *before = original(module, args, kwargs);
    move_main_thread_home(move);
    return before;
}

/* Once, for threads that are tasklets and for schedulers that are handed over. */
static void replace_wakeup(PyObject *module)
{
    PyObject *function =
        wakeup_original == NULL ? PyObject_GetAttrString(module, "set_wakeup_fd") : NULL;
    PyErr_Clear();
    if (function == NULL)
        return;
    int flags = PyCFunction_Check(function) ? PyCFunction_GET_FLAGS(function) : 0;
    if (flags & METH_FASTCALL)
        bind_replace_call(module, "set_wakeup_fd", METH_FASTCALL | METH_KEYWORDS,
                          BIND_FN(wakeup_set_anywhere), &wakeup_original);
    else
        bind_replace_call(module, "set_wakeup_fd", METH_VARARGS | METH_KEYWORDS,
                          BIND_FN(wakeup_set_by_tuple), &wakeup_original);
    Py_DECREF(function);
}

void bind_keep_signals(void)
{
    PyObject *module = set_at_home == NULL ? PyImport_ImportModule("_signal") : NULL;
    if (module != NULL) {
        bind_replace_call(module, "signal", METH_FASTCALL, BIND_FN(signal_set_anywhere),
                          &set_at_home);
        replace_wakeup(module);
    }
    PyErr_Clear();
    Py_XDECREF(module);
}

void bind_patch_signals(void)
{
    PyObject *module = set_original == NULL ? PyImport_ImportModule("_signal") : NULL;
    if (module == NULL) {
        PyErr_Clear();
        return;
    }
    patch_signals_init();
    bind_replace_call(module, "default_int_handler", METH_FASTCALL, BIND_FN(signal_interrupt),
                      &interrupt_original);
    bind_replace_call(module, "getsignal", METH_O, signal_get, &get_original);
    bind_replace_call(module, "signal", METH_FASTCALL, BIND_FN(signal_set), &set_original);
    replace_wakeup(module);
    Py_DECREF(module);
}
