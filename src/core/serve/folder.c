/* Files of a folder as answers.  See folder.h.
 *
 * Nothing outside of the folder is opened: the path is made safe as text (http/path.h), and the
 * system resolves it inside of the folder, symbolic links too (plat/folder_linux.c).  Only regular
 * files are answered with; of a folder its index.html, or what the maker makes of it.
 */
#include <errno.h>
#include <string.h>

#include "http/path.h"
#include "serve/compressed.h"
#include "serve/pieces.h"

/* ---- folders ------------------------------------------------------------------------------- */

int v_add_folder(v_server *server, t_text prefix, const char *path, void *maker)
{
    int fd = p_open_folder(path);
    if (fd < 0)
        return fd;
    struct v_folder *folder = c_calloc(sizeof(*folder) + prefix.size);
    if (folder == NULL) {
        p_close(fd);
        return S_E_MEMORY;
    }
    folder->fd = fd;
    folder->maker = maker;
    b_list_init(&folder->recent);
    folder->prefix_size = prefix.size;
    memcpy(folder->prefix, prefix.at, prefix.size);
    folder->next = server->folders;
    server->folders = folder;
    return S_OK;
}

void v_free_folders(v_server *server)
{
    struct v_folder *folder;
    while ((folder = server->folders) != NULL) {
        server->folders = folder->next;
        v_forget_files(folder);
        p_close(folder->fd);
        PyMem_Free(folder);
    }
    v_free_types(server);
}

/* The folder of a path as it stands in a target, and what of the path is behind its prefix. */
static struct v_folder *folder_of(const v_server *server, t_text path, t_text *rest)
{
    struct v_folder *folder = server->folders;
    while (folder != NULL && (path.size < folder->prefix_size ||
                              memcmp(path.at, folder->prefix, folder->prefix_size) != 0))
        folder = folder->next;
    if (folder != NULL)
        *rest = (t_text){path.at + folder->prefix_size, path.size - folder->prefix_size};
    return folder;
}

/* ---- answers ------------------------------------------------------------------------------- */

static int put_literal(t_answer *answer, t_buffer *out, const char *name, t_text value)
{
    return t_put_field(answer, out, (t_text){name, strlen(name)}, value);
}

static int end_fields(v_connection *c, t_answer *answer, t_buffer *out, const t_head *head)
{
    return t_end_fields(answer, out, head->minor, head->keeps_alive, v_date(c->server));
}

#define MOST_RANGE (3 * T_MOST_DECIMAL + 16)

/* What Content-Range says: with room for MOST_RANGE. */
static void put_range(t_buffer *to, const t_range *range, int64_t size)
{
    T_PUT(to, "bytes ");
    if (range != NULL) {
        t_put_number(to, (uint64_t)range->from);
        T_PUT(to, "-");
        t_put_number(to, (uint64_t)(range->from + range->size - 1));
    } else {
        T_PUT(to, "*");
    }
    T_PUT(to, "/");
    t_put_number(to, (uint64_t)size);
}

static int put_content_range(t_answer *answer, t_buffer *out, const t_range *range, int64_t size)
{
    char text[MOST_RANGE];
    t_buffer to = {text, 0, sizeof(text)};
    put_range(&to, range, size);
    return put_literal(answer, out, "Content-Range", (t_text){text, to.size});
}

/* `varies`: another client may get another form. */
static int put_file_fields(t_answer *answer, t_buffer *out, const v_form *form, t_text type,
                           int varies)
{
    int code = put_literal(answer, out, "ETag", (t_text){form->tag, form->tag_size});
    if (code == 0)
        code = put_literal(answer, out, "Last-Modified", (t_text){form->file->modified, T_DATE});
    if (code == 0 && form->coding == NULL)
        code = put_literal(answer, out, "Accept-Ranges", (t_text){"bytes", 5});
    if (code == 0 && form->coding != NULL && type.size > 0)
        code = put_literal(answer, out, "Content-Encoding",
                           (t_text){form->coding, strlen(form->coding)});
    if (code == 0 && varies)
        code = put_literal(answer, out, "Vary", (t_text){"Accept-Encoding", 15});
    if (code == 0 && type.size > 0)
        code = put_literal(answer, out, "Content-Type", type);
    return code;
}

/* The bytes of a file behind a head that was put: at once, or from the file. */
static int put_bytes_of_file(v_connection *c, t_buffer *out, v_file *file, t_range part)
{
    if (part.size == 0)
        return 0;
    if (file->bytes == NULL || part.size > V_AT_ONCE) {
        v_begin_file(c, file, part.from, part.size);
        return 0;
    }
    if (t_reserve(out, (size_t)part.size) < 0)
        return -1;
    t_put(out, file->bytes + part.from, (size_t)part.size);
    return 0;
}

