/* Reading by system calls: pread, mmap, O_DIRECT. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/store/fetch/fetch.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

void fetch_close(struct fetch_worker *w)
{
    if (w->map)
        munmap(w->map, (size_t)w->map_bytes);
    if (w->fd >= 0)
        close(w->fd);
    w->map = NULL;
    w->fd = -1;
    w->object = NULL;
}

enum err fetch_check_file(const struct store_object *o, int fd, int64_t *bytes)
{
    struct stat st;
    char link[40], real[4352];
    FAIL_IF(fstat(fd, &st), ERR_IO, "%s: cannot read: %s", o->name, strerror(errno));
    FAIL_IF(!S_ISREG(st.st_mode), ERR_INPUT, "%s: is not a regular file", o->name);
    *bytes = st.st_size;
    if (!o->root)
        return ERR_OK;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, real, sizeof real - 1);
    const size_t below = strlen(o->root);
    real[n < 0 ? 0 : n] = 0;
    FAIL_IF(n < 0 || strncmp(real, o->root, below) != 0 || (below > 1 && real[below] != '/'),
            ERR_INPUT,
            "%s: is a link that leads out of %s; add `follow_links` if you trust the store",
            o->name, o->root);
    return ERR_OK;
}

enum err fetch_open(struct fetch_worker *w, const struct store_object *o, int flags)
{
    int64_t bytes;
    if (w->object == o)
        return ERR_OK;
    fetch_close(w);
    w->fd = open(o->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    FAIL_IF(w->fd < 0, flags && errno == EINVAL ? ERR_UNSUPPORTED : ERR_INPUT,
            "%s: cannot read: %s", o->name, strerror(errno));
    TRY(fetch_check_file(o, w->fd, &bytes));
    w->object = o;
    return ERR_OK;
}

static enum err pread_whole(int fd, const struct fetch_request *r, char *to, int64_t offset,
                            int64_t room, int64_t least)
{
    for (int64_t done = 0; done < least;) {
        ssize_t got = pread(fd, to + done, (size_t)(room - done), offset + done);
        if (got < 0 && errno == EINTR)
            continue;
        FAIL_IF(got < 0, ERR_IO, "%s: reading failed: %s", r->object->name, strerror(errno));
        FAIL_IF(got == 0, ERR_INPUT, "%s: ends at byte %" PRId64 ": it became shorter",
                r->object->name, offset + done);
        done += got;
    }
    return ERR_OK;
}

static enum err pread_read(struct fetch_worker *w, struct fetch_request *r, int n)
{
    for (int i = 0; i < n; i++) {
        r[i].begin_ns = clock_ns();
        TRY(fetch_open(w, r[i].object, 0));
        TRY(pread_whole(w->fd, &r[i], r[i].to, r[i].offset, r[i].bytes, r[i].bytes));
        r[i].data = r[i].to;
        r[i].end_ns = clock_ns();
    }
    return ERR_OK;
}

/* Pages are touched here, so that their faults are not counted as decoding. */
static enum err mmap_touch(const struct fetch_worker *w, int64_t offset, int64_t bytes)
{
    static int refused; /* by an older kernel */
    const int64_t page = sysconf(_SC_PAGESIZE), first = offset / page * page;
    char *from = (char *)w->map + first;
    if (!__atomic_load_n(&refused, __ATOMIC_RELAXED)) {
        if (!madvise(from, (size_t)(offset + bytes - first), MADV_POPULATE_READ))
            return ERR_OK;
        FAIL_IF(errno == EFAULT, ERR_INPUT, "%s: became shorter", w->object->name);
        __atomic_store_n(&refused, errno == EINVAL, __ATOMIC_RELAXED);
    }
    for (int64_t at = 0; at < offset + bytes - first; at += page)
        (void)*(volatile char *)(from + at);
    return ERR_OK;
}

static enum err mmap_read(struct fetch_worker *w, struct fetch_request *r, int n)
{
    for (int i = 0; i < n; i++) {
        struct stat st;
        r[i].begin_ns = clock_ns();
        TRY(fetch_open(w, r[i].object, 0));
        if (!w->map) {
            FAIL_IF(fstat(w->fd, &st), ERR_IO, "%s: %s", r[i].object->name, strerror(errno));
            w->map_bytes = st.st_size;
            w->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, w->fd, 0);
            if (w->map == MAP_FAILED) {
                w->map = NULL;
                return FAIL(ERR_IO, "%s: cannot be mapped: %s", r[i].object->name, strerror(errno));
            }
        }
        FAIL_IF(r[i].offset + r[i].bytes > w->map_bytes, ERR_INPUT, "%s: became shorter",
                r[i].object->name);
        TRY(mmap_touch(w, r[i].offset, r[i].bytes));
        r[i].data = (const unsigned char *)w->map + r[i].offset;
        r[i].end_ns = clock_ns();
    }
    return ERR_OK;
}

static enum err direct_read(struct fetch_worker *w, struct fetch_request *r, int n)
{
    for (int i = 0; i < n; i++) {
        const int64_t first = r[i].offset / FETCH_ALIGN * FETCH_ALIGN, skip = r[i].offset - first,
                      room = (skip + r[i].bytes + FETCH_ALIGN - 1) / FETCH_ALIGN * FETCH_ALIGN;
        r[i].begin_ns = clock_ns();
        TRY(fetch_open(w, r[i].object, O_DIRECT));
        TRY(pread_whole(w->fd, &r[i], r[i].to, first, room, skip + r[i].bytes));
        r[i].data = (const unsigned char *)r[i].to + skip;
        r[i].end_ns = clock_ns();
    }
    return ERR_OK;
}

const struct fetch_way fetch_pread = {"pread", "read system calls", 1, 0, NULL, pread_read, NULL};
const struct fetch_way fetch_mmap = {"mmap", "memory-mapped", 0, 1, NULL, mmap_read, NULL};
const struct fetch_way fetch_direct = {
    "direct", "past the page cache (O_DIRECT)", 0, 0, NULL, direct_read, NULL};
