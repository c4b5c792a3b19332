/* Rules over the measurements: a statement, the numbers that fired it, what would refute it. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "host/load/load.h"

#define CAUSES_MOST   12
#define EVIDENCE_MOST 5

struct rule_data {
    double open, index, fetch, decode, convert, place, work, busy;
    double mean_stored;
    const struct load_sweep *sequential, *threads, *processes; /* NULL: not measured */
};

static double phase(const struct loading *l, const char *name)
{
    for (int i = 0; i < l->phases_count; i++)
        if (!strcmp(l->phases[i].name, name))
            return l->phases[i].worker_s;
    return 0;
}

static void gather(const struct loading *l, struct rule_data *d)
{
    *d = (struct rule_data){.open = phase(l, "open"),
                            .index = phase(l, "index"),
                            .fetch = phase(l, "fetch"),
                            .decode = phase(l, "decode"),
                            .convert = phase(l, "convert"),
                            .place = phase(l, "place")};
    d->work = d->fetch + d->decode + d->convert + d->place;
    d->busy = l->read_s > 0 ? l->read_cpu_s / (l->read_s * (double)l->workers) : 0;
    for (int i = 0; i < l->chunks_count; i++)
        d->mean_stored += (double)l->chunks[i].stored / l->chunks_count;
    for (int i = 0; i < l->sweep_count; i++) { /* the fastest first */
        const struct load_sweep *r = &l->sweep[i];
        if (strcmp(r->status, "ok") != 0)
            continue;
        if (r->workers == 1 && r->batch == 1 && !strcmp(r->order, "index"))
            d->sequential = r;
        if (r->workers > 1 && !r->processes && !d->threads)
            d->threads = r;
        if (r->processes && !d->processes)
            d->processes = r;
    }
}

/* evidence: name, value, unit ..., NULL; then actions ..., NULL */
static enum err add(struct loading *l, const char *rule, const char *statement,
                    const char *refuted_by, ...)
{
    struct load_cause *c = &l->causes[l->causes_count];
    va_list args;
    const char *name;
    TRY(json_items(l->arena, &record_load_evidence, EVIDENCE_MOST, &c->evidence,
                   &c->evidence_count));
    c->actions = arena_take(l->arena, EVIDENCE_MOST * sizeof *c->actions);
    FAIL_IF(!c->actions, ERR_MEMORY, "no memory left for causes");
    c->rule = rule;
    c->statement = statement;
    c->refuted_by = refuted_by;
    c->test = NULL;
    c->gain_low_s = c->gain_high_s = (double)NAN;
    c->evidence_count = c->actions_count = 0;
    va_start(args, refuted_by);
    while ((name = va_arg(args, const char *)) && c->evidence_count < EVIDENCE_MOST) {
        struct load_evidence *e = &c->evidence[c->evidence_count++];
        e->name = name;
        e->value = va_arg(args, double);
        e->unit = va_arg(args, const char *);
    }
    while ((name = va_arg(args, const char *)) && c->actions_count < EVIDENCE_MOST)
        c->actions[c->actions_count++] = name;
    va_end(args);
    l->causes_count++;
    return ERR_OK;
}

static enum err judge_work(struct loading *l, const struct rule_data *d)
{
    const double share = 1 / (d->work > 0 ? d->work : 1);
    if (d->fetch * share > 0.6 && d->busy < 0.5)
        TRY(add(l, "D-IO", "Loading waits for storage: the processors are idle while bytes come.",
                "a run with the file in the page cache that takes as long", "fetch",
                100 * d->fetch * share, "% of the work", "processors busy", 100 * d->busy, "%",
                "file in the page cache", 100 * l->file.cached_share, "%", NULL,
                "load --sweep medium --cache cold tells whether more requests at once help",
                "copy the file to a local disk and load it again", NULL));
    else if (d->fetch * share > 0.6)
        TRY(add(l, "D-COPY",
                "Fetching dominates, and the processors are busy with it: bytes come "
                "from the page cache and are copied.",
                "a run with a cold page cache that takes as long", "fetch", 100 * d->fetch * share,
                "% of the work", "processors busy", 100 * d->busy, "%", "file in the page cache",
                100 * l->file.cached_share, "%", NULL,
                "the time is near the limit of this machine's memory", NULL));
    if (d->decode * share > 0.6)
        TRY(add(l, "D-DEC", "Decoding dominates: the codec limits loading, not the disk.",
                "a run with twice as many threads that takes as long", "decode",
                100 * d->decode * share, "% of the work", "processors busy", 100 * d->busy, "%",
                NULL, "more threads, up to the number of processors",
                "store the array with zstd or uncompressed (tomoprof convert)", NULL));
    if (d->place > d->fetch && d->place * share > 0.4)
        TRY(add(l, "D1", "Placing takes longer than fetching: memory copies limit loading.",
                "a run in the order of the file that takes as long", "place",
                100 * d->place * share, "% of the work", "fetch", 100 * d->fetch * share,
                "% of the work", NULL, "read boxes that follow the file's order of dimensions",
                NULL));
    return ERR_OK;
}

static enum err judge_sweep(struct loading *l, const struct rule_data *d)
{
    if (d->sequential && d->threads && d->threads->seconds > d->sequential->seconds)
        TRY(add(l, "D2",
                "Threads are slower than one after the other: a lock or the device is "
                "contended.",
                "threads that are faster on another disk", "threads", d->threads->seconds, "s",
                "sequential", d->sequential->seconds, "s", NULL, "load with one thread", NULL));
    if (d->threads && d->processes && d->processes->seconds > 1.05 * d->threads->seconds)
        TRY(add(l, "D3",
                "Processes are slower than threads: starting them and sharing memory cost "
                "time.",
                "processes that are faster on the whole array", "processes", d->processes->seconds,
                "s", "threads", d->threads->seconds, "s", NULL,
                "use threads; with a reader that holds a lock, batches of at least 50", NULL));
    return ERR_OK;
}

