/* System calls made directly: mapping, sleeping, waiting, reading a small file; and the way to the
 * functions that the library's hooks replace. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/raw/next_symbol.h"
#include "profiler/capture/raw/system.h"

void *raw_map(size_t bytes, int flags)
{
    long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0L);
    return p == -1 ? NULL : (void *)p;
}

void *raw_map_file(int fd, size_t bytes)
{
    long p = syscall(SYS_mmap, NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0L);
    return p == -1 ? NULL : (void *)p;
}

void raw_unmap(void *p, size_t bytes)
{
    syscall(SYS_munmap, p, bytes);
}

int raw_clear(void *p, size_t bytes)
{
    return syscall(SYS_madvise, p, bytes, MADV_DONTNEED) == 0;
}

static struct timespec in_seconds(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

void raw_sleep(uint64_t ns)
{
    struct timespec t = in_seconds(ns);
    syscall(SYS_nanosleep, &t, NULL);
}

void raw_futex_wait(const volatile void *word, uint32_t value, uint64_t ns)
{
    struct timespec t = in_seconds(ns);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &t : NULL, NULL, 0);
}

void raw_futex_wake(const volatile void *word, int threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

/* In the table of 512 that the trace's own number (400) makes: to grow it beside another thread,
 * the kernel waits for all processors. */
#define FROM  450
#define LEAST 200

static __thread int apart, alone;

void raw_files_unshare(void)
{
    apart = 1;
}

void raw_files_alone(int on)
{
    alone = on;
}

int raw_files_are_alone(void)
{
    return alone;
}

int raw_files_are_unshared(void)
{
    return apart;
}

static int (*others_see)(void);

void raw_files_seen_by(int (*seen)(void))
{
    others_see = seen;
}

int raw_files_are_seen(void)
{
    return !apart && !alone && (!others_see || others_see());
}

int raw_open(const char *path, int flags)
{
    return raw_files_are_seen() ? raw_open_high(path, flags)
                                : (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

int raw_open_high(const char *path, int flags)
{
    static const int from[] = {FROM, LEAST};
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur <= LEAST &&
        syscall(SYS_gettid) != getpid()) {
        errno = EMFILE;
        return -1;
    }
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
    for (size_t i = 0; fd >= 0 && fd < LEAST && i < sizeof from / sizeof *from; i++) {
        int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from[i]);
        if (high >= 0) {
            syscall(SYS_close, fd);
            fd = high;
        }
    }
    return fd;
}

/* A file of /proc is made anew for each read, also for the one that finds its end: what is shorter
 * than asked for is all of it. Not of the one that has many records, which come in pieces. */
size_t raw_read_here(const char *path, uint64_t offset, char *out, size_t bytes)
{
    int saved = errno, in_pieces = strstr(path, "/mountinfo") != NULL;
    size_t used = 0;
    long n = 0, fd = raw_open(path, O_RDONLY);
    /* Never read(): the program may have put the end of a pipe under this number meanwhile (dup2 of
     * a shell), which it would wait for, with all that waits for us. pread() fails on that. */
    while (fd >= 0 && used < bytes - 1 &&
           (n = syscall(SYS_pread64, fd, out + used, bytes - 1 - used, (off_t)(offset + used))) >
               0) {
        used += (size_t)n;
        if (!in_pieces)
            break;
    }
    if (fd >= 0)
        syscall(SYS_close, fd);
    out[used] = 0;
    errno = saved;
    return used;
}

size_t raw_read_private(int *fd, const char *path, char *out, size_t bytes)
{
    int saved = errno;
    long n = -1;
    /* The file may be gone, and another there by this name. */
    for (int i = 0; i < 2 && n < 0; i++) {
        *fd = *fd >= 0 ? *fd : raw_open(path, O_RDONLY);
        n = *fd >= 0 ? syscall(SYS_pread64, *fd, out, bytes - 1, (off_t)0) : 0;
        if (n < 0) {
            syscall(SYS_close, *fd);
            *fd = -1;
        }
    }
    out[n > 0 ? n : 0] = 0;
    errno = saved;
    return n > 0 ? (size_t)n : 0;
}

void *raw_find_next(void **slot, const char *name)
{
    static __thread int resolving;
    void *f = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (f || resolving)
        return f;
    resolving = 1;
    f = next_symbol(name);
    resolving = 0;
    __atomic_store_n(slot, f, __ATOMIC_RELAXED);
    return f;
}

/* glibc has it from 2.32 on; strerror() may allocate to translate. */
extern const char *strerrordesc_np(int) __attribute__((weak));

const char *raw_error_text(int error)
{
    const char *text = strerrordesc_np ? strerrordesc_np(error) : strerror(error);
    return text ? text : "unknown error";
}
