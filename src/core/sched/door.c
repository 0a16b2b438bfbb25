/* The thread that answers when another process asks what the tasklets do.
 *
 * It knows no Python and takes no GIL, so it answers while Python is stuck.  For each
 * question it makes a copy of the process (plat.h), which writes the answer (dump.c), and
 * goes on to listen.  It sleeps until somebody asks; only while copies live it looks for
 * their end 20 times a second, because they end without a signal.
 *
 * A program may have closed the socket's descriptor.  Then the thread cannot be called
 * back, and is left where it waits (`lost`).
 *
 * Opened and closed by attached threads, one at a time (the caller sees to it).
 *
 * Rejected: answering from the watchdog thread of time slices, which must wake exactly
 * and is not there without slices.
 */
#include "sched/dump.h"

#include <errno.h>
#include <string.h>

#define COPIES 4 /* at the same time */
#define LOOK 50  /* ms */

static p_door door;
static p_thread porter;
static int open_, shutting, lost;
static int copies[COPIES], count;

static void reap(int sleeps)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        if (p_copy_ended(copies[i], sleeps && i == 0) < 0)
            copies[left++] = copies[i];
    }
    count = left;
}

static void refuse(int fd, int code)
{
    char words[] = "loomlet-dump\t1\nX\t   \n";
    for (size_t at = sizeof(words) - 3; code > 0; code /= 10)
        words[at--] = (char)('0' + code % 10);
    p_copy_write(fd, words, sizeof(words) - 1);
}

static void answer(int fd)
{
    char words[16];
    p_door_hear(fd, words, sizeof(words));
    if (strcmp(words, "dump\n") != 0)
        return;
    int64_t asked_at = p_now();
    int pid = p_copy();
    if (pid == 0) {
        p_copy_begin(fd);
        s_dump(fd, asked_at);
        p_copy_end(0);
    }
    if (pid > 0)
        copies[count++] = pid;
    else
        refuse(fd, -pid);
}

static void attend(void)
{
    while (!__atomic_load_n(&shutting, __ATOMIC_ACQUIRE)) {
        reap(count == COPIES);
        int fd = p_door_wait(&door, count ? LOOK : 0);
        if (fd >= 0) {
            answer(fd);
            p_close(fd);
        } else if (fd == -EBADF) {
            break;
        }
    }
}

int s_door_open(const char *path)
{
    int code = lost ? -EBUSY : p_door_open(&door, path);
    if (code < 0)
        return S_E_SYSTEM + code;
    shutting = count = 0;
    if (p_thread_start(&porter, attend) < 0) {
        p_door_close(&door);
        return S_E_MEMORY;
    }
    open_ = 1;
    return S_OK;
}

int s_door_close(void)
{
    if (!open_)
        return 0;
    open_ = 0;
    __atomic_store_n(&shutting, 1, __ATOMIC_RELEASE);
    lost = p_door_shut(&door) < 0;
    if (lost)
        return 1;
    Py_BEGIN_ALLOW_THREADS p_thread_join(&porter);
    Py_END_ALLOW_THREADS p_door_close(&door);
    return 1;
}

int s_door_after_fork(void)
{
    int had = open_;
    open_ = lost = 0;
    if (had)
        p_door_close(&door);
    return had;
}
