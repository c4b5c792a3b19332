/* Readers in a child process. The child opens the file, sends the store, then answers one question
 * after the other for the chunks of an array, until its wire ends. It asks this process for bytes
 * behind URLs. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/child.h"
#include "base/memory.h"
#include "base/jail/jail.h"
#include "host/store/fetch/http.h"
#include "host/store/guard/across.h"
#include "host/store/guard/guarded.h"

#define BYTES_MOST   ((size_t)2 << 30) /* of memory, and no more than is free */
#define SECONDS_MOST 300               /* of CPU time; tables of 2^24 chunks take some 60 */
#define READ_MOST    ((int64_t)64 << 20)
#define END_MS       200 /* in which a child ends by itself */

int guarded_readers = 1;

enum guarded_message { DONE, SIZE, READ, INDEX };

struct guarded {      /* the wires of one side */
    pid_t pid, owner; /* a fork of the owner must not ask: its answers would be mixed with ours */
    int life;
    struct store_wire *in, *out;
};

static enum err guarded_wires(int fd, int jailed, struct guarded *g)
{
    g->in = calloc(1, sizeof *g->in);
    g->out = calloc(1, sizeof *g->out);
    if (!g->in || !g->out) {
        free(g->in);
        free(g->out);
        return FAIL(ERR_MEMORY, "no memory left to open a file");
    }
    g->in->fd = g->out->fd = fd;
    g->out->writes = 1;
    g->out->jailed = jailed;
    return ERR_OK;
}

static void message_begin(struct guarded *g, enum guarded_message kind, int value)
{
    int number = (int)kind;
    wire_int(g->out, &number);
    wire_int(g->out, &value);
}

/* ---- the child ---- */

static struct guarded child; /* its end of the wires */

static void child_done(enum err e)
{
    const char *text = e ? err_text() : NULL;
    message_begin(&child, DONE, (int)e);
    wire_text(child.out, &text);
}

/* Takes an error, or the answer's begin. */
static enum err child_answer(void)
{
    int kind = 0, e = 0, n = -1;
    char text[WIRE_TEXT];
    wire_flush(child.out);
    wire_int(child.in, &kind);
    wire_int(child.in, &e);
    wire_int(child.in, &n); /* of a text, as wire_text sends it */
    FAIL_IF(child.in->broken || n >= WIRE_TEXT, ERR_IO, "nobody waits for it any more");
    wire_bytes(child.in, text, n > 0 ? (size_t)n : 0);
    text[n > 0 ? n : 0] = 0;
    return e ? FAIL((enum err)e, "%s", text) : ERR_OK;
}

static enum err child_url_size(const char *url, int64_t *bytes)
{
    message_begin(&child, SIZE, 0);
    wire_text(child.out, &url);
    TRY(child_answer());
    wire_number(child.in, bytes);
    return ERR_OK;
}

static enum err child_url_read(const char *url, int64_t offset, void *to, size_t n)
{
    for (size_t done = 0, part; done < n; done += part) {
        int64_t at = offset + (int64_t)done, bytes;
        part = n - done < (size_t)READ_MOST ? n - done : (size_t)READ_MOST;
        bytes = (int64_t)part;
        message_begin(&child, READ, 0);
        wire_text(child.out, &url);
        wire_number(child.out, &at);
        wire_number(child.out, &bytes);
        TRY(child_answer());
        wire_bytes(child.in, (char *)to + done, part);
    }
    return ERR_OK;
}

static size_t bytes_most; /* of memory: finding it takes 0.5 ms, once */

static void child_jail(const char *path, int fd, int remote)
{
    static const struct remote_way way = {child_url_size, child_url_read};
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    const struct jail j = {.fd = fd,
                           .file = remote               ? ""
                                   : store_follow_links ? NULL
                                                        : path,
                           .folder = remote    ? ""
                                     : *folder ? folder
                                               : "/",
                           .bytes = bytes_most,
                           .seconds = SECONDS_MOST};
    remote_way = &way;
    signal(SIGINT, SIG_IGN); /* of the terminal: the parent decides */
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    jail_enter(&j);
}

struct guarded_work {
    const char *path;
    guarded_opener *open;
    const void *context;
};

/* Runs in the child. */
static int child_serve(void *context, int fd)
{
    const struct guarded_work *work = context;
    struct store *s = NULL;
    if (guarded_wires(fd, 1, &child))
        return 1;
    child_jail(work->path, fd, http_is_url(work->path));
    const enum err e = work->open(work->context, &s);
    child_done(e);
    if (!e)
        across_send(child.out, s);
    while (wire_flush(child.out) && !e) {
        int kind = 0, number = -1;
        wire_int(child.in, &kind);
        wire_int(child.in, &number);
        if (child.in->broken || kind != INDEX || number < 0 || number >= s->arrays_count)
            break;
        struct store_array *a = s->arrays[number];
        const enum err indexed = store_index(s, a);
        child_done(indexed);
        if (!indexed)
            across_send_chunks(child.out, s, a);
    }
    return 0;
}

/* ---- this process ---- */

static void guarded_answer(struct guarded *g, enum err e)
{
    const char *text = e ? err_text() : NULL;
    message_begin(g, DONE, (int)e);
    wire_text(g->out, &text);
}

/* A child that was taken over must not make this machine ask others. */
static enum err guarded_url(const struct store *s, const char *url)
{
    FAIL_IF(!s->remote || !url || !across_names(s, url), ERR_INPUT,
            "%s: leads to %.200s, outside of its folder: refused", s->name, url ? url : "nothing");
    return ERR_OK;
}

static void guarded_size(struct store *s, struct guarded *g)
{
    const char *url = NULL;
    int64_t bytes = -1;
    wire_text(g->in, &url);
    enum err e = guarded_url(s, url);
    if (!e)
        e = remote_way->size(url, &bytes);
    guarded_answer(g, e);
    if (!e)
        wire_number(g->out, &bytes);
}

