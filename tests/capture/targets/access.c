/* Each way to read and write a file, one after the other, each with files of its own. It prints a
 * line for each: way, what it moved by its own count, and what the kernel counted for this thread
 * (rchar and wchar of /proc/thread-self/io). argv[1]: a folder to work in. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef WITH_LIBURING
#include <liburing.h>
#endif

enum { MIB = 1 << 20, PART = 65536, PARTS = 64, SIZE = PART * PARTS };
static char *room;

static void die(const char *what)
{
    perror(what);
    exit(3);
}

static int with(const char *name, int flags)
{
    int fd = open(name, flags, 0600);
    if (fd < 0)
        die(name);
    return fd;
}

static void kernel(long long counts[2])
{
    char text[512];
    int fd = open("/proc/thread-self/io", O_RDONLY);
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (n < 0)
        die("/proc/thread-self/io");
    text[n] = 0;
    close(fd);
    if (sscanf(text, "rchar: %lld wchar: %lld", &counts[0], &counts[1]) != 2)
        die("its text");
}

static long long by_read(int fd)
{
    long long sum = 0;
    for (ssize_t n; (n = read(fd, room, PART)) > 0;)
        sum += n;
    return sum;
}

static long long by_pread(int fd)
{
    long long sum = 0;
    for (ssize_t n; (n = pread(fd, room, PART, sum)) > 0;)
        sum += n;
    return sum;
}

static long long by_readv(int fd)
{
    struct iovec v[2] = {{room, 1000}, {room + PART, PART - 1000}};
    long long sum = 0;
    for (ssize_t n; (n = readv(fd, v, 2)) > 0;)
        sum += n;
    return sum;
}

static long long by_stdio(int fd)
{
    long long sum = 0;
    FILE *f = fdopen(dup(fd), "r");
    for (size_t n; (n = fread(room, 1, 3000, f)) > 0;)
        sum += (long long)n;
    fclose(f);
    return sum;
}

static long long by_mmap(int fd)
{
    static volatile long sum;
    char *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        die("mmap");
    for (int i = 0; i < SIZE; i += 4096)
        sum += at[i];
    munmap(at, SIZE);
    return SIZE;
}

static long long by_sendfile(int fd)
{
    long long sum = 0;
    int out = with("sendfile_to", O_WRONLY | O_CREAT);
    for (ssize_t n; (n = sendfile(out, fd, NULL, PART)) > 0;)
        sum += n;
    close(out);
    return sum;
}

static long long by_copy_file_range(int fd)
{
    long long sum = 0;
    int out = with("copy_file_range_to", O_WRONLY | O_CREAT);
    for (ssize_t n; (n = copy_file_range(fd, NULL, out, NULL, PART, 0)) > 0;)
        sum += n;
    close(out);
    return sum;
}

static long long by_splice(int fd)
{
    long long sum = 0;
    int ends[2], out = with("splice_to", O_WRONLY | O_CREAT);
    if (pipe(ends))
        die("pipe");
    for (ssize_t n; (n = splice(fd, NULL, ends[1], NULL, PART, 0)) > 0; sum += n)
        for (ssize_t left = n, m; left > 0; left -= m)
            if ((m = splice(ends[0], NULL, out, NULL, (size_t)left, 0)) <= 0)
                die("splice");
    close(out);
    return sum;
}

static long long by_aio(int fd)
{
    aio_context_t queue = 0;
    struct iocb request[8], *list[8];
    struct io_event event[8];
    long long sum = 0;
    if (syscall(SYS_io_setup, 8, &queue))
        return -errno;
    for (int i = 0; i < PARTS; i += 8) {
        for (int k = 0; k < 8; k++) {
            request[k] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD,
                                       .aio_fildes = (uint32_t)fd,
                                       .aio_buf = (uintptr_t)room + (size_t)k * PART,
                                       .aio_nbytes = PART,
                                       .aio_offset = (long long)(i + k) * PART};
            list[k] = &request[k];
        }
        if (syscall(SYS_io_submit, queue, 8, list) != 8 ||
            syscall(SYS_io_getevents, queue, 8, 8, event, NULL) != 8)
            die("io_submit");
        for (int k = 0; k < 8; k++)
            sum += event[k].res;
    }
    syscall(SYS_io_destroy, queue);
    return sum;
}

static long long by_posix_aio(int fd)
{
    long long sum = 0;
    for (int i = 0; i < PARTS; i++) {
        struct aiocb b = {
            .aio_fildes = fd, .aio_buf = room, .aio_nbytes = PART, .aio_offset = (off_t)i * PART};
        const struct aiocb *list[] = {&b};
        if (aio_read(&b))
            die("aio_read");
        while (aio_error(&b) == EINPROGRESS)
            aio_suspend(list, 1, NULL);
        sum += aio_return(&b);
    }
    return sum;
}

/* As the kernel has them: the numbers of an interface that stays. */
struct queue_entry {
    uint8_t opcode, flags;
    uint16_t priority;
    int32_t fd;
    uint64_t offset, address;
    uint32_t bytes, op_flags;
    uint64_t user_data, pad[3];
};
struct result_entry {
    uint64_t user_data;
    int32_t result;
    uint32_t flags;
};

