/* The thread that answers when another process asks what the tasklets do.
 *
 * It knows no Python and takes no GIL, so it answers while Python is stuck.  For each request it
 * makes a copy of the process (plat.h), which writes the answer (dump.c), and listens again.  It
 * sleeps until a request comes; only while copies live does it look for their end, 20 times a
 * second, because they end without a signal.
 *
 * One question, who keeps exceptions, only Python can answer.  A thread of its own waits for the
 * GIL and hands the connection to Python, which answers on a thread with a stack of the usual size;
 * meanwhile this thread goes on, and a second such question is refused.
 *
 * A program may have closed the socket's descriptor.  Then the thread cannot be called back and is
 * left where it waits (`lost`).
 *
 * Opened and closed by attached threads, one at a time (the caller sees to it).
 *
 * Rejected: answering from the monitor thread of time slices, which must wake exactly and does not
 * exist without slices.
 */
#include "debug/debug.h"

#include <errno.h>
#include <string.h>

#define COPIES 4       /* at the same time */
#define REAP_PERIOD 50 /* ms */

static p_debug_socket listening;
static p_thread listener;
static int is_open, closing, lost;
static int copies[COPIES], copy_count;

d_question_handler *d_answer_question;
static p_thread asker;
static int has_asker, asker_done, asked_fd;

/* Forgets the copies that have ended; `sleeps`: waits until the oldest one has. */
static void reap_copies(int sleeps)
{
    int left = 0;
    for (int i = 0; i < copy_count; i++) {
        if (p_process_copy_ended(copies[i], sleeps && i == 0) < 0)
            copies[left++] = copies[i];
    }
    copy_count = left;
}

static void refuse_request(int fd, int code)
{
    char words[] = "loomlet-dump\t1\nX\t   \n";
    for (size_t at = sizeof(words) - 3; code > 0; code /= 10)
        words[at--] = (char)('0' + code % 10);
    p_process_copy_write(fd, words, sizeof(words) - 1);
}

static void ask_python(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    if (d_answer_question != NULL)
        d_answer_question(asked_fd);
    PyGILState_Release(state);
    __atomic_store_n(&asker_done, 1, __ATOMIC_RELEASE);
}

static void join_asker(void)
{
    if (has_asker)
        p_thread_join(&asker);
    has_asker = 0;
}

/* Closes nothing of ours: Python has a descriptor of its own. */
static void pass_question_on(int fd)
{
    if (has_asker && !__atomic_load_n(&asker_done, __ATOMIC_ACQUIRE))
        return;
    join_asker();
    asked_fd = p_duplicate(fd);
    asker_done = 0;
    has_asker = asked_fd >= 0 && p_thread_start(&asker, ask_python) == 0;
    if (!has_asker && asked_fd >= 0)
        p_close(asked_fd);
}

static void answer_request(int fd)
{
    char words[16];
    p_debug_socket_read_line(fd, words, sizeof(words));
    if (strcmp(words, "exceptions\n") == 0)
        pass_question_on(fd);
    if (strcmp(words, "dump\n") != 0)
        return;
    int64_t asked_at = p_now();
    int pid = p_process_copy();
    if (pid == 0) {
        p_process_copy_begin(fd);
        d_dump(fd, asked_at);
        p_process_copy_end(0);
    }
    if (pid > 0)
        copies[copy_count++] = pid;
    else
        refuse_request(fd, -pid);
}

static void listen_for_requests(void)
{
    while (!__atomic_load_n(&closing, __ATOMIC_ACQUIRE)) {
        reap_copies(copy_count == COPIES);
        int fd = p_debug_socket_accept(&listening, copy_count ? REAP_PERIOD : 0);
        if (fd >= 0) {
            answer_request(fd);
            p_close(fd);
        } else if (fd == -EBADF) {
            break;
        }
    }
}

int d_socket_open(const char *path)
{
    int code = lost ? -EBUSY : p_debug_socket_open(&listening, path);
    if (code < 0)
        return S_E_SYSTEM + code;
    closing = copy_count = 0;
    if (p_thread_start(&listener, listen_for_requests) < 0) {
        p_debug_socket_close(&listening);
        return S_E_MEMORY;
    }
    is_open = 1;
    return S_OK;
}

int d_socket_close(void)
{
    if (!is_open)
        return 0;
    is_open = 0;
    __atomic_store_n(&closing, 1, __ATOMIC_RELEASE);
    lost = p_debug_socket_shutdown(&listening) < 0;
    if (lost)
        return 1;
    Py_BEGIN_ALLOW_THREADS p_thread_join(&listener);
    join_asker();
    Py_END_ALLOW_THREADS p_debug_socket_close(&listening);
    return 1;
}

int d_socket_after_fork(void)
{
    int had = is_open;
    is_open = lost = has_asker = 0;
    if (had)
        p_debug_socket_close(&listening);
    return had;
}
