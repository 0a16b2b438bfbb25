/* Paths of request targets. */
#ifndef LOOMLET_HTTP_PATH_H
#define LOOMLET_HTTP_PATH_H

#include "http/http.h"

/* A path without its percent signs, in `out`, which has room for as many bytes: how many it has; or
 * -400 for a percent sign without two digits, and for a NUL. */
int64_t t_decode_path(t_text path, char *out);

/* The same for a file below a folder: relative ("" for the folder itself), without empty, `.` and
 * `..` segments, the slash at its end kept.  -400 as above, and for a decoded slash; -404 for what
 * leads out of the folder, or to a name that begins with a dot. */
int64_t t_path_of_file(t_text path, char *out);

#endif