/* One piece of the file, all of it or none. */
static int put_one(v_connection *c, const t_head *head, t_buffer *out, const v_form *form,
                   const t_choice *choice)
{
    t_answer answer;
    v_file *file = form->file;
    int status = choice->status, has_body = status == 200 || status == 206;
    t_range part = {0, status == 200 ? file->facts.size : 0};
    if (status == 206)
        part = choice->ranges[0];
    int code = t_begin_answer(&answer, out, status, (t_text){"", 0});
    if (code == 0)
        code = put_file_fields(&answer, out, form, has_body ? form->type : (t_text){"", 0},
                               c->server->compresses);
    if (code == 0 && (status == 206 || status == 416))
        code = put_content_range(&answer, out, status == 206 ? &part : NULL, file->facts.size);
    answer.length = status == 304 ? T_UNKNOWN : part.size;
    if (code == 0)
        code = end_fields(c, &answer, out, head);
    return code < 0 || head->method_known == T_HEAD_ONLY ? code
                                                         : put_bytes_of_file(c, out, file, part);
}

/* ---- several ranges ------------------------------------------------------------------------ */

#define BOUNDARY 16

static void write_boundary(const v_server *server, char *to)
{
    uint64_t bits =
        ((uint64_t)s_now(server->s) ^ (uint64_t)(uintptr_t)server) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < BOUNDARY; i++, bits >>= 4)
        to[i] = "0123456789abcdef"[bits & 15];
}

/* The text in front of a part. */
static int put_part_head(t_buffer *to, const char *boundary, const v_file *file,
                         const t_range *range)
{
    if (t_reserve(to, BOUNDARY + file->type.size + MOST_RANGE + 64) < 0)
        return -1;
    T_PUT(to, "\r\n--");
    t_put(to, boundary, BOUNDARY);
    T_PUT(to, "\r\nContent-Type: ");
    t_put(to, file->type.at, file->type.size);
    T_PUT(to, "\r\nContent-Range: ");
    put_range(to, range, file->facts.size);
    T_PUT(to, "\r\n\r\n");
    return 0;
}

static int put_last_boundary(t_buffer *to, const char *boundary)
{
    if (t_reserve(to, BOUNDARY + 8) < 0)
        return -1;
    T_PUT(to, "\r\n--");
    t_put(to, boundary, BOUNDARY);
    T_PUT(to, "--\r\n");
    return 0;
}

/* The pieces of a body with all ranges, and how long it is; or NULL without memory. */
static v_pieces *split_into_pieces(v_file *file, const t_choice *choice, const char *boundary,
                                   int64_t *length)
{
    v_pieces *pieces = v_new_pieces(file);
    int code = pieces != NULL ? 0 : -1;
    for (int i = 0; code == 0 && i <= choice->count; i++) {
        v_piece *piece = &pieces->each[pieces->count++];
        if (i < choice->count) {
            piece->from = choice->ranges[i].from;
            piece->size = choice->ranges[i].size;
            code = put_part_head(&piece->text, boundary, file, &choice->ranges[i]);
        } else {
            code = put_last_boundary(&piece->text, boundary);
        }
        *length += (int64_t)piece->text.size + piece->size;
    }
    if (code < 0 && pieces != NULL) {
        v_free_pieces(pieces);
        pieces = NULL;
    }
    return pieces;
}

static int put_multipart(v_connection *c, const t_head *head, t_buffer *out, const v_form *form,
                         const t_choice *choice)
{
    static const char kind[] = "multipart/byteranges; boundary=";
    char boundary[BOUNDARY], type[sizeof(kind) - 1 + BOUNDARY];
    t_answer answer;
    int64_t length = 0;
    write_boundary(c->server, boundary);
    memcpy(type, kind, sizeof(kind) - 1);
    memcpy(type + sizeof(kind) - 1, boundary, BOUNDARY);
    v_pieces *pieces = split_into_pieces(form->file, choice, boundary, &length);
    int code = pieces != NULL ? t_begin_answer(&answer, out, 206, (t_text){"", 0}) : -1;
    if (code == 0)
        code = put_file_fields(&answer, out, form, (t_text){type, sizeof(type)},
                               c->server->compresses);
    answer.length = length;
    if (code == 0)
        code = end_fields(c, &answer, out, head);
    if (code == 0)
        c->pieces = pieces;
    else if (pieces != NULL)
        v_free_pieces(pieces);
    return code;
}

