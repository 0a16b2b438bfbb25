/* Descriptors that become ready, on Linux: one epoll set, and an eventfd as wakeup descriptor.
 *
 * Descriptors are registered edge-triggered, the wakeup descriptor too, so it is never read: each
 * write is an edge of its own, and its counter would last for centuries.  An armed descriptor is
 * reported once and level-triggered: others may have done anything to it meanwhile.
 *
 * The word is that of a parker.  A wake-up between p_poller_prepare and the system call is kept by
 * the eventfd, and one while the sleeper still spins by the word.  One that comes while the sleeper
 * wakes by itself is reported by the next wait: that returns early, which is allowed.
 *
 * Time is nanoseconds (epoll_pwait2); where the kernel does not know that call, whole milliseconds,
 * rounded up so that no sleeper wakes before its time and spins.
 *
 * Rejected: io_uring (docs/decisions/epoll.md); a timer descriptor in the set (two more system
 * calls per sleep); level-triggered sets, which have to be changed whenever a wait begins or ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plat/plat.h"

#define WAKEUP UINT64_MAX
#define AT_ONCE 128
#define LONGEST 2000000000 /* ms that fit an int */

int p_poller_open(p_poller *poller)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = WAKEUP};
    poller->parker.word = 0;
    poller->set = epoll_create1(EPOLL_CLOEXEC);
    poller->wakeup = poller->set < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (poller->wakeup >= 0 && epoll_ctl(poller->set, EPOLL_CTL_ADD, poller->wakeup, &event) == 0)
        return 0;
    int why = errno;
    p_poller_close(poller);
    errno = why;
    return -1;
}

void p_poller_close(p_poller *poller)
{
    if (poller->set >= 0)
        close(poller->set);
    if (poller->wakeup >= 0)
        close(poller->wakeup);
    poller->set = poller->wakeup = -1;
}

static uint32_t epoll_events(unsigned what)
{
    return (what & P_READ ? EPOLLIN : 0) | (what & P_WRITE ? EPOLLOUT : 0);
}

int p_poller_add(p_poller *poller, int fd, unsigned what, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLET | EPOLLRDHUP | EPOLLPRI, .data.u64 = tag};
    event.events |= epoll_events(what);
    if (epoll_ctl(poller->set, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    return errno == EEXIST ? epoll_ctl(poller->set, EPOLL_CTL_MOD, fd, &event) : -1;
}

int p_poller_arm(p_poller *poller, int fd, unsigned what, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLONESHOT | epoll_events(what), .data.u64 = tag};
    if (epoll_ctl(poller->set, EPOLL_CTL_MOD, fd, &event) == 0)
        return 0;
    return errno == ENOENT ? epoll_ctl(poller->set, EPOLL_CTL_ADD, fd, &event) : -1;
}

void p_poller_remove(p_poller *poller, int fd)
{
    struct epoll_event unused = {0};
    epoll_ctl(poller->set, EPOLL_CTL_DEL, fd, &unused);
}

void p_poller_prepare(p_poller *poller)
{
    p_park_prepare(&poller->parker);
}

void p_poller_cancel(p_poller *poller)
{
    p_park_cancel(&poller->parker);
}

static int wait_ms(int set, struct epoll_event *found, int room, int64_t left)
{
    int64_t ms = left > (int64_t)LONGEST * 1000000 ? LONGEST : (left + 999999) / 1000000;
    return epoll_wait(set, found, room, (int)ms);
}

/* Whether there are events; which stay. */
static int peek_until(int set, int64_t until)
{
    struct pollfd one = {.fd = set, .events = POLLIN};
    int64_t left = until > 0 ? until - p_now() : 0;
    left = left > 0 ? left : 0;
    struct timespec limit = {left / 1000000000, left % 1000000000};
    return ppoll(&one, 1, until == INT64_MAX ? NULL : &limit, NULL);
}

