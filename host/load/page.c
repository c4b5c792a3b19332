/* loading.html: the profile, the sweep and the causes on a page of its own, without scripts and
 * without a network. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/page/markup.h"
#include "host/load/against.h"

static void put_page_text(FILE *f, const char *s)
{
    markup_text(f, s, MARKUP_ALL);
}

static void put_cell(FILE *f, const char *format, double v)
{
    fputs("<td class=n>", f);
    if (isfinite(v))
        fprintf(f, format, v);
    else
        fputs("-", f);
}

static void put_bar(FILE *f, double share)
{
    const double percent = isfinite(share) ? 100 * fmin(fmax(share, 0), 1) : 0;
    fprintf(f, "<td class=b><div style=\"width:%.1f%%\"></div>", percent);
}

static void put_file(const struct loading *l, FILE *f)
{
    const struct load_file *x = &l->file;
    char bytes[16], stored[16];
    page_begin(f, "Where the time of loading goes",
               "table{border-collapse:collapse;width:100%}td,th{padding:.2em .6em;text-align:left;"
               "border-bottom:1px solid #8884}.n{text-align:right;"
               "font-variant-numeric:tabular-nums}.b{width:30%}.b div{background:#2a78d6;"
               "height:1em}");
    fputs("<p>", f);
    put_page_text(f, x->format);
    fputs(", array ", f);
    put_page_text(f, x->array);
    fputs(": ", f);
    for (int i = 0; i < x->shape_count; i++)
        fprintf(f, "%s%lld", i ? " &times; " : "", (long long)x->shape[i]);
    fprintf(f, " %s, %s decoded, %s stored, %lld chunk%s, codec ", x->dtype,
            mem_human((double)x->bytes, bytes), mem_human((double)x->bytes_stored, stored),
            (long long)x->chunks, x->chunks == 1 ? "" : "s");
    put_page_text(f, x->codec);
    fprintf(f, ". %lld chunk%s read in %.6f s by %lld worker%s.", (long long)l->chunks_read,
            l->chunks_read == 1 ? " was" : "s were", l->read_s, (long long)l->workers,
            l->workers == 1 ? "" : "s");
    if (isfinite(l->estimate_full_s.mid))
        fprintf(f, " The whole array takes %.4f s", l->estimate_full_s.mid);
    if (l->estimate_full_s.high > l->estimate_full_s.low)
        fprintf(f, ", estimated (95 %%: %.4f to %.4f)", l->estimate_full_s.low,
                l->estimate_full_s.high);
    fputs(".", f);
    if (l->recommended) {
        fputs("<p><strong>Recommended:</strong> <code>", f);
        put_page_text(f, l->recommended);
        fprintf(f, "</code>, %.2f times as fast as sequential, measured again.",
                l->recommended_speedup);
    }
    if (l->recommended_reader) {
        fputs(" In your own program, ", f);
        put_page_text(f, l->recommended_reader);
        fputs(".", f);
    }
    if (l->recommended_reason)
        fprintf(f, "<p><strong>Recommended:</strong> nothing; %s.", l->recommended_reason);
}

static void put_ratings(const struct loading *l, FILE *f)
{
    if (!l->ratings_count)
        return;
    fputs("<h2>Ratings</h2><table><tr><th>rating<th>measure<th class=n>value<th class=n>fast"
          "<th class=n>slow",
          f);
    for (int i = 0; i < l->ratings_count; i++) {
        const struct load_rating *r = &l->ratings[i];
        const int less = r->fast < r->slow;
        fprintf(f, "<tr><td>%s<td>%s<td class=n>%.3g %s<td class=n>%s %g<td class=n>%s %g",
                r->rating, r->name, r->value, r->unit, less ? "below" : "from", r->fast,
                less ? "above" : "below", r->slow);
    }
    fputs("</table>", f);
}

static void put_phases(const struct loading *l, FILE *f)
{
    double all = 0;
    for (int i = 0; i < l->phases_count; i++)
        all += isfinite(l->phases[i].wall_s) ? l->phases[i].wall_s : 0;
    fputs("<h2>Phases</h2><table><tr><th>phase<th class=n>workers, s<th class=n>elapsed, s<th>", f);
    for (int i = 0; i < l->phases_count; i++) {
        const struct load_phase *p = &l->phases[i];
        fprintf(f, "<tr><td>%s", p->name);
        put_cell(f, "%.6f", p->worker_s);
        put_cell(f, "%.6f", p->wall_s);
        put_bar(f, all > 0 ? p->wall_s / all : 0);
    }
    fputs("</table>", f);
    const struct load_spread *s = &l->spread;
    if (!s->n)
        return;
    int64_t most = 1;
    for (int i = 0; i < s->histogram_count; i++)
        most = s->histogram[i] > most ? s->histogram[i] : most;
    fprintf(f,
            "<h2>Chunks</h2><p>p5 %.6f, p50 %.6f, p95 %.6f, longest %.6f s. Bins of equal width "
            "on a logarithmic axis.<table><tr><th class=n>from, s<th class=n>chunks<th>",
            s->p5_s, s->p50_s, s->p95_s, s->max_s);
    int bins = s->max_s > s->min_s || !s->histogram_count ? s->histogram_count : 1;
    for (int i = 0; i < bins; i++) {
        const double least = fmax(s->min_s, 1e-9), ratio = fmax(s->max_s, 1e-9) / least;
        fprintf(f, "<tr><td class=n>%.6f<td class=n>%lld",
                least * pow(ratio, (double)i / s->histogram_count), (long long)s->histogram[i]);
        put_bar(f, (double)s->histogram[i] / (double)most);
    }
    fputs("</table>", f);
}

static void put_sweep_table(const struct loading *l, FILE *f)
{
    double best = 0;
    for (int i = 0; i < l->sweep_count; i++)
        if (isfinite(l->sweep[i].speedup))
            best = fmax(best, l->sweep[i].speedup);
    fputs("<h2>Ways to load</h2><table><tr><th>fetch<th class=n>workers<th class=n>batch<th>order"
          "<th class=n>seconds<th class=n>speed-up<th class=n>Mpx/s<th class=n>MB/s<th>",
          f);
    for (int i = 0; i < l->sweep_count; i++) {
        const struct load_sweep *r = &l->sweep[i];
        fprintf(f, "<tr><td>%s<td class=n>%lld %s<td class=n>%lld<td>%s", r->backend,
                (long long)r->workers, r->processes ? "processes" : "threads", (long long)r->batch,
                r->order);
        put_cell(f, "%.6f", r->seconds);
        put_cell(f, "%.2f", r->speedup);
        put_cell(f, "%.1f", r->mpx_per_s);
        put_cell(f, "%.1f", r->mbytes_per_s);
        if (strcmp(r->status, "ok") != 0) {
            fprintf(f, "<td>%s: ", r->status);
            put_page_text(f, r->reason);
        } else {
            put_bar(f, best > 0 ? r->speedup / best : 0);
        }
    }
    fprintf(f, "</table><p>Medians, page cache %s; against one thread, one chunk after the other.",
            l->cache);
}

static void put_causes(const struct loading *l, FILE *f)
{
    fputs("<h2>Causes</h2>", f);
    if (!l->causes_count)
        fputs("<p>No rule fired.", f);
    for (int i = 0; i < l->causes_count; i++) {
        const struct load_cause *c = &l->causes[i];
        fprintf(f, "<h3>%s: ", c->rule);
        put_page_text(f, c->statement);
        fputs("</h3><ul>", f);
        for (int k = 0; k < c->evidence_count; k++) {
            fprintf(f, "<li>%s: %.4g ", c->evidence[k].name, c->evidence[k].value);
            put_page_text(f, c->evidence[k].unit);
        }
        fputs("<li>Refuted by: ", f);
        put_page_text(f, c->refuted_by);
        for (int k = 0; k < c->actions_count; k++) {
            fputs("<li>To do: ", f);
            put_page_text(f, c->actions[k]);
        }
        fputs("</ul>", f);
    }
}

enum err load_page(const struct loading *l, const char *folder)
{
    char path[8192];
    struct outfile o;
    snprintf(path, sizeof path, "%s/loading.html", folder);
    TRY(outfile_open(&o, path));
    put_file(l, o.stream);
    load_page_set(l, o.stream);
    put_ratings(l, o.stream);
    put_phases(l, o.stream);
    if (l->sweep_count)
        put_sweep_table(l, o.stream);
    load_page_against(l, o.stream);
    put_causes(l, o.stream);
    page_end(o.stream);
    return outfile_commit(&o);
}
