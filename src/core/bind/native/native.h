/* The native API: its types, and what other sub-rooms share with it. */
#ifndef LOOMLET_BIND_NATIVE_H
#define LOOMLET_BIND_NATIVE_H

#include "bind/bind.h"
#include "chan/chan.h"

extern PyTypeObject bind_tasklet_type, bind_channel_type, bind_lock_type, bind_timer_type;
extern PyTypeObject bind_fiber_type, bind_nopreempt_type, bind_scope_type, bind_timeout_type,
    bind_group_type;
extern PyTypeObject bind_pinned_type, bind_event_type, bind_semaphore_type, bind_condition_type;
extern PyTypeObject bind_rlock_type, bind_queue_type, bind_rwlock_type, bind_lock_side_type;
extern const c_with_methods bind_lock_with, bind_semaphore_with, bind_condition_with,
    bind_pinned_with, bind_lock_side_with;

#define bind_is_tasklet(o) PyObject_TypeCheck((o), &bind_tasklet_type)
#define bind_is_lock(o) PyObject_TypeCheck((o), &bind_lock_type) /* or an RLock */
#define bind_is_channel(o) PyObject_TypeCheck((o), &bind_channel_type)

extern PyMethodDef bind_native_functions[], bind_inspect_functions[], bind_blocking_functions[];
extern PyMethodDef bind_preempt_functions[], bind_fiber_functions[], bind_heap_functions[];
extern PyMethodDef bind_gil_functions[], bind_gate_functions[];

/* ---- functions.c --------------------------------------------------------------------- */

/* spawn(), also behind Group.spawn(). */
PyObject *bind_spawn(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* A new tasklet for the scheduler of another thread: see s_new_for. */
PyObject *bind_new_for(s_sched *to, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* ---- select.c ----------------------------------------------------------------------- */

PyObject *bind_select(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* ---- channel.c ---------------------------------------------------------------------- */

/* `preference` of both APIs: any int, its sign counts; `refusal` is the text of the TypeError. */
PyObject *bind_get_preference(PyObject *self, void *unused);
int bind_set_preference(PyObject *self, PyObject *value, void *refusal);

/* receive() and iteration of both APIs, each with its own `receive` and `fail`. */
static inline PyObject *bind_receive_with(PyObject *self, const c_call_site *site,
                                          PyObject *(*receive)(s_sched *s, n_channel *ch,
                                                               const c_call_site *site, int *code),
                                          PyObject *(*fail)(int code, PyObject *about))
{
    s_sched *s = s_self();
    int code;
    if (s == NULL)
        return NULL;
    PyObject *value = receive(s, (n_channel *)self, site, &code);
    return bind_result_by(fail, value, code, self);
}

/* ---- inspect.c ---------------------------------------------------------------------- */

/* The calling thread's tasklets that have not ended, without the main one, oldest first: all of
 * them, or those for which `wanted` is true; NULL with an exception. */
PyObject *bind_tasklets(int (*wanted)(const s_tasklet *t));

/* ---- fiber.c ------------------------------------------------------------------------ */

void bind_fiber_init(void);

/* ---- trace.c ------------------------------------------------------------------------ */

/* At import: what sets functions for all threads sets them for all tasklets. */
int bind_replace_tracing(void);
/* Getter and setter of trace_function (closure NULL) and profile_function (any other). */
PyObject *bind_get_trace(PyObject *self, void *which);
int bind_set_trace(PyObject *self, PyObject *value, void *which);

#endif
