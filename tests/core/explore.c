/* The explorer of explore.h: a search in breadth, a table of states, and the way back. */
#include "explore.h"

#include <stdint.h>
#include <string.h>

#include "runner.h"

#define NONE UINT32_MAX

typedef struct {
    uint32_t from, to;
} edge;

static const explore_model *model;
static unsigned char *states; /* one after the other */
static uint32_t *parents, *table;
static int *ways; /* the action that led there from its parent */
static uint32_t count, room, slots;
static edge *edges;
static size_t edge_count, edge_room;

static unsigned char *state_at(uint32_t at)
{
    return states + (size_t)at * model->size;
}

static uint64_t hash_state(const unsigned char *state)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < model->size; i++)
        hash = (hash ^ state[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static void *make_room(void *array, size_t bytes)
{
    void *larger = realloc(array, bytes);
    CHECK(larger != NULL);
    return larger;
}

/* Where a state is in the table, or shall be. */
static uint32_t *find_slot(const unsigned char *state)
{
    uint32_t slot = (uint32_t)hash_state(state) & (slots - 1);
    while (table[slot] != NONE && memcmp(state_at(table[slot]), state, model->size) != 0)
        slot = (slot + 1) & (slots - 1);
    return &table[slot];
}

static void grow_table(void)
{
    room = room ? room * 2 : 1024;
    slots = room * 2;
    states = make_room(states, room * model->size);
    parents = make_room(parents, room * sizeof(*parents));
    ways = make_room(ways, room * sizeof(*ways));
    table = make_room(table, slots * sizeof(*table));
    memset(table, 0xff, slots * sizeof(*table));
    for (uint32_t at = 0; at < count; at++)
        *find_slot(state_at(at)) = at;
}

/* The number of the model's present state. */
static uint32_t number_state(uint32_t parent, int way)
{
    if (count == room)
        grow_table();
    uint32_t *slot = find_slot(model->state);
    if (*slot == NONE) {
        *slot = count;
        memcpy(state_at(count), model->state, model->size);
        parents[count] = parent;
        ways[count++] = way;
    }
    return *slot;
}

static void add_edge(uint32_t from, uint32_t to)
{
    if (edge_count == edge_room) {
        edge_room = edge_room ? edge_room * 2 : 4096;
        edges = make_room(edges, edge_room * sizeof(*edges));
    }
    edges[edge_count++] = (edge){from, to};
}

static void show_path(uint32_t at)
{
    if (at != 0)
        show_path(parents[at]);
    memcpy(model->state, state_at(at), model->size);
    model->print(at != 0 ? ways[at] : -1);
}

/* The last action has led from a state to a fault. */
static void show_fault(uint32_t from, int action, const char *fault)
{
    show_path(from);
    memcpy(model->state, state_at(from), model->size);
    model->act(action);
    model->print(action);
    printf("fault: %s\n", fault);
}

/* Visits what can be reached; 1 at a fault. */
static int visit_all(int quiet)
{
    for (uint32_t at = number_state(NONE, -1); at < count; at++) {
        for (int action = 0; action < model->actions; action++) {
            memcpy(model->state, state_at(at), model->size);
            if (!model->act(action))
                continue;
            const char *fault = model->fault();
            if (fault != NULL && !quiet)
                show_fault(at, action, fault);
            if (fault != NULL)
                return 1;
            uint32_t to = number_state(at, action);
            if (to != at)
                add_edge(at, to);
        }
    }
    return 0;
}

/* Marks what leads to a final state, back from there. */
static void mark_hopeful(unsigned char *hopeful)
{
    uint32_t *first = make_room(NULL, (count + 1) * sizeof(*first));
    uint32_t *sources = make_room(NULL, (edge_count + 1) * sizeof(*sources));
    uint32_t *stack = make_room(NULL, count * sizeof(*stack)), depth = 0;
    memset(first, 0, (count + 1) * sizeof(*first));
    for (size_t i = 0; i < edge_count; i++)
        first[edges[i].to + 1]++;
    for (uint32_t at = 0; at < count; at++)
        first[at + 1] += first[at];
    for (size_t i = edge_count; i-- > 0;)
        sources[--first[edges[i].to + 1]] = edges[i].from;
    for (uint32_t at = 0; at < count; at++)
        if (hopeful[at])
            stack[depth++] = at;
    while (depth > 0) {
        uint32_t at = stack[--depth];
        size_t end = at + 2 <= count ? first[at + 2] : edge_count;
        for (size_t i = first[at + 1]; i < end; i++) {
            if (!hopeful[sources[i]]) {
                hopeful[sources[i]] = 1;
                stack[depth++] = sources[i];
            }
        }
    }
    free(first);
    free(sources);
    free(stack);
}

/* The nearest state from which no final one can be reached; NONE: there is none. */
static uint32_t find_hopeless(void)
{
    uint32_t found = NONE;
    unsigned char *hopeful = make_room(NULL, count);
    for (uint32_t at = 0; at < count; at++) {
        memcpy(model->state, state_at(at), model->size);
        hopeful[at] = model->is_final() != 0;
    }
    mark_hopeful(hopeful);
    for (uint32_t at = 0; at < count && found == NONE; at++)
        if (!hopeful[at])
            found = at;
    free(hopeful);
    return found;
}

static void forget_all(void)
{
    free(states);
    free(parents);
    free(ways);
    free(table);
    free(edges);
    states = NULL;
    parents = table = NULL;
    ways = NULL;
    edges = NULL;
    count = room = slots = 0;
    edge_count = edge_room = 0;
}

explore_result explore(const explore_model *the_model, int quiet)
{
    explore_result result = EXPLORE_RIGHT;
    model = the_model;
    if (visit_all(quiet)) {
        result = EXPLORE_FAULT;
    } else {
        uint32_t hopeless = find_hopeless();
        if (hopeless != NONE)
            result = EXPLORE_HOPELESS;
        if (hopeless != NONE && !quiet) {
            show_path(hopeless);
            printf("from here nothing leads to a final state\n");
        }
    }
    printf("%u states\n", count);
    forget_all();
    return result;
}
