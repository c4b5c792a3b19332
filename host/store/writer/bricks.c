/* A pool of threads that take bricks. Nothing waits for a slab of others, and what is written was read just before
 * by the same thread: it is in that processor's cache. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/store/engine/parts.h"
#include "host/store/writer/bricks.h"
#include "host/store/writer/slabs.h"

#define BRICK_BYTES ((int64_t)1 << 20) /* 256 KiB to 4 MiB differ by 5 % of CPU time */

/* ---- the plan ---- */

/* Elements along a dimension that a chunk of the source has; tiles: the largest. Rows of plain files may be cut where
 * their order stays: else each brick would read all of the file. */
static int64_t source_chunk(const struct bricks *b, int d)
{
    const struct store_array *a = b->array;
    int64_t most = 1, codecs = 0;
    for (int i = 0; i < a->pipelines_count; i++)
        codecs |= a->pipelines[i].count;
    if (!a->tiles)
        return !codecs && a->chunk[d] == a->shape[d] &&
                       b->w->from[writer_slow(b->w, 0)] == a->order[0]
                   ? 1
                   : a->chunk[d];
    for (int64_t i = 0; i < a->chunks_count; i++)
        most = a->tiles[i].shape[d] > most ? a->tiles[i].shape[d] : most;
    return most;
}

static int64_t bricks_multiple(int64_t a, int64_t b, int64_t total)
{
    int64_t x = a, y = b;
    while (y) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x > total / b ? total : a / x * b;
}

/* Least step along the k-th slowest dimension: whole chunks of the target and of the source. */
static int64_t bricks_least(const struct bricks *b, int k)
{
    const struct writer *w = b->w;
    const int t = writer_slow(w, k);
    const int64_t total = w->shape[t], own = w->chunk[t] ? w->chunk[t] : 1,
                  chunk = source_chunk(b, w->from[t]);
    return bricks_multiple(own, chunk < total ? chunk : total, total);
}

static int64_t bricks_fit(int64_t least, int64_t bytes, int64_t total)
{
    const int64_t times = BRICK_BYTES / bytes / least, step = least * (times > 1 ? times : 1);
    return step < total ? step : total;
}

/* Bytes of an element as it is read: scaled ones are float64 at first. */
static int64_t element_room(const struct writer *w)
{
    return w->scale && w->type.bytes < 8 ? 8 : w->type.bytes;
}

static int64_t bricks_cut(struct bricks *b)
{
    const struct writer *w = b->w;
    const int64_t rows = w->dims > 1 ? w->shape[writer_slow(w, 1)] : 1,
                  total = w->shape[writer_slow(w, 0)],
                  plane = writer_slab_bytes(w) / w->type.bytes * element_room(w),
                  least = bricks_least(b, 0);
    b->step[0] = bricks_fit(least, plane, total);
    b->step[1] = rows;
    if (w->dims > 1 && b->step[0] == least && least * plane > BRICK_BYTES)
        b->step[1] = bricks_fit(bricks_least(b, 1), least * (plane / rows), rows);
    b->count[0] = (total - 1) / b->step[0] + 1;
    b->count[1] = (rows - 1) / b->step[1] + 1;
    return b->step[0] * b->step[1] * (plane / rows);
}

int bricks_plan(struct bricks *b)
{
    const struct writer *w = b->w;
    const int all = engine_processors();
    if (!b->format->put || !w->made[0] || b->store->remote || !w->dims ||
        store_bytes(b->array, w->type.bytes) <= 0)
        return 0;
    const int64_t most = (int64_t)(mem_available() / 8);
    const int64_t bytes = bricks_cut(b);
    if (bytes > most)
        return 0;
    const int64_t n = b->count[0] * b->count[1];
    b->threads = n >= 2 * all && bytes * all <= most ? all : 1;
    b->each = b->threads > 1 ? 1 : all;
    b->bytes = (size_t)bytes;
    return 1;
}

static struct engine_box brick_box(const struct bricks *b, int64_t number)
{
    const struct writer *w = b->w;
    struct engine_box box = {{0}, {0}};
    memcpy(box.count, w->shape, sizeof box.count);
    for (int k = 0; k < 2 && k < w->dims; k++) {
        const int t = writer_slow(w, k);
        box.start[t] = b->step[k] * (k ? number % b->count[1] : number / b->count[1]);
        box.count[t] =
            w->shape[t] - box.start[t] < b->step[k] ? w->shape[t] - box.start[t] : b->step[k];
    }
    return box;
}