static int put_status_only(v_connection *c, const t_head *head, t_buffer *out, int status)
{
    t_answer answer;
    int code = t_begin_answer(&answer, out, status, (t_text){"", 0});
    if (code == 0 && status == 301) {
        char there[T_MOST_TARGET + 1];
        const char *target = c->server->bytes + head->path.at;
        memcpy(there, target, head->path.size);
        there[head->path.size] = '/';
        code = put_literal(&answer, out, "Location", (t_text){there, head->path.size + 1});
    }
    if (code == 0 && status == 405)
        code = put_literal(&answer, out, "Allow", (t_text){"GET, HEAD", 9});
    answer.length = 0;
    return code == 0 ? end_fields(c, &answer, out, head) : code;
}

/* ---- requests ------------------------------------------------------------------------------ */

/* The file that answers for a path, or the status that does; 0: the maker is to answer. */
static v_file *find_answer(v_server *server, struct v_folder *folder, char *path, int64_t size,
                           int *status)
{
    int is_folder = size == 0 || path[size - 1] == '/';
    path[size] = '\0';
    v_file *made = is_folder && folder->maker != NULL ? v_find_file(server, folder, path) : NULL;
    if (made != NULL)
        return made;
    if (is_folder)
        memcpy(path + size, "index.html", sizeof("index.html"));
    v_file *file = v_open_file(server, folder, path, status);
    if (file == NULL && is_folder && *status == 404 && folder->maker != NULL)
        *status = 0;
    return file;
}

static int put_file(v_connection *c, const t_head *head, const char *bytes, t_buffer *out,
                    const v_form *form)
{
    const p_file_facts *facts = &form->file->facts;
    const t_entity entity = {facts->size, facts->modified, {form->tag, form->tag_size}};
    t_choice choice;
    t_choose(head, bytes, &entity, c->server->clock, &choice);
    return choice.status == 206 && choice.count > 1 ? put_multipart(c, head, out, form, &choice)
                                                    : put_one(c, head, out, form, &choice);
}

/* 1, 0 when the maker is to answer, or -1. */
static int answer_below(v_connection *c, struct v_folder *folder, t_text rest, const t_head *head,
                        const char *bytes, t_buffer *out)
{
    char path[T_MOST_TARGET + sizeof("index.html") + V_SUFFIX];
    v_form form;
    int64_t size = t_path_of_file(rest, path);
    int status = size < 0 ? (int)-size : 0;
    if (status == 0 && head->method_known != T_GET && head->method_known != T_HEAD_ONLY)
        status = 405;
    v_file *file = status == 0 ? find_answer(c->server, folder, path, size, &status) : NULL;
    if (file == NULL && status == 0)
        return 0;
    if (file != NULL && !v_choose_form(c->server, folder, path, file, head, bytes, &form))
        return 0;
    int code =
        file != NULL ? put_file(c, head, bytes, out, &form) : put_status_only(c, head, out, status);
    return code < 0 ? -1 : 1;
}

int v_answer_file(v_connection *c, const t_head *head, const char *bytes, t_buffer *out,
                  void **handler)
{
    t_text rest;
    struct v_folder *folder = folder_of(c->server, t_text_of(bytes, head->path), &rest);
    if (folder == NULL || head->framing != T_NO_BODY)
        return 0;
    c->server->bytes = bytes;
    int done = answer_below(c, folder, rest, head, bytes, out);
    if (done == 0)
        *handler = folder->maker;
    return done;
}

/* ---- the maker ----------------------------------------------------------------------------- */

int v_open_below(v_server *server, t_text target)
{
    char path[T_MOST_TARGET + 1];
    t_text rest;
    struct v_folder *folder = folder_of(server, target, &rest);
    int64_t size = folder != NULL && rest.size <= T_MOST_TARGET ? t_path_of_file(rest, path) : -1;
    if (size < 0)
        return -ENOENT;
    path[size] = '\0';
    return p_open_below(folder->fd, path);
}

v_file *v_keep_made(v_server *server, t_text target, const v_made *made)
{
    char path[T_MOST_TARGET + 1];
    t_text rest;
    struct v_folder *folder = folder_of(server, target, &rest);
    int64_t size = folder != NULL && rest.size <= T_MOST_TARGET ? t_path_of_file(rest, path) : -1;
    if (size < 0)
        return NULL;
    path[size] = '\0';
    return v_keep_bytes(server, folder, path, made);
}
