/* The memory of the model: lines at the peak, leaks, the resident memory of all processes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/heap/curves.h"

enum { PLACES_SHOWN = 50 };
#define LEAK_SCORE 0.9

ARRAY_ORDER(most_first, struct model_place, COMPARE(y->value, x->value));

enum which { HEAP_PEAK, DEVICE_PEAK };

/* Lines that held memory at the peak, the most first. */
static enum err lines_at_peak(struct run *r, enum which which, struct model_place **rows,
                              int *count)
{
    struct model_place *all = calloc(r->sites.count + 1, sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory for the profile");
    size_t n = 0;
    for (size_t i = 0; i < r->sites.count; i++) {
        const struct site *s = &r->sites.items[i];
        double bytes = which == HEAP_PEAK ? s->heap.at_peak : s->device.at_peak;
        if (s->line && bytes > 0)
            all[n++] = (struct model_place){r->sources.items[s->file].path, s->line, MODEL_UNKNOWN,
                                            bytes_to_megabytes(bytes)};
    }
    array_sort(all, n, sizeof *all, most_first);
    n = n < PLACES_SHOWN ? n : PLACES_SHOWN;
    enum err e = model_items(r->m, &record_model_place, n, rows, count);
    if (e == ERR_OK && n)
        memcpy(*rows, all, n * sizeof *all);
    free(all);
    return e;
}

static double leak_score(const struct live_heap *h)
{
    return 1 - (h->frees + 1) / (h->allocs + 2);
}

/* Sampled allocations of the line are hardly ever freed, and what stays is at least 1 % of the
 * largest heap. */
static int site_is_suspect(const struct run *r, const struct site *s)
{
    return s->line && s->heap.allocs > 0 && leak_score(&s->heap) >= LEAK_SCORE &&
           s->heap.end >= 0.01 * r->heap.largest && s->heap.end > 0;
}

ARRAY_ORDER(by_live, struct model_leak, COMPARE(y->live_mb, x->live_mb));

static enum err memory_leaks(struct run *r)
{
    struct model_memory *m = &r->m->memory;
    size_t n = 0;
    for (size_t i = 0; i < r->sites.count; i++)
        n += (size_t)site_is_suspect(r, &r->sites.items[i]);
    TRY(model_list(r->m, model_leak, m, leaks, n));
    n = 0;
    for (size_t i = 0; i < r->sites.count; i++) {
        const struct site *s = &r->sites.items[i];
        if (!site_is_suspect(r, s))
            continue;
        double since = ns_to_seconds((double)(r->last - r->origin) - (double)s->heap.first);
        double live = bytes_to_megabytes(s->heap.end);
        m->leaks[n++] =
            (struct model_leak){r->sources.items[s->file].path, s->line, leak_score(&s->heap), live,
                                since > 0 ? live / since : (double)NAN};
    }
    array_sort(m->leaks, n, sizeof *m->leaks, by_live);
    return ERR_OK;
}

/* Resident memory of all processes together, at the times of any. */
static double peak_together(const struct run *r)
{
    double peak = 0;
    for (size_t i = 0; i < r->heap.series.count; i++)
        for (int k = 0; k < r->heap.series.items[i].t_s_count; k++) {
            double now = 0, t = r->heap.series.items[i].t_s[k];
            for (size_t j = 0; j < r->heap.series.count && r->heap.series.count <= 200; j++) {
                const struct model_series *s = &r->heap.series.items[j];
                const struct model_process *p = &r->processes.items[s->process];
                if (t < p->start_s || t > p->end_s)
                    continue;
                const size_t points = ARRAY_BOUND(0, (size_t)s->t_s_count, at, s->t_s[at] <= t);
                now += points ? s->rss_mb[points - 1] : 0;
            }
            peak = fmax(peak, now);
        }
    return peak;
}

enum err build_memory(struct run *r)
{
    struct model *m = r->m;
    TRY(model_list(m, model_series, &m->memory, series, r->heap.series.count));
    if (r->heap.series.count) {
        memcpy(m->memory.series, r->heap.series.items,
               r->heap.series.count * sizeof *r->heap.series.items);
        m->totals.peak_rss_mb = peak_together(r);
    }
    TRY(lines_at_peak(r, DEVICE_PEAK, &m->memory.device_peak_lines,
                      &m->memory.device_peak_lines_count));
    if (r->heap_cut) { /* what was released later is not known */
        m->memory.peak_s = (double)NAN;
        for (int i = 0; i < m->memory.series_count; i++)
            for (int k = 0; k < m->memory.series[i].heap_mb_count; k++)
                m->memory.series[i].heap_mb[k] = (double)NAN;
        return ERR_OK;
    }
    if (r->has_heap)
        m->totals.peak_heap_mb = bytes_to_megabytes(r->heap.largest);
    m->memory.bin_s = ns_to_seconds(curves_bin(r));
    TRY(lines_at_peak(r, HEAP_PEAK, &m->memory.peak_lines, &m->memory.peak_lines_count));
    return memory_leaks(r);
}
