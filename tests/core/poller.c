/* plat/poll_epoll.c: a descriptor that becomes ready is reported once, no wake-up is lost. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plat/plat.h"
#include "runner.h"

#define SOON (p_now() + 2000000)

static p_poller poller;
static p_event events[8];
static int ends[2];

static void open_pair(unsigned what)
{
    CHECK(p_poller_open(&poller) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(p_poller_add(&poller, ends[0], what, 7) == 0);
}

static int poll_once(void)
{
    return p_poller_wait(&poller, events, 8, 0, 0);
}

TEST(a_readable_descriptor_is_reported_once)
{
    open_pair(P_READ);
    CHECK(poll_once() == 0);
    CHECK(p_send(ends[1], "ab", 2) == 2);
    CHECK(poll_once() == 1 && events[0].tag == 7 && events[0].what == P_READ);
    CHECK(poll_once() == 0);
    char data[8];
    CHECK(p_receive(ends[0], data, 8) == 2);
    CHECK(p_receive(ends[0], data, 8) == -EAGAIN);
    CHECK(p_send(ends[1], "c", 1) == 1);
    CHECK(poll_once() == 1);
}

TEST(a_descriptor_that_is_ready_when_added_is_reported)
{
    open_pair(P_READ);
    CHECK(p_poller_add(&poller, ends[0], P_READ | P_WRITE, 8) == 0);
    CHECK(poll_once() == 1 && events[0].tag == 8 && events[0].what == P_WRITE);
    CHECK(p_poller_add(&poller, ends[0], P_READ | P_WRITE, 9) == 0);
    CHECK(poll_once() == 1 && events[0].tag == 9);
}

TEST(a_closed_peer_is_reported_for_both_directions)
{
    open_pair(P_READ | P_WRITE);
    CHECK(poll_once() == 1);
    p_close(ends[1]);
    CHECK(poll_once() == 1 && events[0].what == (P_READ | P_WRITE | P_ENDED | P_BROKEN));
    CHECK(p_send(ends[0], "x", 1) == -EPIPE);
}

TEST(a_peer_that_has_ended_its_side_is_reported)
{
    open_pair(P_READ);
    CHECK(p_send_end(ends[1]) == 0);
    CHECK(poll_once() == 1 && events[0].what == (P_READ | P_ENDED));
    char data[1];
    CHECK(p_receive(ends[0], data, 1) == 0);
}

TEST(a_removed_descriptor_is_not_reported)
{
    open_pair(P_READ);
    p_poller_remove(&poller, ends[0]);
    CHECK(p_send(ends[1], "ab", 2) == 2);
    CHECK(poll_once() == 0);
}

TEST(a_file_is_always_ready)
{
    CHECK(p_poller_open(&poller) == 0);
    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK(p_poller_add(&poller, fileno(file), P_READ, 1) < 0 && errno == EPERM);
    fclose(file);
}

TEST(a_wait_ends_at_its_time_and_not_before)
{
    open_pair(P_READ);
    for (int i = 0; i < 20; i++) {
        int64_t until = p_now() + 300000 * i;
        CHECK(p_poller_wait(&poller, events, 8, i % 2 * 1000000, until) == 0);
        CHECK(p_now() >= until);
    }
}

TEST(a_wake_up_between_preparing_and_sleeping_is_kept)
{
    open_pair(P_READ);
    p_poller_prepare(&poller);
    p_poller_wake(&poller);
    CHECK(p_poller_wait(&poller, events, 8, 0, INT64_MAX) == 0);
    p_poller_wake(&poller); /* there is no sleeper: nothing happens */
    int64_t until = SOON;
    p_poller_prepare(&poller);
    CHECK(p_poller_wait(&poller, events, 8, 0, until) == 0);
    CHECK(p_now() >= until);
}

TEST(a_wake_up_or_an_event_ends_a_spin)
{
    open_pair(P_READ);
    CHECK(p_poller_wait(&poller, events, 8, 1000000, SOON) == 0);
    p_poller_prepare(&poller);
    p_poller_wake(&poller);
    CHECK(p_poller_wait(&poller, events, 8, INT64_MAX / 2, INT64_MAX) == 0);
    CHECK(p_send(ends[1], "a", 1) == 1);
    p_poller_prepare(&poller);
    CHECK(p_poller_wait(&poller, events, 8, INT64_MAX / 2, INT64_MAX) == 1 && events[0].tag == 7);
}

