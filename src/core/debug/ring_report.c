/* Rings: tasklets that wait for each other, so that none of their waits can end.
 *
 * When all tasklets of a thread wait for ever, the main one gets Deadlock (sched/idle.c).  A ring
 * among some of them is reported here while the others run on: once, when each of its tasklets has
 * waited for a second.
 *
 * An edge leads from a tasklet that waits to the one that can end the wait: it holds the lock, or
 * is joined.  A tasklet that waits for a group waits for all children, so every child closes a ring
 * with it.  No ring goes through a wait that ends by itself (its own deadline, or that of a scope
 * around it), through a channel, for which any tasklet may send, or through another thread.  A
 * tasklet that waits for a plain lock that it took itself makes no ring: that is how two of them
 * take turns.
 *
 * Cost.  A wait of these kinds counts itself (tasklet_waits), nothing else happens there.  The slow
 * path of the run queue, which an idle thread takes four times a second anyway, compares that count
 * with the one of the last look; so a program in which no such wait has begun looks at nothing.  A
 * look sorts the waiting tasklets by their ids and follows each edge once.  Looks are a second
 * apart, or 200 times as long as one takes.
 *
 * Rejected: following the edges where a wait begins, which costs the most where locks are contended
 * and would report waits that another tasklet is about to end; the monitor thread, which knows no
 * Python, exists only with slices, and would have to copy the process.
 */
#include <stdlib.h>
#include <string.h>

#include "debug/debug.h"
#include "sched/guests/scope.h"

#define PERIOD 954   /* coarse milliseconds: a second */
#define SHARE 200    /* looks take no more than that part of the time */
#define DEEPEST 1000 /* groups inside each other */

enum { NONE = -1, UNKNOWN = -2 };

d_wait_handler *d_report_ring;

typedef struct {
    uint64_t id, holder; /* holder 0: it waits for a group */
    s_tasklet *task;     /* owned */
    int next;            /* the index of the holder, if that waits too, or NONE */
    int last;            /* where its edges end, if there one waits for a group; UNKNOWN: not yet */
    int walk;            /* which walk has come here; 0: none */
} waiter;

typedef struct {
    s_sched *s;
    waiter *waiters;
    int count, room;
    int young; /* some have not waited long enough: look again */
} ring_graph;

/* ---- who waits -------------------------------------------------------------------------- */

static int ends_by_itself(const s_tasklet *t)
{
    if (t->timer != NULL)
        return 1;
    for (const s_scope *at = (s_scope *)t->scope; at != NULL; at = at->parent) {
        if (at->armed != NULL)
            return 1;
    }
    return 0;
}

/* Whether `t` waits for a tasklet; fills in for which. */
static int is_held_up(const s_sched *s, const s_tasklet *t, uint64_t *holder)
{
    s_target found = {0};
    *holder = 0;
    if (t->state != S_BLOCKED || t->in_ring || t->kind->target == NULL || ends_by_itself(t))
        return 0;
    if (s_scope_is_waited_for(t))
        return 1;
    t->kind->target(t, 0, &found);
    *holder = found.holder;
    if (found.holder == 0 && found.thread == s->thread_id)
        *holder = s->main->id;
    return *holder != 0 && *holder != t->id;
}

static void add_waiter(ring_graph *graph, s_tasklet *t)
{
    uint64_t holder;
    if (!is_held_up(graph->s, t, &holder))
        return;
    if ((int32_t)(graph->s->coarse_now - t->since) < PERIOD) {
        graph->young = 1;
        return;
    }
    if (graph->count < graph->room) {
        graph->waiters[graph->count] =
            (waiter){t->id, holder, (s_tasklet *)Py_NewRef((PyObject *)t), NONE, UNKNOWN, 0};
    }
    graph->count++;
}

/* Counts them, or (with room for them) takes them. */
static void visit_waiters(ring_graph *graph)
{
    s_sched *s = graph->s;
    graph->count = 0;
    add_waiter(graph, s->main);
    c_lock_take(&s->all_lock);
    for (b_link *at = s->all.next; at != &s->all; at = at->next)
        add_waiter(graph, B_CONTAINER(at, s_tasklet, all));
    c_lock_give(&s->all_lock);
}

