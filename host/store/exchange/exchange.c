/* Reads scans: counts of the wanted rows, means of flat and dark frames, angles. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/store/engine/chunk_cache.h"
#include "host/store/exchange/sandbox.h"
#include "host/store/exchange/roles.h"

#define BLOCK_BYTES ((int64_t)64 << 20) /* of frames that are averaged at a time */
#define KEPT_BYTES  ((int64_t)64 << 20) /* of decoded chunks */

/* Mean over the frames of a kind of the wanted rows, in float64. */
static enum err frames_mean(const struct scan_file *s, const struct frames *f, int64_t row_first,
                            int64_t row_count, float *mean)
{
    const int64_t n = row_count * s->channels;
    int64_t block = BLOCK_BYTES / (n * (int64_t)sizeof(float));
    void *some = NULL, *sum = NULL;
    enum err e;
    block = block < 1 ? 1 : block > f->count ? f->count : block;
    TRY_OUT(mem_alloc("frames", (size_t)(block * n) * sizeof(float), &some));
    TRY_OUT(mem_alloc_zero("frames", (size_t)n * sizeof(double), &sum));
    for (int64_t k = 0; k < f->count; k += block) {
        const int64_t count = f->count - k < block ? f->count - k : block;
        TRY_OUT(frames_read(s, f, k, count, row_first, row_count, some, n));
        for (int64_t i = 0; i < count * n; i++)
            ((double *)sum)[i % n] += (double)((float *)some)[i];
    }
    for (int64_t i = 0; i < n; i++)
        mean[i] = (float)(((double *)sum)[i] / (double)f->count);
    e = ERR_OK;
out:
    mem_free(sum);
    mem_free(some);
    return e;
}

static int all_zero(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return 0;
    return 1;
}

/* Frames, or one value for all pixels where they are missing or a single one is all zero. *found is
 * 0 when there is neither; mean is then zero. */
static enum err reference_read(const struct scan_file *s, const struct frames *f, int64_t row_first,
                               int64_t row_count, float *mean, int *found)
{
    const size_t n = (size_t)(row_count * s->channels);
    memset(mean, 0, n * sizeof *mean);
    *found = f->array != NULL;
    if (*found)
        TRY(frames_mean(s, f, row_first, row_count, mean));
    if (*found && (f->count > 1 || !all_zero(mean, n)))
        return ERR_OK;
    if (isfinite(f->value)) {
        *found = 1;
        for (size_t i = 0; i < n; i++)
            mean[i] = (float)f->value;
    }
    return ERR_OK;
}

static const char *frames_name(const struct scan_file *s, const struct frames *f,
                               const char *otherwise)
{
    return f->array && f->store == s->store ? f->array->name : otherwise;
}

static enum err references_read(const struct scan_file *s, int64_t row_first, int64_t row_count,
                                float *white, float *dark)
{
    int found;
    size_t n = (size_t)(row_count * s->channels), same = 0;
    TRY(reference_read(s, &s->darks, row_first, row_count, dark, &found));
    if (!found)
        log_warn("%s: has no dark frames: they are taken as 0", s->path);
    TRY(reference_read(s, &s->flats, row_first, row_count, white, &found));
    FAIL_IF(!found, ERR_INPUT, "%s: has no flat fields: give them with `flats=FILE`", s->path);
    for (size_t i = 0; i < n; i++)
        same += !(fabsf(white[i] - dark[i]) > 0);
    FAIL_IF(same == n, ERR_INPUT,
            "%s: %s is all zero or equal to %s: no transmission follows from it", s->path,
            frames_name(s, &s->flats, "the flat field"),
            frames_name(s, &s->darks, "the dark frames"));
    return ERR_OK;
}

/* Picks, from frames in the order in which they were taken, those before the first view (0) or
 * after the last (1). */
static struct frames flats_at(const struct scan_file *s, int after)
{
    struct frames f = s->flats;
    int64_t first = 0;
    const int64_t view = s->data.index[after ? s->data.count - 1 : 0];
    while (first < f.count && f.index[first] < view)
        first++;
    f.index += after ? first : 0;
    f.count = after ? f.count - first : first;
    return f;
}

/* Flats before and after: of a file of its own, or by the order of a scan's frames. */
static enum err drift_read(const struct exchange_source *source, const struct scan_file *s,
                           int64_t row_first, int64_t row_count, float *white, float *after)
{
    struct exchange_source other = *source;
    struct scan_file file;
    int found;
    memcpy(after, white, (size_t)(row_count * s->channels) * sizeof *after);
    if (source->flats_after) {
        other.flats = source->flats_after;
        enum err e = scan_file_open(&other, &file);
        if (!e)
            e = reference_read(&file, &file.flats, row_first, row_count, after, &found);
        scan_file_close(&file);
        return e;
    }
    if (!source->drift)
        return ERR_OK;
    const int known = s->flats.index && s->data.index && s->flats.store == s->store;
    const struct frames f[] = {known ? flats_at(s, 0) : s->flats,
                               known ? flats_at(s, 1) : s->flats};
    FAIL_IF(!known || !f[0].count || !f[1].count, ERR_INPUT,
            "%s: does not say which flat fields were taken before and after the views: give those "
            "after them with `flats_after=FILE`",
            s->path);
    TRY(frames_mean(s, &f[0], row_first, row_count, white));
    return frames_mean(s, &f[1], row_first, row_count, after);
}

