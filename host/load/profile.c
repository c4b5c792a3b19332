/* The profile of one way of loading: phases, chunks, their spread, and what the whole would take.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "host/load/against.h"
#include "host/load/estimate.h"

#define BINS         20
#define WORKERS_MOST 256

/* As much of the array as half of the free memory holds, along its slowest dimension. */
static enum err choose_box(struct load_session *s)
{
    const struct store_array *a = s->array;
    const size_t most = mem_available() / 2;
    s->wanted = engine_all(a);
    if (s->request->channel)
        TRY(load_channel(a, s->request->channel, &s->wanted));
    s->box = s->wanted;
    const int slow = a->dims ? a->order[0] : 0;
    double bytes = s->type.bytes;
    for (int d = 0; d < a->dims; d++)
        bytes *= (double)s->box.count[d];
    if (bytes > (double)most && a->dims) {
        int64_t n = (int64_t)((double)s->box.count[slow] * (double)most / bytes);
        if (a->chunk[slow] > 0 && n > a->chunk[slow])
            n -= n % a->chunk[slow];
        FAIL_IF(n < 1, ERR_MEMORY, "%s: a slice of %s needs more memory than there is",
                s->request->path, a->name);
        s->box.count[slow] = n;
    }
    s->out_bytes = s->type.bytes;
    for (int d = 0; d < a->dims; d++)
        s->out_bytes *= (size_t)s->box.count[d];
    return ERR_OK;
}

static enum err session_pin(struct load_session *s)
{
    const struct load_device *d = s->request->device;
    if (s->request->to == TO_MEMORY)
        return ERR_OK;
    const int64_t at = clock_ns();
    TRY(d->pin(d->self, s->out, s->out_bytes));
    s->pinned = 1;
    s->pin_ns = clock_ns() - at;
    return s->request->to == TO_DEVICE ? d->reserve(d->self, s->out_bytes) : ERR_OK;
}

/* Measures the sending that is left when all is read; comparing is not timed. */
static enum err session_send(struct load_session *s)
{
    const struct load_device *d = s->request->device;
    if (s->request->to != TO_DEVICE)
        return ERR_OK;
    const int64_t at = clock_ns();
    if (s->given < s->out_bytes)
        TRY(d->send(d->self, s->out, s->given, s->out_bytes - s->given));
    TRY(d->sent(d->self));
    s->send_ns = clock_ns() - at;
    return d->check(d->self, s->out, s->out_bytes);
}

/* Threads of all programs that are ready to run, without this one; 0: unknown. */
static double others_running(void)
{
    char line[256];
    int n = 0;
    FILE *f = fopen("/proc/stat", "re");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "procs_running %d", &n) != 1)
        ;
    if (f)
        fclose(f);
    return n > 1 ? n - 1 : 0;
}

/* A stretch of the calling thread: elapsed time, and of it that without a CPU. */
struct stretch {
    int fd;
    int64_t at, waited;
};

static void stretch_begin(struct stretch *t)
{
    t->waited = clock_waits_ns(t->fd);
    t->at = clock_ns();
}

static void stretch_end(const struct stretch *t, int64_t *with_cpu, int64_t *without)
{
    const int64_t elapsed = clock_ns() - t->at, waited = clock_waits_ns(t->fd) - t->waited;
    *with_cpu = elapsed > waited ? elapsed - waited : 0;
    *without += elapsed - *with_cpu;
}

static enum err session_open(struct load_session *s, struct stretch *t)
{
    const struct load_request *r = s->request;
    stretch_begin(t);
    TRY(store_open(r->path, &s->store));
    TRY(store_find(s->store, r->array, &s->array));
    stretch_end(t, &s->open_ns, &s->cpu_wait_ns);
    stretch_begin(t);
    TRY(store_index(s->store, s->array));
    stretch_end(t, &s->index_ns, &s->cpu_wait_ns);
    s->type = r->as_float ? (struct store_dtype){'f', 4, 0} : s->array->dtype;
    s->type.swap = 0;
    TRY(choose_box(s));
    TRY(load_boxes(s));
    TRY(load_memory(s));
    return session_pin(s);
}

enum err load_begin(const struct load_request *r, struct load_session *s)
{
    *s = (struct load_session){.request = r, .running = others_running()};
    struct stretch t = {.fd = clock_waits_open()};
    const enum err e = session_open(s, &t);
    if (t.fd >= 0)
        close(t.fd);
    return e;
}

void load_end(struct load_session *s)
{
    if (s->given) /* nothing is on its way from memory that goes */
        s->request->device->sent(s->request->device->self);
    if (s->pinned)
        s->request->device->unpin(s->request->device->self, s->out);
    engine_unshare(s->out, s->out_bytes);
    store_close(s->store);
    *s = (struct load_session){0};
}

