/* Files of a folder: found below it, and nowhere else.
 *
 * openat2 (Linux 5.6) resolves the path inside of the folder, symbolic links too, in one step:
 * there is no moment between a look and the opening.  Where the system does not know it, links are
 * not followed in the last part of the path and `..` must have been removed before.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plat/plat.h"

int p_open_folder(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int p_open_below(int folder, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    const char *name = path[0] != '\0' ? path : ".";
    long fd = syscall(SYS_openat2, folder, name, &how, sizeof(how));
    if (fd < 0 && errno == ENOSYS)
        fd = openat(folder, name, (int)how.flags | O_NOFOLLOW);
    return fd < 0 ? -errno : (int)fd;
}

long p_read_at(int fd, void *to, size_t size, int64_t at)
{
    long got;
    do
        got = pread(fd, to, size, at);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

static void read_facts(const struct stat *from, p_file_facts *facts)
{
    *facts = (p_file_facts){.size = from->st_size,
                            .modified = from->st_mtim.tv_sec,
                            .nanoseconds = from->st_mtim.tv_nsec,
                            .device = from->st_dev,
                            .number = from->st_ino,
                            .is_regular = S_ISREG(from->st_mode),
                            .is_folder = S_ISDIR(from->st_mode)};
}

int p_file_facts_of(int fd, p_file_facts *facts)
{
    struct stat found;
    if (fstat(fd, &found) < 0)
        return -errno;
    read_facts(&found, facts);
    return 0;
}

int p_file_facts_below(int folder, const char *path, p_file_facts *facts)
{
    struct stat found;
    if (fstatat(folder, path[0] != '\0' ? path : ".", &found, 0) < 0)
        return -errno;
    read_facts(&found, facts);
    return 0;
}
