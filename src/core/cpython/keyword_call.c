/* Class(..., name=value) and object(..., name=value): the C code of calls with keywords.
 *
 * A class with an __init__, or an object with a __call__, that is written in Python is called
 * through C code that owns the function, the tuple of the positional arguments and a dictionary of
 * the others, and of a class the new object.  Under it, the dictionary becomes an array again: that
 * code owns a block of memory, which has a reference to each argument, and a tuple of the names.
 * Nothing but C variables says where all that is, so it is learned at import from calls of ours
 * (stack_layout.c), and a later call is known by what is found there.
 *
 * The names of the call itself are a constant, which lies on the stack too; the tuple that is owned
 * has the same contents and is another one.
 */
#include <stddef.h>

#include "cpython/splice.h"

#ifdef C_HAS_SOFT

#define PROBES 4
#define GIVEN 2
#define NAMED 2
enum { FUNC, TUPLE, DICT, BLOCK, NAMES, OBJECT };
enum { OF_OBJECT, OF_CLASS };

static c_stack_layout layouts[2];

/* ---- a call in progress -------------------------------------------------------------------- */

/* Whether the C code's array holds the object, the arguments of the frame and their names. */
static int is_array_of_call(const c_keyword_call *call, const slot *args, PyObject *names)
{
    const c_star_call *array = &call->array;
    Py_ssize_t named = PyTuple_GET_SIZE(names);
    if (!PyTuple_CheckExact(array->names) || array->names == names ||
        Py_REFCNT(array->names) != 1 || PyTuple_GET_SIZE(array->names) != named ||
        array->block[0] != call->object)
        return 0;
    for (Py_ssize_t i = 1; i < array->count; i++)
        if (array->block[i] != slot_object(args[i - 1]))
            return 0;
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyTuple_GET_ITEM(array->names, i) != PyTuple_GET_ITEM(names, i))
            return 0;
    return 1;
}

int c_keyword_call_find(c_stack_words words, const c_keyword_query *wanted, c_keyword_call *found)
{
    const c_stack_layout *layout = &layouts[wanted->object == NULL ? OF_CLASS : OF_OBJECT];
    if (layout->words == 0 || words.count != layout->words ||
        c_layout_read(layout, words, FUNC) != wanted->func)
        return 0;
    found->object = wanted->object != NULL ? wanted->object : c_layout_read(layout, words, OBJECT);
    found->tuple = c_layout_read(layout, words, TUPLE);
    found->dict = c_layout_read(layout, words, DICT);
    found->array.block = c_layout_read(layout, words, BLOCK);
    found->array.names = c_layout_read(layout, words, NAMES);
    found->array.count = 1 + wanted->given + PyTuple_GET_SIZE(wanted->names);
    return found->object != NULL && found->tuple != NULL && found->dict != NULL &&
           found->array.block != NULL && found->array.names != NULL &&
           PyDict_CheckExact(found->dict) && Py_REFCNT(found->dict) == 1 &&
           PyDict_GET_SIZE(found->dict) == PyTuple_GET_SIZE(wanted->names) &&
           is_array_of_call(found, wanted->args, wanted->names);
}

/* ---- learning ------------------------------------------------------------------------------ */

/* The dictionary of a call: no other one on the stack has so many items in a probe. */
static void note_dictionary(c_stack_layout *layout, c_stack_words words)
{
    struct {
        PyTypeObject *type;
        Py_ssize_t used;
    } head = {&PyDict_Type, NAMED};
    _Static_assert(offsetof(PyDictObject, ma_used) ==
                       offsetof(PyObject, ob_type) + sizeof(PyTypeObject *),
                   "the head of a dictionary");
    const c_memory_part part = {&head, sizeof(head), offsetof(PyObject, ob_type), NULL};
    c_layout_note_memory(layout, words, DICT, &part);
}

static void note_array(c_stack_layout *layout, c_stack_words words, PyObject *const *values,
                       PyObject *names)
{
    const c_memory_part tuple = {values + 1, GIVEN * sizeof(PyObject *),
                                 offsetof(PyTupleObject, ob_item), NULL};
    const c_memory_part block = {values, (1 + GIVEN + NAMED) * sizeof(PyObject *), 0, NULL};
    const c_memory_part named = {((PyTupleObject *)names)->ob_item, NAMED * sizeof(PyObject *),
                                 offsetof(PyTupleObject, ob_item), names};
    c_layout_note_memory(layout, words, TUPLE, &tuple);
    c_layout_note_memory(layout, words, BLOCK, &block);
    c_layout_note_memory(layout, words, NAMES, &named);
}

/* probe(names, is_class, object, a, b, c, d) in a call object(a, b, first=c, second=d). */
static PyObject *probe_keyword_call(PyObject *self, PyObject *args)
{
    c_frame *upper;
    c_stack_words words;
    PyObject *names = PyTuple_GET_ITEM(args, 0);
    c_stack_layout *layout = &layouts[PyTuple_GET_ITEM(args, 1) == Py_True];
    (void)self;
    if (layout->probes == PROBES || !c_probe_find(&upper, &words))
        Py_RETURN_NONE;
    c_layout_note(layout, words, FUNC, slot_object(upper->f_funcobj));
    c_layout_note(layout, words, OBJECT, PyTuple_GET_ITEM(args, 2));
    note_dictionary(layout, words);
    note_array(layout, words, &PyTuple_GET_ITEM(args, 2), names);
    c_layout_end_probe(layout, words);
    Py_RETURN_NONE;
}

static PyMethodDef probe_method = {"probe", probe_keyword_call, METH_VARARGS, NULL};

/* The function is looked up anew or found in the type cache; what the C code makes has the memory
 * that an object of the last probe has left, or new memory: other stale words each time. */
static const char program[] =
    "class Object:\n"
    "    pass\n"
    "class Class:\n"
    "    pass\n"
    "kept = []\n"
    "def renew(known, is_class):\n"
    "    def target(self, a, b, first, second):\n"
    "        probe(names, is_class, self, a, b, first, second)\n"
    "    kept.append(target)\n"
    "    if is_class:\n"
    "        Class.__init__ = target\n"
    "    else:\n"
    "        Object.__call__ = target\n"
    "    if known:\n"
    "        Class.__init__, Object.__call__, Class.__init__, Object.__call__\n"
    "def call(target, a, b, c, d):\n"
    "    wipe()\n"
    "    target(a, b, first=c, second=d)\n"
    "names = ('first', 'second')\n"
    "names = [one for one in call.__code__.co_consts if one == names].pop()\n"
    "Object.__call__ = Class.__init__ = None\n"
    "for i in range(8):\n"
    "    renew(i & 2, i % 2 == 1)\n"
    "    for j in range(100 if i & 4 else 3):\n"
    "        kept.append(({}, (i, j), bytes(15)))\n"
    "    kept.append([[], [], [], []])\n"
    "    call(Class if i % 2 == 1 else Object(), *kept[-1])\n";

int c_keyword_call_init(void)
{
    PyObject *globals = c_probe_begin(&probe_method, program);
    for (int i = OF_OBJECT; i <= OF_CLASS; i++)
        if (layouts[i].probes < PROBES)
            layouts[i].words = 0;
    Py_XDECREF(globals);
    return globals != NULL ? 0 : -1;
}

#endif
