/* What loomlet.pinned is made of: its `with` statement.  The decorator is Python (_pinned.py).
 *
 * An object has no state: how often a tasklet is inside is the tasklet's, so one object may be
 * entered again and by many.
 */
#include "sched/guests/pinned.h"
#include "bind/native/native.h"

static PyObject *pinned_enter(PyObject *self, const c_call_site *site)
{
    (void)self;
    int code;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    PyObject *done = s_pin(s, site, &code);
    return bind_result(done, code, (PyObject *)s->current);
}

static PyObject *pinned_exit(PyObject *self)
{
    (void)self;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    int code = s_unpin(s->current);
    return code < 0 ? bind_fail(code, (PyObject *)s->current) : Py_NewRef(Py_None);
}

const c_with_methods bind_pinned_with = {pinned_enter, pinned_exit};

PyTypeObject bind_pinned_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "loomlet._core.Pinned",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = bind_new_empty,
};
