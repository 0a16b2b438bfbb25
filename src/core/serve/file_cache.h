/* The files of a folder that were answered with lately.
 *
 * One is kept open, with what its answers say, and a small one with its bytes, so that a further
 * answer needs one system call, the send.  It is looked at again when a second has passed: the same
 * file, size and time mean the same bytes.  What was made (a listing) is made again then.  What is
 * kept is limited by number, and what was made by its bytes; the one that was used longest ago goes
 * first.  What was made from a file, by compressing it, is good as long as that has not changed.
 */
#ifndef LOOMLET_SERVE_FILE_CACHE_H
#define LOOMLET_SERVE_FILE_CACHE_H

#include "serve/folder.h"

#define V_FILE_BUCKETS 2048
#define V_TAG 52

struct v_file {
    b_link recent;           /* in the order of use */
    v_file *next;            /* in the same place */
    struct v_folder *folder; /* that it is found in; NULL: in none, or not any more */
    char *path;
    uint32_t hash, uses;
    int fd; /* -1: there are only bytes */
    p_file_facts facts;
    int64_t checked;
    char *bytes; /* of a small one, or of one that was made; or NULL */
    t_text type;
    char *own_type;       /* the same, if it is its own */
    unsigned char coding; /* of bytes that were made: T_GZIP, or 0 */
    unsigned char absent; /* codings that no file beside it has (compressed.c) */
    int64_t looked;       /* when that was seen */
    p_file_facts origin;  /* of the file that bytes were made from, if one was */
    char tag[V_TAG];
    size_t tag_size;
    char modified[T_DATE];
};

/* What a maker has made.  type: empty, if that is what the path says. */
typedef struct v_made {
    t_text type, body;
    int coding;
    const p_file_facts *origin;
} v_made;

struct v_folder {
    struct v_folder *next;
    int fd;
    void *maker;
    b_link recent;
    uint32_t count;
    int64_t made; /* bytes of what was made */
    v_file *buckets[V_FILE_BUCKETS];
    size_t prefix_size;
    char prefix[];
};

/* One that is kept and has not changed; or NULL. */
v_file *v_find_file(v_server *server, struct v_folder *folder, const char *path);
/* Keeps a file that was opened; or NULL without memory: then it is closed. */
v_file *v_keep_file(v_server *server, struct v_folder *folder, const char *path, int fd,
                    const p_file_facts *facts);
/* The same of what was made with that coding. */
v_file *v_find_made(v_server *server, struct v_folder *folder, const char *path, int coding);
/* Keeps what was made, from a file with these facts or from none (NULL).  The same. */
v_file *v_keep_bytes(v_server *server, struct v_folder *folder, const char *path,
                     const v_made *made);
void v_forget_files(struct v_folder *folder);

/* The file of that path, opened and kept; or NULL, and *status says why. */
v_file *v_open_file(v_server *server, struct v_folder *folder, const char *path, int *status);

/* ---- media_type.c ---------------------------------------------------------------------------- */

/* The media type of a name. */
t_text v_type_of(const v_server *server, const char *path);
void v_free_types(v_server *server);

#endif
