/* Reading the body of a request.
 *
 * What has come lies in the buffer of the connection; _next() takes parts out of it, and _receive()
 * waits for more, which _feed() puts there: a wait that is soft gives its bytes to Python.
 *
 * A client has to send its body at a certain rate.  It has GRACE in any case, and more for each
 * byte that has come; only the time that somebody waits for it counts.
 */
#include "bind/http/http.h"
#include "serve/wire.h"

#define SELF ((bind_http_request *)self)
#define GRACE 20000000000   /* ns */
#define NS_PER_BYTE 2000000 /* 500 bytes a second */

PyObject *bind_http_next(PyObject *self, PyObject *unused)
{
    v_connection *c = SELF->connection;
    size_t used = 0;
    t_text part = {"", 0};
    int event = T_MORE;
    (void)unused;
    if (t_body_is_over(&SELF->body))
        return PyBytes_FromStringAndSize("", 0);
    if (bind_http_check_client(SELF) < 0)
        return NULL;
    if (c->tls != NULL) /* what has come and was not read out of it */
        bind_http_decrypt(c, (t_text){"", 0});
    do {
        event = t_read_body(&SELF->body, c->in.bytes, c->in.size, &used, &part);
        PyObject *data =
            event == T_DATA ? PyBytes_FromStringAndSize(part.at, (Py_ssize_t)part.size) : NULL;
        if (event >= 0)
            v_drop_first(c, used);
        if (event == T_DATA)
            return data;
    } while (event == T_TRAILER);
    if (event < 0)
        return PyLong_FromLong(-event);
    return event == T_END ? PyBytes_FromStringAndSize("", 0) : Py_NewRef(Py_None);
}

int bind_http_skip_body(bind_http_request *r)
{
    v_connection *c = r->connection;
    while (!t_body_is_over(&r->body)) {
        size_t used = 0;
        t_text part;
        int event = t_read_body(&r->body, c->in.bytes, c->in.size, &used, &part);
        if (event < 0 || (event == T_MORE && used == 0))
            return 0;
        v_drop_first(c, used);
        if (event == T_MORE)
            return 0;
    }
    return 1;
}

/* A client that waits for that is told to send the body. */
static void send_continue(bind_http_request *r)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (r->expects_continue && !r->begun)
        v_send(r->connection, go_on, sizeof(go_on) - 1, 0);
    r->expects_continue = 0;
}

PyObject *bind_http_receive(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int code;
    s_sched *s = s_self();
    if (s == NULL || bind_check_count("_receive", nargs, 0) < 0 || bind_http_check_client(SELF) < 0)
        return NULL;
    send_continue(SELF);
    SELF->wait_began = s_now(s);
    SELF->connection->waits =
        SELF->wait_began + GRACE - SELF->waited + (int64_t)SELF->body.size * NS_PER_BYTE;
    c_call_site site = BIND_SITE(self, args, nargs, bind_http_receive);
    PyObject *got = i_receive(s, SELF->connection->desc, I_SCRATCH, &site, &code);
    return bind_result(got, code, self);
}

PyObject *bind_http_feed(PyObject *self, PyObject *data)
{
    t_text text;
    v_connection *c = SELF->connection;
    if (bind_http_read_text(data, &text) < 0 || bind_http_check_client(SELF) < 0)
        return NULL;
    SELF->waited += s_now(c->server->s) - SELF->wait_began;
    c->waits = 0;
    if (c->tls != NULL)
        return PyBool_FromLong(text.size > 0 && !c->too_slow && bind_http_decrypt(c, text) > 0);
    if (t_reserve(&c->in, text.size) < 0)
        return PyErr_NoMemory();
    t_put(&c->in, text.at, text.size);
    return PyBool_FromLong(text.size > 0 && !c->too_slow);
}
