/* Files by their names. A program that opens 300,000 files a second would take a third longer if
 * the kernel were asked each time which file that is (statx, and readlink of a new one). So asking
 * has a share of the time. Beyond it, a name that was asked for leads to the same row, and any
 * other to the row of its folder and ending. */
#include <fcntl.h>
#include <string.h>

#include "profiler/capture/raw/near.h"
#include "profiler/capture/recorders/io/names.h"
#include "profiler/capture/recorders/io/short_calls.h"

enum {
    BUCKETS = 512,   /* some 1,000 names are asked for in a second at most (ASK_BURST) */
    PLACES = 4,      /* of a bucket: a line of the cache */
    ASK_SHARE = 200, /* 0.5 % of the time */
    ENDING = 16,
};
#define ASK_BURST 2000000ull /* ns */
#define ASK_MOST  50000ull   /* that one counts for: it may have waited for a CPU */

struct name_slot {
    uint64_t key, row; /* row + 1 | round << 32 */
};

int io_storm CAPTURE_HOT;
static struct name_slot slots[BUCKETS][PLACES] __attribute__((aligned(64)));
uint32_t io_names_round CAPTURE_HOT; /* names of other rounds are forgotten */
uint32_t io_names_known;
static uint64_t asked_until;
uint64_t io_not_run;
int io_summed;
static int setting;

void io_names_change(void)
{
    __atomic_fetch_add(&io_names_round, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&io_names_known, 0, __ATOMIC_RELAXED);
}

static uint64_t hash_of(const char *p, size_t n, uint64_t start)
{
    uint64_t h = start ^ n * 0x9e3779b97f4a7c15ull, word = 0;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        __builtin_memcpy(&word, p, sizeof word);
        h = io_mix(h, word);
    }
    word = 0;
    __builtin_memcpy(&word, p, n);
    return io_mix(h, word + 1) | 1;
}

const char *io_ending(const char *name, const char *end)
{
    const char *dot = memrchr(name, '.', (size_t)(end - name));
    if (!dot || dot == name || end - dot > ENDING || (dot[1] >= '0' && dot[1] <= '9'))
        return end;
    return dot;
}

struct io_name io_name_of(const char *path, int whole)
{
    enum { FOLDER = 2 };
    size_t n = strlen(path);
    const char *slash = memrchr(path, '/', n), *name = slash ? slash + 1 : path;
    const char *ending = io_ending(name, path + n);
    uint64_t folder = hash_of(path, (size_t)(name - path), FOLDER);
    return (struct io_name){whole ? hash_of(name, n - (size_t)(name - path), folder) : 0,
                            hash_of(ending, (size_t)(path + n - ending), folder ^ FOLDER)};
}

uint32_t io_name_find(uint64_t key)
{
    uint32_t round = __atomic_load_n(&io_names_round, __ATOMIC_RELAXED);
    for (struct name_slot *s = slots[key >> 8 & (BUCKETS - 1)], *end = s + PLACES; s < end; s++) {
        if (__atomic_load_n(&s->key, __ATOMIC_ACQUIRE) != key)
            continue;
        uint64_t row = __atomic_load_n(&s->row, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&s->key, __ATOMIC_RELAXED) == key && row >> 32 == round)
            return (uint32_t)row;
    }
    return 0;
}

/* Whoever reads the slot meanwhile finds neither name. What cannot be set now is asked for again.
 */
void io_name_set(uint64_t key, uint32_t row)
{
    uint32_t round = __atomic_load_n(&io_names_round, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&setting, 1, __ATOMIC_ACQUIRE))
        return;
    struct name_slot *first = slots[key >> 8 & (BUCKETS - 1)], *to = first + (key >> 40) % PLACES;
    for (struct name_slot *s = first; s < first + PLACES; s++) {
        uint64_t of = __atomic_load_n(&s->key, __ATOMIC_RELAXED);
        if (of == key || !of || __atomic_load_n(&s->row, __ATOMIC_RELAXED) >> 32 != round) {
            to = s;
            if (of == key)
                break;
        }
    }
    io_names_known += to->key != key || to->row >> 32 != round;
    __atomic_store_n(&to->key, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&to->row, (uint64_t)round << 32 | row, __ATOMIC_SEQ_CST);
    __atomic_store_n(&to->key, key, __ATOMIC_SEQ_CST);
    __atomic_store_n(&setting, 0, __ATOMIC_RELEASE);
}

uint32_t io_name_row(const struct io_name *n)
{
    uint32_t row = io_name_find(n->path);
    if (row)
        return row;
    row = io_name_find(n->folder);
    if (row) {
        io_names_known++;
        if (!io_summed)
            io_summed = 1;
    }
    return row;
}

void io_name_keep(struct capture_io_name *last, const char *path, int flags, uint32_t row)
{
    const size_t n = strlen(path);
    const char *slash = memrchr(path, '/', n), *name = slash ? slash + 1 : path;
    const char *ending = io_ending(name, path + n);
    const size_t folder = (size_t)(name - path), bytes = (size_t)(path + n - ending);
    last->row = 0;
    if (!bytes || bytes > sizeof last->last || n < sizeof last->last ||
        folder + sizeof(uint64_t) > sizeof last->text)
        return;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    last->flags = flags & O_APPEND ? ~0ull : (uint32_t)flags;
    last->writes = (flags & O_ACCMODE) == O_WRONLY;
    last->folder = (uint8_t)folder;
    last->ending = (uint8_t)bytes;
    memcpy(last->text, path, folder);
    memcpy(&last->last, path + n - sizeof last->last, sizeof last->last);
    last->mask = ~0ull << 8 * (sizeof last->last - bytes);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    last->row = (uint64_t)__atomic_load_n(&io_names_round, __ATOMIC_RELAXED) << 32 | row;
}

int io_name_suffices(const char *path, int flags)
{
    if (!path || flags < 0 || flags & ~IO_NAME_FLAGS)
        return 0;
    if (path[0] != '/' || path[1] != 'd')
        return 1;
    return strncmp(path, "/dev/", 5) != 0 || !strncmp(path, "/dev/shm/", 9);
}

int io_may_ask(uint64_t now)
{
    uint64_t full = __atomic_load_n(&asked_until, __ATOMIC_RELAXED);
    int was = __atomic_load_n(&io_storm, __ATOMIC_RELAXED); /* which ends when half is left */
    now -= __atomic_load_n(&io_not_run, __ATOMIC_RELAXED);
    int storm = capture.config.calls_share < 1 &&
                full > now + (was ? ASK_BURST / 2 : ASK_BURST) * ASK_SHARE;
    if (storm != was)
        __atomic_store_n(&io_storm, storm, __ATOMIC_RELAXED);
    return !storm;
}

void io_asked(uint64_t now, uint64_t ns)
{
    uint64_t full = __atomic_load_n(&asked_until, __ATOMIC_RELAXED);
    uint64_t ran = now - __atomic_load_n(&io_not_run, __ATOMIC_RELAXED);
    ns = ns < ASK_MOST ? ns : ASK_MOST;
    __atomic_store_n(&asked_until, (full > ran ? full : ran) + ns * ASK_SHARE, __ATOMIC_RELAXED);
    io_may_ask(now);
}

void io_names_forked(void)
{
    asked_until = 0;
    io_summed = io_storm = setting = 0;
}
