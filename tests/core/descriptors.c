/* plat/descriptor_posix.c: nothing waits, whatever mode the descriptor is in. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plat/plat.h"
#include "runner.h"

static struct sockaddr_in address;
static socklen_t length = sizeof(address);

/* A listening TCP socket, whose `address` is set. */
static int listening(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    CHECK(listen(fd, 4) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
    CHECK(p_set_nonblocking(fd) == 0);
    return fd;
}

static int calling(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(p_set_nonblocking(fd) == 0);
    int done = connect(fd, (struct sockaddr *)&address, sizeof(address));
    CHECK(done == 0 || errno == EINPROGRESS);
    return fd;
}

static int wait_connected(int fd)
{
    int64_t until = p_now() + 5000000000;
    int code;
    while ((code = p_connect_result(fd)) == -EAGAIN && p_now() < until)
        ;
    return code;
}

TEST(blocking_sockets_do_not_block)
{
    int ends[2];
    char data[4096] = {0};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(p_receive(ends[0], data, sizeof(data)) == -EAGAIN);
    long done;
    while ((done = p_send(ends[0], data, sizeof(data))) > 0)
        ;
    CHECK(done == -EAGAIN);
    CHECK(!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
}

TEST(readiness_is_found_without_waiting)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(p_check_ready(ends[0], P_READ) == -EAGAIN && p_check_ready(ends[0], P_WRITE) == 0);
    CHECK(p_send(ends[1], "a", 1) == 1);
    CHECK(p_check_ready(ends[0], P_READ) == 0);
    char data[2];
    CHECK(p_receive(ends[0], data, 2) == 1);
    CHECK(p_check_ready(ends[0], P_READ) == -EAGAIN);
    CHECK(p_send_end(ends[1]) == 0);
    CHECK(p_check_ready(ends[0], P_READ) == 0 && p_receive(ends[0], data, 2) == 0);
}

TEST(connections_are_accepted)
{
    int listener = listening();
    CHECK(p_accept(listener) == -EAGAIN);
    int caller = calling();
    CHECK(wait_connected(caller) == 0);
    int fd = p_accept(listener);
    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC && fcntl(fd, F_GETFL) & O_NONBLOCK);
    CHECK(p_accept(listener) == -EAGAIN);
    CHECK(p_send(caller, "hello", 5) == 5);
    char data[8];
    long got;
    while ((got = p_receive(fd, data, 8)) == -EAGAIN)
        ;
    CHECK(got == 5 && memcmp(data, "hello", 5) == 0);
}

TEST(a_refused_connection_is_an_error)
{
    close(listening());
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(p_set_nonblocking(fd) == 0);
    int done = connect(fd, (struct sockaddr *)&address, sizeof(address));
    CHECK(done < 0 && (errno == ECONNREFUSED || wait_connected(fd) == -ECONNREFUSED));
}

TEST(kinds_of_descriptors_are_distinguished)
{
    int ends[2], pipes[2], tcp = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(pipes) == 0);
    CHECK(p_is_tcp(tcp) == 1);
    CHECK(!p_is_tcp(ends[0]) && !p_is_tcp(pipes[0]) && !p_is_tcp(socket(AF_INET, SOCK_DGRAM, 0)));
    p_close(tcp);
    CHECK(p_receive(tcp, ends, 1) == -EBADF && p_send(tcp, ends, 1) == -EBADF);
    CHECK(p_accept(tcp) == -EBADF && p_send_end(tcp) == -EBADF && p_set_nonblocking(tcp) == -EBADF);
}

/* What a descriptor gives from its beginning, as a string. */
static const char *content(int fd)
{
    static char data[64];
    long got = pread(fd, data, sizeof(data) - 1, 0);
    data[got < 0 ? 0 : got] = 0;
    return data;
}

TEST(files_are_sent_from_an_offset_on)
{
    int ends[2];
    char data[8];
    FILE *file = tmpfile();
    CHECK(file != NULL && write(fileno(file), "abcdef", 6) == 6);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && p_set_nonblocking(ends[0]) == 0);
    CHECK(p_send_file(ends[0], fileno(file), 2, 3) == 3);
    CHECK(p_receive(ends[1], data, 8) == 3 && memcmp(data, "cde", 3) == 0);
    CHECK(p_send_file(ends[0], fileno(file), 4, SIZE_MAX / 2) == 2);
    CHECK(p_send_file(ends[0], fileno(file), 6, 100) == 0);
    CHECK(p_send_file(ends[0], ends[1], 0, 100) == -ESPIPE);
    CHECK(p_send_file(ends[0], 1 << 20, 0, 100) == -EBADF);
    long done;
    while ((done = p_send_file(ends[0], fileno(file), 0, 6)) > 0)
        ;
    CHECK(done == -EAGAIN);
    fclose(file);
}

TEST(a_file_is_read_where_it_cannot_be_copied)
{
    FILE *from = tmpfile(), *to = tmpfile();
    CHECK(from != NULL && to != NULL && write(fileno(from), "abcdef", 6) == 6);
    CHECK(fcntl(fileno(to), F_SETFL, O_APPEND) == 0); /* sendfile refuses it */
    CHECK(p_send_file(fileno(to), fileno(from), 2, 100) == 4);
    CHECK(p_send_file(fileno(to), fileno(from), 0, 2) == 2);
    CHECK(strcmp(content(fileno(to)), "cdefab") == 0);
    fclose(from);
    fclose(to);
}

TEST(a_copy_of_a_descriptor_is_another_number)
{
    int ends[2];
    char data[8];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    int copy = p_duplicate(ends[0]);
    CHECK(copy >= 0 && copy != ends[0] && fcntl(copy, F_GETFD) & FD_CLOEXEC);
    p_close(ends[0]);
    CHECK(p_send(copy, "a", 1) == 1 && p_receive(ends[1], data, 8) == 1);
    CHECK(p_duplicate(ends[0]) == -EBADF);
}

TEST(a_call_with_flags_does_not_wait_either)
{
    char data[8];
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(p_is_blocking(ends[0]));
    CHECK(p_receive_with_flags(ends[0], data, 8, MSG_WAITALL) == -EAGAIN);
    CHECK(p_send_with_flags(ends[1], "abc", 3, 0) == 3);
    CHECK(p_receive_with_flags(ends[0], data, 8, MSG_PEEK) == 3);
    CHECK(p_receive_with_flags(ends[0], data, 8, 0) == 3);
    CHECK(p_set_nonblocking(ends[0]) == 0 && !p_is_blocking(ends[0]));
    p_set_blocking(ends[0]);
    CHECK(p_is_blocking(ends[0]));
    CHECK(p_flags_wait_all(MSG_WAITALL) && !p_flags_wait_all(MSG_WAITALL | MSG_PEEK) &&
          !p_flags_wait_all(0));
    CHECK(p_flags_nonblocking(MSG_OOB) == (MSG_OOB | MSG_DONTWAIT));
}