static size_t box_bytes(const struct writer *w, const struct engine_box *box)
{
    size_t n = w->type.bytes;
    for (int i = 0; i < w->dims; i++)
        n *= (size_t)box->count[i];
    return n;
}

/* ---- the pool ---- */

struct bricks_job;
typedef enum err bricks_work(const struct bricks_job *j, int64_t number, void *room);

struct bricks_job {
    struct bricks *b;
    bricks_work *work;
    const char *label;
    struct store *made;
    struct store_array *array;
    const int *from;
    int64_t next;
    int started, failed;
    enum err e;
    char text[1024];
};

static void bricks_run(struct bricks_job *j, int thread)
{
    struct bricks *b = j->b;
    const int64_t n = b->count[0] * b->count[1];
    enum err e = ERR_OK;
    if (!b->room[thread])
        e = engine_private(b->bytes, &b->room[thread]);
    while (!e && !__atomic_load_n(&j->failed, __ATOMIC_ACQUIRE)) {
        const int64_t i = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED);
        if (i >= n)
            break;
        if (!thread)
            progress(j->label, (double)i, (double)n);
        e = j->work(j, i, b->room[thread]);
    }
    if (e && !__atomic_exchange_n(&j->failed, 1, __ATOMIC_ACQ_REL)) {
        j->e = e;
        snprintf(j->text, sizeof j->text, "%s", err_text());
    }
}

static void *bricks_thread(void *context)
{
    struct bricks_job *j = context;
    bricks_run(j, __atomic_add_fetch(&j->started, 1, __ATOMIC_RELAXED));
    return NULL;
}

static enum err bricks_pool(struct bricks_job *j)
{
    pthread_t threads[ENGINE_PROCESSORS];
    int n = 1;
    while (n < j->b->threads && !pthread_create(&threads[n], NULL, bricks_thread, j))
        n++;
    bricks_run(j, 0);
    while (--n > 0)
        pthread_join(threads[n], NULL);
    return j->e ? FAIL(j->e, "%s", j->text) : ERR_OK;
}

/* ---- what a thread does ---- */

/* The first chunk or the last one, as far as the array reaches. */
static struct engine_box corner_box(const struct writer *w, int last)
{
    struct engine_box box = {{0}, {0}};
    for (int i = 0; i < w->dims; i++) {
        box.start[i] = last ? (w->shape[i] - 1) / w->chunk[i] * w->chunk[i] : 0;
        box.count[i] =
            w->shape[i] - box.start[i] < w->chunk[i] ? w->shape[i] - box.start[i] : w->chunk[i];
    }
    return box;
}

/* Its sum from the brick that holds it. */
static enum err corner_take(struct bricks *b, const struct engine_box *brick, const void *data,
                            int last)
{
    const struct writer *w = b->w;
    const struct engine_box box = corner_box(w, last);
    const unsigned char *from = data;
    struct place p = {.dims = w->dims, .bytes = w->type.bytes};
    int64_t in = w->type.bytes, out = w->type.bytes;
    for (int k = w->dims - 1; k >= 0; k--) {
        const int t = writer_slow(w, k);
        p.count[t] = box.count[t];
        p.from[t] = in;
        p.to[t] = out;
        from += (box.start[t] - brick->start[t]) * in;
        in *= brick->count[t];
        out *= box.count[t];
    }
    void *tight = malloc((size_t)out);
    FAIL_IF(!tight, ERR_MEMORY, "%s: no memory left to compare it", w->path);
    place_box(p, from, tight);
    b->corners[last] = slabs_sum(tight, (size_t)out);
    free(tight);
    return ERR_OK;
}

