/* Code that the process announces by GDB's JIT interface: images that are new in the list are
 * copied into a file beside the trace, those that went are withdrawn. All reads are safe ones: the
 * list changes under way. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core/recorder.h"
#include "profiler/capture/core/stack.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders.h"
#include "profiler/capture/recorders/jit/jit.h"

enum { SLOTS = 16384, CODES = 12000, PIECE = 64 << 10 };
#define IMAGE_MAX (8ull << 20)
#define TOTAL_MAX (64ull << 20)

/* GDB's, "JIT Compilation Interface" of its manual; version 1. */
struct gdb_descriptor {
    uint32_t version, action;
    uintptr_t relevant, first;
};
struct gdb_entry {
    uintptr_t next, previous, image;
    uint64_t bytes;
};

struct code { /* by where its entry lies; 0 free */
    uintptr_t entry, image;
    uint64_t bytes, file_start, offset;
    int32_t file_pid;
    int saved, seen;
};
struct codes {
    size_t n;
    struct code slot[SLOTS];
};
static struct codes *tables[2], *now;
static uint64_t state; /* of the descriptors at the last look */
static uint64_t file_bytes, lost;
static atomic_flag held = ATOMIC_FLAG_INIT;

static struct code *code_slot(struct codes *c, uintptr_t entry)
{
    size_t at = (size_t)(entry * 0x9e3779b97f4a7c15u >> 50);
    while (c->slot[at].entry && c->slot[at].entry != entry)
        at = (at + 1) % SLOTS;
    return &c->slot[at];
}

static int file_open(void)
{
    char path[sizeof capture.writer.path];
    size_t n = strlen(capture.writer.path);
    if (n < 4)
        return -1;
    memcpy(path, capture.writer.path, n + 1);
    memcpy(path + n - 3, "jit", 3); /* PID-START.tpt */
    return raw_open(path, O_WRONLY | O_CREAT | O_NOFOLLOW);
}

/* Its ELF image to the end of the file; 1, or errno: EINVAL for what cannot be an image. */
static int code_copy(struct code *c, int fd, char *buffer)
{
    errno = EFBIG;
    if (c->bytes > IMAGE_MAX || file_bytes + c->bytes > TOTAL_MAX)
        return 0;
    for (uint64_t at = 0; at < c->bytes;) {
        size_t n = c->bytes - at < PIECE ? (size_t)(c->bytes - at) : PIECE;
        errno = EFAULT;
        if (!safe_read(c->image + at, buffer, n))
            return 0;
        errno = EINVAL;
        if (!at && (n < sizeof(Elf64_Ehdr) || memcmp(buffer, ELFMAG, SELFMAG)))
            return 0;
        errno = EIO;
        if (syscall(SYS_pwrite64, fd, buffer, n, (off_t)(file_bytes + at)) != (ssize_t)n)
            return 0;
        at += n;
    }
    return c->bytes > 0;
}

static void code_put(struct capture_thread *t, const struct code *c, int gone)
{
    struct trace_jit_code r = {.r.kind = TRACE_JIT_CODE, .entry = c->entry, .gone = (uint32_t)gone};
    if (!gone) {
        r.file_pid = c->file_pid;
        r.file_start = c->file_start;
        r.offset = c->offset;
        r.bytes = c->bytes;
    } else {
        stack_code_changed();
    }
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
}

static void code_save(struct capture_thread *t, struct code *c, int fd, char *buffer)
{
    struct gdb_entry again;
    if (!code_copy(c, fd, buffer)) {
        if (!lost++)
            capture_note(t, 1, "jit.lost",
                         "code that the program announced to debuggers could not be kept (%s): its "
                         "functions have no names",
                         errno == EFBIG ? "over the limit of 8 MiB, 64 MiB in all"
                                        : raw_error_text(errno));
        return;
    }
    if (!safe_read(c->entry, &again, sizeof again) || again.image != c->image ||
        again.bytes != c->bytes) /* withdrawn meanwhile */
        return;
    c->offset = file_bytes;
    c->file_start = capture.writer.header->start_ns;
    c->file_pid = capture.pid;
    file_bytes += c->bytes;
    c->saved = 1;
    code_put(t, c, 0);
}

static uint64_t descriptors_read(const uintptr_t *at, size_t n, struct gdb_descriptor *d)
{
    uint64_t h = 1;
    for (size_t i = 0; i < n; i++) {
        struct gdb_entry first = {0};
        if (!safe_read(at[i], &d[i], sizeof d[i]) || d[i].version != 1)
            memset(&d[i], 0, sizeof d[i]);
        if (d[i].first && !safe_read(d[i].first, &first, sizeof first))
            d[i].first = 0;
        h = trace_hash(&d[i], sizeof d[i], h);
        h = trace_hash(&first, sizeof first, h);
    }
    return h;
}

