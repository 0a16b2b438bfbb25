/* base/b_list.h against an array that does the same slowly. */
#include <string.h>

#include "base/b_list.h"
#include "runner.h"

#define ITEMS 40

typedef struct {
    int number;
    b_link link;
} item;

typedef struct {
    b_link head;
    int model[ITEMS], used;
} list;

static int number_of(const b_link *link)
{
    return B_CONTAINER(link, item, link)->number;
}

/* The list is the model, forwards and backwards. */
static void compare(const list *l)
{
    const b_link *at = l->head.next;
    for (int i = 0; i < l->used; i++, at = at->next) {
        CHECK(number_of(at) == l->model[i]);
        CHECK(at->next->prev == at && at->prev->next == at);
    }
    CHECK(at == &l->head);
    CHECK(b_list_empty(&l->head) == (l->used == 0));
    CHECK((b_first(&l->head) == NULL) == (l->used == 0));
}

static void model_insert(list *l, int at, int number)
{
    memmove(&l->model[at + 1], &l->model[at], (size_t)(l->used - at) * sizeof(int));
    l->model[at] = number;
    l->used++;
}

static int model_remove(list *l, int number)
{
    for (int i = 0; i < l->used; i++) {
        if (l->model[i] != number)
            continue;
        memmove(&l->model[i], &l->model[i + 1], (size_t)(l->used - i - 1) * sizeof(int));
        l->used--;
        return 1;
    }
    return 0;
}

static void put(list *l, item *one)
{
    switch (runner_random() % 3) {
    case 0:
        b_append(&l->head, &one->link);
        model_insert(l, l->used, one->number);
        break;
    case 1:
        b_prepend(&l->head, &one->link);
        model_insert(l, 0, one->number);
        break;
    default:
        if (l->used == 0)
            return;
        int at = (int)(runner_random() % (uint64_t)l->used);
        b_link *after = l->head.next;
        for (int i = 0; i < at; i++)
            after = after->next;
        b_insert_after(after, &one->link);
        model_insert(l, at + 1, one->number);
    }
}

static void splice(list *to, list *from)
{
    b_append_all(&to->head, &from->head);
    memcpy(&to->model[to->used], from->model, (size_t)from->used * sizeof(int));
    to->used += from->used;
    from->used = 0;
}

TEST(a_list_does_what_an_array_does)
{
    item items[ITEMS];
    list lists[2] = {0};
    b_list_init(&lists[0].head);
    b_list_init(&lists[1].head);
    for (int i = 0; i < ITEMS; i++)
        items[i] = (item){i, {NULL, NULL}};
    for (int round = 0; round < 100000; round++) {
        uint64_t dice = runner_random();
        item *one = &items[dice % ITEMS];
        list *l = &lists[dice >> 32 & 1];
        if ((dice >> 40) % 50 == 0) {
            splice(l, &lists[l == lists]);
        } else if (b_linked(&one->link)) {
            b_unlink(&one->link);
            CHECK(model_remove(&lists[0], one->number) + model_remove(&lists[1], one->number) == 1);
            CHECK(!b_linked(&one->link));
        } else {
            put(l, one);
        }
        compare(&lists[0]);
        compare(&lists[1]);
    }
}

TEST(appending_an_empty_list_changes_nothing)
{
    b_link a, b;
    b_list_init(&a);
    b_list_init(&b);
    b_append_all(&a, &b);
    CHECK(b_list_empty(&a) && b_list_empty(&b));
}
