/* Statistics of NVTX ranges as `nsys stats -r nvtx_pushpop_sum --format csv` prints them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/page/markup.h"
#include "profiler/report/export/export.h"

static int range_by_total(const void *x, const void *y)
{
    const struct model_range *a = *(const struct model_range *const *)x,
                             *b = *(const struct model_range *const *)y;
    return (a->time.total_s < b->time.total_s) - (a->time.total_s > b->time.total_s);
}

static void nvtx_put_name(FILE *out, const struct model_range *r)
{
    char *name = NULL;
    const char *domain = r->domain ? r->domain : "", *text = r->name ? r->name : "";
    if (asprintf(&name, "%s%s%s", domain, r->domain ? ":" : "", text) < 0)
        name = NULL;
    csv_text(out, name ? name : text);
    fputc('\n', out);
    free(name);
}

static void put_ns(FILE *out, int decimals, double s)
{
    if (isfinite(s))
        fprintf(out, "%.*f", decimals, s * 1e9);
    fputc(',', out);
}

static void nvtx_write(const struct model *m, const struct export_options *o, FILE *out)
{
    const struct model_range **rows = calloc((size_t)m->ranges_count + 1, sizeof *rows);
    double total = 0;
    size_t n = 0;
    (void)o;
    fputs("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev "
          "(ns),Range\n",
          out);
    for (int i = 0; i < m->ranges_count && rows; i++) {
        const struct model_range *r = &m->ranges[i];
        if (!r->style || strcmp(r->style, "push_pop") || !(r->time.n > 0))
            continue;
        rows[n++] = r;
        total += r->time.total_s;
    }
    if (n)
        qsort(rows, n, sizeof *rows, range_by_total);
    for (size_t i = 0; i < n; i++) {
        const struct model_stat *t = &rows[i]->time;
        fprintf(out, "%.1f,%.0f,%lld,", total > 0 ? 100 * t->total_s / total : 0, t->total_s * 1e9,
                (long long)t->n);
        put_ns(out, 1, t->total_s / (double)t->n);
        put_ns(out, 1, t->median_s);
        put_ns(out, 0, t->min_s);
        put_ns(out, 0, t->max_s);
        put_ns(out, 1, isfinite(t->sd_s) ? t->sd_s : 0);
        nvtx_put_name(out, rows[i]);
    }
    free(rows);
}

const struct exporter export_nvtx = {
    "nvtx", ".nvtx.csv", "statistics of NVTX ranges, as nsys stats has them", nvtx_write};
