/* The page cache before a run: measured with cachestat or mincore, emptied of the file with posix_fadvise. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "host/load/load.h"
#include "host/store/fetch/http.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
#define OBJECTS_MOST 256 /* of stores with many files, evenly */
#define COLD_SHARE   0.05

/* Linux 6.5 counts without a map and a byte for each page. */
static int cache_ask(int fd, int64_t *resident)
{
    const struct {
        uint64_t offset, bytes;
    } all = {0, 0};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } found;
    if (syscall(SYS_cachestat, fd, &all, &found, 0))
        return 0;
    *resident += (int64_t)found.cached;
    return 1;
}

static void count_pages(const char *path, int64_t *resident, int64_t *pages)
{
    struct stat st;
    const long page = sysconf(_SC_PAGESIZE);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
        const size_t n = (size_t)((st.st_size + page - 1) / page);
        if (cache_ask(fd, resident)) {
            *pages += (int64_t)n;
            close(fd);
            return;
        }
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        unsigned char *there = malloc(n);
        if (map != MAP_FAILED && there && !mincore(map, (size_t)st.st_size, there)) {
            for (size_t i = 0; i < n; i++)
                *resident += there[i] & 1;
            *pages += (int64_t)n;
        }
        free(there);
        if (map != MAP_FAILED)
            munmap(map, (size_t)st.st_size);
    }
    close(fd);
}

double load_cached_share(const struct store *s)
{
    int64_t resident = 0, pages = 0;
    const int32_t step = s->objects_count / OBJECTS_MOST + 1;
    for (int32_t i = 0; i < s->objects_count; i += step)
        if (!s->objects[i].memory)
            count_pages(s->objects[i].name, &resident, &pages);
    return pages ? (double)resident / (double)pages : (double)NAN;
}

static void cache_drop_pages(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    fdatasync(fd); /* pages that are not written yet stay */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static void read_through(const char *path)
{
    static char block[1 << 20];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    while (read(fd, block, sizeof block) > 0)
        ;
    close(fd);
}

int load_set_cache(const struct store *s, enum load_cache cache)
{
    if (cache == CACHE_AS_IS)
        return 1;
    if (cache == CACHE_WARM && load_cached_share(s) == 1)
        return 1;
    for (int32_t i = 0; i < s->objects_count; i++)
        if (!s->objects[i].memory)
            (cache == CACHE_COLD ? cache_drop_pages : read_through)(s->objects[i].name);
    const double share = load_cached_share(s);
    return cache == CACHE_COLD ? share <= COLD_SHARE : share >= 1 - COLD_SHARE;
}

const char *load_cache_name(enum load_cache cache)
{
    return cache == CACHE_WARM ? "warm" : cache == CACHE_COLD ? "cold" : "as it is";
}

const char *load_filesystem(const char *path)
{
    static const struct {
        long magic;
        const char *name;
    } known[] = {{0xef53, "ext4"},
                 {0x58465342, "xfs"},
                 {0x9123683e, "btrfs"},
                 {0x01021994, "tmpfs"},
                 {0x6969, "nfs"},
                 {0x794c7630, "overlayfs"},
                 {(long)0xff534d42, "cifs"},
                 {(long)0xfe534d42, "smb2"},
                 {0x65735546, "fuse"},
                 {0x01021997, "9p"},
                 {0x2fc12fc1, "zfs"},
                 {0x0bd00bd0, "lustre"},
                 {0x47504653, "gpfs"},
                 {0x19830326, "beegfs"}};
    struct statfs fs;
    if (http_is_url(path))
        return "http";
    if (statfs(path, &fs))
        return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((long)fs.f_type == known[i].magic)
            return known[i].name;
    return "other";
}
