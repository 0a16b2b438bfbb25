/* What splicing must know about the interpreter and cannot ask for: learned at import.
 *
 * CPython's slot functions for hooks written in Python are static; a class with such a hook has
 * them in its slots.  The offsets of fields are read from member descriptors.
 *
 * Class(...) is called through C code that owns two objects to which there is no other reference:
 * the tuple of the arguments, and the new object.  Both lie on the C stack (stack_layout.c).  So a
 * class of ours is instantiated at import, and the stack is probed from inside its __init__; its
 * tp_new has noted both objects.  If nothing was found (a hook in between, another eval loop), no
 * such call is spliced.
 */
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

c_splice_facts c_facts;

#define PROBES 4
enum { FUNC, OBJECT, TUPLE, WANTED };

static c_stack_layout init_call;

int c_find_new_object(c_stack_words words, PyObject *func, PyObject **object, PyObject **tuple)
{
    if (words.count != init_call.words || init_call.words == 0 ||
        c_layout_read(&init_call, words, FUNC) != func)
        return 0;
    *object = c_layout_read(&init_call, words, OBJECT);
    if (tuple != NULL)
        *tuple = c_layout_read(&init_call, words, TUPLE);
    return *object != NULL && (tuple == NULL || *tuple != NULL);
}

/* ---- probing the stack from inside an __init__ ----------------------------------- */

/* What each probe looks for; kept alive, so that no address is used again. */
static PyObject *wanted[PROBES][WANTED];
static int probes;

B_NOINLINE static PyObject *allocate_deeper(PyTypeObject *type, int deeper)
{
    volatile int depth = deeper;
    return depth > 0 ? allocate_deeper(type, depth - 1) : type->tp_alloc(type, 0);
}

/* What our own functions leave on the stack must not be mistaken for what CPython's functions keep
 * there, so they run deeper every other time. */
B_NOINLINE static PyObject *make_probe_object(PyTypeObject *type, PyObject *args)
{
    wanted[probes][TUPLE] = Py_NewRef(args);
    PyObject *object = allocate_deeper(type, probes);
    wanted[probes][OBJECT] = Py_XNewRef(object);
    c_stack_overwrite();
    return object;
}

B_NOINLINE static PyObject *make_deeper_probe_object(PyTypeObject *type, PyObject *args)
{
    volatile uintptr_t between[32];
    between[0] = between[31] = 0;
    PyObject *object = make_probe_object(type, args);
    between[0] = 1;
    return object;
}

static PyObject *probe_tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    if (probes == PROBES)
        return type->tp_alloc(type, 0);
    return probes & 2 ? make_deeper_probe_object(type, args) : make_probe_object(type, args);
}

static PyObject *probe_stack(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    c_frame *upper;
    c_stack_words words;
    if (probes == PROBES || !c_probe_find(&upper, &words))
        Py_RETURN_NONE;
    wanted[probes][FUNC] = Py_NewRef(slot_object(upper->f_funcobj));
    for (int which = 0; which < WANTED; which++)
        c_layout_note(&init_call, words, which, wanted[probes][which]);
    c_layout_end_probe(&init_call, words);
    probes++;
    Py_RETURN_NONE;
}

static PyMethodDef probe_method = {"probe", probe_stack, METH_NOARGS, NULL};

/* There are as many arguments as fit, and __init__ is looked up anew or found in the type cache:
 * other stale words each time. */
static const char probe_class[] = "class Probe:\n"
                                  "    pass\n"
                                  "def renew(known):\n"
                                  "    def probe_init(self, a, b, c, d):\n"
                                  "        probe()\n"
                                  "    Probe.__init__ = probe_init\n"
                                  "    if known:\n"
                                  "        Probe.__init__, Probe.__init__\n"
                                  "def make(a, b, c, d):\n"
                                  "    wipe()\n"
                                  "    Probe(a, b, c, d)\n";
static const char probe_calls[] = "for i in range(4):\n"
                                  "    renew(i % 2)\n"
                                  "    make(i, i + 2, i + 4, i + 6)\n";

static int learn_new_object_offsets(void)
{
    PyObject *globals = c_probe_begin(&probe_method, probe_class);
    if (globals == NULL)
        return -1;
    PyTypeObject *type = (PyTypeObject *)PyDict_GetItemString(globals, "Probe");
    type->tp_new = probe_tp_new;
    PyObject *ran = PyRun_String(probe_calls, Py_file_input, globals, globals);
    c_facts.init = type->tp_init;
    if (probes < PROBES)
        init_call.words = 0;
    probes = PROBES;
    for (int i = 0; i < PROBES * WANTED; i++)
        Py_CLEAR(wanted[i / WANTED][i % WANTED]);
    int code = ran ? 0 : -1;
    Py_XDECREF(ran);
    Py_DECREF(globals);
    return code;
}

