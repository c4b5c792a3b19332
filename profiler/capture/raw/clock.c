/* clock_gettime() for the library: the kernel's, also where the program or another preloaded
 * library (faketime) has one of its own, whose times would not be those of the kernel's counters.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/raw/next_symbol.h"
#include "profiler/capture/raw/system.h"

typedef int clock_fn(clockid_t, struct timespec *);

int raw_clock_gettime(clockid_t clock, struct timespec *t);

static clock_fn *shared; /* in the kernel's page, which takes 30 ns instead of 200 */
int raw_ticks_trapped;

/* It reads the processor's counter, as raw_ticks() does. For good: the threads that this one makes
 * have the same, whatever it does later. */
void raw_clock_check(void)
{
    int how = PR_TSC_ENABLE, saved = errno;
    if (raw_ticks_trapped || syscall(SYS_prctl, PR_GET_TSC, &how) || how != PR_TSC_SIGSEGV) {
        errno = saved;
        return;
    }
    raw_ticks_trapped = 1;
    shared = NULL;
}

void raw_clock_setup(void)
{
    raw_clock_check();
    if (raw_ticks_trapped)
        return;
    static const char name[] = "__vdso_clock_gettime";
    shared = (clock_fn *)kernel_symbol(name);
    if (shared)
        return;
    void *page = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    shared = page ? (clock_fn *)dlsym(page, name) : NULL;
}

int raw_clock_gettime(clockid_t clock, struct timespec *t)
{
    clock_fn *read = __atomic_load_n(&shared, __ATOMIC_RELAXED);
    if (!read)
        return (int)syscall(SYS_clock_gettime, clock, t);
    int failed = read(clock, t); /* -errno */
    if (!failed)
        return 0;
    errno = -failed;
    return -1;
}
