/* Writes the tables as records. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/raw/errands.h"
#include "profiler/capture/raw/system.h"
#include "profiler/capture/recorders/io/rings.h"
#include "profiler/capture/recorders/io/state.h"

/* A row as it was, taken out under its lock: its counts begin at zero again. */
struct taken {
    struct trace_io_use use;
    uint64_t cells[TRACE_IO_CELLS];
};
static struct taken taken; /* one thread writes at a time */
static int writing;

static int use_take(struct io_file *f, uint32_t tid)
{
    if (!io_lock(f, tid))
        return 0;
    struct trace_io_use *u = &taken.use;
    *u = (struct trace_io_use){.r.kind = TRACE_IO_USE, .file = f->id};
    memcpy(u->op, f->op, sizeof u->op);
    memset(f->op, 0, sizeof f->op);
    for (uint64_t i = 0; i < TRACE_IO_CELLS; i++)
        if (f->cell[i]) {
            taken.cells[u->cells++] = i << 48 | (f->cell[i] & ((1ull << 48) - 1));
            f->cell[i] = 0;
        }
    f->changed = 0;
    io_unlock(f);
    for (int i = 0; i < TRACE_IO_OPS; i++) {
        u->op[i].calls += __atomic_exchange_n(&f->missed[i][0], 0, __ATOMIC_RELAXED);
        u->op[i].bytes += __atomic_exchange_n(&f->missed[i][1], 0, __ATOMIC_RELAXED);
        u->op[i].ns += __atomic_exchange_n(&f->missed[i][2], 0, __ATOMIC_RELAXED);
    }
    return 1;
}

static void use_write(struct capture_thread *t, struct io_file *f)
{
    struct trace_io_file r = {.r.kind = TRACE_IO_FILE,
                              .id = f->id,
                              .device = f->device,
                              .inode = f->inode,
                              .size = f->size,
                              .kind = f->kind,
                              .flags = f->flags,
                              .resident = f->resident};
    const char *name = f->name ? f->name : "";
    r.bytes = (uint32_t)strlen(name);
    f->defined = trace_put(&t->stream, &r.r, sizeof r, name, r.bytes);
}

static void write_state(struct capture_thread *t, struct io_file *f)
{
    static struct io_moment moment[IO_MOMENTS];
    struct trace_io_state r = {.r.kind = TRACE_IO_STATE, .file = f->id};
    if (!f->moments || !io_lock(f, t->tid))
        return;
    r.unique = io_pages_bytes(&f->pages, &r.error);
    r.stride = f->stride;
    if (f->seen / f->moments > r.stride) /* lean.c leaves calls out */
        r.stride = f->seen / f->moments;
    r.n = f->moments;
    memcpy(moment, f->moment, f->moments * sizeof *moment);
    io_unlock(f);
    trace_put(&t->stream, &r.r, sizeof r, moment, r.n * sizeof *moment);
}

static void write_sites(struct capture_thread *t)
{
    uint32_t count = io->site_count < IO_SITES ? io->site_count : IO_SITES;
    for (uint32_t i = 0; i < count; i++) {
        struct io_site *s = &io->sites[io->site[i]];
        struct io_file *f = &io->files[s->file];
        if (!s->key || !s->changed || !io_lock(f, t->tid))
            continue;
        struct trace_io_site r = {.r.kind = TRACE_IO_SITE,
                                  .file = f->id,
                                  .stack = s->stack,
                                  .calls = s->calls,
                                  .bytes = s->bytes,
                                  .ns = s->ns,
                                  .waited_ns = s->waited_ns,
                                  .op = s->op,
                                  .tid = s->tid,
                                  .taken = s->taken};
        s->calls = s->bytes = s->ns = s->waited_ns = 0;
        s->taken = 0;
        s->changed = 0;
        io_unlock(f);
        trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
    }
}