static enum err judge_chunks(struct loading *l, const struct rule_data *d)
{
    const struct load_spread *s = &l->spread;
    if (s->mean_s > 0.1)
        TRY(add(l, "D4", "Chunks are slow.", "chunks below 0.1 s in a second run", "mean chunk",
                s->mean_s, "s", "fetch", 1e2 * d->fetch / d->work, "% of the work", "decode",
                1e2 * d->decode / d->work, "% of the work", NULL,
                "smaller chunks, or a faster codec", NULL));
    if (s->p50_s > 0 && s->p95_s / s->p50_s > 1.5 && s->n >= 20)
        TRY(add(l, "D6",
                "Chunks differ much in their time: some come from the page cache and some "
                "from the disk, or they are compressed differently.",
                "a run with a warm cache that differs as much", "p95 over p50", s->p95_s / s->p50_s,
                "", "file in the page cache", 100 * l->file.cached_share, "%", NULL,
                "load --cache cold and --cache warm beside each other", NULL));
    if (d->open + d->index > 0.05 * (d->open + d->index + l->read_s))
        TRY(add(l, "D7", "Opening and reading the index are a large part; they come once per file.",
                "the same share when all chunks are read", "open and index",
                1e3 * (d->open + d->index), "ms", "reading", 1e3 * l->read_s, "ms", "chunks",
                (double)l->chunks_read, "", NULL, "keep the file open between reads", NULL));
    if (l->amplification > 1.5)
        TRY(add(l, "D8",
                "More is decoded than is wanted: chunks do not fit the box, or tiles "
                "overlap.",
                "a box of whole chunks with the same factor", "bytes decoded over wanted",
                l->amplification, "", NULL, "chunks of the shape that is read most often",
                "keep decoded chunks between boxes (--keep)", NULL));
    if (d->mean_stored < 65536 && l->chunks_count > 100)
        TRY(add(l, "D9", "Many small requests.", "a sweep in which batches do not help",
                "mean request", d->mean_stored, "bytes", "requests", (double)l->chunks_count, "",
                NULL, "batches (--batch 50)", "shards or larger chunks (tomoprof convert)", NULL));
    return ERR_OK;
}

struct expected {
    const char *rule;
    double low, high; /* seconds of what was read */
    const char *test;
};

/* What each cause may cost, scaled to the whole array, and the command that tests it. By Amdahl's
 * law at most all of its part is saved. */
static void expect(struct loading *l, const struct rule_data *d)
{
    const double each = d->work > 0 ? l->read_s / d->work : 0, none = (double)NAN;
    const double threads = d->threads ? d->threads->seconds : none;
    const struct load_spread *s = &l->spread;
    const struct expected rows[] = {
        {"D-IO", 0, d->fetch * each, "tomoprof load FILE --sweep medium --cache warm"},
        {"D-COPY", 0, d->fetch * each / 2, "tomoprof load FILE --cache cold"},
        {"D-DEC", 0, d->decode * each, "tomoprof load FILE --threads 0"},
        {"D1", 0, d->place * each, "tomoprof load FILE --order offset"},
        {"D2", 0, d->sequential ? threads - d->sequential->seconds : none,
         "tomoprof load FILE --threads 1"},
        {"D3", 0, d->processes ? d->processes->seconds - threads : none,
         "tomoprof load FILE --processes 4 --batch 50"},
        {"D4", none, none, "tomoprof load FILE --cache warm"},
        {"D6", 0, (double)s->n * (s->mean_s - s->p50_s) / (double)(l->workers > 0 ? l->workers : 1),
         "tomoprof load FILE --cache warm"},
        {"D7", 0, d->open + d->index, "tomoprof load FILE"},
        {"D8", 0, l->read_s * (1 - 1 / l->amplification), "tomoprof load FILE"},
        {"D9", none, none, "tomoprof load FILE --batch 50"},
    };
    const double whole = l->estimate_full_s.mid;
    const double scale = isfinite(whole) && l->read_s > 0 ? whole / l->read_s : 1;
    for (int i = 0; i < l->causes_count; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (!strcmp(l->causes[i].rule, rows[k].rule)) {
                double once = !strcmp(rows[k].rule, "D7") ? 1 : scale; /* opening comes once */
                l->causes[i].gain_low_s = rows[k].low * once;
                l->causes[i].gain_high_s = rows[k].high * once;
                l->causes[i].test = rows[k].test;
            }
}

/* What could save most comes first; unknown gains come last. */
static void order(struct loading *l)
{
    for (int i = 1; i < l->causes_count; i++) {
        struct load_cause moved = l->causes[i];
        double gain = isfinite(moved.gain_high_s) ? moved.gain_high_s : -1;
        int at = i;
        for (; at > 0 && !(l->causes[at - 1].gain_high_s >= gain); at--)
            l->causes[at] = l->causes[at - 1];
        l->causes[at] = moved;
    }
}

enum err load_causes(struct loading *l)
{
    struct rule_data d;
    gather(l, &d);
    TRY(json_items(l->arena, &record_load_cause, CAUSES_MOST, &l->causes, &l->causes_count));
    l->causes_count = 0;
    if (!l->spread.n)
        return ERR_OK;
    TRY(judge_work(l, &d));
    TRY(judge_sweep(l, &d));
    TRY(judge_chunks(l, &d));
    expect(l, &d);
    order(l);
    return ERR_OK;
}
