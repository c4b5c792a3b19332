/* Keeps glibc's flag for one thread while there is one of the program and one of the library. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/raw/one_thread.h"
#include "profiler/capture/raw/system.h"

/* After the flag has gone, the program's thread may still be between its look at the flag and the
 * lock that it then took without an atomic step: some instructions. */
#define QUIET_NS 20000u

enum { NONE, MAKING, KEPT, ENDED };
static uint32_t state;
int one_thread_making;
static char *flag, *program_has; /* a program may have a copy of it, which libstdc++ reads */
static pid_t watched;            /* the program's thread */
static uint64_t ended_at;        /* its CPU clock */
static int quiet;                /* it has run on since, or ended it itself */
static __thread int ours;

static uint32_t state_read(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

static void state_write(uint32_t next)
{
    __atomic_store_n(&state, next, __ATOMIC_RELEASE);
}

static int flag_read(void)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void flag_write(char value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
    if (program_has)
        __atomic_store_n(program_has, value, __ATOMIC_RELEASE);
}

static uint64_t clock_of_watched(void)
{
    struct timespec t;
    if (clock_gettime((clockid_t)(~(unsigned)watched << 3 | 6), &t))
        return UINT64_MAX;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* From 2.36 on the flag is what glibc itself goes by; _dl_find_object (2.35) finds images without
 * the loader's lock. capture/test_one_thread has passed with 2.36 and 2.41; later ones are left
 * alone until it has been tried there. */
enum { FIRST_MINOR = 36, LAST_MINOR = 41 };

static void flag_find(void)
{
    static int searched;
    if (searched++)
        return;
    const char *(*version)(void) = NULL;
    int major = 0, minor = 0;
    *(void **)&version = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    if (!version || sscanf(version(), "%d.%d", &major, &minor) != 2 || major != 2 ||
        minor < FIRST_MINOR || minor > LAST_MINOR)
        return;
    flag = dlsym(RTLD_NEXT, "__libc_single_threaded");
    program_has = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
    program_has = program_has == flag ? NULL : program_has;
}

int one_thread_begin(void)
{
    flag_find();
    if (!flag || state_read() == ENDED || flag_read() != 1)
        return 0;
    state_write(MAKING);
    one_thread_making = 1;
    return 1;
}

void one_thread_keep(int was)
{
    if (!was)
        return;
    one_thread_making = 0;
    watched = (pid_t)syscall(SYS_gettid);
    flag_write(1);
    state_write(KEPT);
}

void one_thread_is_ours(void)
{
    ours = 1;
}

/* Or sleeps in a system call. */
static int is_quiet(void)
{
    char path[64], text[64];
    if (quiet)
        return 1;
    uint64_t now = clock_of_watched();
    if (now != UINT64_MAX && now <= ended_at + QUIET_NS) {
        snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)watched);
        if (!raw_read_file(path, text, sizeof text) || text[0] < '0' || text[0] > '9')
            return 0;
    }
    return quiet = 1;
}

int one_thread_hands_off(void)
{
    uint32_t now = state_read();
    if (!ours || now == NONE)
        return 0;
    return now == ENDED ? !is_quiet()
                        : now == MAKING || flag_read(); /* 0: the program has made a thread */
}

void one_thread_end(void)
{
    uint32_t kept = KEPT;
    if (!__atomic_compare_exchange_n(&state, &kept, ENDED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        if (kept == NONE) {
            quiet = 1;
            state_write(ENDED);
        }
        return;
    }
    quiet = !ours;
    flag_write(0);
    ended_at = clock_of_watched();
}

int one_thread_is_over(uint64_t *since)
{
    *since = ended_at < UINT64_MAX ? ended_at : 0;
    return !flag || !flag_read();
}

void one_thread_forked(void)
{
    ended_at = 0;
    if (state_read() != ENDED)
        state_write(NONE);
    quiet = 1;
}
