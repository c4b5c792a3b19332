#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/capture/core.h"

/* Threads that did not come through pthread_create (timer_create's, C11's, those older than this
 * library, raw clones): found in /proc/self/task and given a timer from outside. */

struct entry { /* linux_dirent64 */
    uint64_t inode, offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

struct walk {
    struct slot *self;
    uint32_t alive; /* of the target's, zombies left out */
    int adopt;
    uint64_t generation;
};

static struct slot *find(uint32_t tid)
{
    for (struct slot *s = thread_first(); s; s = s->next)
        if (s->used && s->t.tid == tid)
            return s;
    return NULL;
}

static int is_zombie(uint32_t tid)
{
    char text[256], *p;
    return look_read(tid, "stat", text, sizeof text) && (p = strrchr(text, ')')) && p[1] &&
           p[2] == 'Z';
}

static void adopt(struct walk *w, uint32_t tid)
{
    static uint32_t seen[16]; /* one turn ago: a new thread gets time to say so itself */
    uint32_t *place = &seen[tid % 16];
    if (*place != tid) {
        *place = tid;
        return;
    }
    struct slot *s = thread_claim();
    char name[32];
    if (!s)
        return;
    s->t.busy = 1; /* until it takes the slot over, in the handler */
    s->adopted = 1;
    s->t.random = trace_now() ^ tid;
    __atomic_store_n(&s->t.tid, tid, __ATOMIC_RELEASE);
    s->generation = w->generation;
    name[look_read(tid, "comm", name, sizeof name)] = 0;
    name[strcspn(name, "\n")] = 0;
    thread_name(&w->self->t, s, name);
    sampler_watch(s, 1);
}

static void visit(struct walk *w, uint32_t tid)
{
    if (tid == w->self->t.tid)
        return;
    struct slot *s = find(tid);
    if (s)
        s->generation = w->generation;
    if (is_zombie(tid))
        return;
    w->alive++;
    if (!s && w->adopt)
        adopt(w, tid);
}

static int walk_tasks(struct walk *w)
{
    char buffer[4096] __attribute__((aligned(8)));
    long n, fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while ((n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(buffer + at);
            uint32_t tid = 0;
            for (const char *p = e->name; *p >= '0' && *p <= '9'; p++)
                tid = tid * 10 + (uint32_t)(*p - '0');
            if (tid)
                visit(w, tid);
            at += e->bytes;
        }
    syscall(SYS_close, fd);
    return n == 0;
}

/* Slots of threads that ended without a word. */
static void forget_missing(struct walk *w)
{
    for (struct slot *s = thread_first(); s; s = s->next) {
        if (!s->used || !s->t.tid || s == w->self || s->generation == w->generation)
            continue;
        if (syscall(SYS_tgkill, getpid(), s->t.tid, 0) == 0 || errno != ESRCH)
            continue;
        sampler_unwatch(s);
        thread_forget(s);
    }
}

static void new_names(struct slot *self)
{
    char name[32];
    for (struct slot *s = thread_first(); s; s = s->next) {
        if (!s->used || !s->t.tid || s->t.ours || !look_read(s->t.tid, "comm", name, sizeof name))
            continue;
        name[strcspn(name, "\n")] = 0;
        if (strncmp(name, s->name, sizeof s->name - 1))
            thread_name(&self->t, s, name);
    }
}

int tasks_scan(struct slot *self, int each_second)
{
    static uint64_t generation, last;
    struct stat st;
    uint64_t now = trace_now();
    uint32_t known = thread_count(), ours = 0;
    if (known && !each_second && now - last < 250000000u)
        return 1;
    last = now;
    if (each_second)
        new_names(self);
    for (struct slot *s = thread_first(); s; s = s->next)
        ours += s->used && s->t.tid && s->t.ours;
    /* One link per thread, ours among them, and two of the folder itself. The main thread stays one
     * after its end, and may stand in for another that has gone: looked at once a second. */
    if (known && !each_second && stat("/proc/self/task", &st) == 0 &&
        st.st_nlink == known + ours + 2)
        return 1;
    struct walk w = {.self = self, .adopt = 1, .generation = ++generation};
    if (!walk_tasks(&w))
        return 1;
    forget_missing(&w);
    return w.alive > 0;
}
