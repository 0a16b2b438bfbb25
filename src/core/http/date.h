/* Dates of HTTP. */
#ifndef LOOMLET_HTTP_DATE_H
#define LOOMLET_HTTP_DATE_H

#include "http/http.h"

#define T_DATE 29 /* its bytes */

/* A time, in seconds from 1970 on and not before that, as 29 bytes. */
void t_write_date(char *at, int64_t seconds);
/* 1, or 0 when the text is no date or the date is before 1970.  `now` says which century two digits
 * mean. */
int t_read_date(t_text text, int64_t now, int64_t *seconds);

#endif
