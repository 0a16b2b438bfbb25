/* object(...), whose class has a __call__ that is written in Python: the C code of such a call.
 *
 * It owns the function and the tuple of the arguments, and keeps both on the C stack.  Where, is
 * learned at import from calls of ours (stack_layout.c); the tuple is known by what it holds.
 */
#include <stddef.h>

#include "cpython/splice.h"

#ifdef C_HAS_SOFT

#define PROBES 4
#define GIVEN 4 /* as many as fit into an array of the C code's own */
enum { FUNC, TUPLE };

static c_stack_layout layout;

int c_instance_call_find(c_stack_words words, PyObject *func, PyObject **tuple)
{
    if (layout.words == 0 || words.count != layout.words ||
        c_layout_read(&layout, words, FUNC) != func)
        return 0;
    *tuple = c_layout_read(&layout, words, TUPLE);
    return *tuple != NULL;
}

/* probe(a, b, c, d), called by the __call__ that was given these. */
static PyObject *probe_call(PyObject *self, PyObject *args)
{
    c_frame *upper;
    c_stack_words words;
    (void)self;
    if (layout.probes == PROBES || PyTuple_GET_SIZE(args) != GIVEN || !c_probe_find(&upper, &words))
        Py_RETURN_NONE;
    const c_memory_part tuple = {((PyTupleObject *)args)->ob_item, GIVEN * sizeof(PyObject *),
                                 offsetof(PyTupleObject, ob_item), NULL};
    c_layout_note(&layout, words, FUNC, slot_object(upper->f_funcobj));
    c_layout_note_memory(&layout, words, TUPLE, &tuple);
    c_layout_end_probe(&layout, words);
    Py_RETURN_NONE;
}

static PyMethodDef probe_method = {"probe", probe_call, METH_VARARGS, NULL};

/* __call__ is looked up anew or found in the type cache: other stale words each time. */
static const char program[] = "class Probe:\n"
                              "    pass\n"
                              "kept = []\n"
                              "def renew(known):\n"
                              "    def probe_call(self, a, b, c, d):\n"
                              "        probe(a, b, c, d)\n"
                              "    kept.append(probe_call)\n"
                              "    Probe.__call__ = probe_call\n"
                              "    if known:\n"
                              "        Probe.__call__, Probe.__call__\n"
                              "def call(target, a, b, c, d):\n"
                              "    wipe()\n"
                              "    target(a, b, c, d)\n"
                              "for i in range(4):\n"
                              "    renew(i % 2)\n"
                              "    kept.append([[], [], [], []])\n"
                              "    call(Probe(), *kept[-1])\n";

int c_instance_call_init(void)
{
    PyObject *globals = c_probe_begin(&probe_method, program);
    PyObject *type = globals != NULL ? PyDict_GetItemString(globals, "Probe") : NULL;
    c_facts.call = type != NULL ? ((PyTypeObject *)type)->tp_call : NULL;
    if (layout.probes < PROBES)
        layout.words = 0;
    Py_XDECREF(globals);
    return globals != NULL ? 0 : -1;
}

#else

int c_instance_call_init(void)
{
    return 0;
}

#endif
