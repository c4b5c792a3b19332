/* Reads memory of this process that may not be mapped, through the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/raw/safe_read.h"

static pid_t self; /* 0: use `file` */
static int memory_file = -1;

int safe_read_start(void)
{
    int probe = 1, copy = 0;
    if (memory_file >= 0)
        syscall(SYS_close, memory_file); /* in a forked child it is the parent's memory */
    memory_file = -1;
    self = getpid();
    if (safe_read((uintptr_t)&probe, &copy, sizeof copy) && copy == 1)
        return 0;
    self = 0;
    memory_file = raw_open_high("/proc/self/mem", O_RDONLY);
    if (memory_file < 0)
        return errno;
    return safe_read((uintptr_t)&probe, &copy, sizeof copy) && copy == 1 ? 0 : EPERM;
}

int safe_read_forked(void)
{
    if (!self)
        return safe_read_start();
    self = getpid();
    return 0;
}

int safe_read_has_file(void)
{
    return memory_file >= 0;
}

void safe_read_process(pid_t pid)
{
    self = pid;
}

static size_t safe_read_page(uintptr_t address, void *to, size_t bytes)
{
    int saved = errno;
    ssize_t n;
    if (self) {
        struct iovec here = {to, bytes}, there = {(void *)address, bytes};
        n = process_vm_readv(self, &here, 1, &there, 1, 0);
    } else {
        n = syscall(SYS_pread64, memory_file, to, bytes, (off_t)address);
    }
    errno = saved;
    return n > 0 ? (size_t)n : 0;
}

size_t safe_read_some(uintptr_t address, void *to, size_t bytes)
{
    size_t done = safe_read_page(address, to, bytes);
    if (done == bytes)
        return done;
    /* A transfer that meets a hole may give less than what lies before it: the rest by pages. */
    while (done < bytes) {
        size_t in_page = 4096 - ((address + done) & 4095);
        size_t want = in_page < bytes - done ? in_page : bytes - done;
        size_t n = safe_read_page(address + done, (char *)to + done, want);
        done += n;
        if (n < want)
            break;
    }
    return done;
}

int safe_read(uintptr_t address, void *to, size_t bytes)
{
    return safe_read_some(address, to, bytes) == bytes;
}

int safe_read2(uintptr_t first, void *to_first, size_t first_bytes, uintptr_t second,
               void *to_second, size_t second_bytes)
{
    if (self) {
        int saved = errno;
        struct iovec here[] = {{to_first, first_bytes}, {to_second, second_bytes}};
        struct iovec there[] = {{(void *)first, first_bytes}, {(void *)second, second_bytes}};
        ssize_t n = process_vm_readv(self, here, 2, there, 2, 0);
        errno = saved;
        if (n == (ssize_t)(first_bytes + second_bytes))
            return 2;
    }
    if (!safe_read(first, to_first, first_bytes))
        return 0;
    return 1 + safe_read(second, to_second, second_bytes);
}
