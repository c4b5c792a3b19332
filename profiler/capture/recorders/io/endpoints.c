/* Sockets by endpoint: host:port, where the program asked for the host's address itself; never
 * anything of what is sent. Connections that a server accepted are one row for each of its ports.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "profiler/capture/recorders/io/endpoints.h"

enum { NAMES = 256, HOST = 80 };

static struct {
    uint8_t address[16];
    char host[HOST];
} names[NAMES]; /* the last answers; a torn one is a wrong name for a moment */
static uint32_t names_next;

/* 16 bytes of an IP address; 0: of another family. */
static int address_of(const struct sockaddr *a, uint8_t out[16])
{
    memset(out, 0, 16);
    if (a->sa_family == AF_INET) {
        out[10] = out[11] = 0xff;
        memcpy(out + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
        return 1;
    }
    if (a->sa_family == AF_INET6)
        memcpy(out, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
    return a->sa_family == AF_INET6;
}

void io_named(const char *host, const struct addrinfo *found)
{
    if (!io_on || !host || strlen(host) >= HOST)
        return;
    for (; found; found = found->ai_next) {
        uint8_t address[16];
        if (!found->ai_addr || !address_of(found->ai_addr, address))
            continue;
        uint32_t i = 0, n = __atomic_load_n(&names_next, __ATOMIC_RELAXED);
        while (i < NAMES && i < n && memcmp(names[i].address, address, 16))
            i++;
        if (i >= n || i >= NAMES)
            i = __atomic_fetch_add(&names_next, 1, __ATOMIC_RELAXED) % NAMES;
        strcpy(names[i].host, host);
        memcpy(names[i].address, address, 16);
    }
}

static void host_of(const struct sockaddr *a, char *out, size_t room)
{
    uint8_t address[16];
    if (!address_of(a, address))
        return;
    for (uint32_t i = 0; i < NAMES; i++)
        if (*names[i].host && !memcmp(names[i].address, address, 16)) {
            snprintf(out, room, "%.*s", HOST - 1, names[i].host);
            return;
        }
    if (a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, out, (socklen_t)room);
    else
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, out, (socklen_t)room);
}

void io_peer_name(const union io_peer *p, socklen_t bytes, char *out, size_t room)
{
    char host[HOST] = "";
    *out = 0;
    if (p->a.sa_family == AF_UNIX) {
        int named = bytes > offsetof(struct sockaddr_un, sun_path) && p->un.sun_path[0];
        snprintf(out, room, "%.*s", (int)room - 1, named ? p->un.sun_path : "unix");
        return;
    }
    host_of(&p->a, host, sizeof host);
    if (*host)
        snprintf(out, room, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
                 ntohs(p->a.sa_family == AF_INET ? p->v4.sin_port : p->v6.sin6_port));
}

void io_endpoint(int fd, const struct io_descriptor *d, char *out, size_t room)
{
    union io_peer p;
    socklen_t bytes = sizeof p;
    memset(&p, 0, sizeof p);
    if (d->accepted && !syscall(SYS_getsockname, fd, &p, &bytes) && p.a.sa_family != AF_UNIX) {
        snprintf(out, room, TRACE_CLIENTS "port %u",
                 ntohs(p.a.sa_family == AF_INET ? p.v4.sin_port : p.v6.sin6_port));
        return;
    }
    bytes = sizeof p;
    if (syscall(SYS_getpeername, fd, &p, &bytes))
        snprintf(out, room, "sockets without a peer");
    else
        io_peer_name(&p, bytes, out, room);
    if (!*out)
        snprintf(out, room, "other sockets");
}

/* Less is a look, not a wait. */
#define LOOK_NS 20000

/* Waiting in poll and its like belongs to the read of a socket after it. */
void io_polled(uint64_t begin, int fd)
{
    struct capture_thread *t = capture.on && capture_is_here() ? capture_self() : NULL;
    uint64_t end = t ? trace_now() : 0;
    if (end <= begin + LOOK_NS)
        return;
    t->polled_from = begin;
    t->polled_to = end;
    t->polled = fd;
}

uint64_t io_polled_for(struct capture_thread *t, int fd, const struct io_descriptor *d)
{
    uint64_t from = t->polled_from > d->wrote_ns ? t->polled_from : d->wrote_ns;
    uint64_t ns = from < t->polled_to ? t->polled_to - from : 0;
    int of_others = d->accepted || (t->polled >= 0 && t->polled != fd);
    t->polled_to = 0; /* one read had it, or it was for none of them */
    return of_others ? 0 : ns;
}
