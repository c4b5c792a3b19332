/* Rules over the measurements, a row for each: a statement, the numbers that fired it, what would
 * refute it. `tomoprof reference rules` prints the table of docs/internals/loading.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "host/load/load.h"

enum { EVIDENCE_MOST = 5 };

/* Numbers that decide whether a rule fires; shares in percent. */
#define OF_WORK       60 /* of the work, by one phase */
#define CPU_WAITED    25 /* of the work and the waits for a CPU, by these waits */
#define CPU_IDLE      50 /* busy processors, below */
#define PLACE_OF_WORK 40
#define PROCESSES     5 /* slower than threads by */
#define ALLOCATED     25
#define CHUNK_SLOW_S  0.1
#define UNEVEN_CHUNKS 20
#define UNEVEN_TIMES  1.5 /* p95 over the median */
#define CACHED_ALL    95
#define CACHED_NONE   5
#define UNEVEN_BYTES  1.2 /* p95 of the stored bytes over their median */
#define OPEN_OF_TIME  5
#define AMPLIFICATION 1.5
#define REQUEST_KIB   64
#define REQUESTS      100

struct load_facts {
    const struct loading *l;
    double open, index, fetch, decode, convert, place, work;
    double waited;      /* for a CPU; 0 where that is unknown */
    double once_waited; /* the same, while the file was opened and memory made */
    double busy;        /* share of the workers' time in which they computed, waits left out */
    double share;       /* of the work, of a second of it */
    double each;        /* elapsed seconds for a second of work */
    double mean_stored; /* bytes of a chunk */
    const struct load_sweep *sequential, *threads, *processes; /* NULL: not measured */
};

struct load_fired {
    struct load_evidence evidence[EVIDENCE_MOST];
    int evidence_count;
    double gain_low_s, gain_high_s; /* of what was read; NaN unknown */
};

struct load_rule {
    struct cause_rule rule;
    int once; /* 1: the cost comes once per file, not with each chunk */
    /* Returns 1 where the rule fires, with the numbers that fired it. */
    int (*evaluate)(const struct load_facts *d, struct load_fired *out);
};

static const struct load_phase *phase_of(const struct loading *l, const char *name)
{
    static const struct load_phase none;
    for (int i = 0; i < l->phases_count; i++)
        if (!strcmp(l->phases[i].name, name))
            return &l->phases[i];
    return &none;
}

