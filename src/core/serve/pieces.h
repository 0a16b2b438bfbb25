/* Several parts of a file in one answer, each behind a text. */
#ifndef LOOMLET_SERVE_PIECES_H
#define LOOMLET_SERVE_PIECES_H

#include "http/choice.h"
#include "serve/file_cache.h"

typedef struct {
    t_buffer text;
    int64_t from, size; /* of the file, behind the text */
} v_piece;

typedef struct v_pieces {
    v_file *file;
    int count, at; /* the next one */
    v_piece each[T_MOST_RANGES + 1];
} v_pieces;

/* Without pieces yet, of which there is at least one in the end; or NULL without memory. */
v_pieces *v_new_pieces(v_file *file);
void v_free_pieces(v_pieces *pieces);

#endif
