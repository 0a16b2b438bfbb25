/* What the splices must know of the interpreter and cannot ask: learnt at import.
 *
 * CPython's slot functions for hooks written in Python are static; a class with such
 * a hook has them in its slots.  Where objects keep things, their member descriptors
 * tell.
 *
 * Class(...) is called through C code that owns two things which nothing else refers
 * to: the tuple of the arguments, and the new object.  Both lie on the C stack, at the
 * same distance from the activation of __init__ in every such call, because the way
 * between the two activations is always the same.  So a class of ours is made once,
 * with a look at the stack from inside its __init__; its tp_new tells us both objects.
 * Several times in fact, with other rubbish on the stack, so that what lies there by
 * chance is not taken for a place.  A later
 * call must show the same distance, and one object in all places of it.  If nothing
 * was found (a hook between, another interpreter loop), no such call is spliced.
 */
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

c_splice_facts c_facts;

#define PLACES 16
#define LOOKS 4
enum { FUNC, OBJECT, TUPLE, WANTED };

/* Words between the activations, and where in them each object was. */
static struct {
    size_t count;
    size_t place[WANTED][PLACES];
    int places[WANTED];
} made;

c_stack_words c_stack_words_between(const c_frame *upper, const c_frame *lower)
{
    while (!frame_is_entry(lower->previous))
        lower = lower->previous;
    void *const *at = (void *const *)upper->previous, *const *end = (void *)lower->previous;
    return (c_stack_words){at, end > at ? (size_t)(end - at) : 0};
}

/* What all places of it hold, or NULL. */
C_READS_STACK static PyObject *held(c_stack_words words, int which)
{
    PyObject *object = made.places[which] ? words.at[made.place[which][0]] : NULL;
    for (int i = 1; i < made.places[which]; i++)
        if (words.at[made.place[which][i]] != (void *)object)
            return NULL;
    return object;
}

int c_find_new_object(c_stack_words words, PyObject *func, PyObject **object, PyObject **tuple)
{
    if (words.count != made.count || made.count == 0 || held(words, FUNC) != func)
        return 0;
    *object = held(words, OBJECT);
    if (tuple != NULL)
        *tuple = held(words, TUPLE);
    return *object != NULL && (tuple == NULL || *tuple != NULL);
}

/* ---- a look from inside an __init__ --------------------------------------------- */

/* What each look looks for; kept, so that no address comes again. */
static PyObject *looked_for[LOOKS][WANTED];
static int looks;

/* What was left on the stack below: nothing that is looked for, and each time elsewhere. */
B_NOINLINE static void wipe(void)
{
    volatile uintptr_t words[256];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        words[i] = i;
}

B_NOINLINE static PyObject *allocate(PyTypeObject *type, int deeper)
{
    volatile int depth = deeper;
    return depth > 0 ? allocate(type, depth - 1) : type->tp_alloc(type, 0);
}

/* What our own functions leave must not be taken for a place of the real ones, so they lie
 * deeper every other time. */
B_NOINLINE static PyObject *looking_near(PyTypeObject *type, PyObject *args)
{
    looked_for[looks][TUPLE] = Py_NewRef(args);
    PyObject *object = allocate(type, looks);
    looked_for[looks][OBJECT] = Py_XNewRef(object);
    wipe();
    return object;
}

B_NOINLINE static PyObject *looking_deeper(PyTypeObject *type, PyObject *args)
{
    volatile uintptr_t between[32];
    between[0] = between[31] = 0;
    PyObject *object = looking_near(type, args);
    between[0] = 1;
    return object;
}

static PyObject *looking_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    if (looks == LOOKS)
        return type->tp_alloc(type, 0);
    return looks & 2 ? looking_deeper(type, args) : looking_near(type, args);
}

/* The first look notes all places, the others keep those that they see again. */
C_READS_STACK static void look_for(c_stack_words words, int which)
{
    size_t *place = made.place[which];
    const void *object = looked_for[looks][which];
    int count = 0;
    for (size_t i = 0; looks == 0 && i < words.count && count < PLACES; i++)
        if (words.at[i] == object)
            place[count++] = i;
    for (int i = 0; looks > 0 && i < made.places[which]; i++)
        if (words.at[place[i]] == object)
            place[count++] = place[i];
    made.places[which] = count;
}

static PyObject *look(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    c_frame *upper = thread_frame(c_thread_state());
    if (looks == LOOKS || upper == NULL || upper->previous == NULL ||
        !frame_is_entry(upper->previous) || upper->previous->previous == NULL)
        Py_RETURN_NONE;
    c_stack_words words = c_stack_words_between(upper, upper->previous->previous);
    looked_for[looks][FUNC] = Py_NewRef(slot_object(upper->f_funcobj));
    if (looks == 0)
        made.count = words.count;
    for (int which = 0; which < WANTED; which++) {
        if (words.count != made.count)
            made.places[which] = 0;
        look_for(words, which);
    }
    looks++;
    Py_RETURN_NONE;
}

static PyObject *wiped(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    wipe();
    Py_RETURN_NONE;
}

static PyMethodDef look_methods[] = {
    {"look", look, METH_NOARGS, NULL},
    {"wipe", wiped, METH_NOARGS, NULL},
};

