/* Content codings that a client takes: RFC 9110, section 12.5.3. */
#ifndef LOOMLET_HTTP_CODING_H
#define LOOMLET_HTTP_CODING_H

#include "http/http.h"

enum { T_GZIP = 1, T_BROTLI = 2, T_ZSTD = 4, T_CODINGS = 7 };

/* Those of Accept-Encoding that are not refused by q=0; none if the client does not say. */
unsigned t_accepted_codings(const t_head *head, const char *bytes);

#endif