/* All that is announced now, into `next`. 0: the list changed under way, or is too long. */
static int codes_walk(const struct gdb_descriptor *d, size_t n, struct codes *next)
{
    for (size_t i = 0; i < n; i++)
        for (uintptr_t at = d[i].first; at;) {
            struct gdb_entry e;
            if (next->n == CODES || !safe_read(at, &e, sizeof e))
                return 0;
            struct code *c = code_slot(next, at);
            if (c->entry) /* a list without an end */
                break;
            *c = (struct code){.entry = at, .image = e.image, .bytes = e.bytes};
            next->n++;
            at = e.next;
        }
    return 1;
}

static int codes_make_tables(void)
{
    struct codes *both = now ? NULL : raw_map(2 * sizeof *both, 0);
    if (both) {
        tables[0] = now = &both[0];
        tables[1] = &both[1];
        capture_count_memory(2 * sizeof *both);
    }
    return now != NULL;
}

/* Writes what came and went from `now` to `next`. */
static void codes_compare(struct capture_thread *t, struct codes *next, int whole)
{
    int fd = -1;
    char *buffer = NULL;
    for (size_t i = 0; i < SLOTS; i++) {
        struct code *c = &next->slot[i];
        if (!c->entry)
            continue;
        struct code *old = code_slot(now, c->entry);
        if (old->entry && old->image == c->image && old->bytes == c->bytes) {
            *c = *old;
            c->seen = 0;
            old->seen = 1;
            continue;
        }
        if (old->entry && old->saved)
            code_put(t, old, 1);
        old->seen = 1;
        buffer = buffer ? buffer : raw_map(PIECE, 0);
        fd = buffer && fd < 0 ? file_open() : fd;
        if (fd >= 0)
            code_save(t, c, fd, buffer);
    }
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (buffer)
        raw_unmap(buffer, PIECE);
    for (size_t i = 0; i < SLOTS; i++) {
        struct code *old = &now->slot[i];
        if (!old->entry || old->seen)
            continue;
        if (whole && old->saved)
            code_put(t, old, 1);
        if (!whole && next->n < CODES) {
            *code_slot(next, old->entry) = *old;
            next->n++;
        }
    }
}

/* Looks for announced code: without any it costs a read per descriptor. */
static void codes_update(struct capture_thread *t)
{
    static uintptr_t at[JIT_DESCRIPTORS]; /* by who holds them */
    static struct gdb_descriptor d[JIT_DESCRIPTORS];
    size_t n = jit_descriptors(at);
    uint64_t seen = n ? descriptors_read(at, n, d) : 0;
    if (seen == state || !codes_make_tables())
        return;
    struct codes *next = now == tables[0] ? tables[1] : tables[0];
    if (!raw_clear(next, sizeof *next))
        memset(next, 0, sizeof *next);
    int whole = codes_walk(d, n, next);
    codes_compare(t, next, whole);
    if (next->n >= CODES)
        capture_note(t, 1, "jit.many",
                     "more than 12000 pieces of code are announced to debuggers: "
                     "the others have no names");
    now = next;
    state = whole || next->n >= CODES ? seen : 0;
}

static void jit_tick(struct capture_thread *ours)
{
    jit_descriptors_poll(ours);
    if (atomic_flag_test_and_set(&held))
        return;
    codes_update(ours);
    jit_files_poll(ours);
    atomic_flag_clear(&held);
}

static void jit_stop(void)
{
    struct capture_thread *t = capture_self();
    if (!t || atomic_flag_test_and_set(&held))
        return;
    codes_update(t);
    jit_files_poll(t);
    atomic_flag_clear(&held);
}

/* Files that the parent has saved stay where they are. */
static void jit_fork_child(void)
{
    struct capture_thread *t = capture_self();
    file_bytes = lost = 0;
    jit_files_forget();
    atomic_flag_clear(&held);
    if (now)
        capture_count_memory(2 * sizeof *now);
    for (size_t i = 0; now && t && i < SLOTS; i++)
        if (now->slot[i].entry && now->slot[i].saved)
            code_put(t, &now->slot[i], 0);
}

const struct recorder jit_recorder = {
    .name = "jit",
    .modes = ~0u,
    .tick = jit_tick,
    .fork_child = jit_fork_child,
    .stop = jit_stop,
};
