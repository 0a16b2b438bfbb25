/* Who holds an exception: the paths to all that have a traceback, and what each keeps alive.
 *
 * First all objects of the collector are looked at for exceptions; none: that is all.  Then comes a
 * breadth-first search of the objects, as tp_traverse shows them:
 *   1. From the roots (modules, frames that run, tasklets, data of threads), stopping at
 *      exceptions, and at tracebacks, which some keep beside the exception.  Whatever is reached is
 *      alive without any of them.  The way to an exception is a shortest one.
 *   2. From each exception that was reached, in that order.  What is reached only now is what that
 *      exception keeps alive; an exception among it hangs on the first one.
 *   3. From those that were not reached.  One that comes back to itself is in a cycle, which the
 *      collector would free; one that does not is held by something that shows nothing: C code, or
 *      a cycle that does not lead back to it.
 *
 * An object that the collector does not know, a string or an array, is counted if all references to
 * it come from what the exception keeps alive.
 *
 * The search runs no Python code and takes no reference, so nothing changes meanwhile; without a
 * GIL the other threads are stopped.  What is returned is owned before anything else happens.
 *
 * Rejected: gc.get_referrers() from each exception upwards (each step reads every object, and finds
 * the searcher's own frames and lists); counting sizes by reachability (two exceptions of one
 * program reach nearly everything).
 */
#include "debug/holders.h"

#include <stdlib.h>

#include "base/b_numbers.h"
#include "cpython/running_frame.h"
#include "cpython/traceback.h"

enum { NONE = -1, UNREACHED = -2, AHEAD = 32 };

typedef struct {
    int parent; /* the object that led to it; NONE: it is `root` that did */
    int root;
    int owner; /* the exception that alone keeps it alive, or NONE */
    int uses;  /* references that were found; of an exception in a cycle: the last object before */
    int held;  /* we have a reference */
} found_object;

typedef struct {
    PyObject *roots, *exceptions;
    b_numbers objects; /* the exceptions are the first ones */
    found_object *found;
    int room;
    int next;                    /* the first object that has not been looked through */
    int *reached, reached_count; /* exceptions, in the order in which they were reached */
    struct {
        PyObject *object;
        int parent;
    } edges[AHEAD]; /* a ring of those whose memory is on its way to the processor */
    unsigned edge_first, edge_last;
    int parent, root, owner; /* of what is found now */
    int top;                 /* step 3: the exception from which it goes; or NONE */
    int no_memory;
    Py_ssize_t expected; /* about so many objects */
} search;

static inline int exception_count(const search *s)
{
    return (int)PyList_GET_SIZE(s->exceptions);
}

static inline PyObject *object_at(const search *s, int number)
{
    return (PyObject *)s->objects.addresses[number];
}

static int make_room(search *s)
{
    int room = s->objects.room;
    if (room > s->room) {
        found_object *found = realloc(s->found, (size_t)room * sizeof(*found));
        if (found == NULL)
            return -1;
        s->found = found;
        s->room = room;
    }
    return 0;
}

/* An exception is looked through after all that is alive without it.  Where one hangs on the top
 * from which it was reached, and leads back there, that is in a cycle. */
static void reach_exception(search *s, int number, int parent)
{
    found_object *found = &s->found[number];
    if (number == s->top && found->root == D_UNKNOWN) {
        found->root = D_IN_CYCLE;
        found->uses = parent;
    } else if (number != s->top && number != s->owner && found->parent < 0 &&
               (found->parent == UNREACHED || found->root == D_UNKNOWN)) {
        if (found->parent == UNREACHED)
            s->reached[s->reached_count++] = number;
        found->parent = parent;
        found->root = s->root;
    }
}

/* Containers without anything in them lead nowhere, and are many. */
static inline int is_empty(PyObject *object)
{
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object))
        return Py_SIZE(object) == 0;
    return PyDict_CheckExact(object) && ((PyDictObject *)object)->ma_used == 0;
}

static void find_object(search *s, PyObject *object, int parent)
{
    int collected = PyObject_IS_GC(object);
    if (s->owner < 0 && (!collected || is_empty(object) || PyTraceBack_Check(object)))
        return;
    int before = s->objects.count, number = b_number_add(&s->objects, object);
    if (number < 0 || make_room(s) < 0) {
        s->no_memory = 1;
        return;
    }
    if (number < exception_count(s)) {
        reach_exception(s, number, parent);
        return;
    }
    if (number == before)
        s->found[number] = (found_object){parent, s->root, s->owner, 0, 0};
    s->found[number].uses++;
}

