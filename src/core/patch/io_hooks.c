/* Plain threads that come back from the standard library's I/O go before threads that compute.
 *
 * A thread that waits in `socket` or `select` detaches before the system call and attaches again
 * after it.  There is no hook for that, but both are calls of functions that the loader has bound,
 * and for one library at a time they can be bound to ours (plat/library_import_elf.c):
 *
 * - An extension module imports PyEval_SaveThread() and PyEval_RestoreThread().  It gets
 *   c_io_leave() and c_io_return() (cpython/gil.c).
 * - A module that is part of the interpreter calls these two without an import.  But the
 *   interpreter imports the system calls from the C library, and attaches right after them.  So
 *   around these (plat/library_calls_elf.c) a thread that has detached asks for the GIL, and then
 *   waits until it is free or a time is over.  A thread that has not detached does nothing more.
 *
 * Invariants.  Each function calls the one whose place it takes, as the loader has bound it for
 * us.  Undone, each word holds the address of that function again.
 *
 * Threads.  Attached, under a lock of the caller's (the GIL); calls that run meanwhile are old or
 * new ones.  The library is never unloaded: neither CPython nor we are.
 *
 * Rejected: replacing the methods of sockets (they cannot reach the moment between the system call
 * and the GIL); a lower switch interval for the whole process (all threads pay for it).
 */
#include "patch/io_hooks.h"

#include <stdint.h>

#include "cpython/gil.h"

typedef struct {
    const char *name;
    void *original, *hook;
} io_function;

#define ADDRESS(function) ((void *)(uintptr_t)(function))

/* The state of a thread that has detached, or NULL. */
static void *detached_thread(void)
{
    PyThreadState *ts = PyGILState_GetThisThreadState();
    return ts != NULL && c_io_left(ts) ? ts : NULL;
}

static void return_first(void *ts)
{
    c_io_returning(ts);
}

static const io_function attaching[] = {
    {"PyEval_SaveThread", ADDRESS(PyEval_SaveThread), ADDRESS(c_io_leave)},
    {"PyEval_RestoreThread", ADDRESS(PyEval_RestoreThread), ADDRESS(c_io_return)},
};

int patch_io_hooks(const void *inside, int on)
{
    int changed = 0;
    for (int i = 0; c_has_gil && i < 2; i++)
        changed += p_library_replace_import(inside, attaching[i].name,
                                            on ? attaching[i].hook : attaching[i].original);
    return changed;
}

int patch_io_hooks_builtin(int on)
{
    if (!c_has_gil)
        return 0;
    return p_library_surround_calls(Py_None, on ? detached_thread : NULL, return_first);
}
