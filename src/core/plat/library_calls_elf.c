/* System calls of one library, with functions of ours around them.
 *
 * What the library imports is replaced (library_import_elf.c) by functions that make the same call,
 * and call `before` and, unless that returned NULL, `after` around it.  errno is that of the call.
 *
 * These are the calls that wait for a socket or a set of descriptors.
 *
 * Threads.  One at a time changes anything; calls that run meanwhile are old or new ones.  The two
 * functions stay set, because such a call may still run.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "plat/plat.h"

static void *(*before_call)(void);
static void (*after_call)(void *found);

static void finish_call(void *found)
{
    int why = errno;
    if (found != NULL)
        after_call(found);
    errno = why;
}

#define HOOK(type, name, parameters, arguments)                                                    \
    static type name##_between parameters                                                          \
    {                                                                                              \
        void *found = before_call();                                                               \
        type result = name arguments;                                                              \
        finish_call(found);                                                                        \
        return result;                                                                             \
    }

typedef struct sockaddr address;

typedef struct {
    const char *name;
    void *original, *between;
} system_call;

HOOK(int, accept, (int fd, address *from, socklen_t *size), (fd, from, size))
HOOK(int, accept4, (int fd, address *from, socklen_t *size, int flags), (fd, from, size, flags))
HOOK(int, connect, (int fd, const address *to, socklen_t size), (fd, to, size))
HOOK(ssize_t, recv, (int fd, void *into, size_t size, int flags), (fd, into, size, flags))
HOOK(ssize_t, recvfrom,
     (int fd, void *into, size_t size, int flags, address *from, socklen_t *length),
     (fd, into, size, flags, from, length))
HOOK(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
HOOK(ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags))
HOOK(ssize_t, sendto,
     (int fd, const void *data, size_t size, int flags, const address *to, socklen_t length),
     (fd, data, size, flags, to, length))
HOOK(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
HOOK(int, select, (int count, fd_set *in, fd_set *out, fd_set *error, struct timeval *timeout),
     (count, in, out, error, timeout))
HOOK(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
HOOK(int, epoll_wait, (int fd, struct epoll_event *events, int count, int timeout),
     (fd, events, count, timeout))

#define HOOKED(name) {#name, ADDRESS(name), ADDRESS(name##_between)}

#define ADDRESS(function) ((void *)(uintptr_t)(function))

static const system_call system_calls[] = {
    HOOKED(accept),   HOOKED(accept4), HOOKED(connect), HOOKED(recv),
    HOOKED(recvfrom), HOOKED(recvmsg), HOOKED(send),    HOOKED(sendto),
    HOOKED(sendmsg),  HOOKED(select),  HOOKED(poll),    HOOKED(epoll_wait),
};

int p_library_surround_calls(const void *inside, void *(*before)(void), void (*after)(void *found))
{
    int changed = 0, count = sizeof(system_calls) / sizeof(*system_calls);
    if (before != NULL) {
        before_call = before;
        after_call = after;
    }
    for (int i = 0; i < count; i++)
        changed += p_library_replace_import(inside, system_calls[i].name,
                                            before != NULL ? system_calls[i].between
                                                           : system_calls[i].original);
    return changed;
}