static inline void take_edge(search *s)
{
    unsigned at = s->edge_first++ % AHEAD;
    find_object(s, s->edges[at].object, s->edges[at].parent);
}

static void take_all_edges(search *s)
{
    while (s->edge_first != s->edge_last && !s->no_memory)
        take_edge(s);
}

/* What the search waits for is memory: an edge is looked at some edges later. */
static int visit_edge(PyObject *object, void *arg)
{
    search *s = arg;
    if (s->edge_last - s->edge_first == AHEAD)
        take_edge(s);
    unsigned at = s->edge_last++ % AHEAD;
    s->edges[at].object = object;
    s->edges[at].parent = s->parent;
    __builtin_prefetch(object);
    b_numbers_prefetch(&s->objects, object);
    return s->no_memory;
}

static void look_through_object(search *s, int number)
{
    PyObject *object = object_at(s, number);
    s->parent = number;
    if (PyObject_IS_GC(object))
        Py_TYPE(object)->tp_traverse(object, visit_edge, s);
}

/* The objects are numbered in the order in which they were found: that is the queue. */
static void look_through_found(search *s)
{
    while (!s->no_memory) {
        if (s->next < s->objects.count) {
            if (s->next + AHEAD < s->objects.count)
                __builtin_prefetch(object_at(s, s->next + AHEAD));
            look_through_object(s, s->next++);
        } else if (s->edge_first != s->edge_last) {
            take_edge(s);
        } else {
            break;
        }
    }
}

/* ---- the three steps ----------------------------------------------------------------- */

static int begin_search(search *s)
{
    int count = exception_count(s);
    if (b_numbers_reserve(&s->objects, s->expected) < 0)
        return -1;
    s->reached = malloc((size_t)count * sizeof(*s->reached));
    for (int i = 0; i < count; i++) {
        if (b_number_add(&s->objects, PyList_GET_ITEM(s->exceptions, i)) < 0 || make_room(s) < 0)
            return -1;
        s->found[i] = (found_object){.parent = UNREACHED, .owner = NONE};
    }
    s->owner = s->top = NONE;
    /* What belongs to the search itself is reached, and leads nowhere. */
    PyObject *own[] = {s->exceptions, s->roots};
    for (int i = 0; i < 2; i++) {
        int number = b_number_add(&s->objects, own[i]);
        if (number < 0 || make_room(s) < 0)
            return -1;
        s->found[number] = (found_object){.parent = UNREACHED, .owner = NONE};
    }
    s->next = s->objects.count;
    return s->reached != NULL ? 0 : -1;
}

static void search_from_roots(search *s)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s->roots) && !s->no_memory; i++) {
        PyObject *root = PyList_GET_ITEM(s->roots, i);
        s->parent = NONE;
        s->root = (int)i;
        if (PyFrame_Check(root))
            c_frame_visit_variables(root, visit_edge, s);
        else
            visit_edge(root, s);
        take_all_edges(s);
    }
    s->parent = NONE;
    s->root = D_THREAD_DATA;
    c_threads_visit(visit_edge, s);
    take_all_edges(s);
    look_through_found(s);
}

static void search_from_reached(search *s, int begin)
{
    for (int i = begin; i < s->reached_count && !s->no_memory; i++) {
        s->owner = s->reached[i];
        look_through_object(s, s->owner);
        look_through_found(s);
    }
}

static void search_from_others(search *s)
{
    for (int i = 0; i < exception_count(s) && !s->no_memory; i++) {
        if (s->found[i].parent != UNREACHED)
            continue;
        int begin = s->reached_count;
        s->owner = s->top = i;
        s->found[i].parent = NONE;
        s->found[i].root = D_UNKNOWN;
        look_through_object(s, i);
        look_through_found(s);
        search_from_reached(s, begin);
    }
}

/* ---- what is returned ---------------------------------------------------------------- */

static void hold_object(search *s, int number)
{
    if (!s->found[number].held)
        Py_INCREF(object_at(s, number));
    s->found[number].held = 1;
}

/* Whether only its owner keeps it alive. */
static int is_owned(const search *s, int number)
{
    PyObject *object = object_at(s, number);
    return s->found[number].owner >= 0 &&
           (PyObject_IS_GC(object) || Py_REFCNT(object) <= s->found[number].uses);
}

