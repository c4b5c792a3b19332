/* Exact LRU reuse distances: a bit of a row of slots stands for the last access of an element, so
 * the distance is the number of ones behind this element's own. A Fenwick tree counts the ones in
 * words of 64 slots. A full row is closed up: the tree stays in the first cache. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/triage/access/access_trace.h"

#define STRIDES 8192 /* a power of 2; the rest of the strides is counted together */

struct counts {
    struct access_sink sink;
    int64_t accesses, steps, extent[ACCESS_ARRAYS];
};

static void count_access(struct access_sink *s, int array, int64_t index, int write)
{
    struct counts *c = (struct counts *)s;
    (void)write;
    c->accesses++;
    if (index >= c->extent[array])
        c->extent[array] = index + 1;
}

static void count_step(struct access_sink *s)
{
    ((struct counts *)s)->steps++;
}

struct strides {
    int64_t key[STRIDES], n[STRIDES], other;
};

struct meter {
    struct access_sink sink;
    struct access *out;
    int64_t base[ACCESS_ARRAYS], previous[ACCESS_ARRAYS];
    int64_t first[2][ACCESS_ARRAYS]; /* of the last step, reads and writes; -1 none yet */
    int begun[2][ACCESS_ARRAYS];     /* in this step */
    uint32_t *last;                  /* slot + 1 of an element's last access, 0: none */
    uint64_t *slots;                 /* 64 each */
    int32_t *tree;                   /* Fenwick, from 1: ones in a word of slots */
    uint64_t words, next;            /* of slots; the first slot that is free */
    int64_t accesses, reuses, local, here;
    int64_t *distances; /* count by distance, up to the number of elements */
    int64_t elements;
    double sum, squares, steps;
    struct strides *all, *writes, *jumps[2]; /* of reads, of writes */
};

static void slot_add(struct meter *m, uint64_t slot)
{
    m->slots[slot / 64] ^= (uint64_t)1 << slot % 64;
    for (uint64_t at = slot / 64 + 1; at <= m->words; at += at & -at)
        m->tree[at]++;
}

/* The one of a slot moves to a later one. Where their ways up the tree have met, nothing changes.
 */
static void slot_move(struct meter *m, uint64_t from, uint64_t to)
{
    m->slots[from / 64] ^= (uint64_t)1 << from % 64;
    m->slots[to / 64] ^= (uint64_t)1 << to % 64;
    uint64_t less = from / 64 + 1, more = to / 64 + 1;
    while (less != more && (less <= m->words || more <= m->words)) {
        if (less < more) {
            m->tree[less]--;
            less += less & -less;
        } else {
            m->tree[more]++;
            more += more & -more;
        }
    }
}

/* Counts the ones behind a slot. What lies before it is not added up. */
static int64_t ones_behind(const struct meter *m, uint64_t slot)
{
    uint64_t low = slot / 64 + 1, high = (m->next - 1) / 64 + 1;
    int64_t sum = __builtin_popcountll(m->slots[slot / 64] >> slot % 64 >> 1);
    for (; high > low; high -= high & -high)
        sum += m->tree[high];
    for (; low > high; low -= low & -low)
        sum -= m->tree[low];
    return sum;
}

/* The ones move to the first slots, in their order. */
static void slots_close_up(struct meter *m)
{
    for (int64_t i = 0; i < m->elements; i++)
        if (m->last[i])
            m->last[i] = (uint32_t)((int64_t)m->out->distinct - ones_behind(m, m->last[i] - 1));
    memset(m->slots, 0, m->words * sizeof *m->slots);
    memset(m->tree, 0, (m->words + 1) * sizeof *m->tree);
    m->next = 0;
    for (int64_t i = 0; i < m->elements; i++)
        m->next += m->last[i] != 0;
    for (uint64_t i = 0; i < m->next; i++)
        slot_add(m, i);
}

