// A client that asks as wrk cannot: at a rate, on streams of HTTP/2, and by messages of WebSocket.
//
//     http_client rate PORT PATH CONNECTIONS RATE SECONDS [PROBE …]
//     http_client streams PORT PATH CONNECTIONS STREAMS SECONDS
//     http_client echo PORT PATH CONNECTIONS SIZE SECONDS
//
// rate: so many requests in a second are due, evenly, whatever the server does.  One that is due is
// sent on a free connection, and waits where there is none.  Its time counts from when it was due,
// so a server that stands still is seen by all that should have been asked meanwhile; what has no
// answer in the end counts with its age.  A PROBE is another path, asked fifty times in a second on
// a connection of its own; its times are told apart.
//
// streams, echo: each stream, or WebSocket, asks again when it has its answer.  HTTP/2 begins with
// its preface, without TLS.  Of a head only the first byte is read, which is that of status 200
// in every server; what comes by WebSocket is compared with what was sent.
//
// Prints one line of JSON: requests (answered with 200), refused (with 503), failed, seconds, and
// p50, p99, deviation and slowest in nanoseconds; for each probe its answers and p99.
//
// One loop over epoll on one thread.  Connections are made before the clock starts, and again when
// a server has closed one.  Whatever else goes wrong ends the program with a message.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 4096, BUFFER = 65536, EVENTS = 512, TIMES = 65536, PROBES = 4 };
enum { PAUSE = 20000000, SECOND = 1000000000 };
enum { DATA, HEADERS, RESET = 3, SETTINGS, PING = 6, GOAWAY };
enum { END_STREAM = 1, ACKNOWLEDGED = 1, PADDED = 8, PRIORITY = 32, FRAME = 9 };

struct samples {
    uint64_t *times;
    size_t count, room;
};

struct link {
    int fd, busy, connecting, probe; // probe: its number from 1 on, 0 for the others
    uint64_t asked;                  // when it was due
    size_t used, left;               // bytes of the head so far; bytes of the body to come
    int status, closing;
    unsigned char *in;
};

struct probe {
    const char *path;
    struct link *link;
    uint64_t due;
    struct samples found;
};

static struct sockaddr_in address;
static const char *path;
static int epoll, timer, number;
static double seconds;
static uint64_t began, ends;
static struct samples found;
static uint64_t answered, refused, failed;
static struct probe probes[PROBES];
static int probe_count;
static struct link **free_links;
static int free_count;
static unsigned char scratch[BUFFER];

static void stop_unless(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "not as expected");
        exit(1);
    }
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

// ---- figures ------------------------------------------------------------------------------------

static void keep_time(struct samples *of, uint64_t time)
{
    if (of->count == of->room) {
        of->room = of->room ? 2 * of->room : 4096;
        of->times = realloc(of->times, of->room * sizeof *of->times);
        stop_unless(of->times != NULL, "memory");
    }
    of->times[of->count++] = time;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

static uint64_t part_of(const struct samples *of, int hundredths)
{
    return of->count ? of->times[(of->count - 1) * (size_t)hundredths / 100] : 0;
}

static double deviation_of(const struct samples *of)
{
    double mean = 0, sum = 0;
    for (size_t n = 0; n < of->count; n++)
        mean += (double)of->times[n] / (double)of->count;
    for (size_t n = 0; n < of->count; n++)
        sum += ((double)of->times[n] - mean) * ((double)of->times[n] - mean);
    return of->count ? sqrt(sum / (double)of->count) : 0;
}

static void sort_times(struct samples *of)
{
    if (of->count)
        qsort(of->times, of->count, sizeof *of->times, compare_times);
}

static void print_figures(double taken)
{
    sort_times(&found);
    printf("{\"requests\": %llu, \"refused\": %llu, \"failed\": %llu, \"seconds\": %.6f",
           (unsigned long long)answered, (unsigned long long)refused, (unsigned long long)failed,
           taken);
    printf(", \"p50\": %llu, \"p99\": %llu, \"slowest\": %llu, \"deviation\": %.0f, \"probes\": {",
           (unsigned long long)part_of(&found, 50), (unsigned long long)part_of(&found, 99),
           (unsigned long long)part_of(&found, 100), deviation_of(&found));
    for (int n = 0; n < probe_count; n++) {
        sort_times(&probes[n].found);
        printf("%s\"%s\": [%zu, %llu]", n ? ", " : "", probes[n].path, probes[n].found.count,
               (unsigned long long)part_of(&probes[n].found, 99));
    }
    printf("}}\n");
}

// ---- connections --------------------------------------------------------------------------------

static void connect_link(struct link *link)
{
    int yes = 1;
    link->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    stop_unless(link->fd >= 0, "socket");
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    link->used = link->left = 0;
    link->status = link->closing = 0;
    link->connecting = 1; // the event comes, even if it is connected at once
    errno = EINPROGRESS;
    connect(link->fd, (struct sockaddr *)&address, sizeof address);
    stop_unless(errno == EINPROGRESS, "connect");
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = link};
    stop_unless(epoll_ctl(epoll, EPOLL_CTL_ADD, link->fd, &event) == 0, "epoll_ctl");
}

