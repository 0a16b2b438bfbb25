/* Connections that the application takes over from the engine, and who serves them.
 *
 * Such a connection counts as open as long as somebody refers to an object that _take_over() gives
 * away with it.  So there is no moment at which it does not count, and a tasklet that is killed
 * with the connection in its hands leaves nothing behind.  Any thread may drop the last reference.
 */
#include "bind/http/http.h"

#define SELF ((bind_http_server *)self)
#define REQUEST ((bind_http_request *)self)
#define TAKEN "loomlet.http.taken"

/* ---- what counts ----------------------------------------------------------------------------- */

static void end_taken(PyObject *taken)
{
    bind_http_server *server = PyCapsule_GetPointer(taken, TAKEN);
    v_end_taken(&server->server);
    Py_DECREF(server);
}

PyObject *bind_http_begin_taken(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *taken = PyCapsule_New(self, TAKEN, end_taken);
    if (taken != NULL) {
        Py_INCREF(self);
        v_begin_taken(&SELF->server);
    }
    return taken;
}

/* ---- who serves them ------------------------------------------------------------------------- */

/* _hold(what): it serves a connection until _release(what).  False when the server is closed, which
 * then tells it nothing any more. */
PyObject *bind_http_add_held(PyObject *self, PyObject *what)
{
    if (SELF->held != NULL && PySet_Add(SELF->held, what) < 0)
        return NULL;
    return PyBool_FromLong(SELF->runs || !SELF->server.stops);
}

PyObject *bind_http_drop_held(PyObject *self, PyObject *what)
{
    if (SELF->held != NULL && PySet_Discard(SELF->held, what) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* _held(): a list of them. */
PyObject *bind_http_held(PyObject *self, PyObject *unused)
{
    (void)unused;
    return SELF->held != NULL ? PySequence_List(SELF->held) : PyList_New(0);
}

/* ---- taking one over ------------------------------------------------------------------------- */

/* The descriptor of a connection, which the engine forgets, and what has come. */
static int leave_engine(bind_http_request *r, s_sched *s, t_buffer *unread)
{
    i_desc *desc = v_take_over(r->connection, unread);
    r->connection = NULL;
    r->begun = 1;
    bind_http_end(r, 0);
    int fd = i_desc_detach(s, desc);
    i_desc_free(desc);
    return fd;
}

/* _take_over(): the connection is the caller's: (its descriptor, what has come, its TLS, what makes
 * it count as open). */
PyObject *bind_http_take_over(PyObject *self, PyObject *unused)
{
    s_sched *s = s_self();
    if (s == NULL || bind_http_check_client(REQUEST) < 0)
        return NULL;
    PyObject *taken = bind_http_begin_taken(REQUEST->server, unused);
    PyObject *tls = taken != NULL ? bind_http_detach_tls(REQUEST->connection) : NULL;
    if (tls == NULL) {
        Py_XDECREF(taken);
        return NULL;
    }
    t_buffer unread;
    int fd = leave_engine(REQUEST, s, &unread);
    PyObject *given = Py_BuildValue("(iy#NN)", fd, unread.bytes != NULL ? unread.bytes : "",
                                    (Py_ssize_t)unread.size, tls, taken);
    t_release(&unread);
    if (given == NULL)
        p_close(fd);
    return given;
}
