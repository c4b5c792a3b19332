/* Decoders in a child process. It shares some memory with this one: the stored bytes lie at its
 * begin, tables of JPEG behind them, then what they become. A socket carries what is to be done, and
 * how it went: 5 to 10 us for a chunk. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/jail/jail.h"
#include "host/store/codec/children.h"
#include "host/store/codec/codecs.h"

#define ALIGN        4096
#define LOOK_S       1
#define CPU_MOST_S   120                 /* for one chunk */
#define WALL_MOST_S  1200                /* the same, on a machine that has no time for it */
#define BYTES_MORE   ((size_t)256 << 20) /* of memory, beside some copies of a chunk */
#define COPIES       4
#define REQUIRE_FROM ((size_t)64 << 20)

struct codec_child {
    struct codec_child *next;
    pid_t owner; /* a fork of it must not ask */
    struct child process;
    unsigned char *room;
    size_t bytes;
};

struct child_answer {
    int e;
    char text[508];
};

static size_t room_of(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Returns 1 where all of it came or went. */
static int message_pass(int fd, void *bytes, size_t n, ssize_t (*pass)(int, void *, size_t))
{
    for (size_t done = 0; done < n;) {
        const ssize_t k = pass(fd, (char *)bytes + done, n - done);
        if (k == 0 || (k < 0 && errno != EINTR))
            return 0;
        done += k > 0 ? (size_t)k : 0;
    }
    return 1;
}

static ssize_t message_put(int fd, void *bytes, size_t n)
{
    return send(fd, bytes, n, MSG_NOSIGNAL);
}

/* ---- the child ---- */

static ssize_t child_put(int fd, void *bytes, size_t n)
{
    return write(fd, bytes, n); /* its jail lets nothing else pass */
}

static void child_jail(const struct codec_child *c, int fd)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i < 3; i++) /* libjxr prints, and pipes of others end */
        dup2(null, i);
    signal(SIGINT, SIG_IGN); /* of the terminal: the parent decides */
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    jail_enter(&(struct jail){
        .fd = fd, .file = "", .folder = "", .bytes = COPIES * c->bytes + BYTES_MORE});
}

static int child_serve(void *context, int fd)
{
    const struct codec_child *c = context;
    struct codec_worker w = {0};
    struct codec_task t;
    child_jail(c, fd);
    while (message_pass(fd, &t, sizeof t, read)) {
        struct child_answer a = {0};
        unsigned char *at = c->room + room_of(t.in_bytes);
        for (int i = 0; i < t.pipeline.count; i++) {
            t.pipeline.step[i].tables = at;
            at += room_of(t.pipeline.step[i].tables_bytes);
        }
        a.e = (int)codec_run(&w, &t, c->room, at);
        if (a.e)
            snprintf(a.text, sizeof a.text, "%s", err_text());
        if (!message_pass(fd, &a, sizeof a, child_put))
            break;
    }
    return 0;
}

/* ---- this process ---- */

static void child_drop(struct codec_child *c)
{
    close(c->process.life);
    close(c->process.fd);
    munmap(c->room, c->bytes);
    free(c);
}