/* As many arguments as fit, and __init__ is looked up anew or known from before: other
 * stale words each time. */
static const char looker[] = "class Looker:\n"
                             "    pass\n"
                             "def renew(known):\n"
                             "    def looker(self, a, b, c, d):\n"
                             "        look()\n"
                             "    Looker.__init__ = looker\n"
                             "    if known:\n"
                             "        Looker.__init__, Looker.__init__\n"
                             "def make(a, b, c, d):\n"
                             "    wipe()\n"
                             "    Looker(a, b, c, d)\n";
static const char looks_taken[] = "for i in range(4):\n"
                                  "    renew(i % 2)\n"
                                  "    make(i, i + 2, i + 4, i + 6)\n";

static int run(const char *program, PyObject *globals)
{
    PyObject *ran = PyRun_String(program, Py_file_input, globals, globals);
    Py_XDECREF(ran);
    return ran ? 0 : -1;
}

static int learn_places(PyObject *globals)
{
    int code = 0;
    for (int i = 0; i < 2 && code == 0; i++) {
        PyObject *function = PyCFunction_New(&look_methods[i], NULL);
        code = function ? PyDict_SetItemString(globals, look_methods[i].ml_name, function) : -1;
        Py_XDECREF(function);
    }
    if (code < 0 || run(looker, globals) < 0)
        return -1;
    PyTypeObject *type = (PyTypeObject *)PyDict_GetItemString(globals, "Looker");
    type->tp_new = looking_new;
    code = run(looks_taken, globals);
    c_facts.init = type->tp_init;
    if (looks < LOOKS)
        made.count = 0;
    looks = LOOKS;
    for (int i = 0; i < LOOKS * WANTED; i++)
        Py_CLEAR(looked_for[i / WANTED][i % WANTED]);
    return code;
}

/* ---- the rest --------------------------------------------------------------------- */

static PyTypeObject *hooked(const char *hook, PyObject *value)
{
    return (PyTypeObject *)PyObject_CallFunction((PyObject *)&PyType_Type, "s(){sO}", "hooked",
                                                 hook, value);
}

/* The slot function for __getattribute__ alone is put in place at the first read. */
static int learn_attribute(PyObject *value)
{
    PyTypeObject *type = hooked("__getattribute__", value);
    PyObject *object = type ? PyObject_CallNoArgs((PyObject *)type) : NULL;
    PyObject *read = object ? PyObject_GetAttrString(object, "any") : NULL;
    c_facts.attribute = read ? type->tp_getattro : NULL;
    Py_XDECREF(read);
    Py_XDECREF(object);
    Py_XDECREF((PyObject *)type);
    return read ? 0 : -1;
}

/* `value` is any builtin function of one argument that a str can be. */
static int learn_hooks(PyObject *value)
{
    PyTypeObject *getattr = hooked("__getattr__", value), *getitem = hooked("__getitem__", value);
    int found = getattr != NULL && getitem != NULL;
    if (found) {
        c_facts.fallback = getattr->tp_getattro;
        c_facts.item = getitem->tp_as_mapping->mp_subscript;
    }
    Py_XDECREF((PyObject *)getattr);
    Py_XDECREF((PyObject *)getitem);
    return found ? learn_attribute(value) : -1;
}

static void *method_of(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    void *function = NULL;
    if (found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type))
        function = (void *)((PyMethodDescrObject *)found)->d_method->ml_meth;
    Py_XDECREF(found);
    return function;
}

/* Where objects of the type keep an attribute; 0: not known. */
static Py_ssize_t offset_of(PyTypeObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t offset = 0;
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    Py_XDECREF(found);
    return offset;
}

static int learn_partial(void)
{
    PyObject *module = PyImport_ImportModule("_functools");
    PyTypeObject *type = module ? (PyTypeObject *)PyObject_GetAttrString(module, "partial") : NULL;
    Py_XDECREF(module);
    if (type == NULL)
        return -1;
    c_facts.partial_func = offset_of(type, "func");
    c_facts.partial_args = offset_of(type, "args");
    c_facts.partial_keywords = offset_of(type, "keywords");
    if (c_facts.partial_func && c_facts.partial_args && c_facts.partial_keywords)
        c_facts.partial = type;
    else
        Py_DECREF((PyObject *)type);
    return 0;
}

static int learn_names(void)
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
    int code = c_facts.next ? learn_hooks(any) : -1;
    if (code == 0)
        code = PyDict_SetItemString(globals, "__builtins__", builtins);
    if (code == 0)
        code = learn_names();
    if (code == 0)
        code = PyDict_SetItemString(globals, "__name__", c_facts.name_init);
    if (code == 0)
        code = learn_places(globals);
    Py_XDECREF(globals);
    Py_XDECREF(any);
    Py_XDECREF(builtins);
    c_facts.send = method_of(&PyGen_Type, "send");
    c_facts.awaited_send = method_of(&PyCoro_Type, "send");
    c_facts.getter = offset_of(&PyProperty_Type, "fget");
    return code < 0 || learn_partial() < 0 || PyErr_Occurred() ? -1 : 0;
}

#else

int c_splice_init(void)
{
    return 0;
}

#endif