static int wait_until(int set, struct epoll_event *found, int room, int64_t until)
{
    static int is_old;
    if (room == 0)
        return peek_until(set, until);
    if (until == INT64_MAX)
        return epoll_wait(set, found, room, -1);
    int64_t left = until > 0 ? until - p_now() : 0;
    if (left <= 0)
        return epoll_wait(set, found, room, 0);
#ifdef SYS_epoll_pwait2
    if (!__atomic_load_n(&is_old, __ATOMIC_RELAXED)) {
        struct timespec limit = {left / 1000000000, left % 1000000000};
        int count = (int)syscall(SYS_epoll_pwait2, set, found, room, &limit, NULL, (size_t)0);
        if (count >= 0 || errno != ENOSYS)
            return count;
        __atomic_store_n(&is_old, 1, __ATOMIC_RELAXED);
    }
#endif
    return wait_ms(set, found, room, left);
}

static unsigned readiness_of(uint32_t events)
{
    unsigned what = 0;
    if (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP | EPOLLPRI))
        what = P_ENDED;
    if (events & (EPOLLERR | EPOLLHUP))
        what |= P_BROKEN;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLERR | EPOLLHUP))
        what |= P_READ;
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        what |= P_WRITE;
    return what;
}

static int is_spinning(p_poller *poller)
{
    return __atomic_load_n(&poller->parker.word, __ATOMIC_SEQ_CST) == P_SPINNING;
}

/* Polls for `spin` nanoseconds, but not beyond `until`, and until woken, or somebody else has had
 * the processor. */
static int poll_and_spin(p_poller *poller, struct epoll_event *found, int room, int64_t spin,
                         int64_t until)
{
    int64_t now = p_now(), looked = now, end = now + spin < until ? now + spin : until;
    int count = 0;
    if (!p_word_change(&poller->parker.word, P_ASLEEP, P_SPINNING))
        return 0;
    do {
        looked = now;
        count = wait_until(poller->set, found, room, 0);
        now = p_now();
    } while (count == 0 && is_spinning(poller) && now < end && now - looked < B_SPIN_GAP);
    p_word_change(&poller->parker.word, P_SPINNING, P_ASLEEP);
    poller->crowded = now - looked >= B_SPIN_GAP;
    return count;
}

static int is_woken(p_poller *poller)
{
    return __atomic_load_n(&poller->parker.word, __ATOMIC_SEQ_CST) == P_WOKEN;
}

int p_poller_wait(p_poller *poller, p_event *events, int room, int64_t spin, int64_t until)
{
    struct epoll_event found[AT_ONCE];
    int most = room < AT_ONCE ? room : AT_ONCE, kept = 0;
    poller->crowded = 0;
    int count = spin > 0 ? poll_and_spin(poller, found, most, spin, until) : 0;
    if (count == 0)
        count = wait_until(poller->set, found, most, is_woken(poller) ? 0 : until);
    p_park_cancel(&poller->parker);
    for (int i = 0; i < count && i < most; i++) {
        if (found[i].data.u64 != WAKEUP)
            events[kept++] = (p_event){found[i].data.u64, readiness_of(found[i].events)};
    }
    return kept;
}

void p_poller_wake(p_poller *poller)
{
    uint64_t one = 1;
    if (p_unpark_begin(&poller->parker) && write(poller->wakeup, &one, sizeof(one)) < 0)
        return; /* its counter is full: the sleeper is woken already */
}

/* ---- sets ------------------------------------------------------------------ */

int p_pollset_open(void)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set < 0 ? -errno : set;
}

int p_pollset_add(int set, int fd, unsigned what)
{
    struct epoll_event event = {.events = EPOLLET | EPOLLRDHUP | EPOLLPRI | epoll_events(what)};
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    event.events |= EPOLLIN | EPOLLOUT;
    return epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : -errno;
}

unsigned p_poll_interest(long events)
{
    unsigned read = EPOLLIN | EPOLLPRI | EPOLLRDNORM | EPOLLRDBAND | EPOLLRDHUP;
    unsigned write = EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
    return ((unsigned)events & read ? P_READ : 0) | ((unsigned)events & write ? P_WRITE : 0);
}

void p_pollset_drain(int set)
{
    struct epoll_event found[AT_ONCE];
    while (epoll_wait(set, found, AT_ONCE, 0) == AT_ONCE)
        continue;
}
