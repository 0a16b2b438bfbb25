/* HTTP: the types behind loomlet.http. */
#ifndef LOOMLET_BIND_HTTP_H
#define LOOMLET_BIND_HTTP_H

#include "bind/bind.h"
#include "serve/serve.h"

/* What the next call of a handler gets. */
typedef struct {
    PyObject *list; /* or NULL */
    PyObject *task; /* the tasklet that calls it with the list; or NULL */
} bind_http_waiting;

typedef struct {
    PyObject_HEAD
    v_server server;
    PyObject *handler;       /* called with each request, in a tasklet */
    PyObject *slow, *late;   /* the same for one that takes long, or too long; or NULL */
    PyObject *routes;        /* a list of what else requests are handed to */
    PyObject *tls;           /* an ssl.SSLContext; or None */
    PyObject *log;           /* called with a list of notes; or NULL */
    bind_http_waiting notes; /* the next ones */
    uint64_t lost;           /* notes for which it had no room */
    PyObject *held;          /* a set of who serves connections that were taken over */
    PyObject *upgrades;      /* called instead if the client asks for another protocol; or NULL */
    PyObject *http2;         /* called with requests of connections that begin as HTTP/2 does */
    bind_http_waiting batch; /* requests, if the handler gets them in lists */
    char batched;
    PyTypeObject *type; /* of the requests */
    uint64_t most_body; /* bytes */
    char runs;
} bind_http_server;

/* Owns a copy of its head, behind it: the fields, then the bytes. */
typedef struct {
    PyObject_VAR_HEAD v_connection *connection; /* NULL: answered, or the client has gone */
    PyObject *server;
    PyObject *task;            /* the tasklet of the handler, while there is a connection */
    PyObject *gone;            /* called in a tasklet when the client ends; or NULL */
    PyObject *status, *fields; /* what start_response() of WSGI was given, in this order; or NULL */
    PyObject *state;           /* of the Python type of the request; or NULL */
    t_body body;
    t_answer answer;
    t_buffer head;              /* of an answer that has begun and was not sent yet */
    int64_t left;               /* of a body whose length the answer has said */
    int64_t written;            /* bytes of the body of the answer */
    int64_t waited, wait_began; /* for the body, in ns */
    t_span method, target, path, query, host;
    uint32_t count, size;
    unsigned char minor, method_known, keeps_alive, expects_continue, begun, upgrades;
} bind_http_request;

extern PyTypeObject bind_http_server_type, bind_http_request_type, bind_http_cycle_type,
    bind_http_frames_type;

static inline t_field *bind_http_fields(bind_http_request *r)
{
    return (t_field *)(r + 1);
}

static inline const char *bind_http_bytes(const bind_http_request *r)
{
    return (const char *)((const t_field *)(r + 1) + r->count);
}

/* ---- request.c, basics.c
 * ------------------------------------------------------------------------------ */

/* A new request: a reference, or NULL with an exception. */
PyObject *bind_http_request_new(bind_http_server *server, v_connection *c, const t_head *head,
                                const char *bytes);
/* It has been answered, or will not be: the connection goes on, if `keep`, or ends. */
void bind_http_end(bind_http_request *request, int keep);
/* A list of (name in small letters, value), both bytes. */
PyObject *bind_http_fields_as_bytes(PyObject *self, PyObject *unused);
/* The address of the client, a new reference to a str, "" when it has none; or NULL. */
PyObject *bind_http_peer(const bind_http_request *request);
/* (address, port) of the client, new; None when it has none, or has gone; or NULL. */
PyObject *bind_http_client(const bind_http_request *request);
/* The path without percent signs, as a decoder of the interpreter reads it: a new str, or NULL. */
typedef PyObject *(*bind_http_decode)(const char *bytes, Py_ssize_t size, const char *errors);
PyObject *bind_http_decode_path(const bind_http_request *request, bind_http_decode decode);
/* The same as UTF-8. */
PyObject *bind_http_path(const bind_http_request *request);
/* 0, or -1 with ConnectionError when there is no client any more. */
int bind_http_check_client(const bind_http_request *request);
/* The bytes of a text of Latin-1, or of bytes: 0, or -1 with TypeError. */
int bind_http_read_text(PyObject *value, t_text *text);

