/* Compressed forms of files.
 *
 * If the server compresses (v_server.compresses), a client that takes it gets the file beside the
 * one that it asks for, with .br, .zst or .gz behind the name, unless that is older.  If there is
 * none, and the file is text of a size that is worth it, it gets what the maker of the folder has
 * compressed by gzip, which is kept beside the files, until the file changes.
 *
 * A form has a tag of its own, and all answers say that they vary, so no cache takes one for the
 * other.  A client that asks for ranges gets the file as it is: its ranges count those bytes.
 *
 * That a file is not there is remembered for a second, as all that is known of files: else each
 * request would ask the system three times.
 *
 * Rejected: compressing here (no compressor may be linked, and it would hold up the thread).
 */
#include "serve/compressed.h"

#include <string.h>

#include "http/coding.h"

#define LEAST 256 /* bytes that are worth it */
#define MOST (1 << 20)
#define KNOWN_FOR 1000000000

typedef struct {
    unsigned bit;
    const char *name, *suffix;
} v_coding;

/* The smallest comes first. */
static const v_coding codings[] = {
    {T_BROTLI, "br", ".br"}, {T_ZSTD, "zstd", ".zst"}, {T_GZIP, "gzip", ".gz"}};

#define CODINGS (sizeof(codings) / sizeof(codings[0]))

static int has_word(t_text type, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= type.size; i++)
        if (memcmp(type.at + i, word, size) == 0)
            return 1;
    return 0;
}

static int is_worth_it(const v_file *file)
{
    t_text type = file->type;
    return file->facts.size >= LEAST && file->facts.size <= MOST &&
           (has_word(type, "text/") || has_word(type, "json") || has_word(type, "xml") ||
            has_word(type, "javascript"));
}

/* The file beside it with that coding; or NULL. */
static v_file *find_beside(v_server *server, struct v_folder *folder, char *path, v_file *file,
                           const v_coding *coding)
{
    int64_t now = s_now(server->s);
    size_t size = strlen(path);
    int status;
    if (now - file->looked > KNOWN_FOR)
        file->absent = 0;
    if (file->absent & coding->bit)
        return NULL;
    strcpy(path + size, coding->suffix);
    v_file *found = v_open_file(server, folder, path, &status);
    path[size] = '\0';
    if (found != NULL && found->facts.modified >= file->facts.modified)
        return found;
    if (file->absent == 0)
        file->looked = now;
    file->absent |= (unsigned char)coding->bit;
    return NULL;
}

static void use_form(v_form *form, v_file *file, const v_coding *coding)
{
    form->file = file;
    form->tag_size = file->tag_size;
    memcpy(form->tag, file->tag, file->tag_size);
    if (coding == NULL)
        return;
    form->coding = coding->name;
    size_t size = strlen(coding->name);
    char *end = form->tag + form->tag_size - 1; /* the quote */
    *end = '-';
    memcpy(end + 1, coding->name, size);
    end[1 + size] = '"';
    form->tag_size += 1 + size;
}

int v_choose_form(v_server *server, struct v_folder *folder, char *path, v_file *file,
                  const t_head *head, const char *bytes, v_form *form)
{
    *form = (v_form){.type = file->type};
    use_form(form, file, NULL);
    if (!server->compresses || t_find_field(head, bytes, "range", 0) >= 0)
        return 1;
    unsigned accepted = t_accepted_codings(head, bytes);
    for (size_t i = 0; file->fd >= 0 && i < CODINGS; i++) {
        v_file *beside =
            accepted & codings[i].bit ? find_beside(server, folder, path, file, &codings[i]) : NULL;
        if (beside != NULL) {
            use_form(form, beside, &codings[i]);
            return 1;
        }
    }
    if (folder->maker == NULL || !(accepted & T_GZIP) || !is_worth_it(file))
        return 1;
    v_file *made = v_find_made(server, folder, path, T_GZIP);
    if (made != NULL)
        use_form(form, made, &codings[CODINGS - 1]);
    return made != NULL;
}
