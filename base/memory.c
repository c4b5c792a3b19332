/* Large arrays, and how much memory is left: the kernel's word, cgroups, limits of the process,
 * TOMOPROF_MEMORY. */
#include <errno.h>
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#include <math.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM ((size_t)4 << 20)
#define CHECK_FROM                                                                                 \
    ((size_t)1 << 20)           /* asking the system takes some 50 us: not for smaller blocks */
#define KEPT_LARGEST (32 << 20) /* the C library's own limit, once such a block was freed */
#define KEPT_MOST    (16 << 20)
#define SIZE_LIMIT   ((int64_t)1 << 62)

/* Sizes of live blocks. A side table, because a header before a 2 MiB-aligned block would cost a
 * huge page of its own. Blocks are few (tens), and the newest go first, so a search from the end is
 * short. */
static struct mem_block {
    void *p;
    size_t bytes;
} * blocks;
static int process_limited; /* by mem_limit_process */
static size_t block_count, block_room;
static size_t held, peak;
static _Thread_local struct {
    size_t limit, held;
} own; /* of this thread, since mem_limit */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum err mem_size(const char *what, int64_t a, int64_t b, int64_t c, size_t item, size_t *bytes)
{
    FAIL_IF(a < 0 || b < 0 || c < 0, ERR_INPUT,
            "%s: a size is negative (%" PRId64 " x %" PRId64 " x %" PRId64 ")", what, a, b, c);
    int64_t n;
    if (__builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) ||
        __builtin_mul_overflow(n, (int64_t)item, &n) || n > SIZE_LIMIT)
        return FAIL(ERR_INPUT,
                    "%s: %" PRId64 " x %" PRId64 " x %" PRId64 " is too large for any machine",
                    what, a, b, c);
    *bytes = (size_t)n;
    return ERR_OK;
}

char *mem_human(double bytes, char out[16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int u = 0;
    while (u < 6 && fabs(bytes) >= 1023.95) {
        bytes /= 1024;
        u++;
    }
    snprintf(out, 16, u && fabs(bytes) < 99.95 ? "%.1f %s" : "%.0f %s", bytes, units[u]);
    return out;
}

enum err mem_parse(const char *text, size_t *bytes)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},         {"B", 1},      {"K", 0x1p10},   {"KiB", 0x1p10}, {"kB", 1e3},
                 {"KB", 1e3},     {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30},
                 {"GiB", 0x1p30}, {"GB", 1e9},   {"T", 0x1p40},   {"TiB", 0x1p40}, {"TB", 1e12}};
    char *end = NULL;
    double number = strtod(text, &end);
    if (end != text && number >= 0) {
        while (*end == ' ')
            end++;
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (!strcmp(end, units[i].name) && number * units[i].factor < (double)SIZE_LIMIT) {
                *bytes = (size_t)(number * units[i].factor);
                return ERR_OK;
            }
    }
    return FAIL(ERR_USAGE, "\"%s\" is not an amount of memory: write 512MiB or 12GiB", text);
}

/* First number after `key` in a /proc or cgroup file (key NULL: at its start), SIZE_MAX when there
 * is none. */
static size_t number_in(const char *path, const char *key)
{
    size_t value = SIZE_MAX;
    char line[256];
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        size_t skip = key ? strlen(key) : 0;
        if (key && strncmp(line, key, skip))
            continue;
        char *end;
        unsigned long long n = strtoull(line + skip, &end, 10);
        if (end != line + skip)
            value = (size_t)n;
        break;
    }
    if (f)
        fclose(f);
    return value;
}

/* Returns the rest of one control group: its limit less what it uses, file cache that can be
 * dropped not counted. */
static size_t cgroup_left(const char *folder, int v2)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", folder, v2 ? "memory.max" : "memory.limit_in_bytes");
    size_t limit = number_in(path, NULL); /* "max" is not a number: SIZE_MAX */
    snprintf(path, sizeof path, "%s/%s", folder, v2 ? "memory.current" : "memory.usage_in_bytes");
    size_t used = number_in(path, NULL);
    if (limit == SIZE_MAX || used == SIZE_MAX)
        return SIZE_MAX;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    size_t cache = number_in(path, v2 ? "inactive_file " : "total_inactive_file ");
    if (cache != SIZE_MAX)
        used -= cache < used ? cache : used;
    return used < limit ? limit - used : 0;
}

/* The tightest group from this process's own up to the root. Inside a container the path in /proc
 * may not exist below /sys/fs/cgroup; the search then ends at the mount, which is the container's
 * own group. */
static size_t cgroups_left(void)
{
    size_t left = SIZE_MAX;
    char line[4096], folder[4200];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        int v2 = !strcmp(controllers, ":");
        if (!v2 && strcmp(controllers, ":memory"))
            continue;
        for (;;) {
            snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s", v2 ? "" : "/memory", path);
            size_t here = cgroup_left(folder, v2);
            left = here < left ? here : left;
            char *slash = strrchr(path, '/');
            if (!slash)
                break;
            *slash = 0;
        }
    }
    if (f)
        fclose(f);
    return left;
}

static size_t address_space_left(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_AS, &r) || r.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    size_t pages = number_in("/proc/self/statm", NULL);
    size_t used = pages == SIZE_MAX ? 0 : pages * (size_t)sysconf(_SC_PAGESIZE);
    return used < r.rlim_cur ? r.rlim_cur - used : 0;
}

/* TOMOPROF_MEMORY less what is held. A value that cannot be read is a limit of 0: the refusal that
 * follows names the variable. */
