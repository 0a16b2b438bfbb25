/* Calls whose wait for a descriptor may be soft: see soft_call.h. */
#include "patch/soft_call.h"

#include "sched/wake.h"

static PyObject *go_on_after_wait(s_sched *s, s_rest *rest)
{
    patch_soft_call *c = (patch_soft_call *)rest;
    PyObject *result = s_signalled(s) >= 0 ? c->go_on(c, rest->woken) : NULL;
    patch_soft_call_end(c);
    return result;
}

void *patch_soft_call_new(PyTypeObject *type, size_t size)
{
    patch_soft_call *c = PyObject_GC_New(patch_soft_call, type);
    if (c == NULL)
        return NULL;
    memset((char *)c + sizeof(PyObject), 0, size - sizeof(PyObject));
    c->rest.run = go_on_after_wait;
    return c;
}

void patch_soft_call_begin(patch_soft_call *c, s_sched *s, PyObject *object)
{
    c->s = s;
    y_object_mutex_begin(s, &c->mutex, object);
    s->io_waits++;
}

void patch_soft_call_end(patch_soft_call *c)
{
    if (!b_linked(&c->mutex.link))
        return;
    PyObject *pending = PyErr_GetRaisedException();
    y_object_mutex_end(c->s, &c->mutex);
    c->s->io_waits--;
    PyErr_SetRaisedException(pending);
}

PyObject *patch_soft_call_wait(patch_soft_call *c, int64_t until, const c_call_site *site)
{
    s_sched *s = c->s;
    int code;
    PyObject *rest = i_external_wait_with(s, &c->request, &c->rest, until, site, &code);
    PyObject *result = rest != NULL ? go_on_after_wait(s, (s_rest *)rest) : patch_raise(s, code);
    Py_XDECREF(rest);
    return result;
}
