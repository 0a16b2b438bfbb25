#include "base/b_marks.h"

#include <stdlib.h>

#define FIRST_ROOM 64

void b_marks_free(b_marks *marks)
{
    for (size_t i = 0; i < marks->room; i++)
        free(marks->regions[i].bits);
    free(marks->regions);
    *marks = (b_marks){0};
}

static int double_room(b_marks *marks)
{
    b_marks wider = {.count = marks->count, .room = marks->room ? 2 * marks->room : FIRST_ROOM};
    wider.regions = calloc(wider.room, sizeof(*wider.regions));
    if (wider.regions == NULL)
        return -1;
    for (size_t i = 0; i < marks->room; i++) {
        if (marks->regions[i].bits != NULL)
            *b_marks_find(&wider, marks->regions[i].number) = marks->regions[i];
    }
    free(marks->regions);
    *marks = wider;
    return 0;
}

uint64_t *b_marks_add_region(b_marks *marks, uintptr_t number)
{
    if (2 * marks->count >= marks->room && double_room(marks) < 0)
        return NULL;
    uint64_t *bits = calloc(B_MARKS_BITS / 64, sizeof(*bits));
    if (bits != NULL) {
        *b_marks_find(marks, number) = (b_marks_region){number, bits};
        marks->count++;
    }
    return bits;
}