static struct link *new_link(size_t room)
{
    struct link *link = calloc(1, sizeof *link);
    stop_unless(link != NULL && (link->in = malloc(room)) != NULL, "memory");
    connect_link(link);
    return link;
}

static void send_all(struct link *link, const void *bytes, size_t size)
{
    ssize_t sent = send(link->fd, bytes, size, MSG_NOSIGNAL);
    stop_unless(sent == (ssize_t)size, "send");
}

// For what begins before the clock does: all the others are made without waiting.
static void wait_for(struct link *link, short events)
{
    int one = epoll_create1(0);
    struct epoll_event event = {.events = (uint32_t)events};
    stop_unless(epoll_ctl(one, EPOLL_CTL_ADD, link->fd, &event) == 0, "epoll_ctl");
    stop_unless(epoll_wait(one, &event, 1, 10000) == 1, "no answer for ten seconds");
    close(one);
}

// ---- HTTP/1.1 at a rate -------------------------------------------------------------------------

static void ask_on(struct link *link, const char *what, uint64_t due)
{
    char head[512];
    int size = snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", what);
    link->busy = 1;
    link->asked = due;
    if (send(link->fd, head, (size_t)size, MSG_NOSIGNAL) != size)
        link->closing = 1; // the server has closed it; the event comes
}

static void free_link(struct link *link)
{
    link->busy = 0;
    if (!link->probe)
        free_links[free_count++] = link;
}

static void forget_free(struct link *link)
{
    for (int n = 0; n < free_count; n++)
        if (free_links[n] == link)
            free_links[n--] = free_links[--free_count];
}

// The server has closed it.
static void renew_link(struct link *link)
{
    failed += link->busy == 1;
    forget_free(link);
    close(link->fd);
    connect_link(link);
    link->busy = -1; // free when it is connected
}

static void note_answer(struct link *link)
{
    uint64_t now = clock_ns();
    if (now <= ends && link->status == 200) {
        keep_time(link->probe ? &probes[link->probe - 1].found : &found, now - link->asked);
        answered += !link->probe;
    } else if (now <= ends) {
        refused += link->status == 503;
        failed += link->status != 503;
    }
    link->used = 0;
    if (!link->closing) {
        free_link(link);
        return;
    }
    close(link->fd);
    connect_link(link);
    link->busy = -1;
}

static size_t length_in(char *head)
{
    char *field = strcasestr(head, "\r\ncontent-length:");
    stop_unless(field != NULL, "an answer without a length");
    return strtoul(field + 17, NULL, 10);
}

// Takes what is the head's; 1 when it is whole.
static int take_head(struct link *link, const unsigned char **bytes, size_t *size)
{
    while (*size && link->used < HEAD - 1) {
        link->in[link->used++] = *(*bytes)++;
        --*size;
        if (link->used < 4 || memcmp(link->in + link->used - 4, "\r\n\r\n", 4) != 0)
            continue;
        link->in[link->used] = 0;
        link->status = atoi((char *)link->in + 9);
        link->left = length_in((char *)link->in);
        link->closing = strcasestr((char *)link->in, "\r\nconnection: close") != NULL;
        return 1;
    }
    stop_unless(link->used < HEAD - 1, "a head that is too long");
    return 0;
}

static void take_answers(struct link *link, const unsigned char *bytes, size_t size)
{
    while (size || (link->status && !link->left)) {
        if (!link->status && !take_head(link, &bytes, &size))
            return;
        size_t part = size < link->left ? size : link->left;
        link->left -= part;
        bytes += part;
        size -= part;
        if (link->left)
            return;
        note_answer(link);
        link->status = 0;
    }
}

static void read_link(struct link *link)
{
    for (;;) {
        int fd = link->fd;
        ssize_t size = recv(fd, scratch, sizeof scratch, 0);
        if (size <= 0) {
            if (size == 0 || errno != EAGAIN)
                renew_link(link);
            return;
        }
        take_answers(link, scratch, (size_t)size);
        if (link->fd != fd || link->connecting || size < (ssize_t)sizeof scratch)
            return;
    }
}

static void serve_link(struct link *link, uint32_t events)
{
    if (link->connecting && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) {
        link->connecting = 0;
        if (link->busy < 0)
            free_link(link);
    }
    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP))
        read_link(link);
}