/* /proc/self/mountinfo: "36 35 98:0 /root /mount/point options - ext4 ..." */
static void write_mount(struct capture_thread *t, const char *text, uint64_t device)
{
    char wanted[32];
    uint64_t numbers[2] = {device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xfff00)};
    char *p = wanted;
    for (int i = 0; i < 2; i++) {
        char digits[12], *d = digits + sizeof digits - 1;
        *d = 0;
        do
            *--d = (char)('0' + numbers[i] % 10);
        while ((numbers[i] /= 10));
        *p++ = i ? ':' : ' ';
        p = stpcpy(p, d);
    }
    strcpy(p, " ");
    for (const char *line = text; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *end = strchrnul(line, '\n'), *at = strstr(line, wanted);
        const char *dash = strstr(line, " - ");
        if (!at || at > end || !dash || dash > end)
            continue;
        at = strchr(at + strlen(wanted), ' ');
        if (!at || at > end)
            continue;
        size_t type = strcspn(dash + 3, " \n"), point = strcspn(at + 1, " \n");
        char tail[640];
        if (type + point + 1 > sizeof tail)
            continue;
        memcpy(tail, dash + 3, type);
        tail[type] = 0;
        memcpy(tail + type + 1, at + 1, point);
        struct trace_io_mount r = {
            .r.kind = TRACE_IO_MOUNT, .device = device, .bytes = (uint32_t)(type + 1 + point)};
        trace_put(&t->stream, &r.r, sizeof r, tail, r.bytes);
        return;
    }
}

static void write_mounts(struct capture_thread *t)
{
    static uint64_t told[32];
    static uint32_t count;
    static char text[32 << 10];
    size_t bytes = 0;
    for (uint32_t i = 0; i < io_file_count(); i++) {
        uint64_t device = io->files[i].device;
        uint32_t k = 0;
        while (k < count && told[k] != device)
            k++;
        if (!device || k < count || count == 32)
            continue;
        if (!bytes)
            bytes = raw_read_file("/proc/self/mountinfo", text, sizeof text);
        told[count++] = device;
        write_mount(t, text, device);
    }
}

void io_write(struct capture_thread *t, int all)
{
    if (__atomic_exchange_n(&writing, 1, __ATOMIC_ACQUIRE))
        return;
    for (uint32_t i = 0; i < io_file_count(); i++) {
        struct io_file *f = &io->files[i];
        if (!f->changed)
            continue;
        if (!f->defined)
            use_write(t, f);
        if (use_take(f, t->tid))
            trace_put(&t->stream, &taken.use.r, sizeof taken.use, taken.cells,
                      taken.use.cells * sizeof *taken.cells);
        if (all)
            write_state(t, f);
    }
    write_sites(t);
    if (all)
        write_mounts(t);
    __atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
}

/* The kernel's counters of one thread: read_chars to write_bytes, as /proc tells them; 0: of the
 * process, with its threads that ended and the children that it has waited for. Returns how many
 * characters were read, which the kernel counts behind these. */
enum { NUMBERS = 6 };
static size_t read_numbers(uint32_t tid, uint64_t out[NUMBERS])
{
    char text[256];
    const char *p = text;
    const size_t n = tid ? thread_poll_read(tid, "io", text, sizeof text)
                         : raw_read_file("/proc/self/io", text, sizeof text);
    for (int i = 0; n && i < NUMBERS && (p = strchr(p, ':')); i++)
        p = thread_poll_number(p + 1, &out[i]);
    return n;
}

static uint64_t ended[NUMBERS]; /* of threads that are no more */
static uint32_t ends;           /* of them */
/* A thread counts itself at its end, which takes 20 us. After the first, their sum is what the
 * process has more than its living threads; no longer when children are in the process's. */
enum { FEW_ENDS = 64 };
static int has_children;
static struct {
    uint32_t tid;
    uint64_t before[NUMBERS], last[NUMBERS];
} own; /* the library's own threads */

/* Behind all that the thread writes for the library, and with what it reads here itself: both count
 * as the library's own, which is taken off. What cannot be read is in the process's sum. */
void io_kernel_thread_ends(void)
{
    uint64_t n[NUMBERS] = {0};
    uint32_t before = __atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
    if (before >= FEW_ENDS && !__atomic_load_n(&has_children, __ATOMIC_RELAXED))
        return;
    const uint64_t chars = raw_chars_here();
    if (!read_numbers((uint32_t)syscall(SYS_gettid), n))
        __atomic_fetch_add(&ends, FEW_ENDS, __ATOMIC_RELAXED);
    n[0] += raw_chars_here() - chars; /* nothing where the library's thread read them */
    for (int i = 0; i < NUMBERS; i++)
        __atomic_fetch_add(&ended[i], n[i], __ATOMIC_RELAXED);
}

