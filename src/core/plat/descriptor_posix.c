/* Receive, send, accept and the rest, without waiting.
 *
 * Each call on a socket asks not to wait, so that a descriptor which other code uses in blocking
 * mode need not be changed.  A descriptor that is no socket (a pipe, a terminal) answers ENOTSOCK
 * and is read and written plainly; p_set_nonblocking was called for it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plat/plat.h"

#define COPIED 32768    /* bytes at a time, where the system does not copy */
#define SENT 0x40000000 /* ... and where it does: it refuses more than its offsets can count */

static inline int was_interrupted(long done)
{
    return done < 0 && errno == EINTR;
}

static inline long result_or_error(long done)
{
    return done >= 0 ? done : errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

long p_receive(int fd, void *to, size_t size)
{
    long done;
    do
        done = recv(fd, to, size, MSG_DONTWAIT);
    while (was_interrupted(done));
    if (done >= 0 || errno != ENOTSOCK)
        return result_or_error(done);
    do
        done = read(fd, to, size);
    while (was_interrupted(done));
    return result_or_error(done);
}

long p_send(int fd, const void *from, size_t size)
{
    long done;
    do
        done = send(fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (was_interrupted(done));
    if (done >= 0 || errno != ENOTSOCK)
        return result_or_error(done);
    do
        done = write(fd, from, size);
    while (was_interrupted(done));
    return result_or_error(done);
}

/* Reads and sends; bytes that were read and not sent are read was_interrupted at the next call. */
static long copy_file(int fd, int file, int64_t at, size_t size)
{
    char data[COPIED];
    long got;
    do
        got = pread(file, data, size < COPIED ? size : COPIED, at);
    while (was_interrupted(got));
    return got <= 0 ? result_or_error(got) : p_send(fd, data, (size_t)got);
}

long p_send_file_from(int fd, int file, int64_t *at, size_t size)
{
    off_t from = at != NULL ? *at : 0;
    long done;
    do
        done = sendfile(fd, file, at != NULL ? &from : NULL, size < SENT ? size : SENT);
    while (was_interrupted(done));
    if (at != NULL)
        *at = from;
    return result_or_error(done);
}

/* The system cannot copy from every file_kind of file, nor to every file_kind of descriptor. */
long p_send_file(int fd, int file, int64_t at, size_t size)
{
    int64_t from = at;
    long done = p_send_file_from(fd, file, &from, size);
    return done == -EINVAL || done == -ENOSYS || done == -EOPNOTSUPP ? copy_file(fd, file, at, size)
                                                                     : done;
}

int p_duplicate(int fd)
{
    return (int)result_or_error(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

long p_receive_with_flags(int fd, void *to, size_t size, int flags)
{
    long done;
    do
        done = recv(fd, to, size, flags | MSG_DONTWAIT);
    while (was_interrupted(done));
    return result_or_error(done);
}

long p_send_with_flags(int fd, const void *from, size_t size, int flags)
{
    long done;
    do
        done = send(fd, from, size, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    while (was_interrupted(done));
    return result_or_error(done);
}

long p_send_more(int fd, const void *from, size_t size)
{
    return p_send_with_flags(fd, from, size, MSG_MORE);
}

int p_flags_wait_all(int flags)
{
    return (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
}

int p_flags_never_wait(int flags)
{
    return (flags & MSG_DONTWAIT) != 0;
}

int p_flags_nonblocking(int flags)
{
    return flags | MSG_DONTWAIT;
}

int p_accept(int fd)
{
    int done;
    do
        done = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (was_interrupted(done));
    return (int)result_or_error(done);
}

int p_accept_from(int fd, p_peer *peer)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof(from);
    int done;
    do
        done = accept4(fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (was_interrupted(done));
    *peer = (p_peer){0};
    if (done >= 0 && from.ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&from;
        *peer = (p_peer){.family = 4, .port = ntohs(four->sin_port)};
        memcpy(peer->bytes, &four->sin_addr, 4);
    } else if (done >= 0 && from.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&from;
        *peer = (p_peer){.family = 6, .port = ntohs(six->sin6_port)};
        memcpy(peer->bytes, &six->sin6_addr, 16);
    }
    return (int)result_or_error(done);
}

void p_peer_text(const p_peer *peer, char *text)
{
    text[0] = '\0';
    if (peer->family != 0)
        inet_ntop(peer->family == 4 ? AF_INET : AF_INET6, peer->bytes, text, P_PEER);
}

int p_send_end(int fd)
{
    return (int)result_or_error(shutdown(fd, SHUT_WR));
}

int p_end_both(int fd)
{
    return (int)result_or_error(shutdown(fd, SHUT_RDWR));
}

int p_check_ready(int fd, unsigned what)
{
    struct pollfd asked = {.fd = fd, .events = what == P_READ ? POLLIN | POLLPRI : POLLOUT};
    int count;
    do
        count = poll(&asked, 1, 0);
    while (was_interrupted(count));
    return count == 0 ? -EAGAIN : count < 0 ? -errno : 0;
}

int p_connect_result(int fd)
{
    int error = 0, ended = p_check_ready(fd, P_WRITE);
    socklen_t size = sizeof(error);
    if (ended < 0)
        return ended;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        return -errno;
    return -error;
}

int p_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && !(flags & O_NONBLOCK))
        flags = fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    return flags < 0 ? -errno : 0;
}

void p_set_blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

int p_is_blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && !(flags & O_NONBLOCK);
}

int p_would_block(int fd, unsigned what)
{
    int flags = fcntl(fd, F_GETFL), other = what == P_READ ? O_WRONLY : O_RDONLY;
    return flags >= 0 && !(flags & O_NONBLOCK) && (flags & O_ACCMODE) != other;
}

static int socket_option(int fd, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

int p_is_tcp(int fd)
{
    return socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

void p_close(int fd)
{
    close(fd);
}

static mode_t file_kind(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 ? found.st_mode & S_IFMT : S_IFREG;
}

int p_may_block(int fd)
{
    mode_t is = file_kind(fd);
    return is != S_IFREG && is != S_IFDIR && is != S_IFBLK;
}

int p_can_write_some(int fd)
{
    mode_t is = file_kind(fd);
    return is == S_IFIFO || is == S_IFSOCK;
}

long p_write_some(int fd, const void *from, size_t size)
{
    long done = p_send_with_flags(fd, from, size, 0);
    if (done != -ENOTSOCK)
        return done;
    if (p_check_ready(fd, P_WRITE) < 0)
        return -EAGAIN;
    do
        done = write(fd, from, size < PIPE_BUF ? size : PIPE_BUF);
    while (was_interrupted(done));
    return result_or_error(done);
}
