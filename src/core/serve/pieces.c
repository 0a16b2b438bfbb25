/* What follows a head: bytes of a file, or several parts of one with texts between them.
 *
 * A connection uses a file while it sends it, so one that the cache forgets meanwhile lives on.
 */
#include <errno.h>

#include "serve/pieces.h"
#include "serve/wire.h"

#define READ 16384

void v_begin_file(v_connection *c, v_file *file, int64_t from, int64_t size)
{
    c->file = file;
    c->file_at = from;
    c->file_left = size;
    file->uses++;
}

static void leave_file(v_connection *c)
{
    v_file *file = c->file;
    c->file = NULL;
    c->file_left = 0;
    if (file != NULL)
        v_release_file(file);
}

/* By TLS, which needs the bytes here. */
static long send_read_part(v_connection *c, size_t left)
{
    char bytes[READ];
    long got = p_read_at(c->file->fd, bytes, left < READ ? left : READ, c->file_at);
    return got > 0 ? v_send(c, bytes, (size_t)got, 0) : got;
}

static long send_part(v_connection *c)
{
    size_t left = (size_t)c->file_left;
    if (c->file->bytes != NULL)
        return v_send(c, c->file->bytes + c->file_at, left, 0);
    return c->tls != NULL ? send_read_part(c, left)
                          : p_send_file(i_desc_fd(c->desc), c->file->fd, c->file_at, left);
}

int v_send_file(v_connection *c)
{
    while (c->file_left > 0) {
        long sent = send_part(c);
        if (sent == -EAGAIN)
            return 0;
        if (sent <= 0) /* 0: it has become shorter */
            return sent < 0 ? (int)sent : -EIO;
        c->file_at += sent;
        c->file_left -= sent;
    }
    leave_file(c);
    return 1;
}

/* ---- pieces -------------------------------------------------------------------------------- */

void v_free_pieces(v_pieces *pieces)
{
    for (int i = 0; i < pieces->count; i++)
        t_release(&pieces->each[i].text);
    v_release_file(pieces->file);
    PyMem_Free(pieces);
}

v_pieces *v_new_pieces(v_file *file)
{
    v_pieces *pieces = c_calloc(sizeof(*pieces));
    if (pieces != NULL) {
        pieces->file = file;
        file->uses++;
    }
    return pieces;
}

int v_next_piece(v_connection *c)
{
    v_pieces *pieces = c->pieces;
    if (pieces == NULL)
        return 0;
    v_piece *piece = &pieces->each[pieces->at++];
    t_release(&c->out);
    c->out = piece->text;
    c->sent = 0;
    piece->text = (t_buffer){NULL, 0, 0};
    if (piece->size > 0)
        v_begin_file(c, pieces->file, piece->from, piece->size);
    if (pieces->at == pieces->count) {
        c->pieces = NULL;
        v_free_pieces(pieces);
    }
    return 1;
}

void v_drop_file(v_connection *c)
{
    leave_file(c);
    if (c->pieces != NULL)
        v_free_pieces(c->pieces);
    c->pieces = NULL;
}
