/* What an exception keeps alive by its traceback, and letting go of it.
 *
 * A traceback is a chain of entries: a frame, an instruction and a line.  Printing one needs the
 * code and the line, which stay; the variables of its frames can be dropped.  What
 * traceback.clear_frames() does is almost that, but it clears a frame that somebody else looks at,
 * closes a suspended generator whose frame is in the chain, and leaves the function, which refers
 * to the variables that it encloses.
 *
 * Which frames nobody else can see is found as the garbage collector finds garbage, in a small
 * graph: the exception, those that it comes from (cause, context, members of a group, or variables
 * of its frames), their tracebacks, and the frames of calls that have ended.  Each starts with its
 * number of references; each reference from inside of the graph is taken off.  What has some left
 * is referred to from outside, and so is seen everything that can be reached from there.  A frame
 * whose call still runs or is suspended is outside.
 *
 * Without a GIL the graph is read while all other threads are stopped, for others may refer to a
 * part of it.  Where it says that all is ours, no other thread can change that before it has taken
 * a reference from the caller.
 *
 * Rejected: making a chain of new frames from the codes (a function and a frame object more for
 * each entry, and whoever has kept the old entry has another chain than we); counting the
 * references of each frame alone (an exception and its context have frames in common).
 */
#include "cpython/layout.h"

#include "cpython/traceback.h"

#include "base/b_numbers.h"

#include <frameobject.h>
#include <traceback.h>

/* Where it was taken away it may be None, before 3.12. */
PyObject *c_traceback_of(PyObject *exception)
{
    PyObject *traceback = PyException_GetTraceback(exception);
    if (traceback == Py_None)
        Py_CLEAR(traceback);
    return traceback;
}

void c_traceback_put(PyObject *exception, PyObject *traceback)
{
    C_BEGIN_CRITICAL_SECTION(exception);
    PyException_SetTraceback(exception, traceback != NULL ? traceback : Py_None);
    C_END_CRITICAL_SECTION();
}

/* ---- the graph ----------------------------------------------------------------------- */

enum { MOST_ITEMS = 4096 };

typedef struct {
    Py_ssize_t outside; /* references that do not come from the graph */
    int seen;           /* from outside */
    int next;           /* in the list of those that are to be looked through; -1: the last */
} graph_node;

typedef struct {
    b_numbers objects; /* their numbers are those of the nodes */
    graph_node *nodes;
    int room;
    int no_memory, unended;
    int unread;     /* the first in that list */
    int containers; /* those are nodes that the present node refers to */
} frame_graph;

static inline PyObject *object_of(const frame_graph *g, int number)
{
    return (PyObject *)g->objects.addresses[number];
}

/* Makes the object a node. */
static int add_node(frame_graph *g, PyObject *object)
{
    int number = b_number_add(&g->objects, object);
    if (number >= g->room) {
        int room = g->room ? 2 * g->room : 64;
        graph_node *nodes = PyMem_RawRealloc(g->nodes, (size_t)room * sizeof(*nodes));
        if (nodes == NULL)
            number = -1;
        else
            g->nodes = nodes, g->room = room;
    }
    if (number < 0) {
        g->no_memory = 1;
        return -1;
    }
    g->nodes[number] = (graph_node){Py_REFCNT(object), 0, -1};
    return number;
}

static inline int has_ended(PyObject *frame)
{
    return ((PyFrameObject *)frame)->f_frame->owner == FRAME_OWNED_BY_FRAME_OBJECT;
}

static int belongs_to_graph(frame_graph *g, PyObject *object)
{
    if (PyTraceBack_Check(object) || PyExceptionInstance_Check(object))
        return 1;
    if (PyFrame_Check(object)) {
        g->unended |= !has_ended(object);
        return has_ended(object);
    }
    return g->containers && (PyTuple_CheckExact(object) || PyList_CheckExact(object)) &&
           Py_SIZE(object) <= MOST_ITEMS;
}

static int find_node(PyObject *object, void *arg)
{
    frame_graph *g = arg;
    int number = b_number_of(&g->objects, object);
    if (number < 0 && belongs_to_graph(g, object) && (number = add_node(g, object)) < 0)
        return -1;
    if (number >= 0)
        g->nodes[number].outside--;
    return 0;
}

