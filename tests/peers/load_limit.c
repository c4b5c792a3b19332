/* How near loading comes to what this machine can do: for each array, the time of the engine beside
 * the measured limit, in turn. The limit is the same bytes with nothing of the engine around them:
 * all stored bytes by pread, then all chunks through the codec's library into touched memory, on as
 * many threads as the engine takes; where chunks are not runs of the array, one memcpy of it more.
 * Lines "FILE ARRAY" on stdin; one line of JSON for each. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "host/store/engine/engine.h"

#define PIECE ((int64_t)1 << 20)

struct bench {
    struct store *s;
    struct store_array *a;
    unsigned char **stored;    /* of each chunk */
    unsigned char *out, *copy; /* copy: NULL where a chunk is a run of the array */
    size_t bytes, slack;
    int64_t next;
    int failed;
    enum pass { READ, DECODE, COPY } pass;
};

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int is_raw(const struct bench *b)
{
    return b->a->pipelines[b->a->chunks[0].pipeline].count == 0;
}

static int read_fully(int fd, void *to, int64_t n, int64_t at)
{
    for (int64_t done = 0; done < n;) {
        const ssize_t got = pread(fd, (char *)to + done, (size_t)(n - done), at + done);
        if (got <= 0)
            return 0;
        done += got;
    }
    return 1;
}

/* Chunk after chunk: its stored bytes, or the codec's work on them. */
static void *work(void *x)
{
    struct bench *b = x;
    const struct store_array *a = b->a;
    struct codec_worker w = {0};
    int fd = -1;
    int32_t open_object = -1;
    for (int64_t i; (i = __atomic_fetch_add(&b->next, 1, __ATOMIC_RELAXED)) < a->chunks_count;) {
        const struct store_chunk *c = &a->chunks[i];
        const size_t each = (size_t)(c->skip + store_chunk_bytes(a, i)),
                     at = (size_t)i * (b->bytes / (size_t)a->chunks_count);
        if (c->object < 0)
            continue;
        if (b->pass == COPY) {
            if (at + each <= b->bytes)
                memcpy(b->copy + at, b->out + at, each);
            continue;
        }
        if (b->pass == DECODE) {
            unsigned char *to = at + each <= b->bytes + b->slack ? b->out + at : b->out;
            if (each > b->bytes + b->slack ||
                codec_decode(&w, &a->pipelines[c->pipeline], b->stored[i], (size_t)c->stored, to,
                             each))
                b->failed = 1;
            continue;
        }
        if (c->object != open_object) {
            if (fd >= 0)
                close(fd);
            fd = open(b->s->objects[c->object].name, O_RDONLY | O_CLOEXEC);
            open_object = c->object;
        }
        if (fd < 0 || !read_fully(fd, b->stored[i], c->stored, c->offset))
            b->failed = 1;
    }
    if (fd >= 0)
        close(fd);
    codec_worker_free(&w);
    return NULL;
}

static void all_threads(struct bench *b, enum pass pass)
{
    pthread_t t[16];
    int n = engine_processors(), started = 0;
    b->next = 0;
    b->pass = pass;
    for (; started < n - 1; started++)
        if (pthread_create(&t[started], NULL, work, b))
            break;
    work(b);
    for (int i = 0; i < started; i++)
        pthread_join(t[i], NULL);
}

/* Returns 1 where the elements of a chunk follow each other in the array. */
static int is_run(const struct store_array *a)
{
    int64_t start[STORE_DIMS], shape[STORE_DIMS];
    int part = 0;
    store_chunk_box(a, 0, start, shape);
    for (int k = a->dims - 1; k >= 0; k--) {
        const int d = a->order[k];
        if (part && shape[d] > 1)
            return 0;
        part |= shape[d] < a->shape[d];
    }
    return 1;
}