/* Makes one angle per view in radians, malloc'ed. */
static enum err angles_make(const struct scan_file *s, float **angles)
{
    *angles = malloc((size_t)s->views * sizeof **angles);
    FAIL_IF(!*angles, ERR_MEMORY, "%s: no memory left for %" PRId64 " angles", s->path, s->views);
    const double step = s->views > 1 ? M_PI / (double)(s->views - 1) : 0;
    if (!s->theta)
        log_warn("%s: has no angles: they are taken evenly from 0 to 180 degrees, both included",
                 s->path);
    for (int64_t i = 0; i < s->views; i++)
        (*angles)[i] = (float)(s->theta ? s->theta[i] : step * (double)i);
    return ERR_OK;
}

static enum err check_rows(const struct scan_file *s, int64_t row_first, int64_t *row_count)
{
    int inside = row_first >= 0 && row_first < s->rows;
    int64_t left = inside ? s->rows - row_first : 0;
    if (*row_count < 0)
        *row_count = left;
    FAIL_IF(!inside || *row_count < 1 || *row_count > left, ERR_INPUT,
            "%s: %" PRId64 " rows from row %" PRId64 " are wanted, but it has rows 0 to %" PRId64,
            s->path, *row_count, row_first, s->rows - 1);
    return ERR_OK;
}

void exchange_counts_free(struct exchange_counts *c)
{
    mem_free(c->counts);
    mem_free(c->white);
    free(c->angles);
    *c = (struct exchange_counts){0};
}

struct exchange_cache {
    int64_t bytes_most;
    int is_open;
    struct scan_file file;
};

enum err exchange_cache_create(int64_t bytes_most, struct exchange_cache **out)
{
    *out = calloc(1, sizeof **out);
    FAIL_IF(!*out, ERR_MEMORY, "no memory left for decoded chunks");
    (*out)->bytes_most = bytes_most;
    return ERR_OK;
}

static void exchange_cache_close(struct exchange_cache *k)
{
    if (k->is_open)
        scan_file_close(&k->file);
    k->is_open = 0;
}

void exchange_cache_free(struct exchange_cache *k)
{
    if (k)
        exchange_cache_close(k);
    free(k);
}

void exchange_cache_count(const struct exchange_cache *k, int64_t *decoded, int64_t *again)
{
    struct chunk_cache_facts f = {0};
    if (k->is_open && k->file.kept)
        f = chunk_cache_facts(k->file.kept);
    *decoded = f.misses;
    *again = f.hits;
}

/* The scan: opened, or as an earlier read left it. */
static enum err exchange_cache_open(const struct exchange_source *source, struct scan_file *own,
                                    struct scan_file **out)
{
    struct exchange_cache *k = source->kept;
    *out = k ? &k->file : own;
    if (k && k->is_open)
        return ERR_OK;
    const enum err e = scan_file_open(source, *out);
    if (e && k)
        scan_file_close(*out);
    if (e)
        return e;
    if (k)
        k->is_open = 1;
    return scan_file_keep_all(*out, k ? k->bytes_most : 0, KEPT_BYTES);
}

enum err exchange_read_here(const struct exchange_source *source, int64_t row_first,
                            int64_t row_count, struct exchange_counts *out)
{
    struct scan_file own, *s;
    struct exchange_counts c = {0};
    void *block;
    size_t bytes, frame_bytes;
    enum err e;
    *out = c;
    TRY_OUT(exchange_cache_open(source, &own, &s));
    TRY_OUT(check_rows(s, row_first, &row_count));
    c.views = s->views;
    c.rows = row_count;
    c.channels = s->channels;
    TRY_OUT(mem_size("the views", c.views, c.rows, c.channels, sizeof(float), &bytes));
    TRY_OUT(mem_size("flat fields", 3, c.rows, c.channels, sizeof(float), &frame_bytes));
    TRY_OUT(angles_make(s, &c.angles));
    TRY_OUT(mem_alloc("the views", bytes, &block));
    c.counts = block;
    TRY_OUT(mem_alloc("flat fields", frame_bytes, &block));
    c.white = block;
    c.dark = c.white + c.rows * c.channels;
    c.after = c.dark + c.rows * c.channels;
    TRY_OUT(references_read(s, row_first, row_count, c.white, c.dark));
    TRY_OUT(drift_read(source, s, row_first, row_count, c.white, c.after));
    e = frames_read(s, &s->data, 0, s->views, row_first, row_count, c.counts, c.rows * c.channels);
out:
    if (!source->kept)
        scan_file_close(s);
    else if (e)
        exchange_cache_close(source->kept);
    if (e)
        exchange_counts_free(&c);
    *out = c;
    return e;
}

enum err exchange_info_here(const struct exchange_source *source, struct exchange_info *out)
{
    struct scan_file s;
    *out = (struct exchange_info){0};
    enum err e = scan_file_open(source, &s);
    if (!e) {
        snprintf(out->format, sizeof out->format, "%s", s.format);
        out->views = s.views;
        out->rows = s.rows;
        out->channels = s.channels;
        out->whites = s.flats.array ? s.flats.count : 0;
        out->darks = s.darks.array ? s.darks.count : 0;
        out->sinogram_order = s.data.rows_first;
        out->decoded_bytes = scan_file_decoded_bytes(&s);
        store_dtype_name(s.data.array->dtype, out->dtype);
        out->has_theta = s.theta != NULL;
        if (s.theta) {
            out->theta_first = s.theta[0];
            out->theta_last = s.theta[s.views - 1];
        }
        out->cone = s.cone;
        out->center = s.center;
        out->pixel = s.pixel;
        out->source_iso = s.source_iso;
        out->iso_detector = s.iso_detector;
    }
    scan_file_close(&s);
    return e;
}
