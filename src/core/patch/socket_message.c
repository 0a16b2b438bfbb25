/* Messages of builtin sockets: recvfrom, recvmsg, sendto, sendmsg and the like.
 *
 * The original does the work on an alias of the socket (cpython/builtin_socket.h), whose timeout is
 * 0, with MSG_DONTWAIT among the flags.  So neither the socket nor its descriptor is touched.  When
 * the original says that it would block, the tasklet waits, until the timeout of the socket itself,
 * and the original is called again.
 */
#include "patch/nonblocking.h"
#include "patch/socket.h"

/* A method that takes no keywords ignores the last argument. */
static PyObject *call_on_alias(PyObject *socket, PyCFunction original, PyObject *args)
{
    PyObject *alias = c_socket_alias(socket);
    if (alias == NULL)
        return NULL;
    PyObject *done = ((PyCFunctionWithKeywords)(void (*)(void))original)(alias, args, NULL);
    c_socket_alias_drop(alias);
    return done;
}

/* Whether the last call would have blocked: then its exception is cleared. */
static int take_would_block(PyObject *socket)
{
    int64_t timeout;
    if (!PyErr_ExceptionMatches(PyExc_BlockingIOError) || !patch_socket_may_block(socket, &timeout))
        return 0;
    PyErr_Clear();
    return 1;
}

PyObject *patch_socket_message(s_sched *s, PyObject *socket, PyCFunction original, PyObject *args,
                               unsigned what)
{
    if (patch_may_block(s) < 0)
        return NULL;
    int64_t until = patch_deadline(s, patch_socket_timeout(socket));
    PyObject *done = call_on_alias(socket, original, args);
    while (done == NULL && take_would_block(socket) &&
           patch_socket_wait(s, socket, what, until) == 0)
        done = call_on_alias(socket, original, args);
    return done;
}