static void load_facts_of(const struct loading *l, struct load_facts *d)
{
    *d = (struct load_facts){.l = l,
                             .open = phase_of(l, "open")->worker_s,
                             .index = phase_of(l, "index")->worker_s,
                             .fetch = phase_of(l, "fetch")->worker_s,
                             .decode = phase_of(l, "decode")->worker_s,
                             .convert = phase_of(l, "convert")->worker_s,
                             .place = phase_of(l, "place")->worker_s};
    d->work = d->fetch + d->decode + d->convert + d->place;
    d->share = 1 / (d->work > 0 ? d->work : 1);
    d->waited = isfinite(l->cpu_wait_s) ? l->cpu_wait_s : 0;
    d->once_waited = fmax(0, phase_of(l, "cpu_wait")->worker_s - d->waited);
    d->each = d->work > 0 ? l->read_s / (d->work + d->waited) : 0;
    const double had = l->read_s * (double)l->workers - d->waited;
    d->busy = had > 0 ? fmin(1, l->read_cpu_s / had) : 1;
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

static void evidence_add(struct load_fired *out, const char *name, double value, const char *unit)
{
    out->evidence[out->evidence_count++] = (struct load_evidence){name, value, unit};
}

/* By Amdahl's law at most all of its part is saved. */
static int fired_with_gain(struct load_fired *out, double most_s)
{
    out->gain_low_s = 0;
    out->gain_high_s = most_s;
    return 1;
}

static int load_fetch(const struct load_facts *d, struct load_fired *out)
{
    evidence_add(out, "fetch", 100 * d->fetch * d->share, "% of the work");
    evidence_add(out, "processors busy", 100 * d->busy, "%");
    evidence_add(out, "file in the page cache", 100 * d->l->file.cached_share, "%");
    return d->fetch * d->share > SHARE(OF_WORK);
}

static int load_storage(const struct load_facts *d, struct load_fired *out)
{
    return load_fetch(d, out) && d->busy < SHARE(CPU_IDLE) &&
           fired_with_gain(out, d->fetch * d->each);
}

static int load_copy(const struct load_facts *d, struct load_fired *out)
{
    return load_fetch(d, out) && !(d->busy < SHARE(CPU_IDLE)) &&
           fired_with_gain(out, d->fetch * d->each / 2);
}

/* Waits for a CPU, of the whole time. */
static int load_waits(const struct load_facts *d, struct load_fired *out)
{
    const double all = d->work + d->waited;
    evidence_add(out, "waited for a CPU", all > 0 ? 100 * d->waited / all : 0,
                 "% of the workers' time");
    evidence_add(out, "CPU time", d->l->read_cpu_s, "s");
    evidence_add(out, "workers", (double)d->l->workers, "");
    evidence_add(out, "processors", (double)d->l->processors, "");
    return d->waited > SHARE(CPU_WAITED) * all && fired_with_gain(out, d->waited * d->each);
}

static int load_others(const struct load_facts *d, struct load_fired *out)
{
    const double once = d->once_waited;
    int fired = load_waits(d, out);
    if (!fired && once > SHARE(CPU_WAITED) * (d->open + d->index + once + d->l->read_s)) {
        evidence_add(out, "waited while the file was opened", 1e3 * once, "ms");
        fired = fired_with_gain(out, once);
    }
    return fired && d->l->workers <= d->l->processors;
}

static int load_crowd(const struct load_facts *d, struct load_fired *out)
{
    return load_waits(d, out) && d->l->workers > d->l->processors;
}

static int load_decode(const struct load_facts *d, struct load_fired *out)
{
    evidence_add(out, "decode", 100 * d->decode * d->share, "% of the work");
    evidence_add(out, "processors busy", 100 * d->busy, "%");
    return d->decode * d->share > SHARE(OF_WORK) && fired_with_gain(out, d->decode * d->each);
}

/* Threads help where a processor is left for one. */
static int threads_help(const struct load_facts *d)
{
    return d->l->workers < d->l->processors &&
           !(d->waited > SHARE(CPU_WAITED) * (d->work + d->waited));
}

static int load_decode_few(const struct load_facts *d, struct load_fired *out)
{
    return load_decode(d, out) && threads_help(d);
}

static int load_decode_all(const struct load_facts *d, struct load_fired *out)
{
    return load_decode(d, out) && !threads_help(d);
}

static int load_place(const struct load_facts *d, struct load_fired *out)
{
    evidence_add(out, "place", 100 * d->place * d->share, "% of the work");
    evidence_add(out, "fetch", 100 * d->fetch * d->share, "% of the work");
    return d->place > d->fetch && d->place * d->share > SHARE(PLACE_OF_WORK) &&
           fired_with_gain(out, d->place * d->each);
}

static int load_threads(const struct load_facts *d, struct load_fired *out)
{
    if (!d->sequential || !d->threads || !(d->threads->seconds > d->sequential->seconds))
        return 0;
    evidence_add(out, "threads", d->threads->seconds, "s");
    evidence_add(out, "sequential", d->sequential->seconds, "s");
    return fired_with_gain(out, d->threads->seconds - d->sequential->seconds);
}

static int load_processes(const struct load_facts *d, struct load_fired *out)
{
    if (!d->threads || !d->processes ||
        !(d->processes->seconds > SHARE(100 + PROCESSES) * d->threads->seconds))
        return 0;
    evidence_add(out, "processes", d->processes->seconds, "s");
    evidence_add(out, "threads", d->threads->seconds, "s");
    return fired_with_gain(out, d->processes->seconds - d->threads->seconds);
}

static int load_allocated(const struct load_facts *d, struct load_fired *out)
{
    const double memory = phase_of(d->l, "allocate")->wall_s,
                 all = memory + d->open + d->index + d->l->read_s;
    evidence_add(out, "memory for the array", all > 0 ? 100 * memory / all : 0, "% of the time");
    evidence_add(out, "page faults", (double)d->l->page_faults, "");
    return memory > SHARE(ALLOCATED) * all && fired_with_gain(out, memory);
}

static int load_slow_chunks(const struct load_facts *d, struct load_fired *out)
{
    evidence_add(out, "mean chunk", d->l->spread.mean_s, "s");
    evidence_add(out, "fetch", 1e2 * d->fetch / d->work, "% of the work");
    evidence_add(out, "decode", 1e2 * d->decode / d->work, "% of the work");
    return d->l->spread.mean_s > CHUNK_SLOW_S;
}

static int load_uneven(const struct load_facts *d, struct load_fired *out)
{
    const struct load_spread *s = &d->l->spread;
    const double workers = (double)(d->l->workers > 0 ? d->l->workers : 1);
    evidence_add(out, "p95 over p50", s->p95_s / s->p50_s, "");
    evidence_add(out, "file in the page cache", 100 * d->l->file.cached_share, "%");
    return s->p50_s > 0 && s->p95_s / s->p50_s > UNEVEN_TIMES && s->n >= UNEVEN_CHUNKS &&
           fired_with_gain(out, (double)s->n * (s->mean_s - s->p50_s) / workers);
}

static int load_uneven_cached(const struct load_facts *d, struct load_fired *out)
{
    const double cached = d->l->file.cached_share;
    return cached > SHARE(CACHED_NONE) && cached < SHARE(CACHED_ALL) && load_uneven(d, out);
}

static int load_uneven_bytes(const struct load_facts *d, struct load_fired *out)
{
    struct load_fired cached = {.gain_low_s = 0};
    const double spread = load_stored_spread(d->l);
    if (load_uneven_cached(d, &cached) || !(spread > UNEVEN_BYTES) || !load_uneven(d, out))
        return 0;
    evidence_add(out, "p95 over p50 of the stored bytes", spread, "");
    return 1;
}

static int load_uneven_else(const struct load_facts *d, struct load_fired *out)
{
    struct load_fired cached = {.gain_low_s = 0}, bytes = {.gain_low_s = 0};
    return !load_uneven_cached(d, &cached) && !load_uneven_bytes(d, &bytes) && load_uneven(d, out);
}

static int load_open(const struct load_facts *d, struct load_fired *out)
{
    const double open = d->open + d->index;
    evidence_add(out, "open and index", 1e3 * open, "ms");
    evidence_add(out, "reading", 1e3 * d->l->read_s, "ms");
    evidence_add(out, "chunks", (double)d->l->chunks_read, "");
    return open > SHARE(OPEN_OF_TIME) * (open + d->l->read_s) && fired_with_gain(out, open);
}

static int load_amplified(const struct load_facts *d, struct load_fired *out)
{
    evidence_add(out, "bytes decoded over wanted", d->l->amplification, "");
    return d->l->amplification > AMPLIFICATION &&
           fired_with_gain(out, d->l->read_s * (1 - 1 / d->l->amplification));
}

static int load_requests(const struct load_facts *d, struct load_fired *out)
{
    evidence_add(out, "mean request", d->mean_stored, "bytes");
    evidence_add(out, "requests", (double)d->l->chunks_count, "");
    return d->mean_stored < 1024 * REQUEST_KIB && d->l->chunks_count > REQUESTS;
}

/* clang-format off */
static const struct load_rule load_rules[] = {
    {{.id = "D-IO",
      .title = "Loading waits for storage: the processors are idle while bytes come.",
      .advice = {{"`tomoprof load FILE --sweep medium --cache cold` tells whether more "
                  "requests at once help",
                  EFFORT_SETTING},
                 {"copy the file to a local disk and load it again", EFFORT_FORMAT}},
      .refuted_by = "a run with the file in the page cache that takes as long",
      .test = "tomoprof load FILE --sweep medium --cache warm",
      .fires = "fetching is more than " PERCENT(OF_WORK) " of the work, and less than "
               PERCENT(CPU_IDLE) " of the processors are busy"},
     .evaluate = load_storage},
    {{.id = "D-COPY",
      .title = "Fetching dominates, and the processors are busy with it: the kernel copies the "
               "file's bytes.",
      .advice = {{"`tomoprof load FILE --sweep medium` tells whether mmap, which copies less, is "
                  "faster", EFFORT_SETTING}},
      .refuted_by = "a run by mmap that takes as long",
      .test = "tomoprof load FILE --fetch mmap",
      .fires = "the same, and processors are busy"},
     .evaluate = load_copy},
    {{.id = "D-CPU",
      .title = "Loading waits for a CPU: other programs use the processors.",
      .advice = {{"load it again while no other programs compute, or give this one a larger share "
                  "of the processors", EFFORT_SETTING}},
      .refuted_by = "a run on an idle machine that takes as long",
      .test = "tomoprof load FILE --cache warm",
      .fires = "workers, or what opens the file, wait for a CPU for more than " PERCENT(CPU_WAITED)
               " of their time, and workers are not more than the processors"},
     .evaluate = load_others},
    {{.id = "D-CPU",
      .title = "Loading waits for a CPU: more workers are ready than there are processors.",
      .advice = {{"as many workers as processors (`tomoprof load FILE --threads 0`)",
                  EFFORT_SETTING}},
      .refuted_by = "a run with as many workers as processors that takes longer",
      .test = "tomoprof load FILE --threads 0",
      .fires = "the same, and workers are more than the processors"},
     .evaluate = load_crowd},
    {{.id = "D-DEC",
      .title = "Decoding dominates: the codec limits loading, not the disk.",
      .advice = {{"more threads, up to the number of processors", EFFORT_SETTING},
                 {"store the array with zstd or uncompressed; `tomoprof load FILE --copy COPY.zarr` does, "
                  "and tells after how many reads it pays", EFFORT_FORMAT}},
      .refuted_by = "a run with twice as many threads that takes as long",
      .test = "tomoprof load FILE --threads 0",
      .fires = "decoding is more than " PERCENT(OF_WORK) " of the work, and a processor is free"},
     .evaluate = load_decode_few},
    {{.id = "D-DEC",
      .title = "Decoding dominates: the codec limits loading, not the disk.",
      .advice = {{"store the array with zstd or uncompressed; `tomoprof load FILE --copy COPY.zarr` does, "
                  "and tells after how many reads it pays", EFFORT_FORMAT}},
      .refuted_by = "an uncompressed copy that takes as long",
      .test = "tomoprof convert FILE COPY.npy, then tomoprof load COPY.npy",
      .fires = "the same, and no processor is free for another thread"},
     .evaluate = load_decode_all},
    {{.id = "D-ALLOC",
      .title = "New memory for the array is a large part: the kernel gives and clears each page.",
      .advice = {{"huge pages (for malloc GLIBC_TUNABLES=glibc.malloc.hugetlb=1; NumPy asks for them)",
                  EFFORT_SETTING},
                 {"read into the same array again, instead of into a new one each time",
                  EFFORT_CODE}},
      .refuted_by = "a second read into the same array that takes as long as the first with its memory",
      .test = "tomoprof load FILE --sweep quick",
      .fires = "memory takes more than " PERCENT(ALLOCATED) " of the time"},
     .once = 1, .evaluate = load_allocated},
    {{.id = "D1",
      .title = "Placing takes longer than fetching: memory copies limit loading.",
      .advice = {{"read boxes that follow the file's order of dimensions", EFFORT_CODE}},
      .refuted_by = "a run in the order of the file that takes as long",
      .test = "tomoprof load FILE --order offset",
      .fires = "placing takes longer than fetching, and more than " PERCENT(PLACE_OF_WORK)
               " of the work"},
     .evaluate = load_place},
    {{.id = "D2",
      .title = "Threads are slower than one after the other: a lock or the device is contended.",
      .advice = {{"load with one thread", EFFORT_SETTING}},
      .refuted_by = "threads that are faster on another disk",
      .test = "tomoprof load FILE --threads 1",
      .fires = "threads are slower than one chunk after the other"},
     .evaluate = load_threads},
    {{.id = "D3",
      .title = "Processes are slower than threads: starting them and sharing memory cost time.",
      .advice = {{"use threads; with a reader that holds a lock, batches of at least 50",
                  EFFORT_SETTING}},
      .refuted_by = "processes that are faster on the whole array",
      .test = "tomoprof load FILE --processes 4 --batch 50",
      .fires = "processes are slower than threads by more than " PERCENT(PROCESSES)},
     .evaluate = load_processes},
    {{.id = "D4",
      .title = "Chunks are slow.",
      .advice = {{"smaller chunks, or a faster codec", EFFORT_FORMAT}},
      .refuted_by = "chunks below 0.1 s in a second run",
      .test = "tomoprof load FILE --cache warm",
      .fires = "chunks take more than " AS_TEXT(CHUNK_SLOW_S) " s, mean"},
     .evaluate = load_slow_chunks},
    {{.id = "D6",
      .title = "Chunks differ much in their time: some come from the page cache and some from the "
               "disk.",
      .advice = {{"`tomoprof load FILE --cache cold` and then warm, beside each other", EFFORT_SETTING}},
      .refuted_by = "a run with a warm cache that differs as much",
      .test = "tomoprof load FILE --cache warm",
      .fires = "p95 is above " AS_TEXT(UNEVEN_TIMES) " times the median, and a part of the file is "
               "in the page cache"},
     .evaluate = load_uneven_cached},
    {{.id = "D6",
      .title = "Chunks differ much in their time: they are compressed differently.",
      .advice = {{"chunks of the same codec and of similar contents", EFFORT_FORMAT}},
      .refuted_by = "chunks of the same stored size that differ as much",
      .test = "tomoprof load FILE --json",
      .fires = "the same, without such a part, and the stored bytes have a p95 above "
               AS_TEXT(UNEVEN_BYTES) " times their median"},
     .evaluate = load_uneven_bytes},
    {{.id = "D6",
      .title = "Chunks differ much in their time, and neither the page cache nor their size is the "
               "reason: the disk, or other work on the machine.",
      .advice = {{"load it twice, and compare which chunks are slow", EFFORT_SETTING}},
      .refuted_by = "a second run in which the same chunks are slow",
      .test = "tomoprof load FILE --json",
      .fires = "the same, and stored bytes differ less"},
     .evaluate = load_uneven_else},
    {{.id = "D7",
      .title = "Opening and reading the index are a large part; they come once per file.",
      .advice = {{"keep the file open between reads", EFFORT_CODE}},
      .refuted_by = "the same share when all chunks are read",
      .test = "tomoprof load FILE",
      .fires = "opening and the index take more than " PERCENT(OPEN_OF_TIME) " of the time"},
     .once = 1, .evaluate = load_open},
    {{.id = "D8",
      .title = "More is decoded than is wanted: chunks do not fit the box, or tiles overlap.",
      .advice = {{"chunks of the shape that is read most often", EFFORT_FORMAT},
                 {"keep decoded chunks between boxes (`tomoprof load FILE --keep`)", EFFORT_FORMAT}},
      .refuted_by = "a box of whole chunks with the same factor",
      .test = "tomoprof load FILE",
      .fires = "more than " AS_TEXT(AMPLIFICATION) " bytes are decoded for each wanted one"},
     .evaluate = load_amplified},
    {{.id = "D9",
      .title = "Many small requests.",
      .advice = {{"batches (`tomoprof load FILE --batch 50`)", EFFORT_CODE},
                 {"shards or larger chunks (tomoprof convert)", EFFORT_FORMAT}},
      .refuted_by = "a sweep in which batches do not help",
      .test = "tomoprof load FILE --batch 50",
      .fires = "more than " AS_TEXT(REQUESTS) " requests of less than " AS_TEXT(REQUEST_KIB)
               " KiB, mean"},
     .evaluate = load_requests},
};
/* clang-format on */
enum { LOAD_RULES = sizeof load_rules / sizeof *load_rules };

double load_effort_days(const char *advice)
{
    for (int i = 0; i < LOAD_RULES; i++)
        for (int k = 0; k < 2; k++)
            if (load_rules[i].rule.advice[k].text == advice)
                return load_rules[i].rule.advice[k].effort_days;
    return (double)NAN;
}

void load_rules_write(FILE *out)
{
    rule_table(load_rules, sizeof *load_rules, LOAD_RULES, out);
}

/* `scale`: from what was read to the whole array. */
static enum err cause_add(struct loading *l, const struct load_rule *rule,
                          const struct load_fired *fired, double scale)
{
    struct load_cause *c = &l->causes[l->causes_count++];
    *c = (struct load_cause){.rule = rule->rule.id,
                             .statement = rule->rule.title,
                             .refuted_by = rule->rule.refuted_by,
                             .test = rule->rule.test,
                             .gain_low_s = fired->gain_low_s * (rule->once ? 1 : scale),
                             .gain_high_s = fired->gain_high_s * (rule->once ? 1 : scale)};
    TRY(json_items(l->arena, &record_load_evidence, (size_t)fired->evidence_count, &c->evidence,
                   &c->evidence_count));
    array_copy(c->evidence, fired->evidence, (size_t)fired->evidence_count, sizeof *c->evidence);
    c->actions = arena_take(l->arena, sizeof rule->rule.advice);
    FAIL_IF(!c->actions, ERR_MEMORY, "no memory left for causes");
    for (size_t i = 0; i < sizeof rule->rule.advice / sizeof *rule->rule.advice; i++)
        if (rule->rule.advice[i].text)
            c->actions[c->actions_count++] = rule->rule.advice[i].text;
    return ERR_OK;
}

/* Puts first what could save most; unknown gains come last. */
static void causes_order(struct loading *l)
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
    struct load_facts d;
    const int some = l->chunks_read > 0 && l->chunks_read < l->file.chunks;
    const double scale = some ? (double)l->file.chunks / (double)l->chunks_read : 1;
    load_facts_of(l, &d);
    TRY(json_items(l->arena, &record_load_cause, LOAD_RULES, &l->causes, &l->causes_count));
    l->causes_count = 0;
    for (int i = 0; i < LOAD_RULES && l->spread.n; i++) {
        struct load_fired fired = {.gain_low_s = (double)NAN, .gain_high_s = (double)NAN};
        if (load_rules[i].evaluate(&d, &fired))
            TRY(cause_add(l, &load_rules[i], &fired, scale));
    }
    causes_order(l);
    return ERR_OK;
}
