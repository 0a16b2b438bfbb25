/* Who holds an exception: the paths to all that have a traceback, and what each keeps alive.
 *
 * First all objects of the collector are looked at for exceptions; none: that is all.  Then comes a
 * breadth-first search of the objects, as tp_traverse shows them:
 *   1. From the roots (modules, frames that run, tasklets, data of threads), stopping at
 *      exceptions, and at tracebacks, which some keep beside the exception.  Whatever is reached is
 *      alive without any of them.  The way to an exception is a shortest one.  These objects are
 *      many: whether one is known says a bit, so that a second way to it reads nothing else.
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

#include <limits.h>
#include <stdlib.h>

#include "base/b_marks.h"
#include "base/b_numbers.h"
#include "cpython/running_frame.h"
#include "cpython/traceback.h"

enum { NONE = -1, UNREACHED = -2, AHEAD = 32 };

/* Step 1 has reached it. */
typedef struct {
    PyObject *object;
    int parent;        /* the object that led to it; NONE: it is `root` that did */
    int root : 31;     /* a number of the caller's, or D_... */
    unsigned held : 1; /* we have a reference */
} alive_object;

/* One of the exceptions, or what a later step has reached. */
typedef struct {
    int parent, root;
    int owner; /* the exception that alone keeps it alive, or NONE */
    int uses;  /* references that were found; of an exception in a cycle: the last object before */
    int held;
} kept_object;

