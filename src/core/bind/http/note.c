/* Notes of requests that have been answered, for a log.
 *
 * They are collected in a list, and the function that was given for that gets it in a tasklet of
 * its own: so a log costs no request its time, and a busy server writes many lines at once.  A
 * note is a tuple: address of the client, method, target, version, status, bytes of the body,
 * seconds, Referer, User-Agent, X-Forwarded-For; the last three are None when the client has not
 * sent them.  Requests of HTTP/2, which the engine does not see, are noted from Python
 * (_add_note).
 *
 * Until the list is taken (_take_notes) the same one is filled, up to MOST_NOTES.  What comes then
 * is counted only: a log whose reader stands still must not fill the memory.  With the list that is
 * being written that is about 2 MB.
 */
#include "bind/http/http.h"

#define MOST_NOTES 2500

static PyObject *note_text(const char *bytes, t_span span)
{
    return PyUnicode_DecodeLatin1(bytes + span.at, (Py_ssize_t)span.size, NULL);
}

static PyObject *note_field(const t_head *head, const char *bytes, const char *name)
{
    int at = t_find_field(head, bytes, name, 0);
    return at >= 0 ? note_text(bytes, head->fields[at].value) : Py_NewRef(Py_None);
}

/* All fields of that name, joined by commas; or None. */
static PyObject *note_list(const t_head *head, const char *bytes, const char *name)
{
    PyObject *all = note_field(head, bytes, name);
    int at = t_find_field(head, bytes, name, 0);
    while (all != NULL && at >= 0 &&
           (at = t_find_field(head, bytes, name, (unsigned)at + 1)) >= 0) {
        PyObject *next = note_text(bytes, head->fields[at].value);
        Py_SETREF(all, next != NULL ? PyUnicode_FromFormat("%U,%U", all, next) : NULL);
        Py_XDECREF(next);
    }
    return all;
}

static PyObject *make_note(v_connection *c, const t_head *head, const char *bytes, int status,
                           int64_t size)
{
    char peer[P_PEER];
    p_peer_text(&c->peer, peer);
    double seconds = (double)(s_now(c->server->s) - c->since) / 1e9;
    return Py_BuildValue("(sNNsiLdNNN)", peer, note_text(bytes, head->method),
                         note_text(bytes, head->target), head->minor ? "1.1" : "1.0", status,
                         (long long)size, seconds, note_field(head, bytes, "referer"),
                         note_field(head, bytes, "user-agent"),
                         note_list(head, bytes, "x-forwarded-for"));
}

/* 1 when there is no place, which is counted. */
static int lose_note(bind_http_server *server)
{
    if (server->notes.list == NULL || PyList_GET_SIZE(server->notes.list) < MOST_NOTES)
        return 0;
    server->lost++;
    return 1;
}

static int add_note(bind_http_server *server, PyObject *note)
{
    return bind_http_add_waiting(&server->notes, server->log, note);
}

void bind_http_note(v_connection *c, const t_head *head, const char *bytes, int status,
                    int64_t size)
{
    bind_http_server *server = c->server->owner;
    if (lose_note(server))
        return;
    PyObject *note = make_note(c, head, bytes, status, size);
    if (note == NULL || add_note(server, note) < 0)
        PyErr_WriteUnraisable((PyObject *)server);
    Py_XDECREF(note);
}

PyObject *bind_http_add_note(PyObject *self, PyObject *note)
{
    bind_http_server *server = (bind_http_server *)self;
    if (server->log == NULL || lose_note(server) || add_note(server, note) == 0)
        Py_RETURN_NONE;
    return NULL;
}

/* The fields of a request that are in a note. */
void bind_http_note_request(bind_http_request *r)
{
    t_head head = {.minor = r->minor, .method = r->method, .target = r->target, .count = r->count};
    memcpy(head.fields, bind_http_fields(r), r->count * sizeof(t_field));
    v_connection *c = r->connection;
    bind_http_note(c, &head, bind_http_bytes(r), r->begun ? r->answer.status : 0, r->written);
}
