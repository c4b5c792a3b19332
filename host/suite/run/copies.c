/* Copies of as many bytes as an operation's arrays have: their rate, and pairs of them and calls.
 */
#include <string.h>

#include "host/backend/registry.h"
#include "base/clock.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/run/suite.h"
#include "host/suite/statistics/stats.h"

#define COPY_SECONDS       0.02
#define BRIEF_COPY_SECONDS 0.002
#define COPIES_MOST        1024
#define COPIES_LEAST       3
#define PAIRS_AT_LEAST     0.5 /* seconds: other programs disturb for as long as a tenth */
#define PAIRS_SECONDS      3
#define BRIEF_PAIRS        0.2
#define PAIR_BYTES_LEAST   65536 /* read and written; less is nothing that clocks can time */

struct copies {
    struct backend *be;
    struct buffer from, to;
    size_t bytes; /* of each */
};

static void copies_close(struct copies *c)
{
    if (c->from.ptr)
        c->be->ops->release(c->be, &c->from);
    if (c->to.ptr)
        c->be->ops->release(c->be, &c->to);
}

/* 0 where they cannot be had. */
static int copies_open(struct copies *c, struct backend *be, size_t bytes)
{
    *c = (struct copies){.be = be, .bytes = bytes};
    if (bytes && !be->ops->alloc(be, "calibration", bytes, &c->from) &&
        !be->ops->alloc(be, "calibration", bytes, &c->to) && !be->ops->zero(be, &c->from) &&
        !be->ops->zero(be, &c->to) && !be->ops->sync(be))
        return 1;
    copies_close(c);
    return 0;
}

static enum err copy_once(struct copies *c, double *seconds)
{
    const int64_t start = clock_ns();
    TRY(c->be->ops->copy(c->be, &c->from, &c->to));
    TRY(c->be->ops->sync(c->be));
    *seconds = clock_seconds_since(start);
    return ERR_OK;
}

/* As the result of a run is looked at. */
static enum err fingerprint_copy(struct copies *c)
{
    double sum, l2, low, high;
    return c->be->ops->fingerprint(c->be, &c->to, &sum, &l2, &low, &high);
}

/* Copies for a while; returns how many. */
static int copies_run(struct copies *c, int like_runs, double seconds[COPIES_MOST])
{
    const double enough = backend_calibration_is_brief() ? BRIEF_COPY_SECONDS : COPY_SECONDS;
    const int64_t begin = clock_ns();
    int n = 0;
    while (n < COPIES_MOST &&
           (clock_seconds_since(begin) < enough || (like_runs && n < COPIES_LEAST))) {
        if (copy_once(c, &seconds[n]))
            break;
        n++;
        if (like_runs && fingerprint_copy(c))
            break;
    }
    return n;
}

size_t suite_copy_bytes(const struct operation *op, const struct ct_model *m)
{
    const enum array arrays[] = {op->input, op->output};
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        int64_t shape[3];
        ct_model_shape(m, arrays[i], shape);
        bytes += (size_t)(shape[0] * shape[1] * shape[2]) * sizeof(float) / 2;
    }
    return bytes;
}

double suite_copy_rate(struct backend *be, const struct operation *op, const struct ct_model *m,
                       int like_runs)
{
    double seconds[COPIES_MOST];
    struct copies c;
    if (!copies_open(&c, be, suite_copy_bytes(op, m)))
        return 0;
    const int n = copies_run(&c, like_runs, seconds);
    const struct statistics t = statistics_of(seconds, n);
    const double time = like_runs ? t.median : t.min;
    copies_close(&c);
    return n && time > 0 ? 2 * (double)c.bytes / time : 0;
}

struct pair_run {
    struct run_state *s;
    struct copies copies;
    const struct targets *targets;
    struct target_row row;
    int64_t begin;
};

static enum err call_once(struct run_state *s, double *seconds)
{
    struct fingerprint ignored;
    TRY(s->be->ops->sync(s->be));
    const int64_t start = clock_ns();
    TRY(s->op->run(s));
    TRY(s->be->ops->sync(s->be));
    *seconds = clock_seconds_since(start);
    return state_fingerprint(s, &ignored);
}

/* Two of each, the first of which brings its arrays into the caches, as the one before does for a
 * run. */
static enum err next_pair(void *context, double *copy, double *call)
{
    struct pair_run *p = context;
    for (int i = 0; i < 2; i++) {
        TRY(copy_once(&p->copies, copy));
        TRY(fingerprint_copy(&p->copies));
    }
    for (int i = 0; i < 2; i++)
        TRY(call_once(p->s, call));
    return ERR_OK;
}

static int is_enough(void *context, const struct pair_share *share)
{
    struct pair_run *p = context;
    const int brief = backend_calibration_is_brief();
    const double seconds = clock_seconds_since(p->begin);
    p->row.pairs = *share;
    return seconds > (brief ? BRIEF_PAIRS : PAIRS_SECONDS) ||
           (!targets_open(p->targets, &p->row) && (brief || seconds > PAIRS_AT_LEAST));
}

enum err suite_pairs(struct run_state *s, double size, const struct targets *targets,
                     struct pair_share *share, double *bytes)
{
    struct pair_run p = {.s = s, .targets = targets, .begin = clock_ns()};
    const struct pair_source source = {&p, next_pair, is_enough};
    p.row = (struct target_row){.operation = s->op->name, .size = size};
    *share = (struct pair_share){.n = 0};
    if (!s->op->step || s->op->finish || strcmp(s->op->group, "volume") ||
        !targets_ask_pairs(targets, &p.row))
        return ERR_OK;
    p.row.bytes_out = state_bytes_out(s);
    p.row.bytes_moved = volume_step_bytes(&s->step);
    if (p.row.bytes_moved < PAIR_BYTES_LEAST ||
        !copies_open(&p.copies, s->be, (size_t)(p.row.bytes_moved / 8) * sizeof(float)))
        return ERR_OK;
    p.row.pair_bytes = *bytes = 2 * (double)p.copies.bytes;
    const enum err e = pairs_gather(&source, share);
    copies_close(&p.copies);
    return e;
}