typedef struct {
    PyObject *roots, *exceptions;
    b_marks marks; /* what step 1 has reached, also what has nothing in it */
    alive_object *alive;
    int alive_count, alive_room;
    b_numbers objects; /* those of `kept`; the exceptions are the first ones */
    kept_object *kept;
    int kept_room;
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

/* Objects are numbered in the order in which they were found: those that are alive, the exceptions,
 * the others.  The first ones are all there before one of the others leads anywhere. */
static inline int exception_count(const search *s)
{
    return (int)PyList_GET_SIZE(s->exceptions);
}

static inline int object_count(const search *s)
{
    return s->alive_count + s->objects.count;
}

static inline PyObject *object_at(const search *s, int number)
{
    if (number < s->alive_count)
        return s->alive[number].object;
    return (PyObject *)s->objects.addresses[number - s->alive_count];
}

static inline int parent_of(const search *s, int number)
{
    return number < s->alive_count ? s->alive[number].parent
                                   : s->kept[number - s->alive_count].parent;
}

static inline int root_of(const search *s, int number)
{
    return number < s->alive_count ? s->alive[number].root : s->kept[number - s->alive_count].root;
}

/* ---- what is found ------------------------------------------------------------------- */

/* An exception is looked through after all that is alive without it.  Where one hangs on the top
 * from which it was reached, and leads back there, that is in a cycle. */
static void reach_exception(search *s, int exception, int parent)
{
    kept_object *found = &s->kept[exception];
    if (exception == s->top && found->root == D_UNKNOWN) {
        found->root = D_IN_CYCLE;
        found->uses = parent;
    } else if (exception != s->top && exception != s->owner && found->parent < 0 &&
               (found->parent == UNREACHED || found->root == D_UNKNOWN)) {
        if (found->parent == UNREACHED)
            s->reached[s->reached_count++] = exception;
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

static int add_alive(search *s, PyObject *object, int parent)
{
    if (s->alive_count == s->alive_room) {
        if (s->alive_room > INT_MAX / 2)
            return -1;
        alive_object *alive = realloc(s->alive, 2 * (size_t)s->alive_room * sizeof(*alive));
        if (alive == NULL)
            return -1;
        s->alive = alive;
        s->alive_room *= 2;
    }
    s->alive[s->alive_count++] = (alive_object){object, parent, s->root, 0};
    return 0;
}

static void find_alive(search *s, PyObject *object, int parent)
{
    int exception = PyExceptionInstance_Check(object) ? b_number_of(&s->objects, object) : -1;
    if (exception >= 0) {
        reach_exception(s, exception, parent);
    } else if (!PyTraceBack_Check(object)) {
        int is_new = b_mark(&s->marks, object);
        if (is_new > 0 && PyObject_IS_GC(object) && !is_empty(object))
            is_new = add_alive(s, object, parent);
        s->no_memory |= is_new < 0;
    }
}

static int add_kept(search *s, PyObject *object, kept_object found)
{
    int before = s->objects.count, number = b_number_add(&s->objects, object);
    if (s->objects.room > s->kept_room) {
        kept_object *kept = realloc(s->kept, (size_t)s->objects.room * sizeof(*kept));
        if (kept == NULL)
            return -1;
        s->kept = kept;
        s->kept_room = s->objects.room;
    }
    if (number == before)
        s->kept[number] = found;
    return number;
}

static void find_kept(search *s, PyObject *object, int parent)
{
    int number = add_kept(s, object, (kept_object){parent, s->root, s->owner, 0, 0});
    if (number < 0)
        s->no_memory = 1;
    else if (number < exception_count(s))
        reach_exception(s, number, parent);
    else
        s->kept[number].uses++;
}

/* ---- ways from one to the next ------------------------------------------------------- */

static inline void take_edge(search *s)
{
    unsigned at = s->edge_first++ % AHEAD;
    (s->owner < 0 ? find_alive : find_kept)(s, s->edges[at].object, s->edges[at].parent);
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
    if (b_is_marked(&s->marks, object))
        return 0;
    if (s->edge_last - s->edge_first == AHEAD)
        take_edge(s);
    unsigned at = s->edge_last++ % AHEAD;
    s->edges[at].object = object;
    s->edges[at].parent = s->parent;
    __builtin_prefetch(object);
    if (s->owner >= 0)
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

/* Some have what is in them elsewhere. */
static inline void prefetch_contents(PyObject *object)
{
    if (PyList_CheckExact(object))
        __builtin_prefetch(((PyListObject *)object)->ob_item);
    else if (PyDict_CheckExact(object))
        __builtin_prefetch(((PyDictObject *)object)->ma_keys);
}

/* The numbers of the objects are the order of the queue. */
static void look_through_found(search *s)
{
    while (!s->no_memory) {
        int ahead = (s->owner < 0 ? s->alive_count : object_count(s)) - s->next;
        if (ahead > 0) {
            if (ahead > 2 * AHEAD)
                __builtin_prefetch(object_at(s, s->next + 2 * AHEAD));
            if (ahead > AHEAD)
                prefetch_contents(object_at(s, s->next + AHEAD));
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
    s->alive_room = s->expected < INT_MAX / 4 ? (int)s->expected + 64 : INT_MAX / 4;
    s->alive = malloc((size_t)s->alive_room * sizeof(*s->alive));
    s->reached = malloc((size_t)count * sizeof(*s->reached));
    if (s->alive == NULL || s->reached == NULL)
        return -1;
    s->owner = s->top = NONE;
    for (int i = 0; i < count; i++) {
        PyObject *exception = PyList_GET_ITEM(s->exceptions, i);
        if (add_kept(s, exception, (kept_object){.parent = UNREACHED, .owner = NONE}) < 0)
            return -1;
    }
    /* What belongs to the search itself is reached, and leads nowhere. */
    return b_mark(&s->marks, s->exceptions) < 0 || b_mark(&s->marks, s->roots) < 0 ? -1 : 0;
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
    s->next = s->alive_count + exception_count(s);
}

static void look_through_exception(search *s, int exception)
{
    s->owner = exception;
    look_through_object(s, s->alive_count + exception);
    look_through_found(s);
}

static void search_from_reached(search *s, int begin)
{
    for (int i = begin; i < s->reached_count && !s->no_memory; i++)
        look_through_exception(s, s->reached[i]);
}

static void search_from_others(search *s)
{
    for (int i = 0; i < exception_count(s) && !s->no_memory; i++) {
        if (s->kept[i].parent != UNREACHED)
            continue;
        int begin = s->reached_count;
        s->top = i;
        s->kept[i].parent = NONE;
        s->kept[i].root = D_UNKNOWN;
        look_through_exception(s, i);
        search_from_reached(s, begin);
    }
}

/* ---- what is returned ---------------------------------------------------------------- */

/* Whether it was not held before. */
static int hold_object(search *s, int number)
{
    int held;
    if (number < s->alive_count) {
        held = (int)s->alive[number].held;
        s->alive[number].held = 1;
    } else {
        held = s->kept[number - s->alive_count].held;
        s->kept[number - s->alive_count].held = 1;
    }
    if (!held)
        Py_INCREF(object_at(s, number));
    return !held;
}

/* Whether only its owner keeps it alive. */
static int is_owned(const search *s, int kept)
{
    PyObject *object = (PyObject *)s->objects.addresses[kept];
    return s->kept[kept].owner >= 0 &&
           (PyObject_IS_GC(object) || Py_REFCNT(object) <= s->kept[kept].uses);
}

/* Where the path to an exception ends: at itself, or before it if it goes around a cycle. */
static inline int end_of_path(const search *s, int exception)
{
    const kept_object *found = &s->kept[exception];
    return found->root == D_IN_CYCLE ? found->uses : s->alive_count + exception;
}

/* From here on the objects may change. */
static void hold_all(search *s)
{
    for (int i = 0; i < s->objects.count; i++) {
        if (is_owned(s, i))
            hold_object(s, s->alive_count + i);
        else
            s->kept[i].owner = NONE;
    }
    for (int i = 0; i < exception_count(s); i++) {
        int at = end_of_path(s, i);
        while (at >= 0 && hold_object(s, at))
            at = parent_of(s, at);
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
    const kept_object *found = &s->kept[exception];
    *root = found->root;
    for (int at = end_of_path(s, exception); path != NULL && at >= 0; at = parent_of(s, at)) {
        if (PyList_Append(path, object_at(s, at)) < 0)
            Py_CLEAR(path);
        *root = root_of(s, at);
        if (found->root == D_IN_CYCLE && at == s->alive_count + exception)
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
        int owner = i < exception_count(s) ? i : s->kept[i].owner;
        if (owner < 0)
            continue;
        sizes[owner].objects++;
        sizes[owner].bytes += size_of(getsizeof, object_at(s, s->alive_count + i));
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
    for (int i = 0; i < s->alive_count; i++) {
        if (s->alive[i].held)
            Py_DECREF(s->alive[i].object);
    }
    for (int i = 0; i < s->objects.count; i++) {
        if (i < s->kept_room && s->kept[i].held)
            Py_DECREF((PyObject *)s->objects.addresses[i]);
    }
    b_marks_free(&s->marks);
    b_numbers_free(&s->objects);
    free(s->alive);
    free(s->kept);
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