/* Ends a child. Returns waitpid's status. */
static int child_end(struct codec_child *c)
{
    int status = 0;
    if (c->owner == getpid()) {
        shutdown(c->process.fd, SHUT_RDWR);
        close(c->process.life); /* ends it, whatever it does */
        c->process.life = -1;
        while (waitpid(c->process.pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    child_drop(c);
    return status;
}

void codec_child_free(struct codec_worker *w)
{
    if (w->child)
        child_end(w->child);
    w->child = NULL;
}

static enum err child_start(size_t bytes, struct codec_child **out)
{
    if (bytes > REQUIRE_FROM)
        TRY(mem_require("a chunk of the file", bytes, NULL));
    struct codec_child *c = calloc(1, sizeof *c);
    FAIL_IF(!c, ERR_MEMORY, "no memory left to decode %zu bytes", bytes);
    c->bytes = bytes;
    c->room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (c->room == MAP_FAILED) {
        free(c);
        return FAIL(ERR_MEMORY, "no memory left to decode %zu bytes", bytes);
    }
    const enum err e = child_fork_both(&c->process, child_serve, c);
    if (e) {
        munmap(c->room, bytes);
        free(c);
        return e;
    }
    const struct timeval look = {LOOK_S, 0};
    setsockopt(c->process.fd, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
    c->owner = getpid();
    *out = c;
    return ERR_OK;
}

static double child_cpu_s(const struct codec_child *c)
{
    clockid_t id;
    struct timespec t = {0};
    if (clock_getcpuclockid(c->process.pid, &id) || clock_gettime(id, &t))
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t codec_child_cpu_ns(const struct codec_worker *w)
{
    return w->child ? (int64_t)(1e9 * child_cpu_s(w->child)) : 0;
}

/* 1: the answer is there; 0: the child has ended; -1: it takes too long. */
static int answer_wait(const struct codec_child *c, struct child_answer *a)
{
    double from = -1;
    int looks = 0;
    for (size_t done = 0; done < sizeof *a;) {
        const ssize_t n = recv(c->process.fd, (char *)a + done, sizeof *a - done, 0);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || (errno != EINTR && errno != EAGAIN))
            return 0;
        else if (errno == EAGAIN) {
            const double cpu = child_cpu_s(c);
            from = from < 0 ? cpu : from;
            if (cpu - from > CPU_MOST_S || ++looks * LOOK_S > WALL_MOST_S)
                return -1;
        }
    }
    return 1;
}

static const char *codec_name_of(const struct codec_pipeline *p)
{
    for (int i = 0; i < p->count; i++) {
        const struct codec_pipeline one = {1, {p->step[i]}};
        if (codec_needs_child(&one))
            return codec_name(p->step[i].codec);
    }
    return codec_name(p->step[0].codec);
}

/* Tells why a child did not answer. */
static enum err child_lost(struct codec_worker *w, const struct codec_pipeline *p, int late)
{
    const int status = child_end(w->child), number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = codec_name_of(p);
    w->child = NULL;
    FAIL_IF(late, ERR_INPUT, "its %s data are damaged (decoding them took more than %d s)", name,
            CPU_MOST_S);
    FAIL_IF(number && number != SIGIO, ERR_INPUT,
            "its %s data are damaged (decoding them ended with signal %d, %s)", name, number,
            strsignal(number));
    return FAIL(ERR_INPUT, "its %s data are damaged (they cannot be decoded)", name);
}

static enum err answer_take(struct codec_worker *w, const struct codec_task *t,
                            struct child_answer *a)
{
    const int came = answer_wait(w->child, a);
    if (came <= 0)
        return child_lost(w, &t->pipeline, came < 0);
    if (!a->e)
        return ERR_OK;
    a->text[sizeof a->text - 1] = 0;
    return a->e > 0 && a->e < ERR_COUNT && a->text[0] ? FAIL((enum err)a->e, "%s", a->text)
                                                      : child_lost(w, &t->pipeline, 0);
}

enum err codec_child_run(struct codec_worker *w, const struct codec_task *t, const void *in,
                         const unsigned char **out)
{
    struct codec_task task = *t;
    struct child_answer a;
    size_t tables = 0;
    for (int i = 0; i < t->pipeline.count; i++)
        tables += room_of(t->pipeline.step[i].tables_bytes);
    const size_t need = room_of(t->in_bytes) + tables + room_of(t->out_bytes) + ALIGN;
    if (w->child && (w->child->bytes < need || w->child->owner != getpid()))
        codec_child_free(w);
    if (!w->child)
        TRY(child_start(need, &w->child));
    struct codec_child *c = w->child;
    unsigned char *at = c->room;
    memcpy(at, in, t->in_bytes);
    at += room_of(t->in_bytes);
    for (int i = 0; i < t->pipeline.count; i++) {
        const struct codec_step *s = &t->pipeline.step[i];
        if (s->tables_bytes)
            memcpy(at, s->tables, s->tables_bytes);
        task.pipeline.step[i].tables = NULL;
        at += room_of(s->tables_bytes);
    }
    if (!message_pass(c->process.fd, &task, sizeof task, message_put))
        return child_lost(w, &t->pipeline, 0);
    TRY(answer_take(w, t, &a));
    *out = at;
    return ERR_OK;
}

/* ---- children between runs ---- */

static pthread_mutex_t children_lock = PTHREAD_MUTEX_INITIALIZER;

void codec_children_lend(struct codec_child **idle, struct codec_worker *w, size_t bytes)
{
    pthread_mutex_lock(&children_lock);
    struct codec_child *c = *idle;
    if (c)
        *idle = c->next;
    pthread_mutex_unlock(&children_lock);
    bytes = room_of(bytes + bytes / 8) + 4 * ALIGN;
    if (c && (c->owner != getpid() || c->bytes < bytes)) {
        child_end(c);
        c = NULL;
    }
    if (!c && child_start(bytes, &c))
        c = NULL; /* the worker tries again, and says why not */
    w->child = c;
}

void codec_children_take(struct codec_child **idle, struct codec_worker *w)
{
    struct codec_child *c = w->child;
    if (!c)
        return;
    w->child = NULL;
    pthread_mutex_lock(&children_lock);
    c->next = *idle;
    *idle = c;
    pthread_mutex_unlock(&children_lock);
}

void codec_children_end(struct codec_child **idle)
{
    while (*idle) {
        struct codec_child *c = *idle;
        *idle = c->next;
        child_end(c);
    }
}
