/* method(*args, **kwargs): the C code between the call and the method's function.
 *
 * CALL_FUNCTION_EX enters a plain Python function without C, but a bound method through C code.
 * That owns nothing if there are no keywords and few arguments.  With keywords it owns two things:
 * a block of memory with all arguments, which has a reference to each, and the tuple of the names.
 * Both lie on the C stack, at the same distance in every such call (stack_layout.c).
 *
 * The operands prove nothing here: the method is mostly made for the call, so nothing else owns it,
 * and a list of arguments has been replaced by a tuple that the frame does not know.  What proves
 * that the call is in progress are the return addresses between the two activations: C code takes
 * one way without arguments, one with some, one with keywords; and while the interpreter drops the
 * operands of a call that has returned, it has called another function.  Then what the stack holds
 * in the place of the tuple is the tuple, and is compared with the operand; there is only one empty
 * tuple, which need not be on the stack.  (On 3.14 the frame knows the tuple.)
 *
 * Learned at import, from calls of ours.  Nothing says where the block is, so it is found by its
 * contents: each word on the stack is tried as an address, and the kernel does the reading, because
 * most of them are not addresses.
 * Where there are no return addresses to be seen (not x86-64), nothing is learned, and such a call
 * keeps its C stack.
 */
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

#define PROBES 4  /* at most MOST_GIVEN and MOST_NAMED */
#define LESSONS 2 /* probes in which the return addresses are looked for, which takes long */
#define RETURNS 12
#define MOST_GIVEN 4 /* the C code keeps so many arguments on its stack */
#define MOST_NAMED 4
enum { TUPLE, BLOCK, NAMES };

/* One way through the C code, as the return addresses show it. */
typedef struct {
    int least, most, named, has_names; /* of arguments; with keywords; with an operand for them */
    c_stack_layout layout;
    int returns;
    size_t at[RETURNS];
    void *address[RETURNS];
} call_trail;

static call_trail trails[] = {
    {.least = 0, .most = 0},
    {.least = 0, .most = 0, .has_names = 1},
    {.least = 1, .most = MOST_GIVEN},
    {.least = 1, .most = MOST_GIVEN, .has_names = 1},
    {.least = 0, .most = INT_MAX, .has_names = 1, .named = 1},
};
#define TRAILS ((int)(sizeof(trails) / sizeof(trails[0])))

static PyObject *empty_tuple;

/* ---- a call in progress -------------------------------------------------------------------- */

C_READS_STACK static int is_on_trail(const call_trail *trail, c_stack_words words)
{
    if (words.count != trail->layout.words || words.count == 0 || trail->returns == 0)
        return 0;
    for (int i = 0; i < trail->returns; i++)
        if (words.at[trail->at[i]] != trail->address[i])
            return 0;
    return 1;
}

/* Whether the block holds the arguments, and the tuple the names. */
static int is_call_with(const c_star_call *call, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t given = PyTuple_GET_SIZE(args), position = 0, i = 0;
    PyObject *name, *value;
    if (call->block == NULL || call->names == NULL || !PyTuple_CheckExact(call->names) ||
        Py_REFCNT(call->names) != 1 || PyTuple_GET_SIZE(call->names) != call->count - given)
        return 0;
    for (; i < given; i++)
        if (call->block[i] != PyTuple_GET_ITEM(args, i))
            return 0;
    for (; PyDict_Next(kwargs, &position, &name, &value); i++)
        if (call->block[i] != value || PyTuple_GET_ITEM(call->names, i - given) != name)
            return 0;
    return 1;
}

/* Whether what may be no object any more is the tuple with which the C code was called. */
static int is_tuple_of_call(const call_trail *trail, c_stack_words words, PyObject *args)
{
    if (!C_DROPS_IN_PLACE)
        return PyTuple_CheckExact(args);
    return trail->most == 0 ? args == empty_tuple
                            : args == c_layout_read(&trail->layout, words, TUPLE);
}

int c_star_call_find(c_stack_words words, PyObject *args, PyObject *kwargs, c_star_call *found)
{
    *found = (c_star_call){NULL, NULL, 0};
    for (const call_trail *trail = trails; trail < trails + TRAILS; trail++) {
        if (!is_on_trail(trail, words) || !is_tuple_of_call(trail, words, args))
            continue;
        Py_ssize_t given = PyTuple_GET_SIZE(args), named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
        if (given < trail->least || given > trail->most || (named > 0) != trail->named)
            continue;
        if (named == 0)
            return 1;
        found->block = c_layout_read(&trail->layout, words, BLOCK);
        found->names = c_layout_read(&trail->layout, words, NAMES);
        found->count = given + named;
        return is_call_with(found, args, kwargs);
    }
    return 0;
}

void c_star_call_release(const c_star_call *call)
{
    if (call->block == NULL)
        return;
    for (Py_ssize_t i = 0; i < call->count; i++)
        Py_DECREF(call->block[i]);
    PyMem_Free(call->block - 1); /* the method put itself in front */
    Py_DECREF(call->names);
}

/* ---- learning ------------------------------------------------------------------------------ */

/* The present probe: a call on that way with these arguments. */
static struct {
    call_trail *trail;
    PyObject *args, *kwargs;
} probe;

#define MOST (MOST_GIVEN + MOST_NAMED)