static int see_node(PyObject *object, void *arg)
{
    frame_graph *g = arg;
    int number = b_number_of(&g->objects, object);
    if (number >= 0 && !g->nodes[number].seen) {
        g->nodes[number].seen = 1;
        g->nodes[number].next = g->unread;
        g->unread = number;
    }
    return 0;
}

static void traverse_node(frame_graph *g, int number, visitproc visit)
{
    PyObject *object = object_of(g, number);
    g->containers = !PyFrame_Check(object) && !PyTraceBack_Check(object);
    Py_TYPE(object)->tp_traverse(object, visit, g);
}

/* ---- letting go ---------------------------------------------------------------------- */

typedef struct {
    frame_graph graph;
    PyObject *exception;
    Py_ssize_t owned;
    int code;
} release;

static void build_graph(release *r)
{
    frame_graph *g = &r->graph;
    if (add_node(g, r->exception) < 0)
        return;
    g->nodes[0].outside -= r->owned;
    PyObject *traceback = c_traceback_of(r->exception);
    if (traceback != NULL && add_node(g, traceback) > 0)
        g->nodes[1].outside -= 2; /* the caller's reference, and this one */
    Py_XDECREF(traceback);
    for (int i = 0; i < g->objects.count && !g->no_memory; i++)
        traverse_node(g, i, find_node);
}

static void see_all_from_outside(frame_graph *g)
{
    g->unread = -1;
    for (int i = 0; i < g->objects.count; i++) {
        if (g->nodes[i].outside > 0)
            see_node(object_of(g, i), g);
    }
    while (g->unread >= 0) {
        int number = g->unread;
        g->unread = g->nodes[number].next;
        traverse_node(g, number, see_node);
    }
}

/* Leaves the frames that nobody sees as the first objects, with a reference to each. */
static void pick_frames(frame_graph *g, int *all)
{
    int count = 0;
    for (int i = 0; i < g->objects.count; i++) {
        if (g->nodes[i].seen)
            *all = 0;
        else if (PyFrame_Check(object_of(g, i)))
            g->objects.addresses[count++] = Py_NewRef(object_of(g, i));
    }
    g->objects.count = count;
}

static void find_frames(void *arg)
{
    release *r = arg;
    frame_graph *g = &r->graph;
    int all = 1;
    build_graph(r);
    if (g->no_memory || g->nodes[0].outside > 0) {
        g->objects.count = 0;
        r->code = g->no_memory ? -1 : 0;
        return;
    }
    see_all_from_outside(g);
    pick_frames(g, &all);
    r->code = all && !g->unended;
}

/* `f_locals` is a dict of the variables before 3.13, once somebody has asked for it. */
static void drop_variables(PyFrameObject *frame)
{
    Py_TYPE(frame)->tp_clear((PyObject *)frame);
    Py_CLEAR(frame->f_frame->f_locals);
    if (PyFrame_GetLasti(frame) >= 0)
        frame_replace_function(frame->f_frame, Py_None);
}

int c_exception_let_go(PyObject *exception, Py_ssize_t owned)
{
    release r = {.exception = exception, .owned = owned};
    if (Py_REFCNT(exception) > owned)
        return 0;
    c_while_world_stopped(find_frames, &r);
    for (int i = 0; i < r.graph.objects.count; i++) {
        drop_variables((PyFrameObject *)object_of(&r.graph, i));
        Py_DECREF(object_of(&r.graph, i));
    }
    PyMem_RawFree(r.graph.nodes);
    b_numbers_free(&r.graph.objects);
    return r.code;
}

/* ---- all of them --------------------------------------------------------------------- */

static inline int has_traceback(PyObject *object)
{
    return PyExceptionInstance_Check(object) &&
           ((PyBaseExceptionObject *)object)->traceback != NULL;
}

typedef struct {
    PyObject *list;
    Py_ssize_t objects;
    int no_memory;
} exception_list;

static int add_exception(PyObject *object, void *arg)
{
    exception_list *found = arg;
    found->objects++;
    if (has_traceback(object) && PyList_Append(found->list, object) < 0)
        found->no_memory = 1;
    return !found->no_memory;
}

PyObject *c_exceptions_with_traceback(Py_ssize_t *objects)
{
    exception_list found = {PyList_New(0), 0, 0};
    if (found.list != NULL)
        visit_objects(add_exception, &found);
    if (found.no_memory)
        Py_CLEAR(found.list);
    *objects = found.objects;
    return found.list;
}