static int is_forked; /* the process began with a fork, and its counters at zero */
static int is_whole;  /* those at its start were the process's, as far as they are its thread's */

void io_kernel_forked(void)
{
    is_forked = 1;
    is_whole = 0;
    memset(ended, 0, sizeof ended);
    memset(&own, 0, sizeof own);
    has_children = ends = 0;
    memset(io_own, 0, sizeof io_own);
    memset(io_no_chars, 0, sizeof io_no_chars);
    io_unplaced = io_ring_calls = 0;
    writing = 0;
}

struct folder_entry { /* as getdents64 gives it */
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static void account_add(uint32_t tid, uint64_t sum[NUMBERS])
{
    uint64_t one[NUMBERS] = {0};
    if (tid && read_numbers(tid, one))
        for (int i = 0; i < NUMBERS; i++)
            sum[i] += one[i];
}

/* 1: the threads that the library knows, and its own one, are all. 2 us instead of 12. */
static int all_are_known(void)
{
    struct stat st;
    unsigned known = 0;
    for (const struct thread_slot *s = thread_first(); s; s = s->next)
        known += s->used && (s->t.tid || s->t.ours);
    return !syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) &&
           st.st_nlink == known + 2; /* two of the folder itself */
}

static int thread_is_own(uint32_t tid)
{
    for (const struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && s->t.ours && s->t.tid == tid)
            return 1;
    return 0;
}

static void sum_folder(uint64_t sum[NUMBERS], uint32_t ours)
{
    _Alignas(8) char room[512];
    long fd = raw_open("/proc/self/task", O_RDONLY | O_DIRECTORY), n;
    while (fd >= 0 && (n = syscall(SYS_getdents64, fd, room, sizeof room)) > 0)
        for (long at = 0; at < n; at += ((struct folder_entry *)(room + at))->bytes) {
            uint64_t tid;
            thread_poll_number(((struct folder_entry *)(room + at))->name, &tid);
            if ((uint32_t)tid != ours && !thread_is_own((uint32_t)tid))
                account_add((uint32_t)tid, sum);
        }
    if (fd >= 0)
        syscall(SYS_close, fd);
}

static int process_has_reaped(void)
{
    struct rusage children = {0};
    return getrusage(RUSAGE_CHILDREN, &children) || children.ru_maxrss;
}

/* At the start: no child is in the process's counters, and no thread of the program that the process
 * was before, for none has used CPU time. */
static int process_begins_alone(void)
{
    enum { LEAST_NS = 5000 }; /* a thread takes more to begin and end */
    struct timespec all;
    uint64_t of_thread = thread_poll_cpu(0);
    return !clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all) &&
           (uint64_t)all.tv_sec * 1000000000u + (uint64_t)all.tv_nsec < of_thread + LEAST_NS &&
           of_thread != THREAD_POLL_UNKNOWN && !process_has_reaped();
}

/* The process's counters are those of its only thread: it has had no other, ours has done nothing
 * yet, and no child is in them. 25 us less than the thread's. */
static int process_is_one_thread(void)
{
    int is_one = (is_forked || is_whole) && !ends && thread_count() == 1 &&
                 !__atomic_load_n(&has_children, __ATOMIC_RELAXED) && !process_has_reaped();
    for (const struct thread_slot *s = thread_first(); s && is_one; s = s->next)
        is_one = !s->used || !s->t.ours || !s->t.tid;
    return is_one;
}

/* Sums the target's threads. A file in the folder of the library's own is never opened: where that
 * is done while the process ends, the kernel's two processors drop the folder at once
 * (release_task, d_walk), which costs who waits for the process 2 ms on a busy machine. */
static void account_sum_here(uint64_t sum[NUMBERS])
{
    uint32_t ours;
    if (process_is_one_thread()) {
        read_numbers(0, sum);
        return;
    }
    if (poll_thread_tid(&ours) && !all_are_known()) {
        sum_folder(sum, ours);
        return;
    }
    for (const struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && !s->t.ours)
            account_add(s->t.tid, sum);
}

_Static_assert(NUMBERS <= 8, "an errand has room for them");

static void errand_sum(struct errand *e)
{
    memset(e->number, 0, sizeof e->number);
    account_sum_here(e->number);
}

