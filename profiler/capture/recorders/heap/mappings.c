/* Anonymous memory that the program maps itself (hooks/mmap.c): arenas of its own allocators,
 * Python's, JAX's. Mappings that malloc makes do not pass here: the C library's do not go through
 * its public mmap, those of another allocator are known by their caller. Reservations without
 * access hold no memory and are left out; what mprotect opens of them later is not seen. */
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/capture/recorders/heap/mappings.h"

enum { RANGES = 8192, TRIES = 200 };

static struct mapping_range ranges[RANGES]; /* recorded, sorted, disjoint */
static size_t range_count;
static int range_lock;
static struct mapping_range allocator; /* code of the allocator, unless it is the C library */

static int ranges_lock(void)
{
    for (int i = 0; i < TRIES; i++) {
        if (!__atomic_exchange_n(&range_lock, 1, __ATOMIC_ACQUIRE))
            return 1;
        if (i > TRIES / 2)
            sched_yield();
    }
    return 0;
}

static void ranges_unlock(void)
{
    __atomic_store_n(&range_lock, 0, __ATOMIC_RELEASE);
}

/* The first range that ends after `address`. */
static size_t ranges_find(uintptr_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Moves the tail so that `now` ranges take the place of `was`. */
static void ranges_resize(size_t at, size_t was, size_t now)
{
    memmove(ranges + at + now, ranges + at + was, (range_count - at - was) * sizeof *ranges);
    range_count += now - was;
}

static int ranges_add(uintptr_t start, uintptr_t end)
{
    if (!ranges_lock())
        return 0;
    int room = range_count < RANGES;
    if (room) {
        size_t at = ranges_find(start);
        ranges_resize(at, 0, 1);
        ranges[at] = (struct mapping_range){start, end};
    }
    ranges_unlock();
    return room;
}

/* Cuts [start, end) out of one recorded range; 1 and the piece, 0 when none is left in it. A hole
 * that finds no room leaves the upper part unrecorded. */
static int ranges_cut(uintptr_t start, uintptr_t end, struct mapping_range *piece)
{
    if (!__atomic_load_n(&range_count, __ATOMIC_RELAXED) || !ranges_lock())
        return 0;
    size_t at = ranges_find(start);
    int found = at < range_count && ranges[at].start < end;
    if (found) {
        struct mapping_range r = ranges[at];
        *piece =
            (struct mapping_range){r.start > start ? r.start : start, r.end < end ? r.end : end};
        struct mapping_range left = {r.start, piece->start}, right = {piece->end, r.end};
        size_t keep = (left.start < left.end) + (right.start < right.end);
        if (keep == 2 && range_count == RANGES)
            keep = 1;
        ranges_resize(at, 1, keep);
        if (keep)
            ranges[at] = left.start < left.end ? left : right;
        if (keep == 2)
            ranges[at + 1] = right;
    }
    ranges_unlock();
    return found;
}

static struct live_block mapping_block(struct mapping_range r)
{
    return (struct live_block){r.start, r.end - r.start, (double)(r.end - r.start), TRACE_MMAP};
}

static void record_mapping(struct capture_thread *t, struct mapping_range r, const void *caller)
{
    struct live_block b = mapping_block(r);
    int room = ranges_add(r.start, r.end);
    heap_put_alloc(t, &b, caller);
    if (!room) {
        heap_put_free(t, &b, 0);
        trace_lost(&capture.writer, TRACE_LOST_ALLOCATIONS, 1);
    }
}

static void record_gone(struct capture_thread *t, uintptr_t start, uintptr_t end)
{
    struct mapping_range piece;
    while (ranges_cut(start, end, &piece)) {
        struct live_block b = mapping_block(piece);
        heap_put_free(t, &b, 0);
    }
}

static size_t mapping_page_bytes(void)
{
    static size_t bytes;
    if (!bytes)
        bytes = (size_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

static struct mapping_range mapping_pages(const void *p, size_t bytes)
{
    uintptr_t start = (uintptr_t)p;
    return (struct mapping_range){
        start, start + ((bytes + mapping_page_bytes() - 1) & ~(mapping_page_bytes() - 1))};
}

/* 1: what is mapped here is the program's, and not its allocator's or Python's own. */
static int mapping_is_recorded(const void *caller)
{
    return heap_recording() &&
           !((uintptr_t)caller >= allocator.start && (uintptr_t)caller < allocator.end);
}

struct capture_thread *mapping_begin(struct mapping_call *c, void *at, size_t bytes, int prot,
                                     int flags, const void *caller)
{
    int fixed = (flags & MAP_FIXED) != 0;
    c->counts = (flags & MAP_ANONYMOUS) && prot != PROT_NONE && bytes >= MAPPING_SMALL;
    struct capture_thread *t = NULL;
    if ((c->counts || fixed) && !heap_thread.inside_python && mapping_is_recorded(caller))
        t = capture_enter_in(c);
    if (!t)
        return NULL;
    uint64_t begin = trace_now();
    if (fixed) { /* replaces what is there */
        struct mapping_range r = mapping_pages(at, bytes);
        record_gone(t, r.start, r.end);
    }
    c->spent_ns = trace_now() - begin;
    return t;
}

void mapping_end(struct mapping_call *c, struct capture_thread *t, void *p, size_t bytes,
                 const void *caller)
{
    int saved = errno;
    uint64_t begin = trace_now() - c->spent_ns; /* the call itself is the program's */
    if (c->counts && p != MAP_FAILED)
        record_mapping(t, mapping_pages(p, bytes), caller);
    heap_recorded(); /* that was an arena of Python's, if it allocates nothing larger */
    capture_leave(t, TRACE_PART_ALLOC, begin);
    errno = saved;
}

void mapping_unmap(void *p, size_t bytes)
{
    if (!heap_recording() || !bytes || !__atomic_load_n(&range_count, __ATOMIC_RELAXED))
        return;
    int saved = errno;
    struct capture_thread *t = capture_enter();
    struct mapping_range r = mapping_pages(p, bytes);
    if (t) {
        record_gone(t, r.start, r.end);
        capture_leave(t, TRACE_PART_ALLOC, 0);
    }
    errno = saved;
}

struct capture_thread *mapping_move_begin(struct mapping_move *m, void *old, size_t old_bytes,
                                          void *at, size_t bytes, const void *caller)
{
    struct capture_thread *t = mapping_is_recorded(caller) ? capture_enter_in(m) : NULL;
    if (!t)
        return NULL;
    struct mapping_range from = mapping_pages(old, old_bytes);
    m->time_ns = trace_now();
    m->n = 0;
    while (m->n < MAPPING_PIECES && ranges_cut(from.start, from.end, &m->gone[m->n]))
        m->n++;
    if (at) {
        struct mapping_range to = mapping_pages(at, bytes);
        record_gone(t, to.start, to.end);
    }
    return t;
}

/* The records of the old place move to the new one; on failure they stay. */
void mapping_move_end(struct mapping_move *m, struct capture_thread *t, void *now, size_t bytes,
                      const void *caller)
{
    int saved = errno;
    uint64_t begin = trace_now();
    for (int i = 0; i < m->n; i++) {
        struct live_block b = mapping_block(m->gone[i]);
        if (now != MAP_FAILED || !ranges_add(m->gone[i].start, m->gone[i].end))
            heap_put_free(t, &b, m->time_ns);
    }
    if (m->n && now != MAP_FAILED)
        record_mapping(t, mapping_pages(now, bytes), caller);
    capture_leave(t, TRACE_PART_ALLOC, begin);
    errno = saved;
}

static int find_allocator(struct dl_phdr_info *info, size_t bytes, void *code)
{
    (void)bytes;
    struct mapping_range all = {UINTPTR_MAX, 0};
    int inside = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD)
            continue;
        uintptr_t start = info->dlpi_addr + ph->p_vaddr, end = start + ph->p_memsz;
        inside |= (uintptr_t)code >= start && (uintptr_t)code < end;
        all.start = start < all.start ? start : all.start;
        all.end = end > all.end ? end : all.end;
    }
    if (inside)
        allocator = all;
    return inside;
}

void mappings_start(const void *malloc_code)
{
    dl_iterate_phdr(find_allocator, (void *)(uintptr_t)malloc_code);
}

void mappings_clear(void)
{
    range_count = 0;
    range_lock = 0;
}