TEST(a_wake_up_and_an_event_come_together)
{
    open_pair(P_READ);
    p_poller_prepare(&poller);
    p_poller_wake(&poller);
    CHECK(p_send(ends[1], "a", 1) == 1);
    CHECK(p_poller_wait(&poller, events, 8, 0, INT64_MAX) == 1 && events[0].tag == 7);
}

TEST(events_stay_where_there_is_no_room_for_them)
{
    open_pair(P_READ);
    CHECK(p_send(ends[1], "a", 1) == 1);
    for (int64_t spin = 0; spin <= 1000000; spin += 1000000) {
        p_poller_prepare(&poller);
        CHECK(p_poller_wait(&poller, NULL, 0, spin, INT64_MAX) == 0);
    }
    CHECK(poll_once() == 1 && events[0].tag == 7);
    p_poller_prepare(&poller);
    CHECK(p_poller_wait(&poller, NULL, 0, 0, p_now() + 1000000) == 0);
}

#define WAKE_UPS 20000

static int work;

static void *wake_often(void *unused)
{
    for (int i = 0; i < WAKE_UPS; i++) {
        while (__atomic_load_n(&work, __ATOMIC_SEQ_CST))
            ;
        __atomic_store_n(&work, 1, __ATOMIC_SEQ_CST);
        p_poller_wake(&poller);
    }
    return unused;
}

TEST(no_wake_up_is_lost)
{
    pthread_t thread;
    open_pair(P_READ);
    CHECK(pthread_create(&thread, NULL, wake_often, NULL) == 0);
    for (int done = 0; done < WAKE_UPS;) {
        p_poller_prepare(&poller);
        if (__atomic_load_n(&work, __ATOMIC_SEQ_CST))
            p_poller_cancel(&poller);
        else
            p_poller_wait(&poller, events, 8, done % 3 * 2000, INT64_MAX);
        done += __atomic_exchange_n(&work, 0, __ATOMIC_SEQ_CST);
    }
    pthread_join(thread, NULL);
}

static void sleep_for_ever(void)
{
    p_poller_prepare(&poller);
    p_poller_wait(&poller, events, 8, 0, INT64_MAX);
}

TEST(a_signal_ends_a_wait)
{
    open_pair(P_READ);
    runner_interrupt(sleep_for_ever);
}

TEST(pipes_are_read_and_written_too)
{
    char data[8];
    CHECK(pipe(ends) == 0);
    CHECK(p_set_nonblocking(ends[0]) == 0 && p_set_nonblocking(ends[1]) == 0);
    CHECK(p_receive(ends[0], data, 8) == -EAGAIN);
    CHECK(p_send(ends[1], "abc", 3) == 3);
    CHECK(p_receive(ends[0], data, 8) == 3);
    p_close(ends[1]);
    CHECK(p_receive(ends[0], data, 8) == 0);
    CHECK(p_set_nonblocking(ends[1]) == -EBADF);
}

TEST(an_armed_descriptor_is_reported_once_each_time)
{
    CHECK(p_poller_open(&poller) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(p_send(ends[1], "ab", 2) == 2);
    CHECK(p_poller_arm(&poller, ends[0], P_READ, 7) == 0);
    CHECK(poll_once() == 1 && events[0].tag == 7 && events[0].what == P_READ);
    CHECK(poll_once() == 0);
    CHECK(p_send(ends[1], "c", 1) == 1);
    CHECK(poll_once() == 0);
    CHECK(p_poller_arm(&poller, ends[0], P_READ | P_WRITE, 8) == 0);
    CHECK(poll_once() == 1 && events[0].tag == 8 && events[0].what == (P_READ | P_WRITE));
    p_close(ends[0]);
    CHECK(p_poller_arm(&poller, ends[0], P_READ, 9) < 0 && errno == EBADF);
}

TEST(a_set_is_readable_when_one_of_its_descriptors_is_ready)
{
    int set = p_pollset_open();
    CHECK(set >= 0 && p_poller_open(&poller) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(p_pollset_add(set, ends[0], P_READ) == 0);
    CHECK(p_check_ready(set, P_READ) == -EAGAIN);
    CHECK(p_poller_arm(&poller, set, P_READ, 7) == 0 && poll_once() == 0);
    CHECK(p_send(ends[1], "ab", 2) == 2);
    CHECK(poll_once() == 1 && p_check_ready(set, P_READ) == 0);
    p_pollset_drain(set);
    CHECK(p_check_ready(set, P_READ) == -EAGAIN);
    CHECK(p_pollset_add(set, ends[0], P_WRITE) == 0 && p_check_ready(set, P_READ) == 0);
    p_close(set);
    CHECK(p_pollset_add(set, ends[0], P_READ) == -EBADF);
}
