/* What the files that read a head tell each other: see http.h. */
#ifndef LOOMLET_HTTP_PARTS_H
#define LOOMLET_HTTP_PARTS_H

#include "http/chars.h"
#include "http/http.h"

static inline t_span t_span_of(const char *head, const char *at, size_t size)
{
    return (t_span){(uint32_t)(at - head), (uint32_t)size};
}

static inline int t_span_equals(const char *head, t_span span, const char *name)
{
    return t_equals(head + span.at, span.size, name);
}

/* The functions below return 0 or minus a status. */

/* target.c: of a head whose method and target are known. */
int t_read_target(t_head *head, const char *bytes);
int t_check_host(const char *at, size_t size);

/* framing.c: a field has been read; all have been. */
int t_note_field(t_head *head, const char *bytes, const t_field *field);
int t_frame_body(t_head *head, const char *bytes);

#endif
