/* The state of the model of a handoff: between its bytes and the structures of the protocol.
 *
 * The explorer keeps and compares bytes; an action works on what sched/handoff.c knows.
 */
#include <string.h>

#include "handoff_model.h"

world w;
const char *wrong;
int features, mistake;
s_handoff h;
s_carrier carriers[THREADS];
int names[TASKLETS];

int is_over(const tasklet_state *task)
{
    return task->is == DONE || task->is == GONE;
}

uint8_t index_of(const s_carrier *c)
{
    return c != NULL ? (uint8_t)(c - carriers) : NOBODY;
}

static s_carrier *carrier_at(uint8_t index)
{
    return index != NOBODY ? &carriers[index] : NULL;
}

void load_world(void)
{
    h = (s_handoff){carrier_at(w.at),
                    carrier_at(w.home),
                    carrier_at(w.reserve),
                    carrier_at(w.called),
                    carrier_at(w.invited),
                    w.in_transit,
                    w.idle,
                    w.forbidden,
                    w.closed};
    for (int t = 0; t < THREADS; t++) {
        const thread_state *of = &w.thread[t];
        void *sitter = of->sitter != NOBODY ? &names[of->sitter] : NULL;
        carriers[t] = (s_carrier){.serves = of->serves ? &h : NULL,
                                  .state = (s_carrier_state)of->state,
                                  .kept = of->kept,
                                  .sitter = sitter,
                                  .in_reserve = of->in_reserve,
                                  .below = carrier_at(of->below)};
    }
}

static void rename_tasklet(uint8_t *name)
{
    if (*name == 1 || *name == 2)
        *name = 3 - *name;
}

/* Of states that differ in nothing that matters one is kept: what has ended has no past, and
 * tasklets that do the same are in a fixed order. */
static void simplify_world(void)
{
    for (int x = 0; x < TASKLETS; x++)
        if (is_over(&w.tasklet[x]))
            w.tasklet[x].hard = w.tasklet[x].apart = 0;
    if (features & DEPENDS || memcmp(&w.tasklet[1], &w.tasklet[2], sizeof(tasklet_state)) <= 0)
        return;
    tasklet_state first = w.tasklet[1];
    w.tasklet[1] = w.tasklet[2];
    w.tasklet[2] = first;
    rename_tasklet(&w.chosen);
    for (int t = 0; t < THREADS; t++) {
        rename_tasklet(&w.thread[t].runs);
        rename_tasklet(&w.thread[t].sitter);
    }
}

static void store_structures(void)
{
    w.at = index_of(h.at);
    w.home = index_of(h.home);
    w.reserve = index_of(h.reserve);
    w.called = index_of(h.called);
    w.invited = index_of(h.invited);
    w.in_transit = (uint8_t)h.in_transit;
    w.idle = (uint8_t)h.idle;
    w.forbidden = (uint8_t)h.forbidden;
    w.closed = (uint8_t)h.closed;
    for (int t = 0; t < THREADS; t++) {
        const s_carrier *c = &carriers[t];
        w.thread[t].serves = c->serves != NULL;
        w.thread[t].state = (uint8_t)c->state;
        w.thread[t].kept = (uint8_t)c->kept;
        w.thread[t].sitter = c->sitter ? (uint8_t)((int *)c->sitter - names) : NOBODY;
        w.thread[t].in_reserve = (uint8_t)c->in_reserve;
        w.thread[t].below = index_of(c->below);
    }
}

void store_world(void)
{
    store_structures();
    simplify_world();
}

void begin_world(int what, int made)
{
    features = what;
    mistake = made;
    memset(&w, 0, sizeof(w));
    s_handoff_begin(&h, &carriers[HOME]);
    for (int t = HOME + 1; t < THREADS; t++)
        s_handoff_drop(&carriers[t]);
    store_world();
    for (int t = 0; t < THREADS; t++)
        w.thread[t].runs = NOBODY;
    w.thread[HOME].is = PYTHON;
    w.thread[HOME].runs = MAIN;
    w.tasklet[MAIN].is = CURRENT;
    w.chosen = w.heads = NOBODY;
    w.gil = what & NO_GIL ? 0 : HOME + 1;
}
