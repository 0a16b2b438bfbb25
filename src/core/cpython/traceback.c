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
#include "cpython/traceback.h"
#include "cpython/layout.h"

#include <frameobject.h>
#include <stdlib.h>
#include <traceback.h>

PyObject *c_traceback_of(PyObject *exception)
{
    return PyException_GetTraceback(exception);
}

void c_traceback_put(PyObject *exception, PyObject *traceback)
{
    C_BEGIN_CRITICAL_SECTION(exception);
    PyException_SetTraceback(exception, traceback != NULL ? traceback : Py_None);
    C_END_CRITICAL_SECTION();
}

/* ---- the graph ----------------------------------------------------------------------- */

enum { FIRST_ROOM = 64, MOST_ITEMS = 4096 };

typedef struct {
    PyObject *object;
    Py_ssize_t outside; /* references that do not come from the graph */
    int seen;           /* from outside */
} graph_node;

/* The nodes in the order in which they were found, and their places by address. */
typedef struct {
    graph_node *nodes;
    int *places; /* number of a node and 1; 0: free */
    int count, room;
    int no_memory, unended;
    int containers; /* those are nodes that the present node refers to */
} frame_graph;

static int *place_of(const frame_graph *g, const PyObject *object)
{
    size_t mask = 2 * (size_t)g->room - 1;
    size_t at = ((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u >> 20 & mask;
    while (g->places[at] != 0 && g->nodes[g->places[at] - 1].object != object)
        at = (at + 1) & mask;
    return &g->places[at];
}

static int grow_graph(frame_graph *g)
{
    int room = g->room ? 2 * g->room : FIRST_ROOM;
    graph_node *nodes = PyMem_RawRealloc(g->nodes, (size_t)room * sizeof(*nodes));
    if (nodes != NULL)
        g->nodes = nodes;
    int *places = nodes != NULL ? PyMem_RawCalloc(2 * (size_t)room, sizeof(*places)) : NULL;
    if (places == NULL)
        return 0;
    PyMem_RawFree(g->places);
    g->places = places;
    g->room = room;
    for (int i = 0; i < g->count; i++)
        *place_of(g, nodes[i].object) = i + 1;
    return 1;
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
    int *place = place_of(g, object);
    if (*place == 0) {
        if (!belongs_to_graph(g, object))
            return 0;
        if (g->count == g->room && !grow_graph(g)) {
            g->no_memory = 1;
            return -1;
        }
        g->nodes[g->count++] = (graph_node){object, Py_REFCNT(object), 0};
        place = place_of(g, object);
        *place = g->count;
    }
    g->nodes[*place - 1].outside--;
    return 0;
}

static int see_node(PyObject *object, void *arg)
{
    const frame_graph *g = arg;
    int number = *place_of(g, object);
    if (number != 0 && !g->nodes[number - 1].seen) {
        g->nodes[number - 1].seen = 1;
        Py_TYPE(object)->tp_traverse(object, see_node, arg);
    }
    return 0;
}

static void traverse_node(frame_graph *g, int number, visitproc visit)
{
    PyObject *object = g->nodes[number].object;
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
    if (!grow_graph(g)) {
        g->no_memory = 1;
        return;
    }
    find_node(r->exception, g);
    g->nodes[0].outside -= r->owned - 1; /* one was taken off as if it were an edge */
    PyObject *traceback = PyException_GetTraceback(r->exception);
    if (traceback != NULL) {
        find_node(traceback, g); /* the caller's reference */
        Py_DECREF(traceback);
        g->nodes[1].outside--;
    }
    for (int i = 0; i < g->count && !g->no_memory; i++)
        traverse_node(g, i, find_node);
}

/* Leaves the frames that nobody sees as the first nodes, with a reference to each. */
static void pick_frames(frame_graph *g, int *all)
{
    int count = 0;
    for (int i = 0; i < g->count; i++) {
        graph_node *node = &g->nodes[i];
        if (node->seen)
            *all = 0;
        else if (PyFrame_Check(node->object))
            g->nodes[count++].object = Py_NewRef(node->object);
    }
    g->count = count;
}

static void find_frames(void *arg)
{
    release *r = arg;
    frame_graph *g = &r->graph;
    int all = 1;
    build_graph(r);
    if (g->no_memory || g->nodes[0].outside > 0) {
        g->count = 0;
        r->code = g->no_memory ? -1 : 0;
        return;
    }
    for (int i = 0; i < g->count; i++) {
        if (g->nodes[i].outside > 0)
            see_node(g->nodes[i].object, g);
    }
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
    for (int i = 0; i < r.graph.count; i++) {
        drop_variables((PyFrameObject *)r.graph.nodes[i].object);
        Py_DECREF(r.graph.nodes[i].object);
    }
    PyMem_RawFree(r.graph.nodes);
    PyMem_RawFree(r.graph.places);
    return r.code;
}
