/* Connections that are made, accepted and listened for. */
#include <errno.h>
#include <string.h>

#include "profiler/capture/recorders/io/endpoints.h"

void io_connected(int fd, const struct sockaddr *to, socklen_t bytes, int result, uint64_t begin,
                  const void *caller)
{
    int saved = errno;
    uint64_t end = begin && capture.on ? trace_now() : 0;
    struct capture_thread *t = end && to && bytes >= sizeof to->sa_family ? io_enter(0, 0) : NULL;
    if (t && fd >= 0 && fd < IO_DESCRIPTORS) {
        union io_peer p;
        char name[128];
        memset(&p, 0, sizeof p);
        memcpy(&p, to, bytes < sizeof p ? bytes : sizeof p);
        io_peer_name(&p, bytes, name, sizeof name);
        struct io_descriptor *d = &io->descriptors[fd];
        uint32_t row = io_row(TRACE_TO_SOCKET, *name ? name : "other sockets");
        io_forget(fd);
        io_set_row(fd, row + 1);
        int failed = result < 0 && saved != EINPROGRESS;
        io_add(t, d, &io->files[row],
               &(struct io_add){.op = TRACE_IO_CONNECT,
                                .bytes = failed ? -1 : 0,
                                .offset = -1,
                                .begin = begin,
                                .end = end},
               caller);
    }
    if (t)
        io_leave(t, 1, saved);
    errno = saved;
}

void io_accepted(int fd)
{
    if (!io_on || fd < 0 || fd >= IO_DESCRIPTORS)
        return;
    io_forget(fd);
    io->descriptors[fd].accepted = 1;
}

void io_listening(int fd)
{
    int saved = errno;
    struct capture_thread *t = io_enter(0, 0);
    char name[128];
    if (!t)
        return;
    io_endpoint(fd, &(struct io_descriptor){.accepted = 1}, name, sizeof name);
    if (!strncmp(name, TRACE_CLIENTS, strlen(TRACE_CLIENTS)))
        io->files[io_row(TRACE_TO_SOCKET, name)].changed = 1;
    io_leave(t, 0, saved);
}
