/* Name lookups: the C library's getaddrinfo. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "plat/plat.h"

int p_is_address(const char *host)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found = NULL;
    if (*host != 0 && getaddrinfo(host, NULL, &hints, &found) != 0)
        return 0;
    if (found != NULL)
        freeaddrinfo(found);
    return 1;
}

void p_resolve(p_resolved *names, const char *host, const char *service, const int kind[4])
{
    struct addrinfo *found = NULL, hints = {.ai_family = kind[0],
                                            .ai_socktype = kind[1],
                                            .ai_protocol = kind[2],
                                            .ai_flags = kind[3]};
    int code = getaddrinfo(host, service, &hints, &found);
    *names = (p_resolved){found, found, code, code == EAI_SYSTEM ? errno : 0};
}

static void read_ipv4(p_address *to, const struct sockaddr_in *from)
{
    to->port = ntohs(from->sin_port);
    to->has_host = inet_ntop(AF_INET, &from->sin_addr, to->host, sizeof(to->host)) != NULL;
}

static void read_ipv6(p_address *to, const struct sockaddr_in6 *from)
{
    to->port = ntohs(from->sin6_port);
    to->flow = ntohl(from->sin6_flowinfo);
    to->scope = from->sin6_scope_id;
    to->is_ipv6 = 1;
    to->has_host = inet_ntop(AF_INET6, &from->sin6_addr, to->host, sizeof(to->host)) != NULL;
}

int p_resolve_next(p_resolved *names, p_address *address)
{
    const struct addrinfo *at = names->at;
    if (at == NULL)
        return 0;
    names->at = at->ai_next;
    *address = (p_address){.family = at->ai_family,
                           .type = at->ai_socktype,
                           .protocol = at->ai_protocol,
                           .name = at->ai_canonname ? at->ai_canonname : ""};
    if (at->ai_family == AF_INET)
        read_ipv4(address, (const void *)at->ai_addr);
    else if (at->ai_family == AF_INET6)
        read_ipv6(address, (const void *)at->ai_addr);
    return 1;
}

void p_resolve_end(p_resolved *names)
{
    if (names->all != NULL)
        freeaddrinfo(names->all);
    names->all = names->at = NULL;
}

const char *p_resolve_reason(int code)
{
    return gai_strerror(code);
}