/* ---- environ.c, reading.c, answering.c ------------------------------------------------------- */

/* The environ of WSGI for a request, a copy of `common` and more: new, or NULL with an exception.
 */
PyObject *bind_http_environ(bind_http_request *request, PyObject *common);
/* The scope of ASGI for a request, likewise. */
PyObject *bind_http_scope(bind_http_request *request, PyObject *common);
/* What has come of a body that nobody has read is dropped: 1 when that was all of it, so that the
 * next request begins behind it. */
int bind_http_skip_body(bind_http_request *request);

/* The methods of a request, which its type names. */
PyObject *bind_http_next(PyObject *self, PyObject *unused);
PyObject *bind_http_receive(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *bind_http_feed(PyObject *self, PyObject *data);
PyObject *bind_http_answer(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
/* As bind_http_answer() with status, fields and body; it may leave together with others. */
PyObject *bind_http_answer_together(PyObject *self, PyObject *const *parts);
PyObject *bind_http_begin(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *bind_http_write(PyObject *self, PyObject *data);
PyObject *bind_http_finish(PyObject *self, PyObject *unused);
PyObject *bind_http_send(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *bind_http_send_file(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *bind_http_push(PyObject *self, PyObject *data);
PyObject *bind_http_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *bind_http_sent(PyObject *self, PyObject *count);
PyObject *bind_http_done(PyObject *self, PyObject *unused);
PyObject *bind_http_abort(PyObject *self, PyObject *unused);
PyObject *bind_http_start_response(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames);
PyObject *bind_http_respond(PyObject *self, PyObject *body);
PyObject *bind_http_respond_part(PyObject *self, PyObject *data);
PyObject *bind_http_take_over(PyObject *self, PyObject *unused);

/* handler.c: handler(argument) in a new tasklet: a new reference, or NULL; what went wrong is
 * reported. */
PyObject *bind_http_spawn(PyObject *handler, PyObject *argument);
/* taken.c, of a server.  _begin_taken(): while that is referred to, a connection counts as open.
 */
PyObject *bind_http_begin_taken(PyObject *self, PyObject *unused);
PyObject *bind_http_add_held(PyObject *self, PyObject *what);
PyObject *bind_http_drop_held(PyObject *self, PyObject *what);
PyObject *bind_http_held(PyObject *self, PyObject *unused);
/* Puts it into the list that the handler gets when its tasklet begins: 0, or -1.  The list is the
 * same until bind_http_drop_waiting(), also if the tasklet ends before: then the next one gets it.
 */
int bind_http_add_waiting(bind_http_waiting *waiting, PyObject *handler, PyObject *what);
void bind_http_drop_waiting(bind_http_waiting *waiting);
/* note.c */
void bind_http_note(v_connection *c, const t_head *head, const char *bytes, int status,
                    int64_t size);
void bind_http_note_request(bind_http_request *request);
/* _add_note(note): one of a request that the engine has not seen. */
PyObject *bind_http_add_note(PyObject *self, PyObject *note);
/* tls.c: what the client has sent is put, in clear, behind what has come: 1, 0 at the end, or
 * -errno. */
int bind_http_decrypt(v_connection *c, t_text data);
/* The connection gives up its TLS: (ssl.SSLObject, what it reads from, what it writes to), or None
 * when it has none; or NULL. */
PyObject *bind_http_detach_tls(v_connection *c);
void bind_http_tls_init(void);

void bind_http_init(void);
/* cycle.c, before the types are ready: 0, or -1 with an exception. */
int bind_http_cycle_ready(void);

#endif