static void ask_probes(uint64_t now)
{
    for (int n = 0; n < probe_count; n++) {
        struct probe *probe = &probes[n];
        if (probe->link->busy || probe->link->connecting || now < probe->due)
            continue;
        ask_on(probe->link, probe->path, now);
        probe->due = now + PAUSE;
    }
}

static uint64_t due_at(uint64_t request)
{
    return began + (uint64_t)((double)request * SECOND / number);
}

static void set_timer(uint64_t next)
{
    struct itimerspec when = {0};
    when.it_value.tv_sec = (time_t)(next / SECOND);
    when.it_value.tv_nsec = (long)(next % SECOND);
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void age_the_rest(uint64_t sent)
{
    uint64_t wanted = (uint64_t)(seconds * number);
    for (uint64_t n = sent; n < wanted; n++)
        keep_time(&found, ends - due_at(n));
}

static void handle_events(int wait)
{
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(epoll, events, EVENTS, wait);
    for (int n = 0; n < ready; n++) {
        uint64_t times;
        if (events[n].data.ptr)
            serve_link(events[n].data.ptr, events[n].events);
        else if (read(timer, &times, sizeof times) < 0)
            continue;
    }
}

static struct link **make_links(int count)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct link **links = calloc((size_t)count, sizeof *links);
    free_links = calloc((size_t)count, sizeof *free_links);
    stop_unless(links && free_links, "memory");
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    stop_unless(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) == 0, "timer");
    for (int n = 0; n < probe_count; n++) {
        probes[n].link = new_link(HEAD);
        probes[n].link->probe = n + 1;
    }
    for (int n = 0; n < count; n++) {
        links[n] = new_link(HEAD);
        links[n]->busy = -1; // free when it is connected
        handle_events(0);
    }
    return links;
}

static void run_at_rate(int count)
{
    struct link **links = make_links(count);
    uint64_t sent = 0, now;
    began = clock_ns() + SECOND / 100;
    ends = began + (uint64_t)(seconds * SECOND);
    while ((now = clock_ns()) < ends) {
        while (free_count && due_at(sent) <= now)
            ask_on(free_links[--free_count], path, due_at(sent)), sent++;
        ask_probes(now);
        set_timer(free_count ? due_at(sent) : now + SECOND / 1000);
        handle_events(100);
    }
    for (int n = 0; n < count; n++)
        if (links[n]->busy == 1)
            keep_time(&found, ends - links[n]->asked);
    age_the_rest(sent);
}

// ---- HTTP/2 -------------------------------------------------------------------------------------

static uint64_t asked_at[TIMES];
static uint32_t next_stream = 1;
static unsigned char out[BUFFER];
static size_t out_used;

static void put_frame(int kind, int flags, uint32_t stream, const void *bytes, size_t size)
{
    unsigned char *at = out + out_used;
    stop_unless(out_used + FRAME + size <= sizeof out, "too many streams");
    at[0] = (unsigned char)(size >> 16), at[1] = (unsigned char)(size >> 8);
    at[2] = (unsigned char)size, at[3] = (unsigned char)kind, at[4] = (unsigned char)flags;
    for (int n = 0; n < 4; n++)
        at[5 + n] = (unsigned char)(stream >> (24 - 8 * n));
    memcpy(at + FRAME, bytes, size);
    out_used += FRAME + size;
}

static void open_stream(void)
{
    unsigned char block[256] = {0x82, 0x86, 0x01, 9}; // GET, http, and then :authority and :path
    size_t size = strlen(path);
    stop_unless(size < 127, "a path that is too long");
    memcpy(block + 4, "localhost", 9);
    block[13] = 0x04, block[14] = (unsigned char)size;
    memcpy(block + 15, path, size);
    asked_at[next_stream / 2 % TIMES] = clock_ns();
    put_frame(HEADERS, END_STREAM | 4, next_stream, block, 15 + size);
    next_stream += 2;
}

static void end_stream(uint32_t stream, int right)
{
    uint64_t now = clock_ns();
    answered += right;
    failed += !right;
    keep_time(&found, now - asked_at[stream / 2 % TIMES]);
    if (now < ends)
        open_stream();
}

static uint32_t number_in(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int n = 0; n < bytes; n++)
        value = value << 8 | at[n];
    return value;
}

static int is_fine(const unsigned char *block, int flags)
{
    block += (flags & PADDED ? 1 : 0) + (flags & PRIORITY ? 5 : 0);
    return *block == 0x88;
}

