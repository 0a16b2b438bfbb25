/* Conditional requests and ranges: which answer a request gets for something that the server has.
 *
 * By RFC 9110: sections 13 (conditions, in their order) and 14 (ranges).
 */
#ifndef LOOMLET_HTTP_CHOICE_H
#define LOOMLET_HTTP_CHOICE_H

#include "http/http.h"

#define T_MOST_RANGES 16

/* What there is. */
typedef struct {
    int64_t size;     /* bytes */
    int64_t modified; /* seconds since 1970 */
    t_text tag;       /* its ETag, with the quotes; strong */
} t_entity;

typedef struct {
    int64_t from, size;
} t_range;

typedef struct {
    int status; /* 200, 206, 304, 412 or 416 */
    int count;  /* 206: of the ranges, which may be read in this order */
    t_range ranges[T_MOST_RANGES];
} t_choice;

/* `now`: for dates with a year of two digits. */
void t_choose(const t_head *head, const char *bytes, const t_entity *entity, int64_t now,
              t_choice *choice);

#endif
