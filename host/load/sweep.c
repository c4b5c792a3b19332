/* The sweep: ways of loading beside each other, in an order that changes from round to round, each
 * from the same state of the page cache. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "host/load/load.h"

#define ROUNDS    3
#define ROWS_MOST 512
#define GAIN      1.05 /* less is noise */
#define NEAR_BEST 1.05 /* rows within 5 % of the fastest: the one with the fewest workers */

struct sweep_row {
    struct engine_options options;
    double seconds[ROUNDS], cpu[ROUNDS], cached;
    int runs;
    struct engine_facts facts;
    struct engine_result result;
    char failure[512];
};

struct sweep {
    struct sweep_row rows[ROWS_MOST];
    int count, threads_only; /* a GPU is open: no process may begin */
};

static void sweep_add(struct sweep *w, const struct fetch_way *way, int workers, int processes,
                      int batch, enum engine_order order, int64_t gap)
{
    const struct engine_options o = {.way = way,
                                     .threads = processes ? 0 : workers,
                                     .processes = processes ? workers : 0,
                                     .batch = batch,
                                     .order = order,
                                     .gap = gap};
    if (processes && w->threads_only)
        return;
    for (int i = 0; i < w->count; i++)
        if (!memcmp(&w->rows[i].options, &o, sizeof o))
            return;
    if (w->count < ROWS_MOST)
        w->rows[w->count++].options = o;
}

/* The first row is the sequential way: one thread, one chunk after the other, by their index. */
static void plan_rows(struct sweep *w, enum load_size size)
{
    static const int threads[] = {2, 4, 8}, batches[] = {10, 25, 50, 100};
    static const enum engine_order orders[] = {ORDER_OFFSET, ORDER_YX, ORDER_XY, ORDER_RANDOM};
    const int n = engine_processors();
    sweep_add(w, &fetch_pread, 1, 0, 1, ORDER_INDEX, 0);
    sweep_add(w, &fetch_pread, 4, 0, 1, ORDER_INDEX, 0);
    sweep_add(w, &fetch_pread, 8, 0, 1, ORDER_INDEX, 0);
    sweep_add(w, &fetch_pread, n, 0, 1, ORDER_OFFSET, 0);
    if (size == SWEEP_QUICK)
        return;
    for (int i = 0; i < 3; i++)
        sweep_add(w, &fetch_pread, threads[i], 0, 1, ORDER_INDEX, 0);
    for (int i = 1; i < 3; i++)
        sweep_add(w, &fetch_pread, threads[i], 1, 1, ORDER_INDEX, 0);
    for (int i = 0; i < 4; i++)
        sweep_add(w, &fetch_pread, 8, 0, batches[i], ORDER_OFFSET, 0);
    for (int i = 0; i < 4; i++)
        sweep_add(w, &fetch_pread, n, 0, 1, orders[i], 0);
    sweep_add(w, &fetch_pread, n, 0, 25, ORDER_OFFSET, -1);
    sweep_add(w, &fetch_pread, n, 0, 25, ORDER_OFFSET, (int64_t)1 << 20);
    for (int i = 1; fetch_ways[i]; i++)
        for (int many = 0; many < 2; many++)
            sweep_add(w, fetch_ways[i], many ? n : 1, 0, many ? 10 : 1, ORDER_OFFSET, 0);
    for (int i = 0; size == SWEEP_FULL && fetch_ways[i]; i++)
        for (int t = -1; t < 3; t++)
            for (int b = -1; b < 4; b++)
                for (int o = 0; o < 4; o += 3)
                    sweep_add(w, fetch_ways[i], t < 0 ? 1 : threads[t], 0, b < 0 ? 1 : batches[b],
                              orders[o], 0);
}

static int is_over(const struct load_session *s)
{
    return (s->request->stop && *s->request->stop) ||
           (s->deadline_ns && clock_ns() >= s->deadline_ns);
}

static void row_measure(struct load_session *s, struct sweep_row *row, enum load_cache cache)
{
    struct load_run run = {.seconds = 0};
    if (row->failure[0])
        return;
    if (load_once(s, &row->options, cache, &run, NULL)) {
        snprintf(row->failure, sizeof row->failure, "%s", err_text());
        return;
    }
    if (run.result.tasks_done < run.facts.tasks) /* it was stopped */
        return;
    row->seconds[row->runs] = run.seconds;
    row->cpu[row->runs] = run.cpu_s;
    row->cached += run.cached_share;
    row->facts = run.facts;
    row->result = run.result;
    row->runs++;
}

/* Rows of a round by their mixed numbers: another order each time, the same in each sweep. */
static void order_shuffle(int *order, int n, int round)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)(table_mix((uint64_t)round + 1, (uint64_t)i) % (uint64_t)(i + 1));
        const int t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
}