static void stride_add(struct strides *t, int64_t stride)
{
    uint64_t h = (uint64_t)stride * 0x9e3779b97f4a7c15u >> 51;
    for (int k = 0; k < 64; k++) {
        uint64_t i = (h + (uint64_t)k) % STRIDES;
        if (!t->n[i])
            t->key[i] = stride;
        if (t->key[i] == stride) {
            t->n[i]++;
            return;
        }
    }
    t->other++;
}

static void measure_access(struct access_sink *s, int array, int64_t index, int write)
{
    struct meter *m = (struct meter *)s;
    const int64_t element = m->base[array] + index;
    if (m->next == 64 * m->words)
        slots_close_up(m);
    m->here++;
    write ? m->out->writes++ : m->out->reads++;
    if (array >= ACCESS_LOCAL) {
        m->local++;
    } else {
        const int64_t stride = index - m->previous[array];
        m->out->unit_share += stride == 0 || stride == 1;
        stride_add(m->all, stride);
        if (write)
            stride_add(m->writes, stride);
        m->previous[array] = index;
        if (!m->begun[write][array]) {
            stride_add(m->jumps[write], index - m->first[write][array]);
            m->first[write][array] = index;
            m->begun[write][array] = 1;
        }
    }
    const uint32_t before = m->last[element];
    if (before) {
        m->reuses++;
        m->distances[ones_behind(m, before - 1)]++;
        slot_move(m, before - 1, m->next);
    } else {
        m->out->distinct++;
        slot_add(m, m->next);
    }
    m->last[element] = (uint32_t)++m->next;
}

static void measure_step(struct access_sink *s)
{
    struct meter *m = (struct meter *)s;
    m->sum += (double)m->here;
    m->squares += (double)m->here * (double)m->here;
    m->steps++;
    m->here = 0;
    memset(m->begun, 0, sizeof m->begun);
}

ARRAY_ORDER(by_count, int64_t, COMPARE(*y, *x));

/* Sorts the counts. A stride beyond the table counts as one of its own each. */
static void judge_strides(struct strides *t, double *entropy, double *needed)
{
    double total = (double)t->other, seen = 0;
    for (int i = 0; i < STRIDES; i++)
        total += (double)t->n[i];
    *entropy = *needed = 0;
    if (total <= 0)
        return;
    for (int i = 0; i < STRIDES; i++)
        if (t->n[i])
            *entropy -= (double)t->n[i] / total * log2((double)t->n[i] / total);
    *entropy += (double)t->other / total * log2(total);
    qsort(t->n, STRIDES, sizeof *t->n, by_count);
    for (int i = 0; i < STRIDES && seen < 0.99 * total; i++, ++*needed)
        seen += (double)t->n[i];
}

static void meter_conclude(struct meter *m)
{
    struct access *a = m->out;
    double none, entropy, jumps;
    judge_strides(m->all, &a->entropy, &none);
    judge_strides(m->writes, &a->write_entropy, &none);
    judge_strides(m->jumps[1], &a->write_jump_entropy, &a->jumps);
    judge_strides(m->jumps[0], &entropy, &jumps);
    a->jump_entropy = fmax(a->write_jump_entropy, entropy);
    a->jumps = fmax(a->jumps, jumps);
    a->accesses = (double)m->accesses;
    a->reuse_share = (double)m->reuses / a->accesses;
    a->unit_share /= fmax(1, (double)(m->accesses - m->local));
    double mean = m->sum / fmax(1, m->steps);
    a->trip_cv = mean > 0 ? sqrt(fmax(0, m->squares / fmax(1, m->steps) - mean * mean)) / mean : 0;
    int64_t served = 0;
    for (int64_t d = 0; d <= m->elements; d++) {
        if (!m->distances[d])
            continue;
        int bucket = d < 2 ? 0 : (int)floor(log2((double)d));
        a->reuse[bucket < ACCESS_BUCKETS ? bucket : ACCESS_BUCKETS - 1] +=
            (double)m->distances[d] / (double)m->reuses;
        if ((double)served < 0.95 * (double)m->reuses)
            a->window = (double)d + 1;
        served += m->distances[d];
    }
}