static enum err fill_file(struct load_session *s, struct loading *l)
{
    struct load_file *f = &l->file;
    const struct store_array *a = s->array;
    char text[200], dtype[16];
    store_dtype_name(a->dtype, dtype);
    f->format = arena_text(l->arena, s->store->format);
    f->array = arena_text(l->arena, a->name);
    f->dtype = arena_text(l->arena, dtype);
    f->shape_count = a->dims;
    f->chunk_count = a->tiles ? 0 : a->dims;
    f->shape = arena_take(l->arena, sizeof a->shape);
    f->chunk = arena_take(l->arena, sizeof a->chunk);
    FAIL_IF(!f->shape || !f->chunk, ERR_MEMORY, "no memory left for the times");
    memcpy(f->shape, a->shape, sizeof a->shape);
    memcpy(f->chunk, a->chunk, sizeof a->chunk);
    f->chunks = a->chunks_count;
    if (s->request->channel) {
        struct engine_plan *p;
        TRY(engine_plan(s->store, s->array, &s->wanted, &(struct engine_options){0}, &p));
        f->chunks = engine_facts(p)->chunks;
        engine_plan_free(p);
        f->channel = arena_text(l->arena, s->request->channel);
    }
    f->bytes = store_elements(a) * a->dtype.bytes;
    f->bytes_stored = 0;
    for (int64_t i = 0; i < a->chunks_count; i++)
        f->bytes_stored += a->chunks[i].object >= 0 ? a->chunks[i].stored : 0;
    const struct codec_pipeline *p = &a->pipelines[0];
    for (int i = 1; i < a->pipelines_count && !p->count; i++)
        p = &a->pipelines[i];
    *text = 0;
    for (int i = 0; i < p->count && strlen(text) < 150; i++)
        text_append(text, sizeof text, "%s%s", i ? ", " : "", codec_name(p->step[i].codec));
    f->codec = arena_text(l->arena, *text ? text : "none");
    f->filesystem = load_filesystem(s->request->path);
    return ERR_OK;
}

static enum err fill_chunks(struct loading *l, const struct engine_time *t, int64_t n,
                            int counts_waits)
{
    int64_t done = 0, waited = 0;
    for (int64_t i = 0; i < n; i++)
        done += t[i].worker >= 0;
    TRY(json_items(l->arena, &record_load_chunk, (size_t)done, &l->chunks, &l->chunks_count));
    for (int64_t i = 0, k = 0; i < n; i++)
        if (t[i].worker >= 0)
            l->chunks[k++] = (struct load_chunk){
                t[i].chunk,  t[i].box,     t[i].queue, t[i].fetch,
                t[i].decode, t[i].convert, t[i].place, counts_waits ? t[i].cpu_wait : JSON_UNKNOWN,
                t[i].stored, t[i].decoded, t[i].worker};
    for (int64_t i = 0; i < n; i++)
        waited += t[i].worker >= 0 ? t[i].cpu_wait : 0;
    l->cpu_wait_s = counts_waits ? 1e-9 * (double)waited : (double)NAN;
    return ERR_OK;
}

static double seconds_quantile(const double *x, int n, double q)
{
    const double at = q * (n - 1);
    const int i = (int)at;
    return i + 1 < n ? x[i] + (at - i) * (x[i + 1] - x[i]) : x[n - 1];
}

/* Sums the parts of each chunk into `sample`, in the order of reading. */
static enum err sample_chunks(const struct loading *l, struct load_sample *sample)
{
    const size_t most = (size_t)l->chunks_count + 1;
    double *x = arena_take(l->arena, most * sizeof *x);
    char *first = arena_take(l->arena, most), *seen = arena_take(l->arena, WORKERS_MOST);
    FAIL_IF(!x || !first || !seen, ERR_MEMORY, "no memory left for the times");
    memset(seen, 0, WORKERS_MOST);
    int n = 0;
    const double stored = isfinite(l->file.cached_share) ? 1 - l->file.cached_share : 0;
    for (int i = 0; i < l->chunks_count; i++) {
        const struct load_chunk *c = &l->chunks[i];
        sample->stored_s += 1e-9 * (double)c->fetch_ns * stored;
        const double t = 1e-9 * (double)(c->fetch_ns + c->decode_ns + c->convert_ns + c->place_ns);
        if (i && c->chunk == c[-1].chunk && c->box == c[-1].box) {
            x[n - 1] += t;
            continue;
        }
        first[n] = c->worker < WORKERS_MOST && !seen[c->worker];
        if (c->worker < WORKERS_MOST)
            seen[c->worker] = 1;
        x[n++] = t;
    }
    sample->seconds = x;
    sample->first = first;
    sample->count = n;
    return ERR_OK;
}