/* Index of the median run. */
static int row_median(const struct sweep_row *r)
{
    for (int i = 0; i < r->runs; i++) {
        int below = 0, same = 0;
        for (int k = 0; k < r->runs; k++) {
            below += r->seconds[k] < r->seconds[i];
            same += r->seconds[k] == r->seconds[i] && k < i;
        }
        if (below + same == (r->runs - 1) / 2)
            return i;
    }
    return 0;
}

static enum err fill_row(struct load_session *s, struct loading *l, const struct sweep_row *r,
                         const struct sweep_row *sequential, struct load_sweep *out)
{
    const struct engine_options *o = &r->options;
    const int m = row_median(r);
    const double t = r->seconds[m];
    json_blank(&record_load_sweep, out);
    out->backend = r->runs ? r->result.way : o->way->name;
    out->processes = o->processes > 0;
    out->workers = o->processes ? o->processes : o->threads;
    out->batch = o->batch;
    out->order = load_order_name(o->order);
    out->gap = o->gap;
    out->runs = r->runs;
    out->status = r->failure[0] ? "failed" : r->runs ? "ok" : "skipped";
    if (r->failure[0])
        out->reason = arena_text(l->arena, r->failure);
    else if (!r->runs)
        out->reason = s->request->stop && *s->request->stop ? "interrupted" : "the budget ended";
    else if (r->result.fallback[0])
        out->reason = arena_text(l->arena, r->result.fallback);
    if (!r->runs || r->failure[0])
        return ERR_OK;
    out->times = arena_take(l->arena, (size_t)r->runs * sizeof *out->times);
    FAIL_IF(!out->times, ERR_MEMORY, "no memory left for the sweep");
    memcpy(out->times, r->seconds, (size_t)r->runs * sizeof *out->times);
    out->times_count = r->runs;
    out->seconds = out->seconds_min = out->seconds_max = t;
    for (int i = 0; i < r->runs; i++) {
        out->seconds_min = fmin(out->seconds_min, r->seconds[i]);
        out->seconds_max = fmax(out->seconds_max, r->seconds[i]);
    }
    out->cpu_s = r->cpu[m];
    out->requests = r->result.requests;
    if (sequential->runs)
        out->speedup = sequential->seconds[row_median(sequential)] / t;
    double wanted = 0;
    for (int i = 0; i < l->chunks_count; i++)
        wanted += (double)l->chunks[i].decoded;
    out->mpx_per_s = wanted / s->array->dtype.bytes / t / 1e6;
    out->mbytes_per_s = wanted / t / 1e6;
    out->stored_mbytes_per_s = (double)r->result.bytes_fetched / t / 1e6;
    out->peak_bytes = (int64_t)s->out_bytes + r->result.buffer_bytes;
    out->cached_share = r->cached / r->runs;
    return ERR_OK;
}

static int by_speed(const void *x, const void *y)
{
    const struct load_sweep *a = x, *b = y;
    const int good_a = !strcmp(a->status, "ok"), good_b = !strcmp(b->status, "ok");
    if (good_a != good_b)
        return good_b - good_a;
    return good_a ? (a->seconds > b->seconds) - (a->seconds < b->seconds) : 0;
}

/* How other libraries do it, before and after the number of workers. */
static const struct {
    const char *format, *before, *after;
} reader_advice[] = {
    {"CZI", "aicspylibczi: read_image(cores=", "), or regions of read_mosaic on so many threads"},
    {"TIFF", "tifffile: imread(path, maxworkers=", ")"},
    {"Zarr", "zarr: zarr.config.set({\"threading.max_workers\": ", "})"},
    {"OME-Zarr", "zarr: zarr.config.set({\"threading.max_workers\": ", "})"},
    {"HDF5", "h5py: ",
     " processes that read whole chunks (its threads share one lock), and rdcc_nbytes of at least "
     "the chunks that a box touches"},
    {"NIfTI", "nibabel: ", " processes, each with its own part of img.dataobj"},
};

enum err load_recommend(struct loading *l, const char *options, int workers, double gain)
{
    char text[200];
    l->recommended_speedup = gain;
    if (!(gain >= GAIN)) {
        if (gain >= 1)
            snprintf(text, sizeof text,
                     "no way gains more than 5 %%: the fastest is %.2f times as fast as one chunk "
                     "after the other",
                     gain);
        else if (gain > 0)
            snprintf(text, sizeof text,
                     "the way that was fastest takes %.2f times as long as one chunk after the "
                     "other when both are measured again",
                     1 / gain);
        else
            snprintf(text, sizeof text, "the fastest way was not measured again");
        l->recommended_reason = arena_text(l->arena, text);
        FAIL_IF(!l->recommended_reason, ERR_MEMORY, "no memory left for the sweep");
        return ERR_OK;
    }
    l->recommended = arena_text(l->arena, options);
    for (size_t i = 0; i < sizeof reader_advice / sizeof *reader_advice && workers > 1; i++)
        if (l->file.format && text_begins(l->file.format, reader_advice[i].format)) {
            snprintf(text, sizeof text, "%s%d%s", reader_advice[i].before, workers,
                     reader_advice[i].after);
            l->recommended_reader = arena_text(l->arena, text);
        }
    FAIL_IF(!l->recommended, ERR_MEMORY, "no memory left for the sweep");
    return ERR_OK;
}