/* Raw arrays have one copy alone: straight into the output. */
static enum err prepare(struct bench *b)
{
    const struct store_array *a = b->a;
    void *memory;
    b->bytes = (size_t)store_elements(a) * a->dtype.bytes;
    for (int64_t i = 0; i < a->chunks_count; i++) /* bytes before the array in a stream */
        b->slack = (size_t)a->chunks[i].skip > b->slack ? (size_t)a->chunks[i].skip : b->slack;
    TRY(mem_alloc("array", b->bytes + b->slack, &memory));
    b->out = memory;
    memset(b->out, 1, b->bytes);
    if (!is_run(a)) {
        TRY(mem_alloc("array", b->bytes, &memory));
        b->copy = memory;
        memset(b->copy, 1, b->bytes);
    }
    b->stored = calloc((size_t)a->chunks_count, sizeof *b->stored);
    FAIL_IF(!b->stored, ERR_MEMORY, "no memory left for the chunks");
    size_t at = 0;
    for (int64_t i = 0; i < a->chunks_count; i++) {
        const struct store_chunk *c = &a->chunks[i];
        if (c->object < 0)
            continue;
        b->stored[i] = is_raw(b) && at + (size_t)c->stored <= b->bytes ? b->out + at
                                                                       : malloc((size_t)c->stored);
        FAIL_IF(!b->stored[i], ERR_MEMORY, "no memory left for the chunks");
        memset(b->stored[i], 1, (size_t)c->stored);
        at += (size_t)c->stored;
    }
    return ERR_OK;
}

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static enum err measure(struct bench *b, const char *path, int rounds)
{
    double engine[64], limit[64], engine_cpu[64], limit_cpu[64];
    struct store_dtype type = b->a->dtype;
    const struct engine_box all = engine_all(b->a);
    int64_t stride[STORE_DIMS];
    type.swap = 0;
    TRY(prepare(b));
    engine_strides(b->a, &all, type.bytes, 1, stride);
    for (int i = -1; i < rounds; i++) { /* the first is not counted */
        double cpu = cpu_seconds();
        int64_t begin = clock_ns();
        all_threads(b, READ);
        if (!is_raw(b))
            all_threads(b, DECODE);
        if (b->copy)
            all_threads(b, COPY);
        const double limit_s = clock_seconds_since(begin), limit_used = cpu_seconds() - cpu;
        cpu = cpu_seconds();
        begin = clock_ns();
        TRY(engine_read(b->s, b->a, &all, type, b->out, stride));
        if (i < 0)
            continue;
        engine[i] = clock_seconds_since(begin);
        engine_cpu[i] = cpu_seconds() - cpu;
        limit[i] = limit_s;
        limit_cpu[i] = limit_used;
    }
    FAIL_IF(b->failed, ERR_INPUT, "%s: its chunks cannot be read one by one", path);
    const double mb = 1e-6 * (double)b->bytes, e = median(engine, rounds),
                 l = median(limit, rounds), ec = median(engine_cpu, rounds),
                 lc = median(limit_cpu, rounds);
    printf("{\"file\": \"%s\", \"array\": \"%s\", \"mbytes\": %.3f, \"threads\": %d, "
           "\"limit_s\": %.6f, \"engine_s\": %.6f, \"share\": %.4f, \"share_of_best\": %.4f, "
           "\"limit_cpu_s\": %.6f, \"engine_cpu_s\": %.6f, \"cpu_share\": %.4f}\n",
           path, b->a->name, mb, engine_processors(), l, e, l / e, limit[0] / engine[0], lc, ec,
           lc / ec);
    fflush(stdout);
    return ERR_OK;
}

static enum err one(const char *path, const char *name, int rounds)
{
    struct bench b = {0};
    TRY(store_open(path, &b.s));
    enum err e = store_find(b.s, strcmp(name, "-") ? name : NULL, &b.a);
    e = e ? e : store_index(b.s, b.a);
    e = e ? e : measure(&b, path, rounds);
    for (int64_t i = 0; b.stored && i < b.a->chunks_count; i++)
        if (b.stored[i] < b.out || b.stored[i] >= b.out + b.bytes)
            free(b.stored[i]);
    free(b.stored);
    mem_free(b.out);
    mem_free(b.copy);
    store_close(b.s);
    return e;
}

int main(int argc, char **argv)
{
    const int wish = argc > 1 ? atoi(argv[1]) : 9, rounds = wish < 1 ? 1 : wish > 64 ? 64 : wish;
    char path[4096], name[512];
    int failed = 0;
    while (scanf("%4095s %511s", path, name) == 2)
        if (one(path, name, rounds)) {
            printf("{\"file\": \"%s\", \"error\": \"%s\"}\n", path, err_text());
            failed = 1;
        }
    return failed;
}
