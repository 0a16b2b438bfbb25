/* with manager: the C code between the statement and methods that are written in Python.
 *
 * Up to 3.13 one instruction (BEFORE_WITH) binds __enter__ and __exit__, drops the manager and
 * calls the first.  Both bound methods are in C variables meanwhile.  A block that ends without an
 * exception calls the second through the C code of bound methods, which puts the manager into the
 * slot of the operand and keeps the method in a C variable.  `with` statements that we run at
 * import show where on the C stack these variables are (stack_layout.c).  What is found there must
 * be bound methods of the manager, and one of them must call the function that runs.
 *
 * An __exit__ that is no bound method of a Python function (staticmethod, one of a type in C) keeps
 * its C stack, and so does the __enter__ beside it.
 */
#include "cpython/bytecode.h"
#include "cpython/splice.h"

#if defined(C_HAS_SOFT) && defined(C_OP_BEFORE_WITH)

#define PROBES 4
enum { ENTER, EXIT };

static c_stack_layout enter_call, exit_call;

static int is_method_of(PyObject *method, PyObject *manager)
{
    return method != NULL && Py_IS_TYPE(method, &PyMethod_Type) &&
           PyMethod_GET_SELF(method) == manager;
}

static int is_known(const c_stack_layout *layout, c_stack_words words)
{
    return layout->words > 0 && words.count == layout->words;
}

int c_with_enter_find(c_stack_words words, PyObject *manager, PyObject *func, PyObject **enter,
                      PyObject **exit)
{
    if (!is_known(&enter_call, words))
        return 0;
    *enter = c_layout_read(&enter_call, words, ENTER);
    *exit = c_layout_read(&enter_call, words, EXIT);
    return is_method_of(*enter, manager) && PyMethod_GET_FUNCTION(*enter) == func &&
           is_method_of(*exit, manager);
}

PyObject *c_with_exit_find(c_stack_words words, PyObject *manager, PyObject *func)
{
    if (!is_known(&exit_call, words))
        return NULL;
    PyObject *exit = c_layout_read(&exit_call, words, EXIT);
    return is_method_of(exit, manager) && PyMethod_GET_FUNCTION(exit) == func ? exit : NULL;
}

/* ---- learning ------------------------------------------------------------------------------ */

/* The methods of the present probe, which are looked for. */
static PyObject *methods[2];

static PyObject *probe_with(PyObject *self, PyObject *leaves)
{
    (void)self;
    c_frame *upper;
    c_stack_words words;
    if (methods[ENTER] == NULL || !c_probe_find(&upper, &words))
        Py_RETURN_NONE;
    c_stack_layout *layout = leaves == Py_True ? &exit_call : &enter_call;
    for (int kind = ENTER; kind <= EXIT; kind++)
        c_layout_note(layout, words, kind, methods[kind]);
    c_layout_end_probe(layout, words);
    Py_RETURN_NONE;
}

static PyMethodDef probe_method = {"probe", probe_with, METH_O, NULL};

static const char program[] = "class Manager:\n"
                              "    pass\n"
                              "def enter(self):\n"
                              "    probe(False)\n"
                              "def leave(self, kind, error, traceback):\n"
                              "    probe(True)\n"
                              "class Descriptor:\n"
                              "    def __init__(self, method):\n"
                              "        self.method = method\n"
                              "    def __get__(self, manager, kind):\n"
                              "        wipe()\n"
                              "        return self.method\n"
                              "def use(enter, leave, bind):\n"
                              "    if bind:\n"
                              "        enter, leave = Descriptor(enter), Descriptor(leave)\n"
                              "    Manager.__enter__, Manager.__exit__ = enter, leave\n"
                              "    manager = Manager()\n"
                              "    wipe()\n"
                              "    with manager:\n"
                              "        wipe()\n";

/* A bound method of a function of the program, with an object of its own. */
static PyObject *new_method(PyObject *globals, const char *name)
{
    PyObject *function = PyDict_GetItemString(globals, name), *object = PyList_New(0);
    PyObject *method = function && object ? PyMethod_New(function, object) : NULL;
    Py_XDECREF(object);
    return method;
}

/* Keeps its methods, so that no address is used again.  `bind`: they are bound by Python code, so
 * that binding leaves other words on the stack. */
static int make_with_probe(PyObject *globals, PyObject *keep, PyObject *bind)
{
    PyObject *enter = new_method(globals, "enter"), *leave = new_method(globals, "leave");
    PyObject *done = NULL;
    if (enter != NULL && leave != NULL && PyList_Append(keep, enter) == 0 &&
        PyList_Append(keep, leave) == 0) {
        methods[ENTER] = enter;
        methods[EXIT] = leave;
        done = PyObject_CallFunctionObjArgs(PyDict_GetItemString(globals, "use"), enter, leave,
                                            bind, NULL);
        methods[ENTER] = methods[EXIT] = NULL;
    }
    Py_XDECREF(enter);
    Py_XDECREF(leave);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

int c_with_call_init(void)
{
    PyObject *globals = c_probe_begin(&probe_method, program), *keep = PyList_New(0);
    int code = globals != NULL && keep != NULL ? 0 : -1;
    for (int i = 0; code == 0 && i < PROBES; i++)
        code = make_with_probe(globals, keep, i % 2 ? Py_True : Py_False);
    if (enter_call.probes < PROBES)
        enter_call.words = 0;
    if (exit_call.probes < PROBES)
        exit_call.words = 0;
    Py_XDECREF(keep);
    Py_XDECREF(globals);
    return code;
}

#else

int c_with_call_init(void)
{
    return 0;
}

#endif
