/* base/b_heap.c against a model that looks at every entry. */
#include "base/b_heap.h"
#include "runner.h"

#define TIMERS 3000

typedef struct {
    b_timer timer;
    uint64_t turn; /* when it was armed: equal deadlines keep that order */
} entry;

static entry entries[TIMERS];
static uint64_t turn;

static entry *model_first(void)
{
    entry *first = NULL;
    for (entry *e = entries; e < entries + TIMERS; e++) {
        if (e->timer.index == 0)
            continue;
        if (first == NULL || e->timer.when < first->timer.when ||
            (e->timer.when == first->timer.when && e->turn < first->turn))
            first = e;
    }
    return first;
}

static size_t armed(void)
{
    size_t count = 0;
    for (entry *e = entries; e < entries + TIMERS; e++)
        count += e->timer.index != 0;
    return count;
}

/* Every armed timer knows its index, and no entry is due before its parent. */
static void check_shape(const b_heap *heap)
{
    CHECK(heap->used == armed());
    CHECK(heap->used <= heap->room || heap->used == 0);
    for (size_t i = 0; i < heap->used; i++) {
        const b_heap_entry *e = &heap->entries[i];
        const b_heap_entry *parent = &heap->entries[(i - (i > 0)) / B_HEAP_CHILDREN];
        CHECK(e->timer->index == i + 1);
        CHECK(e->timer->when == e->when);
        CHECK(parent->when <= e->when);
    }
}

static void arm(b_heap *heap, entry *e, int64_t when)
{
    e->turn = turn++;
    CHECK(b_heap_push(heap, &e->timer, when) == 0);
}

/* Random arming and disarming; `full` of 16 operations arm, so the heap grows or shrinks. */
static void churn(b_heap *heap, int rounds, unsigned full, int64_t deadlines)
{
    for (int i = 0; i < rounds; i++) {
        entry *e = &entries[runner_random() % TIMERS];
        if (runner_random() % 16 >= full) {
            entry *first = model_first();
            CHECK(b_heap_first(heap) == (first ? &first->timer : NULL));
            if (runner_random() % 2 && first != NULL)
                e = first;
            b_heap_remove(heap, &e->timer);
            CHECK(e->timer.index == 0);
        } else if (e->timer.index == 0) {
            arm(heap, e, (int64_t)(runner_random() % (uint64_t)deadlines));
        }
        if (i % 64 == 0)
            check_shape(heap);
    }
}

TEST(a_heap_gives_the_earliest_and_among_equals_the_first)
{
    b_heap heap = {0};
    for (int phase = 0; phase < 3; phase++) {
        churn(&heap, 6000, 14, phase ? 1000000 : 5);
        churn(&heap, 6000, 8, 50);
        churn(&heap, 9000, 1, 50);
    }
    for (entry *first; (first = model_first()) != NULL;) {
        CHECK(b_heap_first(&heap) == &first->timer);
        b_heap_remove(&heap, &first->timer);
    }
    CHECK(heap.used == 0 && b_heap_first(&heap) == NULL);
    b_heap_free(&heap);
    CHECK(heap.entries == NULL && heap.room == 0);
}

TEST(disarming_what_is_not_armed_does_nothing)
{
    b_heap heap = {0};
    b_timer timer = {0};
    b_heap_remove(&heap, &timer);
    CHECK(heap.used == 0 && timer.index == 0);
}

TEST(without_memory_a_heap_stays_as_it_was)
{
    b_heap heap = {0};
    for (int i = 0; i < TIMERS; i++) {
        size_t used = heap.used;
        runner_allocations = 0;
        if (b_heap_push(&heap, &entries[i].timer, TIMERS - i) < 0) {
            CHECK(heap.used == used && entries[i].timer.index == 0);
            arm(&heap, &entries[i], TIMERS - i);
        }
        runner_allocations = -1;
    }
    check_shape(&heap);
    CHECK(b_heap_first(&heap) == &entries[TIMERS - 1].timer);
    b_heap_free(&heap);
}

TEST(a_heap_that_cannot_shrink_still_works)
{
    b_heap heap = {0};
    for (int i = 0; i < TIMERS; i++)
        arm(&heap, &entries[i], i);
    size_t room = heap.room;
    for (int i = 0; i < TIMERS; i++) {
        runner_allocations = 0;
        b_heap_remove(&heap, &entries[i].timer);
        CHECK(heap.room == room);
        if (i % 100 == 0)
            check_shape(&heap);
    }
    runner_allocations = -1;
    for (int i = 0; i < 3; i++)
        arm(&heap, &entries[i], i);
    b_heap_remove(&heap, &entries[0].timer);
    CHECK(heap.room < room);
    b_heap_free(&heap);
}