static void account_sum_threads(uint64_t sum[NUMBERS])
{
    struct errand *e = errands_wanted() ? errand_begin(errand_sum) : NULL;
    if (!e || !errand_do(e)) {
        const int was = errands_needed(1);
        account_sum_here(sum);
        errands_needed(was);
        return;
    }
    memcpy(sum, e->number, NUMBERS * sizeof *sum);
    errand_end(e);
}

/* Adds the library's own thread, with those before it, as they were last read: they cannot be left
 * out of the process's numbers otherwise. */
static void account_add_own(uint64_t sum[NUMBERS])
{
    uint32_t tid;
    poll_thread_tid(&tid);
    for (int i = 0; tid != own.tid && i < NUMBERS; i++) {
        own.before[i] += own.last[i];
        own.last[i] = 0;
    }
    own.tid = tid;
    if (tid)
        read_numbers(tid, own.last);
    for (int i = 0; i < NUMBERS; i++)
        sum[i] += own.before[i] + own.last[i];
}

/* Sums all threads, with those that ended: the process's numbers, as long as no child is in
 * them. */
static void sum_process(uint64_t sum[NUMBERS])
{
    uint64_t all[NUMBERS] = {0}, of_own[NUMBERS] = {0};
    int whole = 0;
    if (ends > FEW_ENDS && !has_children) {
        whole = !process_has_reaped() && read_numbers(0, all) > 0;
        __atomic_store_n(&has_children, !whole, __ATOMIC_RELAXED);
    }
    account_sum_threads(sum);
    if (whole)
        account_add_own(of_own);
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t lives = sum[i] + of_own[i];
        if (whole) /* what has moved since `all` was read is a living thread's */
            ended[i] = all[i] > lives ? all[i] - lives : 0;
        sum[i] += __atomic_load_n(&ended[i], __ATOMIC_RELAXED);
    }
}

void io_kernel_tick(void)
{
    static uint32_t seen;
    uint64_t sum[NUMBERS] = {0};
    if (ends <= FEW_ENDS || ends == seen || has_children)
        return;
    seen = ends;
    sum_process(sum);
}

void io_makes_child(void)
{
    int saved = errno;
    uint64_t sum[NUMBERS] = {0};
    if (!io_on || __atomic_load_n(&has_children, __ATOMIC_RELAXED))
        return;
    if (ends > FEW_ENDS)
        sum_process(sum);
    errno = saved;
    __atomic_store_n(&has_children, 1, __ATOMIC_RELAXED);
}

void io_write_kernel(struct capture_thread *t, uint32_t at)
{
    struct rusage u = {0};
    uint64_t sum[NUMBERS] = {0};
    uint64_t own_read = raw_chars[0] + io_own[0], own_write = raw_chars[1] + io_own[1];
    if (at == IO_FORKED) /* the kernel's counters begin at zero */
        own_read = own_write = 0;
    else if (raw_files_are_alone() && (is_whole = process_begins_alone()))
        read_numbers(0, sum);
    else if (raw_files_are_alone())
        account_add(t->tid, sum);
    else
        sum_process(sum);
    for (int i = 0; !at && i < 2; i++) /* what is in the tables is to be in the difference */
        sum[i] -= io_asleep_bytes[i] < sum[i] ? io_asleep_bytes[i] : sum[i];
    getrusage(RUSAGE_SELF, &u);
    struct trace_io_kernel r = {.r.kind = TRACE_IO_KERNEL,
                                .read_chars = sum[0],
                                .write_chars = sum[1],
                                .read_calls = sum[2],
                                .write_calls = sum[3],
                                .read_bytes = sum[4],
                                .write_bytes = sum[5],
                                .own_read = own_read,
                                .own_write = own_write,
                                .no_chars_read = io_no_chars[0],
                                .no_chars_write = io_no_chars[1],
                                .major_faults = (uint64_t)u.ru_majflt,
                                .minor_faults = (uint64_t)u.ru_minflt,
                                .unplaced = io_unplaced,
                                .ring_calls = io_ring_calls,
                                .at = at == IO_FORKED ? 0 : at};
    trace_put(&t->stream, &r.r, sizeof r, NULL, 0);
    struct trace_io_ring ring = {
        .r.kind = TRACE_IO_RING, .requests = io_ring_requests, .lost = io_ring_lost};
    if (ring.requests || ring.lost)
        trace_put(&t->stream, &ring.r, sizeof ring, NULL, 0);
}
