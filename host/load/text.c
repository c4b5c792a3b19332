/* Prints the profile and the table of the sweep for people. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "host/load/against.h"

static void text_shape(FILE *f, const int64_t *shape, int n)
{
    for (int i = 0; i < n; i++)
        plain_print(f, "%s%lld", i ? " x " : "", (long long)shape[i]);
}

static void text_file(const struct loading *l, FILE *f)
{
    char bytes[16], stored[16];
    const struct load_file *x = &l->file;
    plain_print(f, "%s, array %s: ", x->format, x->array);
    text_shape(f, x->shape, x->shape_count);
    plain_print(f, " %s, %s decoded, %s stored\n", x->dtype, mem_human((double)x->bytes, bytes),
                mem_human((double)x->bytes_stored, stored));
    fprintf(f, "%lld chunks", (long long)x->chunks);
    if (x->chunk_count) {
        fprintf(f, " of ");
        text_shape(f, x->chunk, x->chunk_count);
    }
    if (x->channel)
        plain_print(f, " in channel %s", x->channel);
    if (x->layout)
        plain_print(f, " (%s)", x->layout);
    plain_print(f, ", codec %s, on %s", x->codec,
                x->filesystem ? x->filesystem : "an unknown file system");
    if (isfinite(x->cached_share))
        fprintf(f, ", %.0f %% of it in the page cache before", 100 * x->cached_share);
    fprintf(f, "\n\n");
}

static void text_number(FILE *f, const char *format, int width, double v)
{
    if (isfinite(v))
        fprintf(f, format, width, v);
    else
        plain_print(f, "%*s", width, "-");
}

/* The time of the whole array, measured or estimated. */
static void text_whole(const struct loading *l, FILE *f)
{
    const struct load_estimate *e = &l->estimate_full_s;
    if (!(e->high > e->low)) {
        fprintf(f, "whole array: %.4f s, measured\n", e->mid);
        return;
    }
    fprintf(f, "whole array: %.4f s, estimated (95 %%: %.4f to %.4f)\n", e->mid, e->low, e->high);
}

static void text_phases(const struct loading *l, FILE *f)
{
    double all = 0;
    for (int i = 0; i < l->phases_count; i++)
        all += isfinite(l->phases[i].wall_s) ? l->phases[i].wall_s : 0;
    fprintf(f, "phase       workers, s   elapsed, s   share\n");
    for (int i = 0; i < l->phases_count; i++) {
        const struct load_phase *p = &l->phases[i];
        plain_print(f, "%-9s ", p->name);
        text_number(f, "%*.6f ", 12, p->worker_s);
        text_number(f, "%*.6f ", 12, p->wall_s);
        text_number(f, "%*.1f %%", 6, all > 0 ? 100 * p->wall_s / all : 0);
        fputc('\n', f);
    }
    const struct load_spread *s = &l->spread;
    char saved[16], peak[16], most[16];
    if (l->boxes != JSON_UNKNOWN) {
        fprintf(f, "\n%lld boxes of ", (long long)l->boxes);
        text_shape(f, l->box, l->box_count);
        fprintf(f, ", %.2f bytes decoded or fetched for each wanted one\n", l->amplification);
    }
    if (l->kept.bytes_most != JSON_UNKNOWN)
        plain_print(f, "kept chunks: %lld hits, %lld misses; %s not decoded again; %s held of %s\n",
                    (long long)l->kept.hits, (long long)l->kept.misses,
                    mem_human((double)l->kept.bytes_saved, saved),
                    mem_human((double)l->kept.bytes_peak, peak),
                    mem_human((double)l->kept.bytes_most, most));
    plain_print(f, "\n%lld %s %lld chunks in %.6f s with %lld worker%s (%.6f s of CPU)\n",
                (long long)l->chunks_read, l->boxes == JSON_UNKNOWN ? "of" : "visits of",
                (long long)l->file.chunks, l->read_s, (long long)l->workers,
                l->workers == 1 ? "" : "s", l->read_cpu_s);
    if (!s->n)
        return;
    fprintf(f, "one chunk: p5 %.6f  p50 %.6f  p95 %.6f  max %.6f s\n", s->p5_s, s->p50_s, s->p95_s,
            s->max_s);
    text_whole(l, f);
    for (int i = 0; i < l->ratings_count; i++) {
        const struct load_rating *r = &l->ratings[i];
        const char *blank = *r->unit ? " " : "";
        fputs(i ? "" : "\n", f);
        plain_print(f, "%-8s  %s: %.3g%s%s (fast %s %g, slow %s %g)\n", r->rating, r->name,
                    r->value, blank, r->unit, r->fast < r->slow ? "below" : "from", r->fast,
                    r->fast < r->slow ? "above" : "below", r->slow);
    }
}

