/* Until a thread sleeps in a call: by the kernel's word, for no time that one gives it is enough on
 * a busy machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline int own_tid(void)
{
    return (int)syscall(SYS_gettid);
}

static inline char state_of(int tid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0)
        text[0] = 0;
    if (fd >= 0)
        close(fd);
    const char *end = strrchr(text, ')');
    return end && end[1] ? end[2] : 0;
}

/* `tid` is 0 until the thread is about to make the call. For a minute at most: what is tested must
 * hold as well where the kernel does not tell. Keeps errno. */
static inline void until_asleep(const int *tid)
{
    struct timespec pause = {0, 500000};
    int saved = errno;
    for (int i = 0; i < 100000; i++) {
        int t = __atomic_load_n(tid, __ATOMIC_ACQUIRE);
        if (t && state_of(t) == 'S')
            break;
        nanosleep(&pause, NULL);
    }
    errno = saved;
}
