/* Reads a thread's state, times and clock from the kernel, without printf or stdio. */
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "profiler/capture/core/thread_poll.h"
#include "profiler/capture/raw/system.h"

const char *thread_poll_number(const char *p, uint64_t *out)
{
    *out = 0;
    while (*p == ' ')
        p++;
    if (p[0] == '0' && p[1] == 'x') {
        for (p += 2; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
            *out = *out * 16 + (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
        return p;
    }
    for (; *p >= '0' && *p <= '9'; p++)
        *out = *out * 10 + (uint64_t)(*p - '0');
    return p;
}

enum { PATH_ROOM = 64 };

/* Tells whether the process's own folder has the same file of its main thread. The first look into
 * the folder of tasks takes 25 us more, and as much again at the process's end. */
static int poll_is_of_process(uint32_t tid, const char *name)
{
    return tid == (uint32_t)getpid() && strcmp(name, "io") != 0 && strcmp(name, "stat") != 0;
}

static void poll_path(uint32_t tid, const char *name, char path[PATH_ROOM])
{
    if (poll_is_of_process(tid, name)) {
        strcpy(stpcpy(path, "/proc/self/"), name);
        return;
    }
    char digits[12], *d = digits + sizeof digits;
    strcpy(path, "/proc/self/task/");
    size_t n = strlen(path);
    for (*--d = 0; tid || !*d; tid /= 10)
        *--d = (char)('0' + tid % 10);
    size_t k = (size_t)(digits + sizeof digits - 1 - d);
    memcpy(path + n, d, k);
    path[n + k] = '/';
    strcpy(path + n + k + 1, name);
}

size_t thread_poll_read(uint32_t tid, const char *name, char *out, size_t bytes)
{
    char path[PATH_ROOM];
    poll_path(tid, name, path);
    return raw_read_file(path, out, bytes);
}

/* Files that stay open: of the threads that were there first. */
enum { ACCOUNTS = 8 };
static struct {
    uint32_t tid;
    int fd;
} account[ACCOUNTS];

void thread_poll_forget(void)
{
    for (int i = 0; i < ACCOUNTS; i++) {
        account[i].tid = 0;
        account[i].fd = -1;
    }
}

size_t thread_poll_account(uint32_t tid, char *out, size_t bytes)
{
    char path[PATH_ROOM];
    poll_path(tid, "schedstat", path);
    for (int i = 0; raw_files_are_unshared() && i < ACCOUNTS; i++) {
        if (!account[i].tid)
            account[i].tid = tid;
        if (account[i].tid != tid)
            continue;
        return raw_read_again(&account[i].fd, path, out, bytes);
    }
    return raw_read_file(path, out, bytes);
}

uint64_t thread_poll_cpu(uint32_t tid)
{
    struct timespec t = {0};
    /* CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED */
    if (clock_gettime(tid ? (clockid_t)(~tid << 3 | 6) : CLOCK_THREAD_CPUTIME_ID, &t))
        return THREAD_POLL_UNKNOWN;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int thread_poll_state(uint32_t tid, uint64_t numbers[THREAD_POLL_STATS])
{
    char text[512];
    const char *p;
    if (!thread_poll_read(tid, "stat", text, sizeof text) || !(p = strrchr(text, ')')) || !p[1])
        return 0;
    int state = p[2];
    p += 3;
    for (int field = 4; *p && numbers && field <= 22; field++) {
        uint64_t n;
        const char *next = thread_poll_number(p, &n);
        numbers[THREAD_POLL_SYSTEM] = field == 15 ? n : numbers[THREAD_POLL_SYSTEM];
        numbers[THREAD_POLL_START] = field == 22 ? n : numbers[THREAD_POLL_START];
        p = next + strcspn(next, " ");
    }
    return state;
}

int thread_poll_place(uint32_t tid, struct thread_poll_place *at)
{
    char text[256];
    uint64_t call, unused, sp, pc;
    if (!thread_poll_read(tid, "syscall", text, sizeof text) || text[0] == 'r')
        return 0;
    const char *p = text;
    int none = *p == '-';
    p = thread_poll_number(p + none, &call);
    for (int i = 0; i < 6 && !none; i++)
        p = thread_poll_number(p, &unused);
    thread_poll_number(thread_poll_number(p, &sp), &pc);
    *at = (struct thread_poll_place){none ? -1 : (int)call, sp, pc};
    return 1;
}

int thread_poll_switches(uint32_t tid, uint64_t *asleep, uint64_t *forced)
{
    static char text[3072]; /* under the poll gate */
    static const char name[] = "voluntary_ctxt_switches:";
    const char *p;
    struct rusage u;
    if (tid == (uint32_t)syscall(SYS_gettid) && !getrusage(RUSAGE_THREAD, &u)) {
        *asleep = (uint64_t)u.ru_nvcsw;
        *forced = (uint64_t)u.ru_nivcsw;
        return 1;
    }
    if (!thread_poll_read(tid, "status", text, sizeof text) || !(p = strstr(text, name)))
        return 0;
    p = thread_poll_number(p + sizeof name - 1 + 1, asleep); /* after a tab */
    if (!(p = strstr(p, name)))
        return 0;
    thread_poll_number(p + sizeof name - 1 + 1, forced);
    return 1;
}
