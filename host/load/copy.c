/* A copy in another format: what it costs to make, what a read of it saves, and after how many reads
 * that has paid. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "host/load/against.h"
#include "host/store/writer/writer.h"

#define PAIRS 3

enum err load_time_whole(const struct load_request *r, const char *path, const char *array,
                         double *seconds)
{
    struct load_request whole = {
        .path = path, .array = array, .stop = r->stop, .cache = CACHE_WARM};
    struct load_session s;
    struct load_run run;
    whole.options = r->options;
    enum err e = load_begin(&whole, &s);
    if (!e)
        e = load_once(&s, &whole.options, CACHE_WARM, &run, NULL);
    if (!e) {
        double part = 1; /* of the array, which memory may not hold */
        for (int d = 0; d < s.array->dims; d++)
            part *= (double)s.box.count[d] / (double)s.array->shape[d];
        *seconds = 1e-9 * (double)(s.open_ns + s.index_ns) + run.seconds / part;
    }
    load_end(&s);
    return e;
}

static double copy_median(double *x)
{
    qsort(x, PAIRS, sizeof *x, ascending_double);
    return x[PAIRS / 2];
}

enum err load_copy(const struct load_request *r, struct loading *l, const char *copy)
{
    const struct writer_options options = {.array = l->file.array, .zarr = 3};
    struct writer_result result;
    struct load_copy *c = &l->copy;
    double original[PAIRS], made[PAIRS], unused;
    const int64_t begin = clock_ns();
    TRY(store_convert(r->path, copy, &options, &result));
    c->made_s = clock_seconds_since(begin);
    c->path = arena_text(l->arena, copy);
    FAIL_IF(!c->path, ERR_MEMORY, "no memory left for the times");
    TRY(load_time_whole(r, r->path, l->file.array, &unused)); /* into the page cache */
    TRY(load_time_whole(r, copy, NULL, &unused));
    for (int i = 0; i < PAIRS; i++) {
        TRY(load_time_whole(r, r->path, l->file.array, &original[i]));
        TRY(load_time_whole(r, copy, NULL, &made[i]));
    }
    c->original_s = copy_median(original);
    c->read_s = copy_median(made);
    if (c->read_s < c->original_s)
        c->reads = (int64_t)ceil(c->made_s / (c->original_s - c->read_s));
    return ERR_OK;
}