static void *part_of(int ring, size_t bytes, off_t offset)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
    if (at == MAP_FAILED)
        die("mmap of the ring");
    return at;
}

/* Eight requests at a time. `fixed`: of a registered file. */
static long long by_ring(int fd, int fixed)
{
    unsigned p[30] = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 8, p);
    if (ring < 0)
        return -errno;
    uint8_t *sq = part_of(ring, p[16] + p[0] * 4, 0);
    uint8_t *cq = part_of(ring, p[25] + p[1] * 16, 0x8000000);
    struct queue_entry *entry = part_of(ring, p[0] * sizeof *entry, 0x10000000);
    unsigned *tail = (unsigned *)(sq + p[11]), *array = (unsigned *)(sq + p[16]);
    unsigned *head = (unsigned *)(cq + p[20]), mask = *(unsigned *)(cq + p[22]);
    struct result_entry *results = (struct result_entry *)(cq + p[25]);
    long long sum = 0;
    if (fixed && syscall(SYS_io_uring_register, ring, 2, &fd, 1))
        die("io_uring_register");
    for (int i = 0; i < PARTS; i += 8) {
        for (int k = 0; k < 8; k++) {
            entry[k] = (struct queue_entry){.opcode = 22,
                                            .flags = (uint8_t)fixed,
                                            .fd = fixed ? 0 : fd,
                                            .offset = (uint64_t)(i + k) * PART,
                                            .address = (uintptr_t)room + (size_t)k * PART,
                                            .bytes = PART,
                                            .user_data = (uint64_t)k};
            array[(*tail + (unsigned)k) & 7] = (unsigned)k;
        }
        __atomic_store_n(tail, *tail + 8, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring, 8, 8, 1, NULL, 0) != 8)
            die("io_uring_enter");
        for (int k = 0; k < 8; k++)
            sum += results[(*head + (unsigned)k) & mask].result;
        __atomic_store_n(head, *head + 8, __ATOMIC_RELEASE);
    }
    close(ring);
    return sum;
}

static long long by_io_uring(int fd)
{
    return by_ring(fd, 0);
}

static long long by_io_uring_fixed(int fd)
{
    return by_ring(fd, 1);
}

#ifdef WITH_LIBURING
/* Results are looked at without a call as long as there are some, then it waits. */
static long long by_liburing(int fd)
{
    struct io_uring ring;
    struct io_uring_cqe *cqe;
    long long sum = 0;
    int r = io_uring_queue_init(8, &ring, 0);
    if (r)
        return r;
    for (int i = 0; i < PARTS; i += 8) {
        for (int k = 0; k < 8; k++) {
            struct io_uring_sqe *s = io_uring_get_sqe(&ring);
            io_uring_prep_read(s, fd, room + (size_t)k * PART, PART, (uint64_t)(i + k) * PART);
        }
        if (io_uring_submit(&ring) != 8)
            die("io_uring_submit");
        for (int k = 0; k < 8; k++) {
            if (io_uring_wait_cqe(&ring, &cqe))
                die("io_uring_wait_cqe");
            sum += cqe->res;
            io_uring_cqe_seen(&ring, cqe);
        }
    }
    io_uring_queue_exit(&ring);
    return sum;
}
#endif

static const struct {
    const char *name;
    long long (*run)(int fd);
} ways[] = {
    {"read", by_read},
    {"pread", by_pread},
    {"readv", by_readv},
    {"stdio", by_stdio},
    {"mmap", by_mmap},
    {"sendfile", by_sendfile},
    {"copy_file_range", by_copy_file_range},
    {"splice", by_splice},
    {"aio", by_aio},
    {"posix_aio", by_posix_aio},
    {"io_uring", by_io_uring},
    {"io_uring_fixed", by_io_uring_fixed},
#ifdef WITH_LIBURING
    {"liburing", by_liburing},
#endif
};

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]) || posix_memalign((void **)&room, 4096, 8 * PART))
        return 2;
    memset(room, 'x', 8 * PART);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        long long before[2], after[2];
        int fd = with(ways[i].name, O_RDWR | O_CREAT);
        for (int k = 0; k < SIZE; k += PART)
            if (write(fd, room, PART) != PART)
                die("write");
        lseek(fd, 0, SEEK_SET);
        kernel(before);
        long long sum = ways[i].run(fd);
        kernel(after);
        printf("%s %lld %lld %lld\n", ways[i].name, sum, after[0] - before[0],
               after[1] - before[1]);
        close(fd);
    }
    return 0;
}