static void guarded_read(struct store *s, struct guarded *g)
{
    const char *url = NULL;
    int64_t at = 0, bytes = 0;
    wire_text(g->in, &url);
    wire_number(g->in, &at);
    wire_number(g->in, &bytes);
    enum err e = guarded_url(s, url);
    const int good = at >= 0 && bytes >= 0 && bytes <= READ_MOST;
    void *data = good && !e ? malloc((size_t)bytes + 1) : NULL;
    if (!e && !data)
        e = FAIL(ERR_MEMORY, "%s: no memory left to read it", s->name);
    if (!e)
        e = remote_way->read(url, at, data, (size_t)bytes);
    guarded_answer(g, e);
    if (!e)
        wire_bytes(g->out, data, (size_t)bytes);
    free(data);
}

static void guarded_let_go(struct guarded *g)
{
    close(g->in->fd);
    close(g->life);
    g->pid = 0;
}

/* Ends the child. Returns waitpid's status. A fork leaves it to the owner: by now another process may
 * have its number. */
static int guarded_end(struct guarded *g)
{
    int status = 0;
    if (g->pid <= 0)
        return 0;
    if (g->owner != getpid()) {
        guarded_let_go(g);
        return 0;
    }
    shutdown(g->in->fd, SHUT_RDWR); /* it ends when nobody listens */
#ifdef SYS_pidfd_open
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, g->pid, 0), .events = POLLIN};
    if (ended.fd < 0 || poll(&ended, 1, END_MS) <= 0)
        kill(g->pid, SIGKILL);
    if (ended.fd >= 0)
        close(ended.fd);
#else
    kill(g->pid, SIGKILL);
#endif
    while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
        ;
    guarded_let_go(g);
    return status;
}

/* Tells why the child is silent. */
static enum err guarded_lost(const struct store *s, struct guarded *g)
{
    const int status = guarded_end(g), number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    FAIL_IF(number == SIGXCPU, ERR_INPUT,
            "%s: reading its headers took more than %d s: it is damaged", s->name, SECONDS_MOST);
    FAIL_IF(number, ERR_INPUT, "%s: reading its headers ended with signal %d (%s): it is damaged",
            s->name, number, strsignal(number));
    return FAIL(ERR_INPUT, "%s: its headers cannot be read: it is damaged", s->name);
}

/* Tells why what came is not whole. */
static enum err guarded_taken(const struct store *s, struct guarded *g, enum err e)
{
    return g->in->broken ? guarded_lost(s, g) : e;
}

/* Serves the child until it is done with what it was asked. */
static enum err guarded_wait(struct store *s, struct guarded *g)
{
    g->in->arena = s->arena;
    for (;;) {
        int kind = -1, e = 0;
        const char *text = NULL;
        wire_flush(g->out);
        wire_int(g->in, &kind);
        wire_int(g->in, &e);
        if (g->in->broken)
            return guarded_lost(s, g);
        if (kind == SIZE)
            guarded_size(s, g);
        else if (kind == READ)
            guarded_read(s, g);
        else
            wire_text(g->in, &text);
        if (kind == DONE && !e)
            return ERR_OK;
        if (kind == DONE && e > 0 && e < ERR_COUNT && text)
            return FAIL((enum err)e, "%s", text);
        if (kind != SIZE && kind != READ)
            return guarded_lost(s, g);
    }
}

static enum err guarded_index(struct store *s, struct store_array *a)
{
    struct guarded *g = s->reader;
    FAIL_IF(g->pid <= 0, ERR_INPUT, "%s: the index of %s cannot be read: it is damaged", s->name,
            a->name);
    FAIL_IF(g->owner != getpid(), ERR_UNSUPPORTED,
            "%s: was opened before fork(), in process %ld: open it in this process, %ld", s->name,
            (long)g->owner, (long)getpid());
    message_begin(g, INDEX, *(const int *)a->reader);
    TRY(guarded_wait(s, g));
    return guarded_taken(s, g, across_take_chunks(g->in, s, a));
}

static void guarded_close(struct store *s)
{
    struct guarded *g = s->reader;
    if (!g)
        return;
    guarded_end(g);
    free(g->in);
    free(g->out);
}

static enum err guarded_start(const struct guarded_work *work, struct store *s)
{
    struct guarded *g = arena_take(s->arena, sizeof *g);
    struct child c;
    FAIL_IF(!g, ERR_MEMORY, "%s: no memory left to open it", s->name);
    if (!bytes_most) {
        bytes_most = mem_available();
        bytes_most = bytes_most < BYTES_MOST ? bytes_most : BYTES_MOST;
    }
    TRY(guarded_wires(-1, 0, g));
    s->reader = g;
    s->close = guarded_close;
    TRY(child_fork_both(&c, child_serve, (void *)(uintptr_t)work));
    g->pid = c.pid;
    g->owner = getpid();
    g->life = c.life;
    g->in->fd = g->out->fd = c.fd;
    return ERR_OK;
}

enum err guarded_open(const char *path, const char *format, guarded_opener *open,
                      const void *context, struct store **out)
{
    const struct guarded_work work = {path, open, context};
    if (!guarded_readers)
        return open(context, out);
    TRY(store_make(path, format, out));
    struct store *s = *out;
    struct guarded *g = NULL;
    enum err e = guarded_start(&work, s);
    if (!e) {
        g = s->reader;
        e = guarded_wait(s, g);
    }
    if (!e)
        e = guarded_taken(s, g, across_take(g->in, s, guarded_index));
    if (e) {
        store_close(s);
        *out = NULL;
    }
    return e;
}
