/* Locks of files: what a call asks for, and which file a descriptor is open on.
 *
 * flock() locks belong to an open file, and lockf() and fcntl() lock a range of bytes.  Where the
 * system has range locks that belong to an open file, fcntl() takes those too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "plat/plat.h"

int p_lock_blocks(int operation)
{
    return (operation & (LOCK_SH | LOCK_EX)) && !(operation & (LOCK_NB | LOCK_UN));
}

int p_lock_nonblocking(int operation)
{
    return operation | LOCK_NB;
}

int p_lock_may_release(int operation)
{
    return (operation & (LOCK_SH | LOCK_UN)) != 0;
}

int p_range_lock_nonblocking(int command)
{
    switch (command) {
    case F_SETLK:
    case F_SETLKW:
        return F_SETLK;
#ifdef F_OFD_SETLKW
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return F_OFD_SETLK;
#endif
    }
    return -1;
}

int p_file_identity(int fd, p_file_id *id)
{
    struct stat found;
    if (fstat(fd, &found) < 0)
        return -errno;
    id->device = (uint64_t)found.st_dev;
    id->inode = (uint64_t)found.st_ino;
    return 0;
}