/* The cheapest of the rows that are as fast as the fastest, measured again beside the sequential
 * one. */
static enum err sweep_recommend(struct load_session *s, struct loading *l, const struct sweep *w,
                                enum load_cache cache)
{
    const struct sweep_row *best = NULL;
    double least = INFINITY;
    char text[200];
    for (int i = 0; i < w->count; i++)
        if (w->rows[i].runs && !w->rows[i].failure[0])
            least = fmin(least, w->rows[i].seconds[row_median(&w->rows[i])]);
    for (int i = 0; i < w->count; i++) {
        const struct sweep_row *r = &w->rows[i];
        const int workers = r->options.threads + r->options.processes;
        if (r->runs && !r->failure[0] && r->seconds[row_median(r)] <= NEAR_BEST * least &&
            (!best || workers < best->options.threads + best->options.processes))
            best = r;
    }
    if (!best)
        return ERR_OK;
    const struct engine_options *o = &best->options;
    int n = snprintf(text, sizeof text, "`fetch=%s` `%s=%d` `batch=%d` `order=%s`", o->way->name,
                     o->processes ? "processes" : "threads",
                     o->processes ? o->processes : o->threads, o->batch, load_order_name(o->order));
    if (o->gap)
        snprintf(text + n, sizeof text - (size_t)n, " `gap=%lld`", (long long)o->gap);
    err_spell(text);
    double gain = NAN;
    struct sweep_row pair[2] = {{.options = w->rows[0].options}, {.options = *o}};
    for (int i = 0; i < 2 * ROUNDS && !is_over(s); i++)
        row_measure(s, &pair[i % 2], cache);
    if (pair[0].runs && pair[1].runs)
        gain = pair[0].seconds[row_median(&pair[0])] / pair[1].seconds[row_median(&pair[1])];
    return load_recommend(l, text, o->threads + o->processes, gain);
}

enum err load_sweep(struct load_session *s, struct loading *l)
{
    static const double budgets[] = {0, 60, 600, 0};
    const struct load_request *r = s->request;
    const double budget = r->budget_s > 0 ? r->budget_s : budgets[r->sweep];
    enum load_cache cache = r->cache;
    struct sweep *w = calloc(1, sizeof *w);
    FAIL_IF(!w, ERR_MEMORY, "no memory left for the sweep");
    w->threads_only = r->to != TO_MEMORY;
    plan_rows(w, r->sweep);
    if (cache == CACHE_AS_IS) /* each run leaves it warm */
        cache = CACHE_WARM;
    if (!load_set_cache(s->store, cache))
        log_warn("%s: the page cache cannot be made %s here; its state is in the table", r->path,
                 load_cache_name(cache));
    l->cache = load_cache_name(cache);
    s->deadline_ns = budget > 0 ? clock_ns() + (int64_t)(budget * 1e9) : 0;
    const double expected = ROUNDS * w->count * l->read_s * (l->workers > 1 ? l->workers : 1);
    log_info("%d ways x %d rounds of %lld chunks, at most %.0f s%s%.0f s", w->count, ROUNDS,
             (long long)s->chunks, expected, budget > 0 ? ", stopped after " : " with a limit of ",
             budget);
    int order[ROWS_MOST], done = 0;
    for (int round = 0; round < ROUNDS; round++) {
        order_shuffle(order, w->count, round);
        for (int i = 0; i < w->count && !is_over(s); i++) {
            /* the sequential row first: speed-ups are relative to it */
            const int k = round == 0 && i == 0 ? 0 : order[i];
            progress("sweep", done++, ROUNDS * w->count);
            if (w->rows[k].runs <= round)
                row_measure(s, &w->rows[k], cache);
        }
        if (round == 0)
            for (int i = 0; i < w->count && !is_over(s); i++)
                if (!w->rows[i].runs)
                    row_measure(s, &w->rows[i], cache);
    }
    progress_end();
    l->interrupted |= is_over(s);
    enum err e =
        json_items(l->arena, &record_load_sweep, (size_t)w->count, &l->sweep, &l->sweep_count);
    for (int i = 0; i < w->count && !e; i++)
        e = fill_row(s, l, &w->rows[i], &w->rows[0], &l->sweep[i]);
    if (!e) {
        qsort(l->sweep, (size_t)l->sweep_count, sizeof *l->sweep, by_speed);
        e = sweep_recommend(s, l, w, cache);
    }
    free(w);
    return e;
}

const char *load_order_name(enum engine_order order)
{
    static const char *const names[] = {"offset", "index", "yx", "xy", "random"};
    return names[order];
}
