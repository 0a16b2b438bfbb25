/* The media types of files, by the end of their names.  See file_cache.h. */
#include <string.h>

#include "serve/file_cache.h"

typedef struct v_type {
    struct v_type *next;
    size_t suffix_size, size;
    char text[]; /* the suffix, then the type */
} v_type;

int v_add_type(v_server *server, t_text suffix, t_text type)
{
    v_type *made = c_malloc(sizeof(*made) + suffix.size + type.size);
    if (made == NULL)
        return -1;
    made->suffix_size = suffix.size;
    made->size = type.size;
    memcpy(made->text, suffix.at, suffix.size);
    memcpy(made->text + suffix.size, type.at, type.size);
    made->next = server->types;
    server->types = made;
    return 0;
}

t_text v_type_of(const v_server *server, const char *path)
{
    size_t size = strlen(path);
    for (const v_type *type = server->types; type != NULL; type = type->next)
        if (size > type->suffix_size &&
            memcmp(path + size - type->suffix_size, type->text, type->suffix_size) == 0)
            return (t_text){type->text + type->suffix_size, type->size};
    return (t_text){"application/octet-stream", 24};
}

void v_free_types(v_server *server)
{
    v_type *type;
    while ((type = server->types) != NULL) {
        server->types = type->next;
        PyMem_Free(type);
    }
}
