/* Reads scans of other users in a child process with little memory: libhdf5 is large, and a file
 * made to crash or to exhaust it then costs an error sentence. Files of this user are read here. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/jail/jail.h"
#include "host/store/exchange/sandbox.h"

int file_is_own(const char *path)
{
    struct stat st;
    return stat(path, &st) || st.st_uid == geteuid() ||
           st.st_uid == 0; /* root can do as it likes */
}

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

/* Runs in the child. */
static int exchange_child(void *context, int fd)
{
    const struct sandbox_request *r = context;
    struct sandbox_head h = {0};
    struct exchange_counts c = {0};
    struct exchange_source source = *r->source;
    source.kept = NULL; /* it would end with this process */
    size_t available = mem_available();
    jail_limit(r->info && available > INFO_BYTES ? INFO_BYTES : available);
    h.e = r->info ? exchange_info_here(&source, &h.info)
                  : exchange_read_here(&source, r->row_first, r->row_count, &c);
    h.text_bytes = h.e ? strlen(err_text()) : 0;
    h.views = c.views;
    h.rows = c.rows;
    h.channels = c.channels;
    size_t frame = (size_t)(c.rows * c.channels) * sizeof(float);
    int sent = child_write(fd, &h, sizeof h) && child_write(fd, err_text(), h.text_bytes);
    if (sent && !h.e && !r->info)
        sent = child_write(fd, c.angles, (size_t)c.views * sizeof(float)) &&
               child_write(fd, c.white, 3 * frame) &&
               child_write(fd, c.counts, (size_t)c.views * frame);
    return !sent;
}

static int child_takes(const struct child *child, void *data, size_t bytes)
{
    return child_read(child, data, bytes, NULL) == bytes;
}

static enum err take_counts(const struct child *child, const struct sandbox_head *h,
                            const char *path, struct exchange_counts *c)
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
    FAIL_IF(!child_takes(child, c->angles, (size_t)h->views * sizeof *c->angles) ||
                !child_takes(child, c->white, frame) || !child_takes(child, c->counts, bytes),
            ERR_INPUT, "%s: reading it ended early: the file is damaged", path);
    return ERR_OK;
}

static enum err exchange_take(const struct child *child, const struct sandbox_request *r,
                              int *answered, struct exchange_counts *c)
{
    struct sandbox_head h;
    char text[1024];
    *answered = child_takes(child, &h, sizeof h) && h.text_bytes < sizeof text &&
                child_takes(child, text, h.text_bytes);
    if (!*answered)
        return ERR_INPUT;
    text[h.text_bytes] = 0;
    if (h.e)
        return FAIL(h.e < ERR_COUNT ? h.e : ERR_INTERNAL, "%s", text);
    if (!r->info)
        return take_counts(child, &h, r->source->path, c);
    *r->info = h.info;
    return ERR_OK;
}

static enum err exchange_read_in_child(const struct sandbox_request *r, struct exchange_counts *c)
{
    struct child child;
    int answered = 0;
    TRY(child_fork(&child, exchange_child, (void *)(uintptr_t)r));
    enum err e = exchange_take(&child, r, &answered, c);
    const int status = child_wait(&child);
    if (!answered && WIFSIGNALED(status))
        e = FAIL(ERR_INPUT, "%s: reading it ended with signal %d (%s): the file is damaged",
                 r->source->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!answered)
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
