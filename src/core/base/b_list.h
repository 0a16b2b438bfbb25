/* Intrusive, circular, doubly linked lists.
 *
 * The list head is a link of its own; an empty list points at itself.  A link that is in no list
 * has next == NULL, so membership is one load.  Nothing is allocated and every operation is O(1).
 * No locking: the owner of the head says what guards it.
 *
 * Rejected: singly linked queues (a cancelled waiter leaves from the middle), and lists of pointers
 * (an allocation per wait).
 */
#ifndef LOOMLET_B_LIST_H
#define LOOMLET_B_LIST_H

#include <stddef.h>

typedef struct b_link {
    struct b_link *next, *prev;
} b_link;

#define B_CONTAINER(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

static inline void b_list_init(b_link *head)
{
    head->next = head->prev = head;
}

static inline int b_list_empty(const b_link *head)
{
    return head->next == head;
}

static inline int b_linked(const b_link *link)
{
    return link->next != NULL;
}

static inline void b_insert_after(b_link *at, b_link *link)
{
    link->prev = at;
    link->next = at->next;
    at->next->prev = link;
    at->next = link;
}

static inline void b_append(b_link *head, b_link *link)
{
    b_insert_after(head->prev, link);
}

static inline void b_prepend(b_link *head, b_link *link)
{
    b_insert_after(head, link);
}

static inline void b_unlink(b_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = NULL;
}

static inline b_link *b_first(const b_link *head)
{
    return head->next == head ? NULL : head->next;
}

/* Moves all links of `from` to the end of `to`. */
static inline void b_append_all(b_link *to, b_link *from)
{
    if (b_list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    b_list_init(from);
}

#endif
