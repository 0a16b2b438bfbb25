/* Where C code of the interpreter keeps objects on the C stack, between two activations.
 *
 * The C functions between a certain instruction and the activation that it enters are always the
 * same, so what they use lies at the same distance from the activation in every such call.  That is
 * learned from probes: a call of ours is made whose objects are known, and each word that holds one
 * is noted.  There are several probes, with other leftovers on the stack, so that what lies there
 * by chance is not mistaken for an object in use.  A later call must show the same distance between
 * the activations, and the same object at all offsets that were learned for it.
 */
#include "cpython/splice.h"

#ifdef C_HAS_SOFT

c_stack_words c_stack_words_between(const c_frame *upper, const c_frame *lower)
{
    while (!frame_is_entry(lower->previous))
        lower = lower->previous;
    void *const *at = (void *const *)upper->previous, *const *end = (void *)lower->previous;
    return (c_stack_words){at, end > at ? (size_t)(end - at) : 0};
}

B_NOINLINE void c_stack_overwrite(void)
{
    volatile uintptr_t words[256];
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        words[i] = i;
}

/* The first probe notes all offsets, the others keep those at which they see the object again. */
C_READS_STACK void c_layout_note(c_stack_layout *layout, c_stack_words words, int kind,
                                 const void *object)
{
    size_t *offset = layout->offset[kind];
    int count = 0;
    if (layout->probes == 0)
        layout->words = words.count;
    for (size_t i = 0; layout->probes == 0 && i < words.count && count < C_LAYOUT_OFFSETS; i++)
        if (words.at[i] == object)
            offset[count++] = i;
    for (int i = 0; layout->words == words.count && i < layout->offsets[kind]; i++)
        if (words.at[offset[i]] == object)
            offset[count++] = offset[i];
    layout->offsets[kind] = count;
}

void c_layout_end_probe(c_stack_layout *layout, c_stack_words words)
{
    if (layout->probes++ > 0 && words.count != layout->words)
        layout->words = 0;
}

C_READS_STACK void *c_layout_read(const c_stack_layout *layout, c_stack_words words, int kind)
{
    const size_t *offset = layout->offset[kind];
    void *object = layout->offsets[kind] ? words.at[offset[0]] : NULL;
    for (int i = 1; i < layout->offsets[kind]; i++)
        if (words.at[offset[i]] != object)
            return NULL;
    return object;
}

/* ---- what only its contents are known of ----------------------------------------------------- */

/* The only address in these words at which that is found; NULL: none, or several. */
C_READS_STACK static const void *find_memory(void *const *at, size_t count, c_stack_words stack,
                                             const c_memory_part *wanted)
{
    char there[C_MOST_BYTES];
    const void *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *address = at[i];
        int on_stack =
            address >= (const char *)stack.at && address < (const char *)(stack.at + stack.count);
        if (address == found || address == wanted->besides || on_stack ||
            (uintptr_t)address % sizeof(void *) != 0 ||
            p_memory_read(address + wanted->offset, there, wanted->size) < 0 ||
            memcmp(there, wanted->bytes, wanted->size) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = address;
    }
    return found;
}

/* Anywhere in the first probe, later where it was. */
C_READS_STACK void c_layout_note_memory(c_stack_layout *layout, c_stack_words words, int kind,
                                        const c_memory_part *wanted)
{
    const size_t *offset = layout->offset[kind];
    const void *found = NULL;
    if (layout->probes == 0)
        found = find_memory(words.at, words.count, words, wanted);
    else if (words.count == layout->words)
        for (int i = 0; i < layout->offsets[kind] && found == NULL; i++)
            found = find_memory(words.at + offset[i], 1, words, wanted);
    c_layout_note(layout, words, kind, found);
}

/* ---- probes ---------------------------------------------------------------------------------- */

int c_probe_find(c_frame **upper, c_stack_words *words)
{
    c_frame *f = thread_frame(c_thread_state());
    if (f == NULL || f->previous == NULL || !frame_is_entry(f->previous) ||
        f->previous->previous == NULL)
        return 0;
    *upper = f;
    *words = c_stack_words_between(f, f->previous->previous);
    return 1;
}

static PyObject *overwrite_below(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    c_stack_overwrite();
    Py_RETURN_NONE;
}

static PyMethodDef overwrite_method = {"wipe", overwrite_below, METH_NOARGS, NULL};

static int add_function(PyObject *globals, PyMethodDef *method)
{
    PyObject *function = PyCFunction_New(method, NULL);
    int code = function ? PyDict_SetItemString(globals, method->ml_name, function) : -1;
    Py_XDECREF(function);
    return code;
}

PyObject *c_probe_begin(PyMethodDef *probe, const char *program)
{
    PyObject *ran = NULL, *name = PyUnicode_FromString("probe"), *globals = PyDict_New();
    if (name != NULL && globals != NULL &&
        PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0 &&
        PyDict_SetItemString(globals, "__name__", name) == 0 && add_function(globals, probe) == 0 &&
        add_function(globals, &overwrite_method) == 0)
        ran = PyRun_String(program, Py_file_input, globals, globals);
    if (ran == NULL)
        Py_CLEAR(globals);
    Py_XDECREF(name);
    Py_XDECREF(ran);
    return globals;
}

#endif