static void text_sweep(const struct loading *l, FILE *f)
{
    plain_print(f, "\n%-7s %-11s %5s %-8s %10s %8s %9s %9s %9s %9s\n", "fetch", "workers", "batch",
                "order", "seconds", "speed-up", "Mpx/s", "MB/s", "stored", "peak");
    for (int i = 0; i < l->sweep_count; i++) {
        const struct load_sweep *r = &l->sweep[i];
        char workers[32], peak[16] = "-";
        if (r->peak_bytes != JSON_UNKNOWN)
            mem_human((double)r->peak_bytes, peak);
        snprintf(workers, sizeof workers, "%lld %s", (long long)r->workers,
                 r->processes      ? "process"
                 : r->workers == 1 ? "thread"
                                   : "threads");
        plain_print(f, "%-7s %-11s %5lld %-8s ", r->backend, workers, (long long)r->batch,
                    r->order);
        text_number(f, "%*.6f ", 10, r->seconds);
        text_number(f, "%*.2f ", 8, r->speedup);
        text_number(f, "%*.1f ", 9, r->mpx_per_s);
        text_number(f, "%*.1f ", 9, r->mbytes_per_s);
        text_number(f, "%*.1f ", 9, r->stored_mbytes_per_s);
        plain_print(f, "%9s", peak);
        if (r->gap)
            fprintf(f, "  gap %lld", (long long)r->gap);
        if (strcmp(r->status, "ok") || r->reason)
            plain_print(f, "  %s%s%s", strcmp(r->status, "ok") ? r->status : "",
                        r->reason ? ": " : "", r->reason ? r->reason : "");
        fprintf(f, "\n");
    }
    plain_print(f,
                "Medians, page cache %s. The speed-up is against one thread, one chunk after the "
                "other.\n",
                l->cache);
}

static void text_causes(const struct loading *l, FILE *f)
{
    for (int i = 0; i < l->causes_count; i++) {
        const struct load_cause *c = &l->causes[i];
        plain_print(f, "\n%s: %s\n", c->rule, c->statement);
        for (int k = 0; k < c->evidence_count; k++)
            plain_print(f, "- %s: %.4g %s\n", c->evidence[k].name, c->evidence[k].value,
                        c->evidence[k].unit);
        if (isfinite(c->gain_high_s))
            fprintf(f, "- Gain: %.3g to %.3g s of the whole array.\n", c->gain_low_s,
                    c->gain_high_s);
        plain_print(f, "- Refuted by: %s.\n", c->refuted_by);
        for (int k = 0; k < c->actions_count; k++)
            plain_print(f, "- To do: %s.\n", c->actions[k]);
    }
}

enum err load_text(const struct loading *l, FILE *out, int causes)
{
    load_text_set(l, out);
    text_file(l, out);
    text_phases(l, out);
    if (l->sweep_count)
        text_sweep(l, out);
    load_text_against(l, out);
    if (causes)
        text_causes(l, out);
    else if (l->causes_count)
        plain_print(out, "\n%s: %s\n", l->causes[0].rule, l->causes[0].statement);
    if (l->recommended)
        plain_print(out, "\nRecommended: %s (%.2f times as fast as sequential, measured again)\n",
                    l->recommended, l->recommended_speedup);
    for (int i = 0; l->recommended && i < l->causes_count; i++)
        if (!strcmp(l->causes[i].rule, "D-CPU"))
            fprintf(out, "It was measured on a busy machine: measure again on an idle one.\n");
    if (l->recommended_reader)
        plain_print(out, "In your own program, %s.\n", l->recommended_reader);
    if (l->recommended_reason)
        plain_print(out, "\nRecommended: nothing; %s.\n", l->recommended_reason);
    return ERR_OK;
}
