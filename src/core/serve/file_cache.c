/* The files that were answered with lately.  See file_cache.h. */
#include "serve/file_cache.h"

#include <errno.h>
#include <string.h>

#define MOST_FILES 1024
#define SMALL 32768 /* is kept with its bytes */
#define FRESH 1000000000
#define MOST_MADE (32 << 20) /* bytes */

/* ---- one file ------------------------------------------------------------------------------ */

static uint32_t hash_of_path(const char *path)
{
    uint32_t hash = 2166136261u;
    for (; *path != '\0'; path++)
        hash = (hash ^ (unsigned char)*path) * 16777619u;
    return hash;
}

static void free_file(v_file *file)
{
    if (file->fd >= 0)
        p_close(file->fd);
    PyMem_Free(file->path);
    PyMem_Free(file->bytes);
    PyMem_Free(file->own_type);
    PyMem_Free(file);
}

/* With its first use. */
static v_file *new_file(void)
{
    v_file *file = c_calloc(sizeof(*file));
    if (file != NULL) {
        file->fd = -1;
        file->uses = 1;
    }
    return file;
}

v_file *v_file_of_bytes(char *bytes)
{
    v_file *file = new_file();
    if (file != NULL)
        file->bytes = bytes;
    return file;
}

void v_release_file(v_file *file)
{
    if (--file->uses == 0)
        free_file(file);
}

static void write_tag(v_file *file)
{
    static const char digits[] = "0123456789abcdef";
    const uint64_t parts[] = {(uint64_t)file->facts.modified, (uint64_t)file->facts.nanoseconds,
                              (uint64_t)file->facts.size};
    char *to = file->tag;
    *to++ = '"';
    for (int i = 0; i < 3; i++) {
        int shift = 60;
        while (shift > 0 && parts[i] >> shift == 0)
            shift -= 4;
        for (; shift >= 0; shift -= 4)
            *to++ = digits[parts[i] >> shift & 15];
        *to++ = i < 2 ? '-' : '"';
    }
    file->tag_size = (size_t)(to - file->tag);
}

/* The bytes of a small file; what cannot be read so is sent from the descriptor. */
static void keep_bytes(v_file *file)
{
    if (file->facts.size > SMALL || (file->bytes = c_malloc((size_t)file->facts.size + 1)) == NULL)
        return;
    if (p_read_at(file->fd, file->bytes, (size_t)file->facts.size + 1, 0) != file->facts.size) {
        PyMem_Free(file->bytes);
        file->bytes = NULL;
    }
}

/* ---- in a folder --------------------------------------------------------------------------- */

/* No request finds it any more; who sends it goes on. */
static void forget_file(v_file *file)
{
    v_file **at = &file->folder->buckets[file->hash % V_FILE_BUCKETS];
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    b_unlink(&file->recent);
    file->folder->count--;
    if (file->fd < 0)
        file->folder->made -= file->facts.size;
    file->folder = NULL;
    v_release_file(file);
}

void v_forget_files(struct v_folder *folder)
{
    for (b_link *at; (at = b_first(&folder->recent)) != NULL;)
        forget_file(B_CONTAINER(at, v_file, recent));
}

/* A new file of that path that nobody finds yet; or NULL. */
static v_file *new_file_of(v_server *server, struct v_folder *folder, const char *path)
{
    v_file *file = new_file();
    if (file == NULL || (file->path = c_malloc(strlen(path) + 1)) == NULL) {
        PyMem_Free(file);
        return NULL;
    }
    strcpy(file->path, path);
    file->folder = folder;
    file->hash = hash_of_path(path);
    file->checked = s_now(server->s);
    return file;
}

static v_file *link_file(v_file *file)
{
    struct v_folder *folder = file->folder;
    v_file **bucket = &folder->buckets[file->hash % V_FILE_BUCKETS];
    file->next = *bucket;
    *bucket = file;
    b_append(&folder->recent, &file->recent);
    if (folder->count++ == MOST_FILES)
        forget_file(B_CONTAINER(b_first(&folder->recent), v_file, recent));
    return file;
}

v_file *v_keep_file(v_server *server, struct v_folder *folder, const char *path, int fd,
                    const p_file_facts *facts)
{
    v_file *file = new_file_of(server, folder, path);
    if (file == NULL) {
        p_close(fd);
        return NULL;
    }
    file->fd = fd;
    file->facts = *facts;
    file->type = v_type_of(server, path);
    write_tag(file);
    t_write_date(file->modified, facts->modified > 0 ? facts->modified : 0);
    keep_bytes(file);
    return link_file(file);
}

