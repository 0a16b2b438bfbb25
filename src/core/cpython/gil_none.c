/* The functions of gil.h where there is no GIL: nobody waits for one, and nobody is asked. */
#include "cpython/gil.h"

#ifdef Py_GIL_DISABLED

const int c_has_gil = 0;

int64_t c_gil_wakes(void)
{
    return 0;
}

void c_gil_wake(void (*wake)(void *what), void *what)
{
    wake(what);
}

int c_gil_is_taken(void)
{
    return 0;
}

int c_gil_waiters(void)
{
    return 0;
}

void c_gil_spin(int64_t until)
{
    (void)until;
}

PyThreadState *c_io_leave(void)
{
    return PyEval_SaveThread();
}

void c_io_return(PyThreadState *ts)
{
    PyEval_RestoreThread(ts);
}

void c_io_return_woken(PyThreadState *ts, int here, int by_thread)
{
    (void)here, (void)by_thread;
    PyEval_RestoreThread(ts);
}

int c_io_left(const PyThreadState *ts)
{
    (void)ts;
    return 0;
}

void c_io_returning(PyThreadState *ts)
{
    (void)ts;
}

void c_gil_share_set(int64_t millionths)
{
    (void)millionths;
}

int64_t c_gil_share(void)
{
    return 0;
}

void c_gil_counts_read(c_gil_counts *into)
{
    into->asked = into->deferred = into->spent = 0;
}

void c_gil_priority_end(void)
{
}

void c_gil_priority_after_fork(void)
{
}

#endif
