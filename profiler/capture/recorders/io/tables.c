/* The tables: rows of files found by key, descriptors, locks, memory. */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/raw/near.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/state.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum {
    SLOTS = 2 * IO_FILES,
    SLOTS_FIRST = 1024, /* tried first: a page, where the others are 8 */
    PROBES_FIRST = 4,
    NAMES = 1 << 20,
    BLOCK = 256 << 10,
    MOST = 32 << 20, /* of io_take */
    TRIES = 200,
};

volatile int io_on CAPTURE_HOT;
struct io_tables *io CAPTURE_HOT;
int io_descriptor_count CAPTURE_HOT;
uint64_t io_unplaced, io_own[2], io_no_chars[2], io_asleep_bytes[2];
double io_call_ns;
uint64_t io_between_ticks;
int io_doublings;
uint64_t io_tick_ns CAPTURE_HOT, io_last_tick_ns;

static uint32_t slots[SLOTS]; /* place of a file + 1, by its key */
static uint64_t keys[IO_FILES];
static uint32_t count = 1; /* row 0: what finds no other */
static char names[NAMES];
static size_t names_used;
static int rows_lock, take_word;

static int row_lock(int *word)
{
    for (int i = 0; i < TRIES; i++) {
        if (!__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
            return 1;
        if (i > TRIES / 2)
            sched_yield();
    }
    return 0;
}

static void row_unlock(int *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

int io_lock(struct io_file *f, uint32_t tid)
{
    for (int i = 0; i < TRIES; i++) {
        int none = 0;
        if (__atomic_compare_exchange_n(&f->lock, &none, (int)tid, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED) ||
            none == (int)tid) /* left by a jump of this thread */
            return 1;
        if (i > TRIES / 2)
            sched_yield();
    }
    return 0;
}

void io_unlock(struct io_file *f)
{
    __atomic_store_n(&f->lock, 0, __ATOMIC_RELEASE);
}

void *io_take(size_t bytes)
{
    static char *block;
    static size_t left, taken;
    void *p = NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!row_lock(&take_word))
        return NULL;
    if (bytes > left && taken < MOST) {
        size_t more = bytes > BLOCK ? bytes : BLOCK;
        block = raw_map(more, MAP_NORESERVE);
        left = block ? more : 0;
        taken += left;
        capture_count_memory((int64_t)left);
    }
    if (bytes <= left) {
        p = block;
        block += bytes;
        left -= bytes;
    }
    row_unlock(&take_word);
    return p;
}

uint32_t io_file_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

static uint32_t *slot_of(uint64_t key, uint32_t probe)
{
    return &slots[((uint32_t)key + probe) % (probe < PROBES_FIRST ? SLOTS_FIRST : SLOTS)];
}

uint32_t io_find(uint64_t key)
{
    for (uint32_t i = 0; i < PROBES_FIRST + SLOTS; i++) {
        uint32_t f = __atomic_load_n(slot_of(key, i), __ATOMIC_ACQUIRE);
        if (!f || keys[f - 1] == key)
            return f;
    }
    return 0;
}

/* A row has 5 KiB, of which a new file touches three pages: one call for some rows costs less than
 * their faults. A kernel that does not know it (before 5.14) does nothing. */
static void touch_rows(uint32_t row)
{
    enum { AT_ONCE = 8, PAGE = 4096 };
    if (row % AT_ONCE || row + AT_ONCE > IO_FILES)
        return;
    uintptr_t from = (uintptr_t)&io->files[row] & ~(uintptr_t)(PAGE - 1);
    uintptr_t to = (uintptr_t)&io->files[row + AT_ONCE] & ~(uintptr_t)(PAGE - 1);
    syscall(SYS_madvise, from, to - from, MADV_POPULATE_WRITE);
}

uint32_t io_insert(uint64_t key, const struct io_file *as, const char *name)
{
    size_t n = strlen(name) + 1;
    uint32_t probe = 0, row = count;
    if (count >= IO_FILES || names_used + n > NAMES)
        return 0;
    struct io_file *f = &io->files[row];
    touch_rows(row);
    *f = *as;
    f->name = memcpy(names + names_used, name, n);
    f->id = trace_hash(name, n, as->device ^ as->inode << 8 ^ as->born);
    names_used += n;
    keys[row] = key;
    while (*slot_of(key, probe))
        probe++;
    __atomic_store_n(&count, row + 1, __ATOMIC_RELEASE);
    __atomic_store_n(slot_of(key, probe), row + 1, __ATOMIC_RELEASE);
    return row + 1;
}

int io_lock_rows(void)
{
    return row_lock(&rows_lock);
}

void io_unlock_rows(void)
{
    row_unlock(&rows_lock);
}

uint32_t io_row(uint32_t kind, const char *name)
{
    static struct io_file new = {.resident = ~0ull}; /* under the lock: 5 KiB */
    uint64_t key = io_mix(trace_hash(name, strlen(name), kind), kind);
    uint32_t f = io_find(key);
    if (!f && row_lock(&rows_lock)) {
        f = io_find(key);
        new.kind = kind;
        if (!f)
            f = io_insert(key, &new, name);
        row_unlock(&rows_lock);
    }
    return f ? f - 1 : 0;
}

void io_raise_count(int fd)
{
    int top = __atomic_load_n(&io_descriptor_count, __ATOMIC_RELAXED);
    while (fd >= top && !__atomic_compare_exchange_n(&io_descriptor_count, &top, fd + 1, 1,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* The child's numbers begin at zero; it shares its descriptors' offsets with its parent. */
void io_files_forked(void)
{
    rows_lock = take_word = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct io_file *f = &io->files[i];
        f->lock = f->changed = f->defined = 0;
        f->waiting = 0;
        f->begun[0] = f->begun[1] = 0;
        memset(f->op, 0, sizeof f->op);
        memset(f->cell, 0, sizeof f->cell);
        memset(f->missed, 0, sizeof f->missed);
        if (f->pages.page)
            memset(f->pages.page, 0, f->pages.room * sizeof *f->pages.page);
        f->pages.used = f->pages.level = 0;
        f->moments = 0;
        f->seen = f->stride = 0;
    }
    for (int fd = 0; fd < io_descriptor_count; fd++)
        if (io->descriptors[fd].file) {
            io->descriptors[fd].shared = 1;
            io->descriptors[fd].streams = 0;
        }
    for (uint32_t i = 0; i < io->site_count && i < IO_SITES; i++)
        io->sites[io->site[i]] = (struct io_site){0};
    io->site_count = 0;
}