static enum err brick_write(const struct bricks_job *j, int64_t number, void *room)
{
    struct bricks *b = j->b;
    const struct engine_box box = brick_box(b, number);
    const struct engine_options o = {.threads = b->each};
    TRY(writer_read_box(b->store, b->array, b->w, b->w->from, &box, &o, room));
    if (!b->w->encodes)
        b->sums[number] = slabs_sum(room, box_bytes(b->w, &box));
    for (int last = 0; last < 2 && b->w->encodes; last++)
        if (number == last * (b->count[0] * b->count[1] - 1))
            TRY(corner_take(b, &box, room, last));
    return b->format->put(b->w, &box, room, b->each);
}

static enum err brick_differs(const struct bricks *b)
{
    return FAIL(ERR_FAILED, "%s: what was written differs from %s; it is removed", b->w->path,
                b->store->name);
}

static enum err brick_compare(const struct bricks_job *j, int64_t number, void *room)
{
    struct bricks *b = j->b;
    const struct engine_box box = brick_box(b, number);
    const struct engine_options o = {.threads = b->each};
    if (b->w->encodes)
        return b->format->stored(b->w, &box);
    TRY(writer_read_box(j->made, j->array, b->w, j->from, &box, &o, room));
    return slabs_sum(room, box_bytes(b->w, &box)) == b->sums[number] ? ERR_OK : brick_differs(b);
}

enum err bricks_write(struct bricks *b)
{
    struct bricks_job j = {.b = b, .work = brick_write, .label = "writing"};
    const int64_t n = b->count[0] * b->count[1];
    b->sums = calloc((size_t)n, sizeof *b->sums);
    FAIL_IF(!b->sums, ERR_MEMORY, "%s: no memory left to write", b->w->path);
    TRY(store_index(b->store, b->array)); /* what a plan finds there is not for several threads */
    if (b->w->file.stream)
        TRY(outfile_flush(&b->w->file));
    return bricks_pool(&j);
}

enum err bricks_compare(struct bricks *b, struct store *made, struct store_array *a,
                        const int *from)
{
    struct bricks_job j = {.b = b,
                           .work = brick_compare,
                           .label = "comparing",
                           .made = made,
                           .array = a,
                           .from = from};
    TRY(store_index(made, a));
    for (int last = 0; last < 2 && b->w->encodes; last++) {
        const struct engine_box box = corner_box(b->w, last);
        const size_t bytes = box_bytes(b->w, &box);
        void *room = malloc(bytes);
        FAIL_IF(!room, ERR_MEMORY, "%s: no memory left to compare it", b->w->path);
        enum err e = writer_read_box(made, a, b->w, from, &box, NULL, room);
        e = !e && slabs_sum(room, bytes) != b->corners[last] ? brick_differs(b) : e;
        free(room);
        TRY(e);
    }
    return bricks_pool(&j);
}

void bricks_free(struct bricks *b)
{
    for (int i = 0; i < ENGINE_PROCESSORS; i++)
        engine_unshare(b->room[i], b->bytes);
    free(b->sums);
}

/* ---- files without codecs ---- */

enum err writer_put_at(struct writer *w, int64_t at, const void *data, size_t bytes)
{
    const int fd = fileno(w->file.stream);
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pwrite(fd, (const char *)data + done, bytes - done, at + (int64_t)done);
        FAIL_IF(n == 0 || (n < 0 && errno != EINTR), ERR_IO, "%s: writing failed: %s", w->path,
                n ? strerror(errno) : "nothing was written");
        done += n > 0 ? (size_t)n : 0;
    }
    return ERR_OK;
}

enum err writer_put(struct writer *w, const struct engine_box *b, const void *data, int threads)
{
    const int slow = writer_slow(w, 0), next = w->dims > 1 ? writer_slow(w, 1) : slow;
    const int64_t plane = writer_slab_bytes(w), rows = w->dims > 1 ? w->shape[next] : 1,
                  row = plane / rows, run = w->dims > 1 ? b->count[next] * row : plane,
                  first = w->dims > 1 ? b->start[next] * row : 0,
                  at = w->at + b->start[slow] * (plane + w->gap) + first;
    (void)threads;
    if (run == plane && !w->gap)
        return writer_put_at(w, at, data, (size_t)(run * b->count[slow]));
    for (int64_t i = 0; i < b->count[slow]; i++)
        TRY(writer_put_at(w, at + i * (plane + w->gap), (const char *)data + i * run, (size_t)run));
    return ERR_OK;
}
