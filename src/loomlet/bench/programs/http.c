// The least that a server can do: what no server in this kernel can beat, and the slow service.
//
//     http floor PORT    answers every request with the same few bytes
//     http delay PORT    sends back what it gets, two milliseconds later
//
// Purpose.  The floor shows what of a server's time is the kernel's: it reads, finds the ends of
// the heads, and answers all of them in one send.  It parses nothing, keeps no time limits and
// takes no bodies.  The service stands for whatever a handler may wait for: a database, or another
// server.
//
// Both are one loop over epoll, on one thread.  Every delay is the same, so what is to be sent back
// leaves in the order in which it came: a ring is enough, and one timer, set for the oldest.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 16384, EVENTS = 512, RING = 65536, MOST = 65536, DELAY = 2000000 };

static const char ANSWER[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                             "Content-Length: 13\r\n\r\nHello, World!";
static const char END[] = "\r\n\r\n";

static int epoll, listener, timer;
static unsigned char matched[MOST]; // how much of END has come last on this connection

static struct {
    int fd;
    uint32_t size;
    uint64_t due;
    char bytes[64];
} ring[RING];
static unsigned first, last;

static void check(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(1);
    }
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void observe(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0, "epoll_ctl");
}

static void listen_on(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); // handed down
    check(bind(listener, (struct sockaddr *)&address, sizeof address) < 0, "bind");
    check(listen(listener, 4096) < 0, "listen");
    observe(listener);
}

static void accept_all(void)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MOST) {
            close(fd);
            continue;
        }
        matched[fd] = 0;
        observe(fd);
    }
}

// How many heads end in what has come.
static int count_heads(int fd, const char *bytes, ssize_t size)
{
    int heads = 0;
    unsigned state = matched[fd];
    for (ssize_t n = 0; n < size; n++) {
        state = bytes[n] == END[state] ? state + 1 : bytes[n] == '\r';
        if (state == 4) {
            heads++;
            state = 0;
        }
    }
    matched[fd] = (unsigned char)state;
    return heads;
}

static void answer(int fd, const char *bytes, ssize_t size)
{
    static char out[BUFFER];
    const size_t one = sizeof ANSWER - 1;
    int heads = count_heads(fd, bytes, size);
    while (heads > 0) {
        size_t used = 0;
        for (; heads > 0 && used + one <= sizeof out; heads--, used += one)
            memcpy(out + used, ANSWER, one);
        if (send(fd, out, used, MSG_NOSIGNAL) != (ssize_t)used)
            shutdown(fd, SHUT_RDWR); // a client that does not read
    }
}

static void set_timer(void)
{
    struct itimerspec when = {0};
    if (first != last) {
        uint64_t due = ring[first % RING].due;
        when.it_value.tv_sec = (time_t)(due / 1000000000);
        when.it_value.tv_nsec = (long)(due % 1000000000);
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void send_later(int fd, const char *bytes, ssize_t size)
{
    if (size > (ssize_t)sizeof ring[0].bytes || last - first == RING) {
        shutdown(fd, SHUT_RDWR);
        return;
    }
    unsigned at = last++ % RING;
    ring[at].fd = fd;
    ring[at].size = (uint32_t)size;
    ring[at].due = clock_ns() + DELAY;
    memcpy(ring[at].bytes, bytes, (size_t)size);
    if (last - first == 1)
        set_timer();
}

static void send_due(void)
{
    uint64_t times;
    if (read(timer, &times, sizeof times) < 0)
        return;
    for (uint64_t now = clock_ns(); first != last && ring[first % RING].due <= now; first++) {
        unsigned at = first % RING;
        if (send(ring[at].fd, ring[at].bytes, ring[at].size, MSG_NOSIGNAL) < 0)
            continue; // the client has gone
    }
    set_timer();
}

static void take(int fd, int delayed)
{
    static char bytes[BUFFER];
    ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size > 0)
        (delayed ? send_later : answer)(fd, bytes, size);
    else if (size == 0 || (errno != EAGAIN && errno != EINTR))
        close(fd);
}

static void allow_many_connections(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void serve_for_ever(int delayed)
{
    struct epoll_event events[EVENTS];
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS, -1);
        for (int n = 0; n < ready; n++) {
            int fd = events[n].data.fd;
            if (fd == listener)
                accept_all();
            else if (fd == timer)
                send_due();
            else
                take(fd, delayed);
        }
    }
}

int main(int count, char **words)
{
    if (count != 3) {
        fprintf(stderr, "usage: http floor|delay PORT\n");
        return 2;
    }
    allow_many_connections();
    check((epoll = epoll_create1(0)) < 0, "epoll_create1");
    check((timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)) < 0, "timerfd_create");
    observe(timer);
    listen_on(atoi(words[2]));
    serve_for_ever(strcmp(words[1], "delay") == 0);
}
