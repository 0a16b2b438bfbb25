/* base/b_marks.h: a set of addresses of objects. */
#include "base/b_marks.h"
#include "runner.h"

enum { MANY = 50000 };

/* Objects of 16 to 64 bytes beside each other, half of them 8 bytes away from the 16. */
static const void *next_object(uintptr_t *end)
{
    uintptr_t address = *end;
    *end += 16 + 8 * (uintptr_t)(runner_random() % 7);
    return (const void *)address;
}

TEST(each_object_is_marked_once)
{
    static const void *objects[MANY];
    b_marks marks = {0};
    uintptr_t end = 0x7f0000000008;
    for (int i = 0; i < MANY; i++)
        objects[i] = next_object(&end);
    for (int i = 0; i < MANY; i += 2)
        CHECK(b_mark(&marks, objects[i]) == 1);
    for (int i = 0; i < MANY; i++)
        CHECK(b_is_marked(&marks, objects[i]) == (i % 2 == 0));
    for (int i = 0; i < MANY; i++)
        CHECK(b_mark(&marks, objects[i]) == i % 2);
    for (int i = 0; i < MANY; i++)
        CHECK(b_is_marked(&marks, objects[i]));
    b_marks_free(&marks);
    CHECK(!b_is_marked(&marks, objects[0]));
}

TEST(objects_far_from_each_other_are_marked)
{
    b_marks marks = {0};
    for (uintptr_t i = 0; i < 1000; i++)
        CHECK(b_mark(&marks, (const void *)(i << 32 | 0x10)) == 1);
    for (uintptr_t i = 0; i < 1000; i++) {
        CHECK(b_is_marked(&marks, (const void *)(i << 32 | 0x10)));
        CHECK(!b_is_marked(&marks, (const void *)(i << 32 | 0x20)));
        CHECK(!b_is_marked(&marks, (const void *)(i << 32 | 0x100010)));
    }
    CHECK(marks.count == 1000);
    b_marks_free(&marks);
}

TEST(marks_without_memory_are_as_they_were)
{
    b_marks marks = {0};
    for (uintptr_t i = 0; i < 200; i++) {
        const void *object = (const void *)(i << 20);
        int code, allocations = 0;
        do {
            runner_allocations = allocations++;
            code = b_mark(&marks, object);
            runner_allocations = -1;
            CHECK(code == 1 || code == -1);
            CHECK(b_is_marked(&marks, object) == (code == 1));
        } while (code < 0);
        CHECK(allocations >= 2);
        for (uintptr_t before = 0; before <= i; before++)
            CHECK(b_is_marked(&marks, (const void *)(before << 20)));
    }
    b_marks_free(&marks);
}
