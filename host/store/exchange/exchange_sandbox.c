/* Reads scans of other users in a child process with little memory: libhdf5 is large, and a file
 * made to crash or to exhaust it then costs an error sentence. Files of this user are read here. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/store/exchange/sandbox.h"
#include "base/log.h"
#include "base/memory.h"
#include "host/store/exchange/exchange_here.h"

#define INFO_BYTES ((size_t)1 << 30) /* for a scan's shape and angles */

struct sandbox_request {
    const struct exchange_source *source;
    int64_t row_first, row_count;
    struct exchange_info *info; /* NULL: counts */
};

/* Comes first through the pipe; then a sentence, or arrays. */
struct sandbox_head {
    enum err e;
    size_t text_bytes;
    struct exchange_info info;
    int64_t views, rows, channels;
};

static int pipe_send(int fd, const void *data, size_t bytes)
{
    for (ssize_t n; bytes; data = (const char *)data + n, bytes -= (size_t)n)
        if ((n = write(fd, data, bytes)) <= 0)
            return 0;
    return 1;
}

static int pipe_take(int fd, void *data, size_t bytes)
{
    for (ssize_t n; bytes; data = (char *)data + n, bytes -= (size_t)n) {
        do
            n = read(fd, data, bytes);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
            return 0;
    }
    return 1;
}

/* In the child: never returns. */
static void exchange_child(const struct sandbox_request *r, int fd)
{
    struct sandbox_head h = {0};
    struct exchange_counts c = {0};
    struct exchange_source source = *r->source;
    source.kept = NULL; /* it would end with this process */
    size_t available = mem_available();
    log_forked();
    sandbox_limit(r->info && available > INFO_BYTES ? INFO_BYTES : available);
    h.e = r->info ? exchange_info_here(&source, &h.info)
                  : exchange_read_here(&source, r->row_first, r->row_count, &c);
    h.text_bytes = h.e ? strlen(err_text()) : 0;
    h.views = c.views;
    h.rows = c.rows;
    h.channels = c.channels;
    size_t frame = (size_t)(c.rows * c.channels) * sizeof(float);
    int sent = pipe_send(fd, &h, sizeof h) && pipe_send(fd, err_text(), h.text_bytes);
    if (sent && !h.e && !r->info)
        sent = pipe_send(fd, c.angles, (size_t)c.views * sizeof(float)) &&
               pipe_send(fd, c.white, 3 * frame) &&
               pipe_send(fd, c.counts, (size_t)c.views * frame);
    _exit(!sent);
}

static enum err take_counts(int fd, const struct sandbox_head *h, const char *path,
                            struct exchange_counts *c)
{
    void *block;
    size_t bytes, frame;
    FAIL_IF(h->views < 1 || h->rows < 1 || h->channels < 1, ERR_INPUT, "%s: has no counts", path);
    TRY(mem_size("the views", h->views, h->rows, h->channels, sizeof(float), &bytes));
    TRY(mem_size("flat fields", 3, h->rows, h->channels, sizeof(float), &frame));
    *c = (struct exchange_counts){.views = h->views, .rows = h->rows, .channels = h->channels};
    c->angles = malloc((size_t)h->views * sizeof *c->angles);
    FAIL_IF(!c->angles, ERR_MEMORY, "%s: no memory left for its angles", path);
    TRY(mem_alloc("flat fields", frame, &block));
    c->white = block;
    c->dark = c->white + c->rows * c->channels;
    c->after = c->dark + c->rows * c->channels;
    TRY(mem_alloc("the views", bytes, &block));
    c->counts = block;
    FAIL_IF(!pipe_take(fd, c->angles, (size_t)h->views * sizeof *c->angles) ||
                !pipe_take(fd, c->white, frame) || !pipe_take(fd, c->counts, bytes),
            ERR_INPUT, "%s: reading it ended early: the file is damaged", path);
    return ERR_OK;
}

static enum err exchange_take(int fd, const struct sandbox_request *r, int *answered,
                              struct exchange_counts *c)
{
    struct sandbox_head h;
    char text[1024];
    *answered = pipe_take(fd, &h, sizeof h) && h.text_bytes < sizeof text &&
                pipe_take(fd, text, h.text_bytes);
    if (!*answered)
        return ERR_INPUT;
    text[h.text_bytes] = 0;
    if (h.e)
        return FAIL(h.e < ERR_COUNT ? h.e : ERR_INTERNAL, "%s", text);
    if (!r->info)
        return take_counts(fd, &h, r->source->path, c);
    *r->info = h.info;
    return ERR_OK;
}

static enum err exchange_read_in_child(const struct sandbox_request *r, struct exchange_counts *c)
{
    int fds[2], status = 0, answered = 0;
    FAIL_IF(pipe(fds), ERR_FAILED, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        exchange_child(r, fds[1]);
    }
    close(fds[1]);
    enum err e = child < 0 ? FAIL(ERR_FAILED, "cannot start a process: %s", strerror(errno))
                           : exchange_take(fds[0], r, &answered, c);
    close(fds[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && !answered && WIFSIGNALED(status))
        e = FAIL(ERR_INPUT, "%s: reading it ended with signal %d (%s): the file is damaged",
                 r->source->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (child > 0 && !answered)
        e = FAIL(ERR_INPUT, "%s: reading it gave no answer: the file is damaged", r->source->path);
    return e;
}

static int is_own(const struct exchange_source *s)
{
    return file_is_own(s->path) && (!s->flats || file_is_own(s->flats)) &&
           (!s->darks || file_is_own(s->darks)) &&
           (!s->flats_after || file_is_own(s->flats_after)) &&
           (!s->angles || file_is_own(s->angles));
}

enum err exchange_info(const struct exchange_source *source, struct exchange_info *out)
{
    const struct sandbox_request r = {.source = source, .info = out};
    *out = (struct exchange_info){0};
    return is_own(source) ? exchange_info_here(source, out) : exchange_read_in_child(&r, NULL);
}

enum err exchange_read(const struct exchange_source *source, int64_t row_first, int64_t row_count,
                       struct exchange_counts *out)
{
    const struct sandbox_request r = {source, row_first, row_count, NULL};
    *out = (struct exchange_counts){0};
    if (is_own(source))
        return exchange_read_here(source, row_first, row_count, out);
    enum err e = exchange_read_in_child(&r, out);
    if (e)
        exchange_counts_free(out);
    return e;
}
