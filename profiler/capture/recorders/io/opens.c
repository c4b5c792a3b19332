/* Descriptors that come, go, and share what they lead to. */
#include <errno.h>
#include <string.h>

#include "profiler/capture/core/asleep.h"
#include "profiler/capture/recorders/io/names.h"
#include "profiler/capture/recorders/io/endpoints.h"
#include "profiler/capture/recorders/io/lean.h"

/* A child of vfork has its parent's memory: what it closes is still open there. While the kernel is
 * not asked, not even which process this is, such a number is only looked up again. */
void io_opened(int fd, const char *path, int flags, uint64_t begin, const void *caller)
{
    int saved = errno;
    uint64_t end = begin && io_records() ? trace_now() : 0;
    int here = __atomic_load_n(&io_storm, __ATOMIC_RELAXED) || capture_is_here();
    struct capture_thread *t = end && here ? io_enter(0, 0) : NULL;
    if (t) {
        struct io_file *f = &io->files[0];
        struct io_descriptor *d =
            fd >= 0 ? io_descriptor_opened(fd, path, flags, &f) : &io->descriptors[0];
        begin = io_begin_ns(begin, end);
        if (d && fd >= 0 && d->seekable) {
            d->known = 1;
            d->offset = 0;
        }
        if (d)
            io_add(t, d, f,
                   &(struct io_add){.op = TRACE_IO_OPEN,
                                    .bytes = fd < 0 ? -1 : 0,
                                    .offset = -1,
                                    .begin = begin,
                                    .end = end},
                   caller);
        io_leave(t, 1, saved);
    }
    errno = saved;
}

/* By its name alone, while the kernel is not asked. */
int io_short_open(int fd, const char *path, int flags, uint64_t begin)
{
    struct quick q;
    if (!__atomic_load_n(&io_storm, __ATOMIC_RELAXED) || fd < 0 || fd >= IO_DESCRIPTORS ||
        !io_name_suffices(path, flags) || !quick_begin(&q, begin) || quick_has_stack(&q))
        return 0;
    struct io_name n = io_name_of(path, 1);
    uint32_t row = io_name_row(&n);
    struct io_file *f = row ? &io->files[row - 1] : NULL;
    if (!f || !quick_lock(&q, f))
        return 0;
    quick_count(&q, f, TRACE_IO_OPEN);
    io_unlock(f);
    io_forget(fd);
    io_open_by_name(&io->descriptors[fd], flags);
    io_set_row(fd, row);
    quick_end(&q);
    return 1;
}

uint32_t io_closing(int fd, uint64_t begin)
{
    struct io_descriptor *d = begin && io_records() ? io_descriptor_known(fd) : NULL;
    struct capture_thread *self = d ? capture_self() : NULL;
    uint32_t file = 0;
    if (!self)
        return 0;
    if (__atomic_load_n(&io_storm, __ATOMIC_RELAXED) && !self->busy) {
        file = d->file;
        io_forget(fd);
        return file;
    }
    int saved = errno;
    struct capture_thread *t = capture_is_here() ? io_enter(0, 0) : NULL;
    if (t) {
        file = d->file;
        io_forget(fd);
        io_leave(t, 0, saved);
    }
    errno = saved;
    return file;
}

void io_closed(uint32_t file, uint64_t begin, int result, const void *caller)
{
    if (!result && io_short_other(&io->files[file - 1], TRACE_IO_OPEN, begin))
        return;
    int saved = errno;
    uint64_t end = file && io_records() ? trace_now() : 0;
    struct capture_thread *t = end ? io_enter(0, 0) : NULL;
    if (t) {
        struct io_descriptor none = {0};
        io_add(t, &none, &io->files[file - 1],
               &(struct io_add){.op = TRACE_IO_OPEN,
                                .bytes = result,
                                .offset = -1,
                                .begin = io_begin_ns(begin, end),
                                .end = end},
               caller);
        io_leave(t, 1, saved);
    }
    errno = saved;
}

volatile int io_missed;

void io_closing_range(unsigned first, unsigned last)
{
    io_missed |= asleep.on && !asleep.counts;
    struct capture_thread *t = io_on && io_records() && capture_is_here() ? io_enter(0, 0) : NULL;
    if (!t)
        return;
    int saved = errno;
    for (unsigned fd = first; fd <= last && fd < (unsigned)io_descriptor_count; fd++)
        io_forget((int)fd);
    io_leave(t, 0, saved);
}

void io_duplicated(int from, int to)
{
    int saved = errno;
    io_missed |= asleep.on && !asleep.counts;
    struct capture_thread *t =
        io_on && io_records() && to >= 0 && capture_is_here() ? io_enter(0, 0) : NULL;
    if (!t)
        return;
    if (from != to)
        io_forget(to);
    struct io_descriptor *d = io_descriptor_known(from);
    if (d && from != to) {
        if (io_run_waits(d))
            io_run_end(d);
        d->run.op = 0;
        d->shared = 1;
        if ((unsigned)to < IO_DESCRIPTORS) {
            const struct io_whole whole = io->descriptors[to].whole; /* of those before it */
            io->descriptors[to] = *d;
            io->descriptors[to].whole = whole;
            io_set_row(to, d->file);
            io->descriptors[to].stream = 0;
            io->descriptors[to].wrote_ns = 0; /* the request is waited for once */
        }
    }
    io_leave(t, 0, saved);
}

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
