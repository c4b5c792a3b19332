/* Rows of kernels, copies, memsets, calls and ranges, and how long each device was busy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/build/stat.h"
#include "profiler/import/build/internal.h"

ARRAY_ORDER(by_start, struct import_span,
            COMPARE(x->device, y->device) ?: COMPARE(x->start, y->start));

int64_t spans_covered(const struct import_span *spans, size_t n, int64_t *first, int64_t *last)
{
    int64_t covered = 0, until = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        int64_t from = spans[i].start > until ? spans[i].start : until;
        covered += spans[i].end > from ? spans[i].end - from : 0;
        until = spans[i].end > until ? spans[i].end : until;
    }
    *first = n ? spans[0].start : 0;
    *last = n ? until : 0;
    return covered;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

static enum err device_rows(struct builder *b)
{
    struct model *m = b->m;
    TRY(model_list(m, model_device, m, devices, b->devices.count));
    array_copy(m->devices, b->devices.items, b->devices.count, sizeof *m->devices);
    vector_sort(&b->spans, by_start);
    if (!b->spans.count) /* when the operations were is not known */
        return ERR_OK;
    m->totals.gpu_busy_s = m->totals.gpu_idle_s = 0;
    for (size_t at = 0, end; at < b->spans.count; at = end) {
        struct model_device *d = &m->devices[b->spans.items[at].device];
        double sum = 0;
        int64_t first, last;
        for (end = at;
             end < b->spans.count && b->spans.items[end].device == b->spans.items[at].device; end++)
            sum += (double)(b->spans.items[end].end - b->spans.items[end].start);
        int64_t busy = spans_covered(b->spans.items + at, end - at, &first, &last);
        d->busy_s = 1e-9 * (double)busy;
        d->sum_s = 1e-9 * sum;
        d->idle_s = 1e-9 * (double)(last - first - busy);
        d->share_of_wall = share(d->busy_s, m->meta.wall_s);
        m->totals.gpu_busy_s += d->busy_s;
        m->totals.gpu_idle_s += d->idle_s;
    }
    return ERR_OK;
}

static double total_of(struct import_row *rows, size_t n)
{
    double ns = 0;
    for (size_t i = 0; i < n; i++)
        ns += rows[i].times.sum;
    return ns * 1e-9;
}

static int64_t count_of(struct import_row *rows, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (int64_t)rows[i].times.n;
    return count;
}

static enum err operation_rows(struct builder *b)
{
    struct model *m = b->m;
    TRY(model_list(m, model_kernel, m, kernels, b->kernels.count));
    for (size_t i = 0; i < b->kernels.count; i++) {
        struct import_row *row = &b->kernel_rows.items[i];
        struct model_kernel *k = &m->kernels[i];
        *k = b->kernels.items[i];
        k->time = stat_of(&row->times);
        k->share_of_kernel_time = share(k->time.total_s, m->totals.kernel_s);
        k->share_of_wall = share(k->time.total_s, m->meta.wall_s);
        k->api_s = row->api_ns > 0 ? row->api_ns * 1e-9 : (double)NAN;
        k->queue_s = row->api_ns > 0 ? row->queue_ns * 1e-9 : (double)NAN;
        k->compute_share = share(k->compute_share, row->times.sum);
        k->memory_share = share(k->memory_share, row->times.sum);
        k->occupancy_achieved = share(k->occupancy_achieved, row->times.sum);
        if (k->variants_count && !row->open)
            k->variants->time = k->time;
        else if (k->variants_count) /* several configurations: the source's rows are not kept apart
                                     */
            k->variants_count = 0;
    }
    TRY(model_list(m, model_transfer, m, transfers, b->transfers.count));
    for (size_t i = 0; i < b->transfers.count; i++) {
        struct model_transfer *t = &m->transfers[i];
        *t = b->transfers.items[i];
        t->bytes = b->transfer_rows.items[i].bytes;
        t->time = stat_of(&b->transfer_rows.items[i].times);
        t->gb_s = share((double)t->bytes * 1e-9, t->time.total_s);
        if (!strcmp(t->direction, "h2d"))
            m->totals.h2d_bytes += t->bytes;
        if (!strcmp(t->direction, "d2h"))
            m->totals.d2h_bytes += t->bytes;
    }
    TRY(model_list(m, model_set, m, memsets, b->sets.count));
    for (size_t i = 0; i < b->sets.count; i++) {
        m->memsets[i] = b->sets.items[i];
        m->memsets[i].bytes = b->set_rows.items[i].bytes;
        m->memsets[i].time = stat_of(&b->set_rows.items[i].times);
    }
    return ERR_OK;
}

static enum err call_rows(struct builder *b)
{
    struct model *m = b->m;
    m->totals.api_s = b->has_api ? total_of(b->api_rows.items, b->apis.count) : (double)NAN;
    TRY(model_list(m, model_api, m, apis, b->apis.count));
    for (size_t i = 0; i < b->apis.count; i++) {
        struct model_api *a = &m->apis[i];
        *a = b->apis.items[i];
        a->time = stat_of(&b->api_rows.items[i].times);
        a->errors = b->api_rows.items[i].errors;
        a->share_of_api = share(a->time.total_s, m->totals.api_s);
        a->share_of_wall = share(a->time.total_s, m->meta.wall_s);
    }
    TRY(model_list(m, model_range, m, ranges, b->ranges.count));
    for (size_t i = 0; i < b->ranges.count; i++) {
        m->ranges[i] = b->ranges.items[i];
        m->ranges[i].time = stat_of(&b->range_rows.items[i].times);
        m->ranges[i].open = b->range_rows.items[i].open;
    }
    return ERR_OK;
}

enum err rows_of_devices(struct builder *b)
{
    struct model_totals *t = &b->m->totals;
    if (b->has_gpu) {
        t->kernel_s = total_of(b->kernel_rows.items, b->kernels.count);
        t->copy_s = total_of(b->transfer_rows.items, b->transfers.count);
        t->set_s = total_of(b->set_rows.items, b->sets.count);
        t->gpu_sum_s = t->kernel_s + t->copy_s + t->set_s;
        t->kernels = count_of(b->kernel_rows.items, b->kernels.count);
        t->h2d_bytes = t->d2h_bytes = 0;
        TRY(device_rows(b));
    }
    if (b->kernels_only) {
        t->copy_s = t->set_s = t->gpu_sum_s = NAN;
        t->h2d_bytes = t->d2h_bytes = MODEL_UNKNOWN;
    }
    if (b->known[IMPORT_GPU] && !b->has_gpu) /* stacks with device time, without its operations */
        t->gpu_sum_s = 1e-9 * (double)b->added[IMPORT_GPU];
    TRY(operation_rows(b));
    return call_rows(b);
}
