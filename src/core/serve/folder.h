/* Files of a folder as answers. */
#ifndef LOOMLET_SERVE_FOLDER_H
#define LOOMLET_SERVE_FOLDER_H

#include "serve/serve.h"

/* A file that was answered with lately; kept while a connection sends it. */
typedef struct v_file v_file;

/* Files below `path` for targets that begin with `prefix`: 0, -errno, or S_E_MEMORY.  `maker`: the
 * handler that makes what is no file, such as a listing, and keeps it by v_keep_made; or NULL. */
int v_add_folder(v_server *server, t_text prefix, const char *path, void *maker);
void v_free_folders(v_server *server);
/* The media type of names that end so (".html"); 0, or -1 without memory. */
int v_add_type(v_server *server, t_text suffix, t_text type);
/* Puts the answer for a file into `out`; what of the file follows that is noted in `c`.  1; 0 when
 * no folder has that target, or its maker is to answer; -1 without memory. */
int v_answer_file(v_connection *c, const t_head *head, const char *bytes, t_buffer *out,
                  void **handler);
/* Opens what such a target names, for the maker of its folder: a descriptor, or -errno. */
int v_open_below(v_server *server, t_text target);
struct v_made;
/* What the maker of the folder of that target has made for it is the answer, for a second or until
 * the file changes that it was made from; NULL if it is not kept: then nobody knows the target, or
 * there is no memory. */
v_file *v_keep_made(v_server *server, t_text target, const struct v_made *made);

/* ---- what is sent behind a head -------------------------------------------------------------- */

/* Memory that is sent like a file, from PyMem_Malloc, which it owns from now on; or NULL.  It lives
 * until v_release_file, and while it is sent. */
v_file *v_file_of_bytes(char *bytes);
void v_release_file(v_file *file);
/* Whether a file or a piece is to be sent. */
static inline int v_more_follows(const v_connection *c)
{
    return c->file != NULL || c->pieces != NULL;
}
/* Behind what is put together now, these bytes of the file are sent. */
void v_begin_file(v_connection *c, v_file *file, int64_t from, int64_t size);
/* Sends what of its file is left: 1 when all has gone, 0 when the client has to read first, -errno
 * when it is gone. */
int v_send_file(v_connection *c);
/* When that has gone: 1, and c->out and the file are what follows; 0 when nothing does. */
int v_next_piece(v_connection *c);
/* The connection sends nothing more of its file. */
void v_drop_file(v_connection *c);

#endif
