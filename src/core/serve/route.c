/* Routes: requests that are answered without the application.
 *
 * A fixed answer is put together once, without what changes: the date, and whether the connection
 * stays open.  It is found by the whole path, before anything of it is decoded, in a table that
 * has twice as many buckets as routes.  A large body is sent from where it lies, like a file: a
 * copy for each client that reads slowly would fill the memory.
 */
#include <string.h>

#include "serve/folder.h"

#define LARGE 65536

struct v_route {
    t_text path;   /* as it stands in the target */
    t_buffer head; /* up to the date */
    t_text body;
    v_file *large; /* the body of a large one; else NULL */
    void *handler; /* that answers instead; or NULL */
    uint32_t hash;
    struct v_route *next; /* in the same place */
};

/* ---- the table ----------------------------------------------------------------------------- */

/* FNV-1a: paths are short, and who chooses the routes is the application. */
static uint32_t hash_of(t_text path)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < path.size; i++)
        hash = (hash ^ (unsigned char)path.at[i]) * 16777619u;
    return hash;
}

static v_route **bucket_of(const v_server *server, uint32_t hash)
{
    return &server->routes[hash & (server->buckets - 1)];
}

static const v_route *find_route(const v_server *server, t_text path)
{
    uint32_t hash = server->buckets > 0 ? hash_of(path) : 0;
    const v_route *route = server->buckets > 0 ? *bucket_of(server, hash) : NULL;
    for (; route != NULL; route = route->next)
        if (route->hash == hash && route->path.size == path.size &&
            memcmp(route->path.at, path.at, path.size) == 0)
            return route;
    return NULL;
}

static void link_route(v_server *server, v_route *route)
{
    v_route **bucket = bucket_of(server, route->hash);
    route->next = *bucket;
    *bucket = route;
}

/* Twice as many buckets as routes. */
static int make_buckets(v_server *server)
{
    v_route **old = server->routes;
    uint32_t count = server->buckets, buckets = count > 0 ? 2 * count : 16;
    if (2 * (server->route_count + 1) <= count)
        return 0;
    v_route **routes = c_calloc(buckets * sizeof(*routes));
    if (routes == NULL)
        return -1;
    server->routes = routes;
    server->buckets = buckets;
    for (uint32_t i = 0; i < count; i++) {
        for (v_route *route = old[i], *next; route != NULL; route = next) {
            next = route->next;
            link_route(server, route);
        }
    }
    PyMem_Free(old);
    return 0;
}

/* ---- adding -------------------------------------------------------------------------------- */

static char *copy_text(t_text text)
{
    char *copy = c_malloc(text.size > 0 ? text.size : 1);
    if (copy != NULL)
        memcpy(copy, text.at, text.size);
    return copy;
}

static void free_route(v_route *route)
{
    PyMem_Free((void *)route->path.at);
    if (route->large != NULL)
        v_release_file(route->large);
    else
        PyMem_Free((void *)route->body.at);
    t_release(&route->head);
    PyMem_Free(route);
}

static int write_head(v_route *route, int status, t_text type)
{
    static const t_text name = {"Content-Type", 12};
    t_answer answer;
    int code = t_begin_answer(&answer, &route->head, status, (t_text){"", 0});
    if (code == 0 && type.size > 0)
        code = t_put_field(&answer, &route->head, name, type);
    if (code == 0)
        code = t_reserve(&route->head, 64);
    if (code < 0)
        return code;
    T_PUT(&route->head, "Server: loomlet\r\nContent-Length: ");
    t_put_number(&route->head, route->body.size);
    T_PUT(&route->head, "\r\nDate: ");
    return 0;
}

static v_route *new_route(t_text path)
{
    v_route *route = c_calloc(sizeof(*route));
    if (route == NULL)
        return NULL;
    route->path = (t_text){copy_text(path), path.size};
    route->hash = hash_of(path);
    if (route->path.at != NULL)
        return route;
    PyMem_Free(route);
    return NULL;
}

/* Adds it, or frees it if `code` says that it could not be made. */
static int add_route(v_server *server, v_route *route, int code)
{
    if (code == 0)
        code = make_buckets(server);
    if (code < 0) {
        free_route(route);
        return code;
    }
    link_route(server, route);
    server->route_count++;
    return 0;
}

int v_add_fixed(v_server *server, t_text path, int status, t_text type, t_text body)
{
    v_route *route = new_route(path);
    if (route == NULL)
        return -1;
    route->body = (t_text){copy_text(body), body.size};
    int code = route->body.at != NULL ? write_head(route, status, type) : -1;
    if (code == 0 && body.size > LARGE) {
        route->large = v_file_of_bytes((char *)route->body.at);
        code = route->large != NULL ? 0 : -1;
    }
    return add_route(server, route, code);
}

int v_add_handler(v_server *server, t_text path, void *handler)
{
    v_route *route = new_route(path);
    if (route == NULL)
        return -1;
    route->handler = handler;
    return add_route(server, route, 0);
}

void v_free_routes(v_server *server)
{
    for (uint32_t i = 0; i < server->buckets; i++) {
        for (v_route *route = server->routes[i], *next; route != NULL; route = next) {
            next = route->next;
            free_route(route);
        }
    }
    PyMem_Free(server->routes);
    server->routes = NULL;
    server->buckets = server->route_count = 0;
}

/* ---- answering ----------------------------------------------------------------------------- */

/* The head, and the body if it is not large. */
static int put_fixed(const v_server *server, const v_route *route, const t_head *head, int gets,
                     t_buffer *out)
{
    size_t body = gets && route->large == NULL ? route->body.size : 0;
    if (t_reserve(out, route->head.size + body + T_DATE + 64) < 0)
        return -1;
    t_put(out, route->head.bytes, route->head.size);
    t_put(out, server->date, T_DATE);
    if (!head->keeps_alive || server->stops)
        T_PUT(out, "\r\nConnection: close\r\n\r\n");
    else if (head->minor == 0)
        T_PUT(out, "\r\nConnection: keep-alive\r\n\r\n");
    else
        T_PUT(out, "\r\n\r\n");
    t_put(out, route->body.at, body);
    return 1;
}

int v_answer(v_connection *c, const t_head *head, const char *bytes, t_buffer *out, void **handler)
{
    v_server *server = c->server;
    int gets = head->method_known == T_GET;
    const v_route *route = find_route(server, t_text_of(bytes, head->path));
    if (route == NULL)
        return 0;
    if (route->handler != NULL || (!gets && head->method_known != T_HEAD_ONLY) ||
        head->framing != T_NO_BODY) {
        *handler = route->handler;
        return 0;
    }
    v_date(server);
    int done = put_fixed(server, route, head, gets, out);
    if (done > 0 && gets && route->large != NULL)
        v_begin_file(c, route->large, 0, (int64_t)route->body.size);
    return done;
}