/* ---- rings -------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t first = ((const waiter *)a)->id, second = ((const waiter *)b)->id;
    return first < second ? -1 : first > second;
}

static int index_of(const ring_graph *graph, uint64_t id)
{
    waiter key = {.id = id};
    waiter *found = bsearch(&key, graph->waiters, (size_t)graph->count, sizeof(key), compare_ids);
    return found != NULL ? (int)(found - graph->waiters) : NONE;
}

static void append_waiter(PyObject *ring, s_tasklet *t)
{
    if (ring != NULL && PyList_Append(ring, (PyObject *)t) < 0)
        PyErr_Clear();
    t->in_ring = 1;
}

static void report_ring(PyObject *ring)
{
    if (ring != NULL && d_report_ring != NULL)
        d_report_ring(ring);
    PyErr_Clear();
    Py_XDECREF(ring);
}

/* The tasklets from `first` to `last`, along their edges. */
static PyObject *ring_between(const ring_graph *graph, int first, int last)
{
    PyObject *ring = PyList_New(0);
    for (int at = first; at != NONE; at = graph->waiters[at].next) {
        append_waiter(ring, graph->waiters[at].task);
        if (at == last)
            break;
    }
    return ring;
}

/* Follows the edges from one that no walk has come to; reports a ring that it runs into. */
static void walk_from(ring_graph *graph, int start, int walk)
{
    waiter *all = graph->waiters;
    int at = start, end = start;
    while (at != NONE && all[at].walk == 0) {
        all[at].walk = walk;
        end = at;
        at = all[at].next;
    }
    int last = all[end].holder == 0 ? end : NONE;
    if (at != NONE && all[at].walk != walk)
        last = all[at].last;
    if (at != NONE && all[at].walk == walk)
        report_ring(ring_between(graph, at, end));
    for (at = start; at != NONE && all[at].last == UNKNOWN; at = all[at].next)
        all[at].last = last;
}

/* The one that waits for the group whose child `t` is, or NULL. */
static s_tasklet *waiting_parent(const ring_graph *graph, const s_tasklet *t)
{
    const s_scope *group = s_scope_group_of(t);
    s_tasklet *parent = group != NULL ? s_as_group(group)->waiter : NULL;
    return parent != NULL && index_of(graph, parent->id) != NONE ? parent : NULL;
}

/* From `child` up to `last`, through groups that wait for their children: how many, or NONE. */
static int count_groups(const ring_graph *graph, int child, int last)
{
    const s_tasklet *t = graph->waiters[child].task;
    for (int depth = 0; t != NULL && depth < DEEPEST; depth++) {
        t = waiting_parent(graph, t);
        if (t == graph->waiters[last].task)
            return depth;
    }
    return NONE;
}

/* The edges from `child` lead to one that waits for a group: is the child in it? */
static void close_through_group(ring_graph *graph, int child)
{
    int last = graph->waiters[child].last;
    if (last == NONE || last == child || graph->waiters[child].task->in_ring)
        return;
    int depth = count_groups(graph, child, last);
    if (depth == NONE)
        return;
    PyObject *ring = ring_between(graph, child, last);
    for (; depth > 0; depth--) {
        s_tasklet *t = graph->waiters[child].task;
        for (int up = 0; up < depth; up++)
            t = waiting_parent(graph, t);
        append_waiter(ring, t);
    }
    report_ring(ring);
}

static void find_rings(ring_graph *graph)
{
    waiter *all = graph->waiters;
    qsort(all, (size_t)graph->count, sizeof(*all), compare_ids);
    for (int i = 0; i < graph->count; i++)
        all[i].next = all[i].holder ? index_of(graph, all[i].holder) : NONE;
    for (int i = 0; i < graph->count; i++) {
        if (all[i].walk == 0)
            walk_from(graph, i, i + 1);
    }
    for (int i = 0; i < graph->count; i++)
        close_through_group(graph, i);
}

static void collect_rings(ring_graph *graph)
{
    visit_waiters(graph);
    int count = graph->count;
    if (count < 2)
        return;
    graph->waiters = PyMem_RawCalloc((size_t)count, sizeof(waiter));
    if (graph->waiters == NULL)
        return;
    graph->room = count;
    visit_waiters(graph);
    if (graph->count > count)
        graph->count = count;
    find_rings(graph);
    for (int i = 0; i < graph->count; i++)
        Py_DECREF((PyObject *)graph->waiters[i].task);
    PyMem_RawFree(graph->waiters);
}

void d_find_ring(s_sched *s)
{
    ring_graph graph = {.s = s};
    int64_t began = p_now();
    s->tasklet_waits_seen = s->tasklet_waits;
    if (s->current != s->idler)
        c_state_save(s->ts, &s->current->c); /* shows where it waits */
    collect_rings(&graph);
    uint32_t pause = s_coarse_ms((p_now() - began) * SHARE);
    s->rings_due = s->coarse_now + (pause > PERIOD ? pause : PERIOD);
    if (d_find_aside(s) || graph.young)
        s->tasklet_waits_seen--;
}
