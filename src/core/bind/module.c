/* The module loomlet._core: its types and functions put together. */
#include "bind/bind.h"

static int add_types(PyObject *module)
{
    PyTypeObject *types[] = {&bind_tasklet_type, &bind_channel_type, &bind_lock_type,
                             &bind_timer_type,   &bind_scope_type,   &bind_timeout_type,
                             &bind_group_type};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (PyModule_AddType(module, types[i]) < 0)
            return -1;
    }
    return c_with_install(&bind_lock_type, &bind_lock_with);
}

static int exec(PyObject *module)
{
    if (c_check_interpreter() < 0 || c_check_layout() < 0)
        return -1;
    s_hook.type = &bind_tasklet_type;
    c_arena_install();
    if (add_types(module) < 0 || PyModule_AddFunctions(module, bind_functions) < 0 ||
        PyModule_AddFunctions(module, bind_inspect_functions) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "SOFT_SUPPORTED", c_soft_supported);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec},
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
