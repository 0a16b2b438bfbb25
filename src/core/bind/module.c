/* The module loomlet._core: its types and functions put together. */
#include "bind/debug/debug_socket.h"
#include "bind/http/http.h"
#include "bind/native/native.h"
#include "bind/net/descriptor.h"
#include "bind/net/resolver.h"
#include "bind/patch/patch.h"
#include "bind/pickling.h"
#include "bind/snapshot/snapshot.h"
#include "bind/stackless/stackless.h"
#include "cpython/carried_thread.h"
#include "cpython/gil.h"
#include "debug/debug.h"
#include "io/blocking.h"
#include "io/resolver.h"
#include "patch/thread.h"
#include "sched/guests/preempt.h"
#include "sched/guests/register.h"
#include "sync/builtin_lock.h"
#include "sync/file_lock.h"
#include "sync/notify_queue.h"
#include "sync/semaphore_queue.h"

static int add_types(PyObject *module)
{
    PyTypeObject *types[] = {&bind_tasklet_type,    &bind_channel_type,     &bind_lock_type,
                             &bind_timer_type,      &bind_scope_type,       &bind_timeout_type,
                             &bind_group_type,      &bind_nopreempt_type,   &bind_descriptor_type,
                             &bind_stream_type,     &bind_listener_type,    &bind_fiber_type,
                             &bind_pinned_type,     &bind_event_type,       &bind_semaphore_type,
                             &bind_condition_type,  &bind_http_server_type, &bind_http_request_type,
                             &bind_http_cycle_type, &bind_http_frames_type, &patch_generator_type,
                             &bind_rlock_type,      &bind_queue_type,       &bind_rwlock_type,
                             &bind_lock_side_type};
    bind_net_init();
    bind_http_init();
    i_blocking_init();
    d_init();
    bind_fiber_init();
    bind_driven_generator_init();
    if (bind_http_cycle_ready() < 0)
        return -1;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (PyModule_AddType(module, types[i]) < 0)
            return -1;
    }
    if (c_with_install(&bind_lock_type, &bind_lock_with) < 0 ||
        c_with_install(&bind_semaphore_type, &bind_semaphore_with) < 0 ||
        c_with_install(&bind_condition_type, &bind_condition_with) < 0 ||
        c_with_install(&bind_lock_side_type, &bind_lock_side_with) < 0)
        return -1;
    return c_with_install(&bind_pinned_type, &bind_pinned_with);
}

/* Their tp_name names the module of Stackless, so their names in this module are given here. */
static int add_stackless_types(PyObject *module)
{
    static const struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {{"StacklessTasklet", &bind_stackless_tasklet_type},
                 {"StacklessChannel", &bind_stackless_channel_type},
                 {"StacklessBomb", &bind_bomb_type},
                 {"StacklessAtomic", &bind_atomic_type},
                 {"StacklessCFrame", &bind_cframe_type},
                 {"StacklessCStack", &bind_cstack_type}};
    if (bind_stackless_channel_ready() < 0)
        return -1;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (PyType_Ready(types[i].type) < 0 ||
            PyModule_AddObjectRef(module, types[i].name, (PyObject *)types[i].type) < 0)
            return -1;
    }
    return 0;
}

static int add_stackless(PyObject *module)
{
    s_stackless_hook.error = bind_stackless_error;
    s_stackless_hook.handled = bind_stackless_handle_error;
    s_hook.refused = bind_stackless_keep_garbage;
    n_hook.bomb = &bind_bomb_type;
    n_hook.explode = bind_bomb_exception;
    if (add_stackless_types(module) < 0 || bind_add_stackless_functions(module) < 0)
        return -1;
    return bind_stackless_extend(&bind_stackless_tasklet_type);
}

/* _after_fork(): in the child, each room forgets what belongs to threads that do not exist there.
 */
static PyObject *forget_after_fork(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    c_gil_priority_after_fork();
    c_new_threads_after_fork();
    if (!s_after_fork())
        Py_RETURN_NONE;
    y_builtin_lock_after_fork(s_self_here());
    y_notify_after_fork(s_self_here());
    y_file_lock_after_fork(s_self_here());
    y_semaphore_after_fork(s_self_here());
    s_slices_after_fork();
    i_blocking_after_fork(s_self_here());
    i_resolver_after_fork(s_self_here());
    patch_threads_after_fork();
    Py_RETURN_NONE;
}

static PyMethodDef fork_functions[] = {
    {"_after_fork", forget_after_fork, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_functions(PyObject *module)
{
    static PyMethodDef *const functions[] = {bind_error_functions,
                                             bind_pickling_functions,
                                             bind_native_functions,
                                             bind_blocking_functions,
                                             bind_resolver_functions,
                                             bind_inspect_functions,
                                             bind_heap_functions,
                                             bind_preempt_functions,
                                             bind_gil_functions,
                                             bind_gate_functions,
                                             bind_fiber_functions,
                                             bind_greenlet_functions,
                                             bind_extension_functions,
                                             bind_event_loop_functions,
                                             bind_debug_socket_functions,
                                             bind_wait_report_functions,
                                             bind_exception_functions,
                                             bind_snapshot_functions,
                                             bind_snapshot_part_functions,
                                             bind_checkpoint_functions,
                                             bind_builtin_lock_functions,
                                             bind_patch_functions,
                                             bind_driven_generator_functions,
                                             bind_thread_functions,
                                             bind_stackless_functions,
                                             bind_stackless_surrogate_functions,
                                             fork_functions};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (PyModule_AddFunctions(module, functions[i]) < 0)
            return -1;
    }
    return 0;
}

static int exec_module(PyObject *module)
{
    if (c_check_interpreter() < 0 || c_check_layout() < 0 || c_splice_init() < 0)
        return -1;
    s_register_guests();
    s_hook.type = &bind_tasklet_type;
    s_preempt_hook.before_slices = bind_patch_builtin_locks;
    c_chunk_cache_install();
    if (c_safepoint_learn() < 0 || bind_replace_tracing() < 0)
        return -1;
    if (add_types(module) < 0 || add_stackless(module) < 0 || add_functions(module) < 0 ||
        bind_add_error_codes(module) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "SOFT_SUPPORTED", c_soft_supported);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec_module},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "loomlet._core",
    .m_doc = "The native core of loomlet; programs import loomlet instead.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