/* What was made has a hash of its bytes where a file has its time. */
static void write_tag_of_bytes(v_file *file, t_text body)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < body.size; i++)
        hash = (hash ^ (unsigned char)body.at[i]) * 1099511628211u;
    file->facts = (p_file_facts){.size = (int64_t)body.size, .nanoseconds = (int64_t)hash};
    write_tag(file);
}

static int copy_made(v_file *file, t_text type, t_text body)
{
    file->own_type = c_malloc(type.size + 1);
    file->bytes = c_malloc(body.size + 1);
    if (file->own_type == NULL || file->bytes == NULL)
        return -1;
    memcpy(file->own_type, type.at, type.size);
    memcpy(file->bytes, body.at, body.size);
    file->type = (t_text){file->own_type, type.size};
    write_tag_of_bytes(file, body);
    return 0;
}

/* Links it, and makes room for its bytes. */
static v_file *link_made(v_file *file)
{
    struct v_folder *folder = file->folder;
    link_file(file);
    folder->made += file->facts.size;
    for (b_link *at = b_first(&folder->recent); folder->made > MOST_MADE && at != &file->recent;) {
        v_file *old = B_CONTAINER(at, v_file, recent);
        at = at->next;
        if (old->fd < 0)
            forget_file(old);
    }
    return file;
}

v_file *v_keep_bytes(v_server *server, struct v_folder *folder, const char *path,
                     const v_made *made)
{
    v_file *old = v_find_made(server, folder, path, made->coding);
    v_file *file = new_file_of(server, folder, path);
    if (file == NULL)
        return NULL;
    file->coding = (unsigned char)made->coding;
    if (copy_made(file, made->type.size > 0 ? made->type : v_type_of(server, path), made->body) <
        0) {
        free_file(file);
        return NULL;
    }
    v_date(server);
    file->facts.modified = server->clock;
    if (made->origin != NULL) {
        file->origin = *made->origin;
        file->facts.modified = file->origin.modified > 0 ? file->origin.modified : 0;
    }
    t_write_date(file->modified, file->facts.modified);
    if (old != NULL)
        forget_file(old);
    return link_made(file);
}

static int is_same(const v_file *file)
{
    p_file_facts now;
    const p_file_facts *known = file->fd >= 0 ? &file->facts : &file->origin;
    return known->is_regular && p_file_facts_below(file->folder->fd, file->path, &now) == 0 &&
           now.device == known->device && now.number == known->number && now.size == known->size &&
           now.modified == known->modified && now.nanoseconds == known->nanoseconds;
}

v_file *v_find_file(v_server *server, struct v_folder *folder, const char *path)
{
    return v_find_made(server, folder, path, 0);
}

v_file *v_find_made(v_server *server, struct v_folder *folder, const char *path, int coding)
{
    uint32_t hash = hash_of_path(path);
    v_file *file = folder->buckets[hash % V_FILE_BUCKETS];
    while (file != NULL &&
           (file->hash != hash || file->coding != coding || strcmp(file->path, path) != 0))
        file = file->next;
    if (file == NULL)
        return NULL;
    int64_t now = s_now(server->s);
    if (now - file->checked > FRESH) {
        if (!is_same(file)) {
            forget_file(file);
            return NULL;
        }
        file->checked = now;
    }
    b_unlink(&file->recent);
    b_append(&folder->recent, &file->recent);
    return file;
}

static int status_of_error(int error)
{
    if (error == -ENOMEM || error == -EMFILE || error == -ENFILE)
        return 503;
    return error == -EACCES || error == -EPERM ? 403 : 404;
}

v_file *v_open_file(v_server *server, struct v_folder *folder, const char *path, int *status)
{
    v_file *file = v_find_file(server, folder, path);
    p_file_facts facts;
    if (file != NULL)
        return file;
    int fd = p_open_below(folder->fd, path);
    int code = fd < 0 ? fd : p_file_facts_of(fd, &facts);
    if (code >= 0 && facts.is_regular) {
        *status = 503;
        return v_keep_file(server, folder, path, fd, &facts);
    }
    if (fd >= 0)
        p_close(fd);
    *status = code < 0 ? status_of_error(code) : facts.is_folder ? 301 : 404;
    return NULL;
}
