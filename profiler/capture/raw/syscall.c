/* syscall() for the library's own calls: the public name leads to its hook. */
#include <errno.h>
#include <sys/syscall.h>

#include "profiler/capture/raw/system.h"

long raw_syscall(long number, long a, long b, long c, long d, long e, long f);

uint64_t raw_chars[2];
static __thread int uncounted;
static __thread uint64_t read_here;

void raw_chars_uncounted(void)
{
    uncounted = 1;
}

uint64_t raw_chars_here(void)
{
    return read_here;
}

long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long r;
#if defined __x86_64__
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                     x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e,
                     x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    r = x0;
#endif
    if (r <= 0 || uncounted)
        ; /* the common case first */
    else if (number == SYS_read || number == SYS_pread64) {
        __atomic_fetch_add(&raw_chars[0], (uint64_t)r, __ATOMIC_RELAXED);
        read_here += (uint64_t)r;
    } else if (number == SYS_write || number == SYS_pwrite64 || number == SYS_pwritev)
        __atomic_fetch_add(&raw_chars[1], (uint64_t)r, __ATOMIC_RELAXED);
    if ((unsigned long)r <= -4096ul)
        return r;
    errno = (int)-r;
    return -1;
}

int raw_getpid(void);
int raw_getpid(void)
{
    return (int)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

int raw_getppid(void);
int raw_getppid(void)
{
    return (int)raw_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);
}
