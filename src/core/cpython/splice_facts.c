/* What splicing must know about the interpreter and cannot ask for: learned at import.
 *
 * CPython's slot functions for hooks written in Python are static; a class with such a hook has
 * them in its slots.  The offsets of fields are read from member descriptors.
 *
 * Class(...) is called through C code that owns two objects to which there is no other reference:
 * the tuple of the arguments, and the new object.  Both lie on the C stack, at the same distance
 * from the activation of __init__ in every such call, because the C functions between the two
 * activations are always the same.  So a class of ours is instantiated at import, and the stack is
 * probed from inside its __init__; its tp_new has noted both objects.  This is done several times,
 * with other leftovers on the stack, so that what lies there by chance is not mistaken for one of
 * the two.  A later call must show the same distance, and the same object at all offsets that were
 * learned for it.  If nothing was found (a hook in between, another eval loop), no such call is
 * spliced.
 */
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

c_splice_facts c_facts;

#define MAX_OFFSETS 16
#define PROBES 4
enum { FUNC, OBJECT, TUPLE, WANTED };

/* How many words are between the activations, and at which of them each object was seen. */
static struct {
    size_t words;
    size_t offset[WANTED][MAX_OFFSETS];
    int offsets[WANTED];
} init_call;

c_stack_words c_stack_words_between(const c_frame *upper, const c_frame *lower)
{
    while (!frame_is_entry(lower->previous))
        lower = lower->previous;
    void *const *at = (void *const *)upper->previous, *const *end = (void *)lower->previous;
    return (c_stack_words){at, end > at ? (size_t)(end - at) : 0};
}

/* The object that all its offsets hold, or NULL. */
C_READS_STACK static PyObject *object_at_offsets(c_stack_words words, int which)
{
    PyObject *object = init_call.offsets[which] ? words.at[init_call.offset[which][0]] : NULL;
    for (int i = 1; i < init_call.offsets[which]; i++)
        if (words.at[init_call.offset[which][i]] != (void *)object)
            return NULL;
    return object;
}

int c_find_new_object(c_stack_words words, PyObject *func, PyObject **object, PyObject **tuple)
{
    if (words.count != init_call.words || init_call.words == 0 ||
        object_at_offsets(words, FUNC) != func)
        return 0;
    *object = object_at_offsets(words, OBJECT);
    if (tuple != NULL)
        *tuple = object_at_offsets(words, TUPLE);
    return *object != NULL && (tuple == NULL || *tuple != NULL);
}

/* ---- probing the stack from inside an __init__ ----------------------------------- */

/* What each probe looks for; kept alive, so that no address is used again. */
static PyObject *wanted[PROBES][WANTED];
static int probes;

/* Overwrites what calls have left on the stack below. */
B_NOINLINE static void wipe_stack(void)
{
    volatile uintptr_t words[256];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        words[i] = i;
}

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
    wipe_stack();
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

/* The first probe notes all offsets, the others keep those at which they see the object again. */
C_READS_STACK static void note_offsets(c_stack_words words, int which)
{
    size_t *offset = init_call.offset[which];
    const void *object = wanted[probes][which];
    int count = 0;
    for (size_t i = 0; probes == 0 && i < words.count && count < MAX_OFFSETS; i++)
        if (words.at[i] == object)
            offset[count++] = i;
    for (int i = 0; probes > 0 && i < init_call.offsets[which]; i++)
        if (words.at[offset[i]] == object)
            offset[count++] = offset[i];
    init_call.offsets[which] = count;
}

static PyObject *probe_stack(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    c_frame *upper = thread_frame(c_thread_state());
    if (probes == PROBES || upper == NULL || upper->previous == NULL ||
        !frame_is_entry(upper->previous) || upper->previous->previous == NULL)
        Py_RETURN_NONE;
    c_stack_words words = c_stack_words_between(upper, upper->previous->previous);
    wanted[probes][FUNC] = Py_NewRef(slot_object(upper->f_funcobj));
    if (probes == 0)
        init_call.words = words.count;
    for (int which = 0; which < WANTED; which++) {
        if (words.count != init_call.words)
            init_call.offsets[which] = 0;
        note_offsets(words, which);
    }
    probes++;
    Py_RETURN_NONE;
}

static PyObject *probe_wipe(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    wipe_stack();
    Py_RETURN_NONE;
}

static PyMethodDef probe_methods[] = {
    {"probe", probe_stack, METH_NOARGS, NULL},
    {"wipe", probe_wipe, METH_NOARGS, NULL},
};

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

static int run_probe_program(const char *program, PyObject *globals)
{
    PyObject *ran = PyRun_String(program, Py_file_input, globals, globals);
    Py_XDECREF(ran);
    return ran ? 0 : -1;
}

static int learn_new_object_offsets(PyObject *globals)
{
    int code = 0;
    for (int i = 0; i < 2 && code == 0; i++) {
        PyObject *function = PyCFunction_New(&probe_methods[i], NULL);
        code = function ? PyDict_SetItemString(globals, probe_methods[i].ml_name, function) : -1;
        Py_XDECREF(function);
    }
    if (code < 0 || run_probe_program(probe_class, globals) < 0)
        return -1;
    PyTypeObject *type = (PyTypeObject *)PyDict_GetItemString(globals, "Probe");
    type->tp_new = probe_tp_new;
    code = run_probe_program(probe_calls, globals);
    c_facts.init = type->tp_init;
    if (probes < PROBES)
        init_call.words = 0;
    probes = PROBES;
    for (int i = 0; i < PROBES * WANTED; i++)
        Py_CLEAR(wanted[i / WANTED][i % WANTED]);
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
    c_facts.name_del = PyUnicode_InternFromString("__del__");
    return PyErr_Occurred() ? -1 : 0;
}

int c_splice_init(void)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *any = builtins ? PyObject_GetAttrString(builtins, "len") : NULL;
    PyObject *globals = any ? PyDict_New() : NULL;
    c_facts.next = globals ? PyObject_GetAttrString(builtins, "next") : NULL;
    int code = c_facts.next ? learn_hook_slots(any) : -1;
    if (code == 0)
        code = PyDict_SetItemString(globals, "__builtins__", builtins);
    if (code == 0)
        code = intern_hook_names();
    if (code == 0)
        code = PyDict_SetItemString(globals, "__name__", c_facts.name_init);
    if (code == 0)
        code = learn_new_object_offsets(globals);
    Py_XDECREF(globals);
    Py_XDECREF(any);
    Py_XDECREF(builtins);
    c_facts.send = method_function(&PyGen_Type, "send");
    c_facts.awaited_send = method_function(&PyCoro_Type, "send");
    c_facts.getter = member_offset(&PyProperty_Type, "fget");
    return code < 0 || learn_partial_layout() < 0 || PyErr_Occurred() ? -1 : 0;
}

#else

int c_splice_init(void)
{
    return 0;
}

#endif
