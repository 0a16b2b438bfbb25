/* A private UNIX socket, on which other processes of the same user may send a request.
 *
 * The socket's file has mode 0600 from its first moment, and the system confirms who connects.
 * Programs close descriptors that they do not know, and the number may then stand for something
 * else: before each accept we verify that it is still our socket.  The accept under way stays with
 * the socket, which poll() would not.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "plat/plat.h"

#define BACKLOG 8
#define MODE 0600

static int bind_and_listen(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    if (fchmod(fd, MODE) < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    return listen(fd, BACKLOG);
}

int p_debug_socket_open(p_debug_socket *s, const char *path)
{
    struct stat status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind_and_listen(fd, path) < 0 || fstat(fd, &status) < 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    *s = (p_debug_socket){fd, (uint64_t)status.st_ino};
    return 0;
}

static int is_our_socket(const p_debug_socket *s)
{
    struct stat status;
    return fstat(s->fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
           (uint64_t)status.st_ino == s->inode;
}

int p_debug_socket_shutdown(p_debug_socket *s)
{
    return is_our_socket(s) ? shutdown(s->fd, SHUT_RDWR) : -1;
}

void p_debug_socket_close(p_debug_socket *s)
{
    if (is_our_socket(s))
        close(s->fd);
    s->fd = -1;
}

static int may_connect(int fd)
{
    struct ucred who;
    socklen_t size = sizeof(who);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

static void set_time_limit(int fd, int option, int milliseconds)
{
    struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time));
}

int p_debug_socket_accept(p_debug_socket *s, int milliseconds)
{
    if (!is_our_socket(s))
        return -EBADF;
    set_time_limit(s->fd, SO_RCVTIMEO, milliseconds);
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return errno == EINVAL || errno == EBADF || errno == ENOTSOCK ? -EBADF : -EAGAIN;
    if (!may_connect(fd)) {
        close(fd);
        return -EAGAIN;
    }
    set_time_limit(fd, SO_RCVTIMEO, 1000);
    set_time_limit(fd, SO_SNDTIMEO, 10000);
    return fd;
}

long p_debug_socket_read_line(int fd, char *words, size_t size)
{
    size_t at = 0;
    while (at + 1 < size) {
        long done = recv(fd, words + at, size - 1 - at, 0);
        if (done <= 0)
            break;
        at += (size_t)done;
        if (words[at - 1] == '\n')
            break;
    }
    words[at] = '\0';
    return (long)at;
}
