/* Compressed forms of files. */
#ifndef LOOMLET_SERVE_COMPRESSED_H
#define LOOMLET_SERVE_COMPRESSED_H

#include "serve/file_cache.h"

/* What of a file an answer has. */
typedef struct {
    v_file *file;
    t_text type;        /* of what it is once it is decoded */
    const char *coding; /* its name; NULL: none */
    char tag[V_TAG + 8];
    size_t tag_size;
} v_form;

#define V_SUFFIX sizeof(".zst") /* bytes that a path needs behind its end */

/* How the file of that path is answered to that client: 1; or 0: the maker of the folder is to
 * compress it, and to keep that by v_keep_made.  The path has V_SUFFIX bytes behind its end. */
int v_choose_form(v_server *server, struct v_folder *folder, char *path, v_file *file,
                  const t_head *head, const char *bytes, v_form *form);

#endif
