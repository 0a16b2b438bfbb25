/* The bytes of an answer.  The status line, fields and the end of the head are put into a buffer,
 * and so is a body that is known by then, so that one send takes all.
 *
 *   t_begin_answer, t_put_field for each field of the application, t_end_fields,
 *   then the body: as it is (t_put), or in chunks (t_begin_chunk, t_end_chunk, t_end_chunks).
 *
 * What frames the body is ours: the application says how long it is, if it knows, and what it says
 * about the connection is looked at and written anew.  A field that would end its line or is no
 * field at all is refused, before anything of it is written.
 *
 * Functions return 0, or -1 when there is no memory; what was begun is not to be sent then.
 */
#ifndef LOOMLET_HTTP_ANSWER_H
#define LOOMLET_HTTP_ANSWER_H

#include "http/buffer.h"

#define T_BAD_FIELD (-2) /* no token, or a value with a control character */
#define T_UNKNOWN (-1)   /* how long the body is */

typedef struct {
    int status;
    int64_t length; /* of the body, as the application says; or T_UNKNOWN */
    unsigned char has_date, has_server, closes; /* what it has said else */
    unsigned char has_no_body;                  /* this status never has one */
    unsigned char is_chunked;                   /* the body is to be sent in chunks */
    unsigned char closes_at_end;                /* after it the connection is to be closed */
} t_answer;

/* `reason` may be empty: then it is that of the status.  T_BAD_FIELD for a status of no final
 * answer, too: behind one of 1xx a client would wait for ever. */
int t_begin_answer(t_answer *answer, t_buffer *to, int status, t_text reason);
int t_put_field(t_answer *answer, t_buffer *to, t_text name, t_text value);
/* The end of the head, for a client of HTTP/1.`minor`: sets what is said about the body and the
 * connection, which goes on after the answer if `keeps_alive`.  `date` are T_DATE bytes. */
int t_end_fields(t_answer *answer, t_buffer *to, int minor, int keeps_alive, const char *date);

int t_begin_chunk(t_buffer *to, size_t size);
int t_end_chunk(t_buffer *to);
int t_end_chunks(t_buffer *to);

/* A whole answer without an application: `status`, a sentence as text unless the method is HEAD (0:
 * it is not known).  `closes`: nothing is read from the connection behind it. */
int t_put_refusal(t_buffer *to, int status, int method, int closes, const char *date);

/* What a status is called; "" for one that nobody has named. */
const char *t_reason_of(int status);

#endif
