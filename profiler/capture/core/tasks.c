/* Threads that did not come through hooks/thread_hooks.c (mq_notify's and aio's, those older than
 * this library, raw clones): found in /proc/self/task, and recorders take care of them from
 * outside. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "profiler/capture/core/poll_thread.h"
#include "profiler/capture/core/thread_poll.h"

struct task_entry { /* linux_dirent64 */
    uint64_t inode, offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

struct task_scan {
    struct thread_slot *self;
    uint32_t alive; /* of the target's, zombies left out */
    uint64_t generation;
};

static struct thread_slot *tasks_find_slot(uint32_t tid)
{
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        if (s->used && s->t.tid == tid)
            return s;
    return NULL;
}

static int is_zombie(uint32_t tid)
{
    return thread_poll_state(tid, NULL) == 'Z';
}

/* A new thread says so itself with its first steps, but on a busy machine it may wait long for
 * them: what has run for so long, or was there for so long, has nothing to say. */
#define RAN_NS   2000000u
#define THERE_NS 1000000000u

static int is_silent(uint32_t tid)
{
    static struct {
        uint32_t tid;
        uint64_t since;
    } seen[16];
    uint64_t now = trace_now();
    if (seen[tid % 16].tid != tid) {
        seen[tid % 16].tid = tid;
        seen[tid % 16].since = now;
    }
    uint64_t ran = thread_poll_cpu(tid);
    return now - seen[tid % 16].since > THERE_NS || (ran != THREAD_POLL_UNKNOWN && ran > RAN_NS);
}

static void tasks_adopt(struct task_scan *w, uint32_t tid)
{
    struct thread_slot *s = is_silent(tid) ? thread_claim() : NULL;
    char name[32];
    if (!s)
        return;
    s->t.busy = 1; /* until it takes the slot over, in the handler */
    s->adopted = 1;
    s->t.random = trace_now() ^ tid;
    __atomic_store_n(&s->t.tid, tid, __ATOMIC_RELEASE);
    s->generation = w->generation;
    name[thread_poll_read(tid, "comm", name, sizeof name)] = 0;
    name[strcspn(name, "\n")] = 0;
    thread_name(&w->self->t, s, name);
    thread_account(s, 0);
    recorders_thread_found(s);
}

static void tasks_visit(struct task_scan *w, uint32_t tid)
{
    if (tid == w->self->t.tid)
        return;
    struct thread_slot *s = tasks_find_slot(tid);
    if (s)
        s->generation = w->generation;
    if ((!s || tid == (uint32_t)getpid()) && is_zombie(tid))
        return; /* of the others the kernel leaves none behind */
    w->alive++;
    if (!s)
        tasks_adopt(w, tid);
}

static int scan_tasks(struct task_scan *w)
{
    static char buffer[4096] __attribute__((aligned(64))); /* of the library's one thread */
    long n, fd = raw_open("/proc/self/task", O_RDONLY);
    if (fd < 0 && !thread_count()) /* is the process at its end? That must be known. */
        fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while ((n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n;) {
            const struct task_entry *e = (const struct task_entry *)(buffer + at);
            uint32_t tid = 0;
            for (const char *p = e->name; *p >= '0' && *p <= '9'; p++)
                tid = tid * 10 + (uint32_t)(*p - '0');
            if (tid)
                tasks_visit(w, tid);
            at += e->bytes;
        }
    syscall(SYS_close, fd);
    return n == 0;
}

/* Slots of threads that ended without a word. */
static void forget_missing(struct task_scan *w)
{
    for (struct thread_slot *s = thread_first(); s; s = s->next) {
        if (!s->used || !s->t.tid || s == w->self || s->generation == w->generation)
            continue;
        if (syscall(SYS_tgkill, getpid(), s->t.tid, 0) == 0 || errno != ESRCH)
            continue;
        recorders_thread_lost(s);
        thread_forget(s);
    }
}

static void tasks_update_names(struct thread_slot *self)
{
    char name[32];
    for (struct thread_slot *s = thread_first(); s; s = s->next) {
        if (!s->used || !s->t.tid || s->t.ours ||
            !thread_poll_read(s->t.tid, "comm", name, sizeof name))
            continue;
        name[strcspn(name, "\n")] = 0;
        if (strncmp(name, s->name, sizeof s->name - 1))
            thread_name(&self->t, s, name);
    }
}

#define REST 50 /* after a scan, times as long as it took */

int tasks_scan(struct thread_slot *self, int each_second)
{
    static uint64_t generation, next;
    struct stat st;
    uint64_t now = trace_now();
    uint32_t known = thread_count(), ours = 0;
    if (each_second)
        tasks_update_names(self);
    for (struct thread_slot *s = thread_first(); s; s = s->next)
        ours += s->used && s->t.tid && s->t.ours;
    /* The folder has one link per thread, ours among them, and two of its own: 2 us. The main
     * thread stays one after its end, and may stand in for another that has gone: a scan once a
     * second. */
    if (known && !each_second &&
        (now < next || (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) == 0 &&
                        st.st_nlink == known + ours + 2)))
        return 1;
    struct task_scan w = {.self = self, .generation = ++generation};
    if (!scan_tasks(&w))
        return 1;
    forget_missing(&w);
    next = now + REST * (trace_now() - now);
    return w.alive > 0;
}
