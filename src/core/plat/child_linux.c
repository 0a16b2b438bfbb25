/* The end of a child process as a descriptor, which becomes readable when the process ends.
 *
 * The descriptor does not collect the status: the caller still has to wait for the process.  It
 * reports the end of one process only, and no stop.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plat/plat.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int p_child_open(int pid)
{
    long fd = pid > 0 ? syscall(SYS_pidfd_open, pid, 0) : (errno = EINVAL, -1);
    return fd < 0 ? -errno : (int)fd;
}

int p_child_open_as(int kind, int id)
{
    if (kind == P_PIDFD)
        return p_duplicate(id);
    return kind == P_PID ? p_child_open(id) : -EINVAL;
}

int p_child_wait_blocks(int options)
{
    return !(options & WNOHANG);
}

int p_child_wait_nonblocking(int options)
{
    return options | WNOHANG;
}

int p_child_wait_for_exit(int options)
{
    return (options & ~(WEXITED | WNOWAIT)) == 0;
}