static enum err fill_spread(struct loading *l, const struct load_sample *sample)
{
    struct load_spread *s = &l->spread;
    const int n = sample->count;
    double *x = arena_take(l->arena, ((size_t)n + 1) * sizeof *x), sum = 0;
    s->histogram = arena_take(l->arena, BINS * sizeof *s->histogram);
    FAIL_IF(!x || !s->histogram, ERR_MEMORY, "no memory left for the times");
    array_copy(x, sample->seconds, (size_t)n, sizeof *x);
    s->n = n;
    s->histogram_count = BINS;
    if (!n)
        return ERR_OK;
    for (int i = 0; i < n; i++)
        sum += x[i];
    qsort(x, (size_t)n, sizeof *x, ascending_double);
    s->mean_s = sum / n;
    s->min_s = x[0];
    s->p5_s = seconds_quantile(x, n, 0.05);
    s->p25_s = seconds_quantile(x, n, 0.25);
    s->p50_s = seconds_quantile(x, n, 0.5);
    s->p75_s = seconds_quantile(x, n, 0.75);
    s->p95_s = seconds_quantile(x, n, 0.95);
    s->max_s = x[n - 1];
    const double low = log(fmax(x[0], 1e-9)), width = log(fmax(x[n - 1], 1e-9)) - low;
    for (int i = 0; i < n; i++) {
        const int bin = width > 0 ? (int)(BINS * (log(fmax(x[i], 1e-9)) - low) / width) : 0;
        s->histogram[bin < BINS ? bin : BINS - 1]++;
    }
    return ERR_OK;
}

/* The elapsed time of reading is shared out by the workers' times. */
static enum err fill_phases(struct load_session *s, struct loading *l, double read_s,
                            double finish_s)
{
    double sum[5] = {0}, all = 0;
    for (int i = 0; i < l->chunks_count; i++) {
        const struct load_chunk *c = &l->chunks[i];
        const int64_t ns[] = {c->queue_ns, c->fetch_ns, c->decode_ns, c->convert_ns, c->place_ns};
        for (int k = 0; k < 5; k++)
            sum[k] += 1e-9 * (double)ns[k];
    }
    for (int k = 1; k < 5; k++)
        all += sum[k];
    const double waits = isfinite(l->cpu_wait_s) ? l->cpu_wait_s : 0,
                 once_waits = 1e-9 * (double)s->cpu_wait_ns;
    all += waits;
    const double open_s = 1e-9 * (double)s->open_ns, index_s = 1e-9 * (double)s->index_ns,
                 allocate_s = 1e-9 * (double)s->allocate_ns, pin_s = 1e-9 * (double)s->pin_ns,
                 send_s = 1e-9 * (double)s->send_ns;
    const struct load_phase rows[] = {
        {"open", open_s, open_s},
        {"index", index_s, index_s},
        {"allocate", 1e-9 * (double)s->allocate_work_ns, allocate_s},
        {"pin", pin_s, pin_s},
        {"queue", sum[0], 0}, /* its batch mates are at work meanwhile */
        {"fetch", sum[1], all > 0 ? read_s * sum[1] / all : 0},
        {"decode", sum[2], all > 0 ? read_s * sum[2] / all : 0},
        {"convert", sum[3], all > 0 ? read_s * sum[3] / all : 0},
        {"place", sum[4], all > 0 ? read_s * sum[4] / all : 0},
        {"cpu_wait", once_waits + l->cpu_wait_s,
         once_waits + (all > 0 ? read_s * l->cpu_wait_s / all : 0)},
        {"send", send_s, send_s},
        {"finish", finish_s, finish_s},
    };
    const size_t n = sizeof rows / sizeof *rows;
    TRY(json_items(l->arena, &record_load_phase, n, &l->phases, &l->phases_count));
    l->phases_count = 0;
    for (size_t i = 0; i < n; i++)
        if ((strcmp(rows[i].name, "pin") || s->request->to != TO_MEMORY) &&
            (strcmp(rows[i].name, "send") || s->request->to == TO_DEVICE))
            l->phases[l->phases_count++] = rows[i];
    return ERR_OK;
}

