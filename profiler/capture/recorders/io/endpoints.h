/* Names of sockets and addresses; what the hooks of connections report. */
#ifndef TP_CAPTURE_RECORDERS_IO_ENDPOINTS_H
#define TP_CAPTURE_RECORDERS_IO_ENDPOINTS_H

#include <netinet/in.h>
#include <sys/un.h>

#include "profiler/capture/recorders/io/state.h"

/* The name of a socket, and of an address ("" none). */
union io_peer {
    struct sockaddr a;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
    struct sockaddr_storage room;
};
void io_peer_name(const union io_peer *p, socklen_t bytes, char *out, size_t room);
void io_endpoint(int fd, const struct io_descriptor *d, char *out, size_t room);

/* How long the thread waited in poll for what it reads from a socket now. A server's
 * wait for its next client is not that. */
uint64_t io_polled_for(struct capture_thread *t, int fd, const struct io_descriptor *d);

/* opens.c, endpoints.c */
/* poll, select, epoll_wait came back; `fd`: the only one that they waited for, or below 0. */
void io_polled(uint64_t begin, int fd);
void io_connected(int fd, const struct sockaddr *to, socklen_t bytes, int result, uint64_t begin,
                  const void *caller);
void io_accepted(int fd);
/* Its row is written although nothing was read from it: the process is a server. */
void io_listening(int fd);
struct addrinfo;
void io_named(const char *host, const struct addrinfo *found);

#endif
