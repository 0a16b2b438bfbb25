/* A resolver that hangs, loaded before the C library's: names that begin with "hang" are those of
 * localhost, once the file that HANG_UNTIL names is there.  The size of the one that HANGING names
 * is how many lookups have begun to hang. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    resolver *next = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    int numeric = hints != NULL && (hints->ai_flags & AI_NUMERICHOST);
    if (host == NULL || numeric || strncmp(host, "hang", 4) != 0)
        return next(host, service, hints, found);
    int hanging = open(getenv("HANGING"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    int counted = hanging >= 0 && write(hanging, "h", 1) == 1;
    if (hanging < 0 || close(hanging) != 0 || !counted)
        return EAI_SYSTEM;
    while (access(getenv("HANG_UNTIL"), F_OK) != 0)
        usleep(1000);
    return next("localhost", service, hints, found);
}