enum err access_measure(enum access_trace trace, int size, struct access *out)
{
    struct counts c = {.sink = {count_access, count_step}};
    *out = (struct access){.size = size};
    FAIL_IF(size < 4 || size > 64 || (int)trace < 0 || trace >= ACCESS_TRACES, ERR_USAGE,
            "access patterns are measured at edges of 4 to 64, not %d", size);
    access_trace_run(trace, size, &c.sink);
    struct meter m = {.sink = {measure_access, measure_step}, .out = out, .accesses = c.accesses};
    for (int i = 0; i < ACCESS_ARRAYS; i++) {
        m.base[i] = m.elements;
        m.elements += c.extent[i];
    }
    m.last = calloc((size_t)m.elements, sizeof *m.last);
    m.words = (uint64_t)m.elements / 16 + 1; /* four slots for each element */
    m.slots = calloc(m.words, sizeof *m.slots);
    m.tree = calloc(m.words + 1, sizeof *m.tree);
    m.distances = calloc((size_t)m.elements + 1, sizeof *m.distances);
    m.all = calloc(1, sizeof *m.all);
    m.writes = calloc(1, sizeof *m.writes);
    m.jumps[0] = calloc(1, sizeof *m.jumps[0]);
    m.jumps[1] = calloc(1, sizeof *m.jumps[1]);
    enum err e = ERR_OK;
    if (!m.last || !m.slots || !m.tree || !m.distances || !m.all || !m.writes || !m.jumps[0] ||
        !m.jumps[1]) {
        e = FAIL(ERR_MEMORY, "no memory to measure the access pattern");
    } else {
        access_trace_run(trace, size, &m.sink);
        meter_conclude(&m);
    }
    free(m.last);
    free(m.slots);
    free(m.tree);
    free(m.distances);
    free(m.all);
    free(m.writes);
    free(m.jumps[0]);
    free(m.jumps[1]);
    return e;
}

/* stream: consecutive. window: the next step begins where one expects it (under 1 bit of surprise)
 * and strides within it are few (under 4 bits). Else irregular: scatter where the writes are (2
 * bits: the writes of a gather stay where they are for all views of a pixel). */
static enum access_pattern pattern_judge(const struct access *a)
{
    if (a->unit_share > 0.95)
        return PATTERN_STREAM;
    if (a->jump_entropy < 1 && a->entropy < 4)
        return PATTERN_WINDOW;
    return fmax(a->write_jump_entropy, a->write_entropy / 2) > 2 ? PATTERN_SCATTER : PATTERN_GATHER;
}

static enum err measure_pair(enum access_trace trace, struct access_pair *out)
{
    TRY(access_measure(trace, ACCESS_SMALL, &out->small));
    TRY(access_measure(trace, ACCESS_LARGE, &out->large));
    out->pattern = pattern_judge(&out->large);
    double p = log(fmax(1, out->large.window) / fmax(1, out->small.window)) /
               log((double)ACCESS_LARGE / ACCESS_SMALL);
    out->window_growth = fmin(fmax(p, 0), 3);
    return ERR_OK;
}

enum err access_pair_measure(enum access_trace trace, struct access_pair *out)
{
    /* 0.2 s for a cone: several primitives and every question of sensitivity share a trace. */
    static _Thread_local struct access_pair known[ACCESS_TRACES];
    FAIL_IF((int)trace < 0 || trace >= ACCESS_TRACES, ERR_USAGE, "access trace %d does not exist",
            (int)trace);
    if (!known[trace].large.size)
        TRY(measure_pair(trace, &known[trace]));
    *out = known[trace];
    return ERR_OK;
}

double access_window_at(const struct access_pair *a, double size)
{
    return a->large.window * pow(size / ACCESS_LARGE, a->window_growth);
}

const char *pattern_name(enum access_pattern pattern)
{
    static const char *const names[] = {"stream", "window", "gather", "scatter"};
    return names[pattern];
}
