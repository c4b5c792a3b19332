/* Files in memory: what is read of them is read by page faults, which no call shows. How much of a
 * mapping the process has touched is told by its page table, before it is unmapped and at the end;
 * the kernel maps up to 16 pages at a fault, so that this is an upper bound. A look takes 6 us, by an
 * errand 10 to 40: of a program that unmaps many files one in some is looked at, and stands for all. Of
 * small ones fewer are: git maps 2,000 objects of some KB in 75 ms, and 500 looks were 3 % of that. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/recorder.h"
#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/state.h"

enum { EACH = 256, ONE_IN = 8 }; /* so many are looked at first; then */
enum { SMALL = 64 << 10, EACH_SMALL = 64, ONE_SMALL_IN = 32 };
enum { MAPS = 1024, TRIES = 200, WORDS = 384, PAGES_SEEN = 1 << 18 };

struct io_map {
    uintptr_t start, end;
    uint32_t file; /* its place + 1 */
};
static struct io_map maps[MAPS];
static uint32_t used, map_lock; /* used: places that ever were */

static int mapped_lock(void)
{
    uint32_t none = 0;
    for (int i = 0; i < TRIES; i++, none = 0)
        if (__atomic_compare_exchange_n(&map_lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return 1;
    return 0;
}

static void mapped_unlock(void)
{
    __atomic_store_n(&map_lock, 0, __ATOMIC_RELEASE);
}

/* The bytes of [start, end) that are in this process's page table; of a very large one, of one part in
 * some. */
static uint64_t mapped_count_touched(uintptr_t start, uintptr_t end, uint64_t *word)
{
    const uint64_t words = WORDS;
    uint64_t present = 0, seen = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t pages = (end - start + page - 1) / page, every = pages / PAGES_SEEN + 1;
    long fd = raw_open("/proc/self/pagemap", O_RDONLY);
    if (fd < 0)
        return 0;
    for (uint64_t at = 0; at < pages; at += words * every) {
        uint64_t n = pages - at < words ? pages - at : words;
        long got = syscall(SYS_pread64, fd, word, n * 8, (off_t)((start / page + at) * 8));
        if (got <= 0)
            break;
        for (long i = 0; i < got / 8; i++)
            present += word[i] >> 63;
        seen += (uint64_t)got / 8;
    }
    syscall(SYS_close, fd);
    return seen ? present * page * pages / seen : 0;
}

_Static_assert(WORDS * 8 <= sizeof((struct errand *)0)->text, "an errand has room for them");
_Static_assert(WORDS * 8 <= CAPTURE_SCRATCH, "a thread has room for them");

static void errand_touched(struct errand *e)
{
    e->number[2] = mapped_count_touched(e->number[0], e->number[1], (uint64_t *)(void *)e->text);
}

static uint64_t mapped_touched_bytes(struct capture_thread *t, uintptr_t start, uintptr_t end)
{
    struct errand *e = errands_wanted() ? errand_begin(errand_touched) : NULL;
    if (e) {
        e->number[0] = start;
        e->number[1] = end;
    }
    if (!e || !errand_do(e))
        return mapped_count_touched(start, end, (uint64_t *)(void *)t->scratch);
    const uint64_t bytes = e->number[2];
    errand_end(e);
    return bytes;
}

static void add_touched(uint32_t file, uint64_t bytes)
{
    struct io_file *f = &io->files[file - 1];
    __atomic_fetch_add(&f->cell[TRACE_IO_TOUCHED], bytes, __ATOMIC_RELAXED);
    f->changed = 1;
}

void io_mapped(void *at, size_t bytes, int fd, int64_t offset, uint64_t begin, const void *caller)
{
    int saved = errno;
    uint64_t end = begin && capture.on ? trace_now() : 0;
    struct capture_thread *t = end ? io_enter(0, 0) : NULL;
    struct io_file *f;
    (void)offset;
    if (!t)
        return;
    struct io_descriptor *d = io_descriptor(fd, &f);
    if (d && d->seekable) {
        io_add(t, d, f,
               &(struct io_add){.op = TRACE_IO_MAP,
                                .bytes = (int64_t)bytes,
                                .offset = -1,
                                .begin = begin,
                                .end = end},
               caller);
        if (mapped_lock()) {
            uint32_t i = 0;
            while (i < used && maps[i].file)
                i++;
            if (i < MAPS) {
                maps[i] = (struct io_map){(uintptr_t)at, (uintptr_t)at + bytes, d->file};
                used += i == used;
            }
            mapped_unlock();
        }
    }
    io_leave(t, 1, saved);
}

/* How many mappings the next one to be unmapped stands for; 0: it is not looked at. */
static uint64_t mapped_weight(struct capture_thread *t, uint64_t bytes)
{
    static uint32_t unmapped;
    const uint32_t before = __atomic_fetch_add(&unmapped, unmapped < EACH, __ATOMIC_RELAXED),
                   one_in = bytes < SMALL ? ONE_SMALL_IN : ONE_IN;
    if (before < (bytes < SMALL ? EACH_SMALL : EACH))
        return 1;
    return capture_random(t) * one_in < 1 ? one_in : 0;
}

void io_unmapping(const void *at, size_t bytes)
{
    uintptr_t start = (uintptr_t)at, end = start + bytes;
    if (!__atomic_load_n(&used, __ATOMIC_RELAXED) || !io_on || !capture.on)
        return;
    int saved = errno;
    struct capture_thread *t = io_enter(0, 0);
    if (!t)
        return;
    while (mapped_lock()) {
        struct io_map gone = {0};
        for (uint32_t i = 0; i < used && !gone.file; i++)
            if (maps[i].file && maps[i].start >= start && maps[i].end <= end) {
                gone = maps[i];
                maps[i].file = 0;
            }
        mapped_unlock();
        if (!gone.file)
            break;
        const uint64_t weight = mapped_weight(t, gone.end - gone.start);
        if (weight)
            add_touched(gone.file, weight * mapped_touched_bytes(t, gone.start, gone.end));
    }
    io_leave(t, 0, saved);
}

void io_mapped_all(struct capture_thread *t)
{
    for (uint32_t i = 0; i < used; i++)
        if (maps[i].file) {
            add_touched(maps[i].file, mapped_touched_bytes(t, maps[i].start, maps[i].end));
            maps[i].file = 0;
        }
}

void io_mapped_forked(void)
{
    map_lock = 0;
}