/* ---- the rest --------------------------------------------------------------------- */

static PyTypeObject *class_with_hook(const char *hook, PyObject *value)
{
    return (PyTypeObject *)PyObject_CallFunction((PyObject *)&PyType_Type, "s(){sO}", "hooked",
                                                 hook, value);
}

/* The slot function for __getattribute__ without __getattr__ is put in place at the first read. */
static int learn_attribute_slot(PyObject *value)
{
    PyTypeObject *type = class_with_hook("__getattribute__", value);
    PyObject *object = type ? PyObject_CallNoArgs((PyObject *)type) : NULL;
    PyObject *read = object ? PyObject_GetAttrString(object, "any") : NULL;
    c_facts.attribute = read ? type->tp_getattro : NULL;
    Py_XDECREF(read);
    Py_XDECREF(object);
    Py_XDECREF((PyObject *)type);
    return read ? 0 : -1;
}

/* `value` is any builtin function that accepts a str as its only argument. */
static int learn_hook_slots(PyObject *value)
{
    PyTypeObject *getattr = class_with_hook("__getattr__", value),
                 *getitem = class_with_hook("__getitem__", value);
    int found = getattr != NULL && getitem != NULL;
    if (found) {
        c_facts.fallback = getattr->tp_getattro;
        c_facts.item = getitem->tp_as_mapping->mp_subscript;
    }
    Py_XDECREF((PyObject *)getattr);
    Py_XDECREF((PyObject *)getitem);
    return found ? learn_attribute_slot(value) : -1;
}

static void *method_function(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    void *function = NULL;
    if (found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type))
        function = (void *)((PyMethodDescrObject *)found)->d_method->ml_meth;
    Py_XDECREF(found);
    return function;
}

/* The offset of an attribute in objects of the type; 0: unknown. */
static Py_ssize_t member_offset(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t offset = 0;
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    Py_XDECREF(found);
    return offset;
}

static int learn_partial_layout(void)
{
    PyObject *module = PyImport_ImportModule("_functools");
    PyTypeObject *type = module ? (PyTypeObject *)PyObject_GetAttrString(module, "partial") : NULL;
    Py_XDECREF(module);
    if (type == NULL)
        return -1;
    c_facts.partial_func = member_offset(type, "func");
    c_facts.partial_args = member_offset(type, "args");
    c_facts.partial_keywords = member_offset(type, "keywords");
    if (c_facts.partial_func && c_facts.partial_args && c_facts.partial_keywords)
        c_facts.partial = type;
    else
        Py_DECREF((PyObject *)type);
    return 0;
}

static int intern_hook_names(void)
{
    c_facts.name_getattr = PyUnicode_InternFromString("__getattr__");
    c_facts.name_getattribute = PyUnicode_InternFromString("__getattribute__");
    c_facts.name_getitem = PyUnicode_InternFromString("__getitem__");
    c_facts.name_init = PyUnicode_InternFromString("__init__");
    c_facts.name_call = PyUnicode_InternFromString("__call__");
    c_facts.name_del = PyUnicode_InternFromString("__del__");
    return PyErr_Occurred() ? -1 : 0;
}

int c_splice_init(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *any = builtins ? PyObject_GetAttrString(builtins, "len") : NULL;
    c_facts.next = any ? PyObject_GetAttrString(builtins, "next") : NULL;
    int code = c_facts.next ? learn_hook_slots(any) : -1;
    if (code == 0)
        code = intern_hook_names();
    if (code == 0)
        code = learn_new_object_offsets();
    if (code == 0)
        code = c_star_call_init();
    if (code == 0)
        code = c_with_call_init();
    if (code == 0)
        code = c_instance_call_init();
    if (code == 0)
        code = c_keyword_call_init();
    Py_XDECREF(any);
    Py_XDECREF(builtins);
    c_facts.send = method_function(&PyGen_Type, "send");
    c_facts.awaited_send = method_function(&PyCoro_Type, "send");
    c_facts.run = method_function(&PyContext_Type, "run");
    c_facts.getter = member_offset(&PyProperty_Type, "fget");
    return code < 0 || learn_partial_layout() < 0 || PyErr_Occurred() ? -1 : 0;
}

#else

int c_splice_init(void)
{
    return 0;
}

#endif