static size_t simulated_left(void)
{
    const char *text = getenv("TOMOPROF_MEMORY");
    if (!text || !*text)
        return SIZE_MAX;
    size_t limit = 0;
    if (mem_parse(text, &limit))
        return 0;
    size_t now = mem_held();
    return now < limit ? limit - now : 0;
}

static size_t own_left(void)
{
    if (!own.limit)
        return SIZE_MAX;
    return own.held < own.limit ? own.limit - own.held : 0;
}

void mem_limit(size_t bytes)
{
    own.limit = bytes;
    own.held = 0;
}

static size_t size_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t mem_available(void)
{
    size_t kib = number_in("/proc/meminfo", "MemAvailable:");
    size_t left = kib == SIZE_MAX ? SIZE_MAX : kib * 1024;
    left = size_smaller(size_smaller(left, own_left()), cgroups_left());
    return size_smaller(left, size_smaller(address_space_left(), simulated_left()));
}

enum err mem_require(const char *what, size_t bytes, const char *hint)
{
    size_t left = mem_available();
    if (bytes <= left)
        return ERR_OK;
    char need[16], have[16];
    const char *by = own_left() <= left ? " (limited by `memory`)"
                     : simulated_left() <= left || (process_limited && simulated_left() != SIZE_MAX)
                         ? " (limited by TOMOPROF_MEMORY)"
                         : "";
    return FAIL(ERR_MEMORY, "%s needs %s, %s available%s%s%s", what, mem_human((double)bytes, need),
                mem_human((double)left, have), by, hint ? ": " : "", hint ? hint : "");
}

static enum err block_add(void *p, size_t bytes)
{
    pthread_mutex_lock(&lock);
    if (block_count == block_room) {
        size_t room = block_room ? 2 * block_room : 64;
        struct mem_block *grown = realloc(blocks, room * sizeof *blocks);
        if (!grown) {
            pthread_mutex_unlock(&lock);
            return FAIL(ERR_MEMORY, "no memory left for the list of blocks");
        }
        blocks = grown;
        block_room = room;
    }
    blocks[block_count++] = (struct mem_block){p, bytes};
    held += bytes;
    own.held += bytes;
    peak = held > peak ? held : peak;
    pthread_mutex_unlock(&lock);
    return ERR_OK;
}

static enum err alloc_aligned(const char *what, size_t bytes, size_t alignment, void **out)
{
    *out = NULL;
    if (bytes >= CHECK_FROM)
        TRY(mem_require(what, bytes, NULL));
    void *p = NULL;
    if (posix_memalign(&p, alignment, bytes ? bytes : 1)) {
        char need[16];
        return FAIL(ERR_MEMORY, "%s needs %s, which the system refuses", what,
                    mem_human((double)bytes, need));
    }
    if (bytes > HUGE_FROM)
        madvise(p, bytes,
                MADV_HUGEPAGE); /* advice: kernels without huge pages refuse, which is fine */
    enum err e = block_add(p, bytes);
    if (e)
        free(p);
    else
        *out = p;
    return e;
}

#ifdef __GLIBC__
static void keep_freed(void)
{
    mallopt(M_MMAP_THRESHOLD, KEPT_LARGEST);
    mallopt(M_TRIM_THRESHOLD, KEPT_MOST);
}

void mem_keep_freed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, keep_freed);
}
#else
void mem_keep_freed(void)
{
}
#endif

enum err mem_alloc(const char *what, size_t bytes, void **out)
{
    return alloc_aligned(what, bytes, bytes > HUGE_FROM ? HUGE_PAGE : 64, out);
}

enum err mem_alloc_pages(const char *what, size_t bytes, void **out)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return alloc_aligned(what, (bytes + page - 1) / page * page,
                         bytes > HUGE_FROM ? HUGE_PAGE : page, out);
}

enum err mem_alloc_zero(const char *what, size_t bytes, void **out)
{
    TRY(mem_alloc(what, bytes, out));
    memset(*out, 0, bytes);
    return ERR_OK;
}

void mem_free(void *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    size_t i = block_count;
    while (i && blocks[i - 1].p != p)
        i--;
    if (!i)
        abort(); /* not from mem_alloc, or freed twice: going on would corrupt the heap */
    held -= blocks[i - 1].bytes;
    own.held -= size_smaller(own.held, blocks[i - 1].bytes);
    blocks[i - 1] = blocks[--block_count];
    pthread_mutex_unlock(&lock);
    free(p);
}

size_t mem_held(void)
{
    pthread_mutex_lock(&lock);
    size_t n = held;
    pthread_mutex_unlock(&lock);
    return n;
}

size_t mem_peak(void)
{
    pthread_mutex_lock(&lock);
    size_t n = peak;
    pthread_mutex_unlock(&lock);
    return n;
}

void mem_reset_peak(void)
{
    pthread_mutex_lock(&lock);
    peak = held;
    pthread_mutex_unlock(&lock);
}

void mem_limit_process(size_t bytes)
{
#ifndef __SANITIZE_ADDRESS__ /* which needs terabytes */
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    struct rlimit old;
    const rlim_t has = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    if (!pages || has + bytes < has || getrlimit(RLIMIT_AS, &old) || has + bytes >= old.rlim_max)
        return;
    old.rlim_cur = old.rlim_max = has + bytes;
    process_limited = 1;
    setrlimit(RLIMIT_AS, &old);
#else
    (void)bytes;
#endif
}