static void note_block(c_stack_words words)
{
    PyObject *values[MOST], *names[MOST_NAMED], **value = values, **name = names;
    Py_ssize_t position = 0, given = PyTuple_GET_SIZE(probe.args);
    for (Py_ssize_t i = 0; i < given; i++)
        *value++ = PyTuple_GET_ITEM(probe.args, i);
    while (PyDict_Next(probe.kwargs, &position, name, value))
        name++, value++;
    c_memory_part block = {values, (size_t)(value - values) * sizeof(*value), 0, NULL};
    c_memory_part tuple = {names, (size_t)(name - names) * sizeof(*name),
                           offsetof(PyTupleObject, ob_item), NULL};
    c_layout_note_memory(&probe.trail->layout, words, BLOCK, &block);
    c_layout_note_memory(&probe.trail->layout, words, NAMES, &tuple);
}

/* Whether the stack is understood: the last of the return addresses is beyond these words. */
C_READS_STACK static int note_returns(call_trail *trail, c_stack_words words)
{
    uintptr_t slots[2 * RETURNS], begin = (uintptr_t)words.at;
    uintptr_t end = begin + words.count * sizeof(void *);
    int count = p_callers(slots, 2 * RETURNS), i = 0, known = trail->returns;
    while (i < count && slots[i] < begin)
        i++;
    trail->returns = 0;
    for (; i < count && slots[i] < end && trail->returns < RETURNS; i++) {
        size_t at = (slots[i] - begin) / sizeof(void *);
        int n = trail->returns++;
        if (known > 0 && (n >= known || trail->at[n] != at || trail->address[n] != words.at[at]))
            return 0;
        trail->at[n] = at;
        trail->address[n] = words.at[at];
    }
    return i < count && slots[i] >= end && trail->returns > 0 &&
           (known == 0 || known == trail->returns);
}

static PyObject *probe_star_call(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    call_trail *trail = probe.trail;
    c_frame *upper;
    c_stack_words words;
    if (trail == NULL || !c_probe_find(&upper, &words))
        Py_RETURN_NONE;
    c_layout_note(&trail->layout, words, TUPLE, probe.args);
    if (trail->named)
        note_block(words);
    c_layout_end_probe(&trail->layout, words);
    if (trail->layout.probes <= LESSONS && !note_returns(trail, words))
        trail->layout.words = 0;
    Py_RETURN_NONE;
}

static PyMethodDef probe_method = {"probe", probe_star_call, METH_NOARGS, NULL};

static const char program[] = "def target(self, *args, **kwargs):\n"
                              "    probe()\n"
                              "def call(method, args, kwargs):\n"
                              "    wipe()\n"
                              "    method(*args)\n"
                              "def call_with_names(method, args, kwargs):\n"
                              "    wipe()\n"
                              "    method(*args, **kwargs)\n";

/* A dictionary of so many new strings and objects. */
static PyObject *new_names(int count)
{
    PyObject *names = PyDict_New();
    for (int i = 0; names != NULL && i < count; i++) {
        PyObject *name = PyUnicode_FromFormat("name_%d_%p", i, (void *)names);
        PyObject *value = name ? PyList_New(0) : NULL;
        if (value == NULL || PyDict_SetItem(names, name, value) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return names;
}

static PyObject *new_arguments(int count)
{
    PyObject *args = PyTuple_New(count);
    for (int i = 0; args != NULL && i < count; i++) {
        PyObject *value = PyList_New(0);
        if (value != NULL)
            PyTuple_SET_ITEM(args, i, value);
        else
            Py_CLEAR(args);
    }
    return args;
}

static int make_probe(call_trail *trail, PyObject *globals, PyObject *method, int number)
{
    /* The first probe has the most; more than eight with the method's object 3.14 copies again. */
    int given = trail->most == 0 ? 0 : MOST_GIVEN - number - trail->named;
    int named = trail->named ? MOST_NAMED - number : 0;
    const char *caller = trail->has_names ? "call_with_names" : "call";
    PyObject *args = new_arguments(given), *done = NULL;
    PyObject *kwargs = args ? new_names(named) : NULL;
    probe.trail = trail;
    probe.args = args;
    probe.kwargs = kwargs;
    if (kwargs != NULL)
        done = PyObject_CallFunctionObjArgs(PyDict_GetItemString(globals, caller), method, args,
                                            kwargs, NULL);
    probe.trail = NULL;
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int probe_trails(PyObject *globals)
{
    PyObject *target = PyDict_GetItemString(globals, "target");
    PyObject *method = target ? PyMethod_New(target, globals) : NULL;
    int code = method ? 0 : -1;
    for (int i = 0; code == 0 && i < TRAILS * PROBES; i++)
        code = make_probe(&trails[i / PROBES], globals, method, i % PROBES);
    for (int i = 0; i < TRAILS; i++)
        if (trails[i].layout.probes < PROBES)
            trails[i].layout.words = 0;
    Py_XDECREF(method);
    return code;
}

int c_star_call_init(void)
{
    empty_tuple = PyTuple_New(0);
    PyObject *globals = empty_tuple ? c_probe_begin(&probe_method, program) : NULL;
    int code = globals ? probe_trails(globals) : -1;
    Py_XDECREF(globals);
    return code;
}

#endif