/* From here on the objects may change. */
static void hold_all(search *s)
{
    for (int i = 0; i < s->objects.count; i++) {
        if (!is_owned(s, i))
            s->found[i].owner = NONE;
    }
    for (int i = 0; i < s->objects.count; i++) {
        if (s->found[i].owner >= 0)
            hold_object(s, i);
    }
    for (int i = 0; i < exception_count(s); i++) {
        int at = s->found[i].root == D_IN_CYCLE ? s->found[i].uses : i;
        for (; at >= 0 && !s->found[at].held; at = s->found[at].parent)
            hold_object(s, at);
    }
}

static void find_all_holders(void *arg)
{
    search *s = arg;
    if (begin_search(s) < 0) {
        s->no_memory = 1;
        return;
    }
    search_from_roots(s);
    search_from_reached(s, 0);
    search_from_others(s);
    if (!s->no_memory)
        hold_all(s);
}

/* From the first object to the exception: the other way round than the parents lead. */
static PyObject *path_to(const search *s, int exception, int *root)
{
    PyObject *path = PyList_New(0);
    const found_object *found = &s->found[exception];
    int at = exception, cycle = found->parent == NONE && found->root == D_IN_CYCLE;
    *root = found->root;
    if (cycle)
        at = found->uses;
    for (; path != NULL && at >= 0; at = s->found[at].parent) {
        if (PyList_Append(path, object_at(s, at)) < 0)
            Py_CLEAR(path);
        *root = s->found[at].root;
        if (cycle && at == exception)
            break;
    }
    if (path != NULL && PyList_Reverse(path) < 0)
        Py_CLEAR(path);
    return path;
}

/* What sys.getsizeof() says; 0 if it fails. */
static Py_ssize_t size_of(PyObject *getsizeof, PyObject *object)
{
    PyObject *size = PyObject_CallOneArg(getsizeof, object);
    Py_ssize_t bytes = size != NULL ? PyLong_AsSsize_t(size) : 0;
    Py_XDECREF(size);
    if (PyErr_Occurred())
        PyErr_Clear();
    return bytes > 0 ? bytes : 0;
}

typedef struct {
    Py_ssize_t objects, bytes;
} kept_size;

static void add_sizes(const search *s, PyObject *getsizeof, kept_size *sizes)
{
    for (int i = 0; i < s->objects.count; i++) {
        int owner = i < exception_count(s) ? i : s->found[i].owner;
        if (owner < 0)
            continue;
        sizes[owner].objects++;
        sizes[owner].bytes += size_of(getsizeof, object_at(s, i));
    }
}

static PyObject *describe_all(const search *s)
{
    PyObject *getsizeof = PySys_GetObject("getsizeof"), *all = PyList_New(0);
    kept_size *sizes = PyMem_Calloc((size_t)exception_count(s), sizeof(*sizes));
    if (all == NULL || sizes == NULL || getsizeof == NULL) {
        Py_CLEAR(all);
        PyMem_Free(sizes);
        return PyErr_NoMemory();
    }
    add_sizes(s, getsizeof, sizes);
    for (int i = 0; all != NULL && i < exception_count(s); i++) {
        int root;
        PyObject *path = path_to(s, i, &root), *one = NULL;
        if (path != NULL)
            one = Py_BuildValue("(OiNnn)", PyList_GET_ITEM(s->exceptions, i), root, path,
                                sizes[i].objects, sizes[i].bytes);
        if (one == NULL || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    PyMem_Free(sizes);
    return all;
}

static void free_search(search *s)
{
    for (int i = 0; i < s->objects.count; i++) {
        if (i < s->room && s->found[i].held)
            Py_DECREF(object_at(s, i));
    }
    b_numbers_free(&s->objects);
    free(s->found);
    free(s->reached);
}

PyObject *d_find_holders(PyObject *roots)
{
    search s = {.roots = roots};
    s.exceptions = c_exceptions_with_traceback(&s.expected);
    if (s.exceptions == NULL || exception_count(&s) == 0)
        return s.exceptions;
    c_while_world_stopped(find_all_holders, &s);
    PyObject *all = s.no_memory ? PyErr_NoMemory() : describe_all(&s);
    free_search(&s);
    Py_DECREF(s.exceptions);
    return all;
}