static void take_frame(const unsigned char *at, size_t size)
{
    int kind = at[3], flags = at[4];
    uint32_t stream = number_in(at + 5, 4) & 0x7fffffff;
    errno = 0;
    stop_unless(kind != GOAWAY, "the server goes away");
    if (kind == HEADERS)
        stop_unless(is_fine(at + FRAME, flags), "an answer that is not 200");
    if (kind == RESET)
        end_stream(stream, 0);
    else if ((kind == DATA || kind == HEADERS) && (flags & END_STREAM))
        end_stream(stream, 1);
    else if ((kind == SETTINGS || kind == PING) && !(flags & ACKNOWLEDGED))
        put_frame(kind, ACKNOWLEDGED, 0, at + FRAME, kind == PING ? size : 0);
}

static void take_frames(struct link *link)
{
    size_t at = 0, size;
    while (link->used - at >= FRAME) {
        size = number_in(link->in + at, 3);
        if (link->used - at < FRAME + size)
            break;
        take_frame(link->in + at, size);
        at += FRAME + size;
    }
    memmove(link->in, link->in + at, link->used - at);
    link->used -= at;
}

static void begin_streams(struct link *link)
{
    static const unsigned char settings[] = {0, 2, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff};
    static const unsigned char window[] = {0x7f, 0xff, 0, 0};
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    wait_for(link, EPOLLOUT);
    memcpy(out, preface, out_used = sizeof preface - 1);
    put_frame(SETTINGS, 0, 0, settings, sizeof settings);
    put_frame(8, 0, 0, window, sizeof window);
    for (int n = 0; n < number; n++)
        open_stream();
    send_all(link, out, out_used);
}

// ---- WebSocket ----------------------------------------------------------------------------------

static unsigned char frame[160];

static void send_message(struct link *link)
{
    link->asked = clock_ns();
    send_all(link, frame, 6 + (size_t)number);
}

static void take_messages(struct link *link)
{
    size_t whole = 2 + (size_t)number;
    while (link->used >= whole) {
        errno = 0;
        stop_unless(link->in[0] == 0x82 && link->in[1] == number, "a frame");
        stop_unless(memcmp(link->in + 2, frame + 6, (size_t)number) == 0, "a message");
        answered++;
        keep_time(&found, clock_ns() - link->asked);
        memmove(link->in, link->in + whole, link->used -= whole);
        if (clock_ns() < ends)
            send_message(link);
    }
}

static void begin_messages(struct link *link)
{
    char text[512];
    int size = snprintf(text, sizeof text,
                        "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n",
                        path);
    wait_for(link, EPOLLOUT);
    send_all(link, text, (size_t)size);
    wait_for(link, EPOLLIN);
    ssize_t got = recv(link->fd, scratch, sizeof scratch - 1, 0);
    stop_unless(got > 16 && memcmp(scratch + got - 4, "\r\n\r\n", 4) == 0, "a handshake");
    stop_unless(memcmp(scratch + 9, "101", 3) == 0, "a handshake");
    send_message(link);
}

// ---- both ---------------------------------------------------------------------------------------

static void read_whole(struct link *link, int streams)
{
    for (;;) {
        ssize_t size = recv(link->fd, link->in + link->used, BUFFER - link->used, 0);
        if (size < 0 && errno == EAGAIN)
            return;
        stop_unless(size > 0, "the server has closed a connection");
        link->used += (size_t)size;
        out_used = 0;
        (streams ? take_frames : take_messages)(link);
        if (out_used)
            send_all(link, out, out_used);
    }
}

static void run_closed(int count, int streams)
{
    struct epoll_event events[EVENTS];
    ends = UINT64_MAX;
    stop_unless(streams || number <= 125, "the size of a message");
    frame[0] = 0x82, frame[1] = (unsigned char)(0x80 | number); // masked with zeros
    memset(frame + 6, 'x', (size_t)number);
    for (int n = 0; n < count; n++)
        (streams ? begin_streams : begin_messages)(new_link(BUFFER));
    began = clock_ns();
    ends = began + (uint64_t)(seconds * SECOND);
    while (clock_ns() < ends) {
        int ready = epoll_wait(epoll, events, EVENTS, 100);
        for (int n = 0; n < ready; n++)
            if (events[n].events & EPOLLIN)
                read_whole(events[n].data.ptr, streams);
    }
}

int main(int count, char **words)
{
    if (count < 7) {
        fprintf(stderr, "usage: http_client KIND PORT PATH CONNECTIONS NUMBER SECONDS\n");
        return 2;
    }
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(words[2]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    path = words[3];
    number = atoi(words[5]);
    seconds = atof(words[6]);
    for (int n = 7; n < count && probe_count < PROBES; n++)
        probes[probe_count++].path = words[n];
    stop_unless((epoll = epoll_create1(0)) >= 0, "epoll_create1");
    if (strcmp(words[1], "rate") == 0)
        run_at_rate(atoi(words[4]));
    else
        run_closed(atoi(words[4]), strcmp(words[1], "streams") == 0);
    print_figures((double)(clock_ns() - began) / SECOND);
    return 0;
}