double load_stored_spread(const struct loading *l)
{
    double spread = 0;
    double *bytes = malloc(((size_t)l->chunks_count + 1) * sizeof *bytes);
    for (int i = 0; bytes && i < l->chunks_count; i++)
        bytes[i] = (double)l->chunks[i].stored;
    if (bytes && l->chunks_count) {
        qsort(bytes, (size_t)l->chunks_count, sizeof *bytes, ascending_double);
        const double median = bytes[l->chunks_count / 2];
        spread = median > 0 ? bytes[(int)(0.95 * (l->chunks_count - 1))] / median : 0;
    }
    free(bytes);
    return spread;
}

/* The whole: measured, where all of it was read, or from a sample. */
static void fill_estimate(const struct load_session *s, struct loading *l,
                          const struct load_run *run, struct load_sample *sample)
{
    const int64_t most = s->request->chunks;
    const double once = 1e-9 * (double)(s->open_ns + s->index_ns + s->allocate_ns + s->pin_ns +
                                        s->send_ns),
                 once_waits = 1e-9 * (double)s->cpu_wait_ns;
    double more = 1, n = sample->count;
    for (int d = 0; d < s->array->dims; d++)
        more *= (double)s->wanted.count[d] / (double)s->box.count[d];
    if (most && most < l->file.chunks)
        more *= (double)l->file.chunks / fmax(n, 1);
    if (l->interrupted && run->result.tasks_done > 0)
        more *= (double)run->facts.tasks / (double)run->result.tasks_done;
    if (!sample->count)
        return;
    l->estimate_full_s.low = l->estimate_full_s.mid = l->estimate_full_s.high =
        once + once_waits + run->seconds;
    if (!(more > 1))
        return;
    sample->whole = more * n;
    sample->workers = (double)run->result.workers;
    sample->processors = (double)l->processors;
    sample->read_s = run->seconds - run->fill_s;
    sample->cpu_s = run->cpu_s;
    sample->wait_s = isfinite(l->cpu_wait_s) ? l->cpu_wait_s : 0;
    sample->once_s = once + run->fill_s;
    sample->once_wait_s = once_waits;
    sample->running = s->running;
    l->estimate_full_s = load_estimate_of(sample);
}

enum err load_profile(struct load_session *s, struct loading *l)
{
    struct load_run run;
    struct engine_time *t;
    char stamp[17];
    struct load_sample sample = {0};
    clock_stamp(stamp);
    l->timestamp = arena_text(l->arena, stamp);
    l->processors = engine_processors();
    l->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    static const char *const places[] = {"memory", "pinned", "device"};
    l->cache = load_cache_name(s->request->cache);
    l->to = places[s->request->to];
    TRY(fill_file(s, l));
    load_parts(s);
    struct disk_count before, after;
    disk_counted(s->request->path, &before);
    TRY(load_once(s, &s->request->options, s->request->cache, &run, &t));
    disk_counted(s->request->path, &after);
    TRY(load_disk_fill(l, &before, &after, run.seconds));
    s->sends = 0;
    TRY(load_boxes(s));
    TRY(session_send(s));
    const int64_t finish = clock_ns();
    l->file.cached_share = run.cached_share;
    l->file.layout = load_layout(s->array, run.facts.covered, l->arena);
    enum err e = fill_chunks(l, t, run.facts.tasks, run.result.counts_waits);
    engine_unshare(t, (size_t)(run.facts.tasks + 1) * sizeof *t);
    TRY(e);
    TRY(sample_chunks(l, &sample));
    TRY(fill_spread(l, &sample));
    l->chunks_read = l->spread.n;
    s->chunks = l->spread.n;
    l->read_s = run.seconds;
    l->read_cpu_s = run.cpu_s;
    l->workers = run.result.workers;
    l->amplification = run.facts.amplification;
    l->requests = run.result.requests;
    l->page_faults = s->page_faults;
    if (s->request->box_dims) {
        l->boxes = s->boxes;
        l->box_count = s->array->dims;
        l->box = arena_take(l->arena, sizeof s->request->box);
        FAIL_IF(!l->box, ERR_MEMORY, "no memory left for the times");
        memcpy(l->box, s->request->box, sizeof s->request->box);
    }
    if (s->request->keep_bytes) {
        const struct chunk_cache_facts *k = &run.kept;
        const double looks = (double)(k->hits + k->misses);
        l->kept = (struct load_kept){s->request->keep_bytes,
                                     k->bytes_peak,
                                     k->hits,
                                     k->misses,
                                     looks > 0 ? (double)k->hits / looks : (double)NAN,
                                     k->bytes_saved,
                                     k->dropped};
    }
    l->interrupted = run.result.tasks_done < run.facts.tasks;
    l->file.seams = load_seams(s);
    fill_estimate(s, l, &run, &sample);
    return fill_phases(s, l, run.seconds, clock_seconds_since(finish));
}
