/* A copy of the process, in which what changes here stands still.
 *
 * The system copies the page tables only, so the process stops for some milliseconds, whatever its
 * other threads do and hold.  The copy is made by a system call of ours: fork() of the C library
 * would run handlers and take locks.  It has one thread; any lock may be taken in it for ever, and
 * any structure may be half made.  So it calls nothing that locks or allocates, reads what it finds
 * under p_process_copy_try, and ends by itself after a time.
 *
 * The end of the copy sends no signal, and no wait() of the program sees it.  The copy closes every
 * descriptor but one, so that what the program closes meanwhile is really closed; it dies with the
 * thread that made it.
 *
 * Under ASan and TSan the copy reads plain memory and calls nothing that they intercept with a
 * lock, so both work as outside.
 *
 * Rejected: stopping the threads and reading in the process (they may hold what the reader needs,
 * and a fault would end the program); ptrace and /proc/PID/mem from outside, which many systems
 * forbid.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plat/plat.h"

#define LIFETIME 20 /* seconds that a copy may live */

static sigjmp_buf before_step;
static volatile int in_step;

int p_process_copy(void)
{
    long pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    return pid < 0 ? -errno : (int)pid;
}

static void handle_fault(int number)
{
    (void)number;
    if (!in_step)
        _exit(1);
    in_step = 0;
    siglongjmp(before_step, 1);
}

static void handle_faults(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    struct sigaction act = {.sa_handler = handle_fault, .sa_flags = SA_NODEFER};
    sigset_t mine;
    sigemptyset(&mine);
    for (int i = 0; i < 4; i++) {
        sigaction(faults[i], &act, NULL);
        sigaddset(&mine, faults[i]);
    }
    act.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &act, NULL);
    sigaddset(&mine, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &mine, NULL);
}

void p_process_copy_begin(int keep)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "loomlet-dump");
    handle_faults();
    alarm(LIFETIME);
#ifdef SYS_close_range
    if (keep > 0)
        syscall(SYS_close_range, 0u, (unsigned)keep - 1, 0u);
    syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0u);
#endif
}

int p_process_copy_try(void (*work)(void *arg), void *arg)
{
    if (sigsetjmp(before_step, 0))
        return -1;
    in_step = 1;
    work(arg);
    in_step = 0;
    return 0;
}

int p_process_copy_write(int fd, const char *from, size_t size)
{
    while (size > 0) {
        long done = send(fd, from, size, MSG_NOSIGNAL);
        if (done < 0 && errno == ENOTSOCK)
            done = write(fd, from, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        from += done;
        size -= (size_t)done;
    }
    return 0;
}

void p_process_copy_end(int status)
{
    _exit(status);
}

int p_process_copy_ended(int pid, int sleeps)
{
    int status = 0, done;
    do
        done = waitpid(pid, &status, __WCLONE | (sleeps ? 0 : WNOHANG));
    while (done < 0 && errno == EINTR);
    if (done == 0)
        return -1;
    return done > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}
