/* Reads Data Exchange files: counts in either order of axes, references, angles. */
#ifdef TP_HDF5
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/log.h"
#include "host/base/memory.h"
#include "host/store/exchange/exchange_here.h"
#include "host/store/engine/engine.h"
#include "host/store/format/h5.h"

#define DATA        "exchange/data"
#define THETA       "exchange/theta"
#define WHITE_VALUE "process/acquisition/flat_fields/flat_field_value"
#define DARK_VALUE  "process/acquisition/dark_fields/dark_field_value"
#define ROTATION    "process/acquisition/rotation/"
#define BLOCK_BYTES ((int64_t)32 << 20) /* per call of HDF5: progress and interrupts in between */

/* Which axis of (views, rows, channels) comes first. */
enum order { THETA_FIRST, ROWS_FIRST };

struct scan_file {
    const char *path;
    hid_t file;
    struct store *store; /* the same file, for the engine; NULL: libhdf5 reads it */
    struct h5_array data;
    enum order order;
    int64_t views, rows, channels;
};

/* "theta:y:x" or "y:theta:x" (theta_white and theta_dark instead of theta in the frames); absent:
 * `otherwise`. */
static enum err read_order(const struct h5_array *a, enum order otherwise, enum order *order)
{
    char axes[64];
    *order = otherwise;
    if (!h5_text(a->dataset, "axes", axes, sizeof axes))
        return ERR_OK;
    size_t first = strcspn(axes, ":"), theta = strlen("theta");
    const char *rest = axes + first;
    if (!strncmp(axes, "theta", theta) && !strcmp(rest, ":y:x"))
        *order = THETA_FIRST;
    else if (!strncmp(axes, "y:theta", first + 1 + theta) && first == 1 &&
             !strcmp(axes + strlen(axes) - 2, ":x"))
        *order = ROWS_FIRST;
    else
        return FAIL(ERR_INPUT, "%s: %s has the axes \"%.40s\"; theta:y:x and y:theta:x are known",
                    a->path, a->name, axes);
    return ERR_OK;
}

static enum err scan_open(const char *path, struct scan_file *s)
{
    *s = (struct scan_file){.path = path, .file = -1, .data.dataset = -1};
    TRY(h5_open(path, &s->file));
    if (store_open(path, &s->store))
        s->store = NULL; /* libhdf5 may know more */
    FAIL_IF(!h5_exists(s->file, DATA), ERR_INPUT,
            "%s: has no dataset " DATA ": is it a Data Exchange file?", path);
    TRY(h5_array_open(path, s->file, DATA, &s->data));
    FAIL_IF(s->data.dims != 3, ERR_INPUT, "%s: " DATA " has %d dimensions instead of 3", path,
            s->data.dims);
    TRY(read_order(&s->data, THETA_FIRST, &s->order));
    s->views = s->data.shape[s->order == THETA_FIRST ? 0 : 1];
    s->rows = s->data.shape[s->order == THETA_FIRST ? 1 : 0];
    s->channels = s->data.shape[2];
    return ERR_OK;
}

static void scan_close(struct scan_file *s)
{
    h5_array_close(&s->data);
    store_close(s->store);
    if (s->file >= 0)
        H5Fclose(s->file);
}

/* As block_read. HDF5 goes over both sides in the same order, so that the target's dimensions are
 * in the order of the block's: row by row where its first dimension is not the slowest. */
static enum err by_library(const struct h5_array *a, const struct h5_block *from, float *out,
                           const int64_t *stride)
{
    enum err e = ERR_OK;
    struct h5_block part = *from, to = {.start = {0}};
    const int64_t rows = a->dims == 3 ? from->count[0] : 1,
                  step = a->dims == 3 && stride[0] > stride[1]
                             ? BLOCK_BYTES / (stride[0] * (int64_t)sizeof *out) + 1
                             : 1;
    for (int64_t i = 0; i < rows && !e; i += step) {
        const int64_t n = i + step < rows ? step : rows - i;
        if (a->dims == 3) {
            part.start[0] = from->start[0] + i;
            part.count[0] = n;
        }
        memcpy(to.count, part.count, sizeof to.count);
        memcpy(to.shape, part.count, sizeof to.shape);
        if (a->dims == 3 && n == 1) { /* lines of the target lie stride[1] apart */
            to.shape[0] = 1;
            to.shape[1] = from->count[1];
            to.shape[2] = stride[1];
        }
        progress("reading", (double)i, (double)rows);
        e = h5_read(a, &part, out + (a->dims == 3 ? i * stride[0] : 0), &to);
    }
    progress_end();
    return e;
}

/* The block `from` of an array into the elements of `out` that are stride[i] apart, as float32. The
 * engine decodes chunks in parallel; datasets with filters that it does not know are libhdf5's. */
static enum err block_read(const struct scan_file *s, const struct h5_array *a,
                           const struct h5_block *from, float *out, const int64_t *stride)
{
    const struct store_dtype f4 = {'f', 4, 0};
    struct store_array *array = NULL;
    struct engine_box box = {.start = {0}};
    int64_t bytes[STORE_DIMS] = {0};
    for (int i = 0; s->store && i < s->store->arrays_count && !array; i++)
        if (!strcmp(s->store->arrays[i]->name, a->name) && s->store->arrays[i]->dims == a->dims &&
            engine_converts(s->store->arrays[i]->dtype, f4))
            array = s->store->arrays[i];
    for (int i = 0; i < a->dims; i++) {
        box.start[i] = from->start[i];
        box.count[i] = from->count[i];
        bytes[i] = stride[i] * (int64_t)sizeof *out;
    }
    if (array)
        return engine_read(s->store, array, &box, f4, out, bytes);
    return by_library(a, from, out, stride);
}

/* Flat or dark frames: (frames, rows, channels), (rows, frames, channels) or a single (rows,
 * channels). */
static enum err frames_open(const struct scan_file *s, const char *name, struct h5_array *a,
                            enum order *order, int64_t *frames)
{
    TRY(h5_array_open(s->path, s->file, name, a));
    int64_t rows = a->dims ? a->shape[0] : 0, channels = a->dims ? a->shape[a->dims - 1] : 0;
    enum err e = ERR_OK;
    *frames = 1;
    *order = THETA_FIRST;
    if (a->dims == 3) {
        enum order natural =
            a->shape[1] != s->rows && a->shape[0] == s->rows ? ROWS_FIRST : THETA_FIRST;
        e = read_order(a, natural, order);
        rows = a->shape[*order == THETA_FIRST ? 1 : 0];
        *frames = a->shape[*order == THETA_FIRST ? 0 : 1];
    }
    if (!e && (a->dims < 2 || rows != s->rows || channels != s->channels))
        e = FAIL(ERR_INPUT,
                 "%s: %s has frames of %" PRId64 " x %" PRId64 ", the views %" PRId64 " x %" PRId64
                 " (rows x channels)",
                 s->path, name, rows, channels, s->rows, s->channels);
    if (e)
        h5_array_close(a);
    return e;
}

static enum err frame_read(const struct scan_file *s, const struct h5_array *a, enum order order,
                           int64_t frame, int64_t row_first, int64_t row_count, int64_t channels,
                           float *out)
{
    struct h5_block from = {.start = {row_first}, .count = {row_count, channels}};
    if (a->dims == 3) {
        int theta = order == THETA_FIRST ? 0 : 1;
        from = (struct h5_block){.count = {1, 1, channels}};
        from.start[theta] = frame;
        from.start[1 - theta] = row_first;
        from.count[1 - theta] = row_count;
    }
    const int64_t stride[H5_DIMS] = {a->dims == 3 && order == ROWS_FIRST ? channels
                                     : a->dims == 3                      ? row_count * channels
                                                                         : channels,
                                     a->dims == 3 ? channels : 1, 1};
    return block_read(s, a, &from, out, stride);
}

/* Mean over the frames of `name` of the wanted rows, in float64. */
static enum err frames_mean(const struct scan_file *s, const char *name, int64_t row_first,
                            int64_t row_count, float *mean, int64_t *frames)
{
    struct h5_array a;
    enum order order;
    size_t n = (size_t)(row_count * s->channels);
    void *frame = NULL, *sum = NULL;
    TRY(frames_open(s, name, &a, &order, frames));
    enum err e;
    TRY_OUT(mem_alloc(name, n * sizeof(float), &frame));
    TRY_OUT(mem_alloc_zero(name, n * sizeof(double), &sum));
    for (int64_t k = 0; k < *frames; k++) {
        TRY_OUT(frame_read(s, &a, order, k, row_first, row_count, s->channels, frame));
        for (size_t i = 0; i < n; i++)
            ((double *)sum)[i] += (double)((float *)frame)[i];
    }
    for (size_t i = 0; i < n; i++)
        mean[i] = (float)(((double *)sum)[i] / (double)*frames);
out:
    mem_free(sum);
    mem_free(frame);
    h5_array_close(&a);
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
static enum err reference_read(const struct scan_file *s, const char *name, const char *value_name,
                               int64_t row_first, int64_t row_count, float *mean, int *found)
{
    size_t n = (size_t)(row_count * s->channels);
    int64_t frames = 0;
    double value;
    memset(mean, 0, n * sizeof *mean);
    *found = h5_exists(s->file, name);
    if (*found)
        TRY(frames_mean(s, name, row_first, row_count, mean, &frames));
    if (*found && (frames > 1 || !all_zero(mean, n)))
        return ERR_OK;
    if (h5_scalar(s->path, s->file, value_name, &value)) {
        *found = 1;
        for (size_t i = 0; i < n; i++)
            mean[i] = (float)value;
    }
    return ERR_OK;
}

static enum err references_read(const struct scan_file *s, int64_t row_first, int64_t row_count,
                                float *white, float *dark)
{
    int found;
    size_t n = (size_t)(row_count * s->channels), same = 0;
    TRY(reference_read(s, "exchange/data_dark", DARK_VALUE, row_first, row_count, dark, &found));
    if (!found)
        log_warn("%s: has no exchange/data_dark: dark frames are taken as 0", s->path);
    TRY(reference_read(s, "exchange/data_white", WHITE_VALUE, row_first, row_count, white, &found));
    FAIL_IF(!found, ERR_INPUT, "%s: has no dataset exchange/data_white (flat fields)", s->path);
    for (size_t i = 0; i < n; i++)
        same += !(fabsf(white[i] - dark[i]) > 0);
    FAIL_IF(same == n, ERR_INPUT,
            "%s: exchange/data_white is all zero or equal to exchange/data_dark: no transmission "
            "follows from it",
            s->path);
    return ERR_OK;
}

/* The wanted rows of all views, straight into their place in `out`: (views, rows, channels). */
static enum err counts_read(const struct scan_file *s, int64_t row_first, int64_t row_count,
                            float *out)
{
    const int64_t view = row_count * s->channels;
    const struct h5_block theta_first = {.start = {0, row_first},
                                         .count = {s->views, row_count, s->channels}},
                          rows_first = {.start = {row_first},
                                        .count = {row_count, s->views, s->channels}};
    const int by_row = s->order == ROWS_FIRST;
    const int64_t stride[] = {by_row ? s->channels : view, by_row ? view : s->channels, 1};
    return block_read(s, &s->data, by_row ? &rows_first : &theta_first, out, stride);
}

/* Degrees or radians by the `units` attribute. Without it the specification says radians, but
 * beamlines write degrees: angles beyond two turns of radians are taken as such. */
static enum err theta_factor(const struct h5_array *a, const double *theta, int64_t n,
                             double *factor)
{
    char units[32];
    if (h5_text(a->dataset, "units", units, sizeof units)) {
        int degrees = !strncmp(units, "deg", 3), radians = !strncmp(units, "rad", 3);
        FAIL_IF(!degrees && !radians, ERR_INPUT,
                "%s: " THETA " has the units \"%s\"; deg and rad are known", a->path, units);
        *factor = degrees ? M_PI / 180 : 1;
        return ERR_OK;
    }
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(theta[i]));
    *factor = largest > 4 * M_PI ? M_PI / 180 : 1;
    log_info("%s: " THETA " has no units: taken as %s", a->path,
             *factor == 1 ? "radians" : "degrees");
    return ERR_OK;
}

static enum err theta_read(const struct scan_file *s, double *theta, double *factor)
{
    struct h5_array a;
    TRY(h5_array_open(s->path, s->file, THETA, &a));
    enum err e = ERR_OK;
    if (a.dims != 1 || a.shape[0] != s->views)
        e = FAIL(ERR_INPUT, "%s: " THETA " has %" PRId64 " angles and " DATA " %" PRId64 " views",
                 s->path, a.dims == 1 ? a.shape[0] : 0, s->views);
    else
        e = h5_read_all(&a, theta);
    for (int64_t i = 0; !e && i < s->views; i++)
        if (!isfinite(theta[i]))
            e = FAIL(ERR_INPUT, "%s: " THETA "[%" PRId64 "] is not a finite number", s->path, i);
    if (!e)
        e = theta_factor(&a, theta, s->views, factor);
    h5_array_close(&a);
    return e;
}

/* Even angles where no dataset names them: by the rotation's start and step in degrees, or over
 * half a turn with its end included, as the specification says. */
static void theta_even(const struct scan_file *s, double *theta, double *factor)
{
    double start = 0, step = s->views > 1 ? 180 / (double)(s->views - 1) : 0;
    if (h5_scalar(s->path, s->file, ROTATION "rotation_step", &step))
        h5_scalar(s->path, s->file, ROTATION "rotation_start", &start);
    else
        log_warn("%s: has no " THETA
                 ": angles are taken evenly from 0 to 180 degrees, both included",
                 s->path);
    for (int64_t i = 0; i < s->views; i++)
        theta[i] = start + step * (double)i;
    *factor = M_PI / 180;
}

/* One angle per view in radians, malloc'ed. */
static enum err exchange_theta(const struct scan_file *s, float **angles)
{
    void *theta;
    double factor = 1;
    enum err e = ERR_OK;
    TRY(mem_alloc(THETA, (size_t)s->views * sizeof(double), &theta));
    if (h5_exists(s->file, THETA))
        e = theta_read(s, theta, &factor);
    else
        theta_even(s, theta, &factor);
    *angles = e ? NULL : malloc((size_t)s->views * sizeof **angles);
    if (!e && !*angles)
        e = FAIL(ERR_MEMORY, "%s: no memory left for %" PRId64 " angles", s->path, s->views);
    for (int64_t i = 0; !e && i < s->views; i++)
        (*angles)[i] = (float)(((double *)theta)[i] * factor);
    mem_free(theta);
    return e;
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

enum err exchange_read_here(const char *path, int64_t row_first, int64_t row_count,
                            struct exchange_counts *out)
{
    struct scan_file s;
    struct exchange_counts c = {0};
    void *block;
    size_t bytes, frame_bytes;
    enum err e;
    *out = c;
    TRY_OUT(scan_open(path, &s));
    TRY_OUT(check_rows(&s, row_first, &row_count));
    c.views = s.views;
    c.rows = row_count;
    c.channels = s.channels;
    TRY_OUT(mem_size(DATA, c.views, c.rows, c.channels, sizeof(float), &bytes));
    TRY_OUT(mem_size("flat fields", 2, c.rows, c.channels, sizeof(float), &frame_bytes));
    TRY_OUT(exchange_theta(&s, &c.angles));
    TRY_OUT(mem_alloc(DATA, bytes, &block));
    c.counts = block;
    TRY_OUT(mem_alloc("flat fields", frame_bytes, &block));
    c.white = block;
    c.dark = c.white + c.rows * c.channels;
    TRY_OUT(references_read(&s, row_first, row_count, c.white, c.dark));
    e = counts_read(&s, row_first, row_count, c.counts);
out:
    scan_close(&s);
    if (e)
        exchange_counts_free(&c);
    *out = c;
    return e;
}

enum err exchange_info_here(const char *path, struct exchange_info *out)
{
    struct scan_file s;
    struct h5_array frames;
    enum order order;
    float *angles = NULL;
    enum err e;
    *out = (struct exchange_info){0};
    TRY_OUT(scan_open(path, &s));
    out->views = s.views;
    out->rows = s.rows;
    out->channels = s.channels;
    out->sinogram_order = s.order == ROWS_FIRST;
    memcpy(out->dtype, s.data.dtype, sizeof out->dtype);
    const char *const names[] = {"exchange/data_white", "exchange/data_dark"};
    int64_t *counts[] = {&out->whites, &out->darks};
    for (int i = 0; i < 2; i++)
        if (h5_exists(s.file, names[i])) {
            TRY_OUT(frames_open(&s, names[i], &frames, &order, counts[i]));
            h5_array_close(&frames);
        }
    out->has_theta = h5_exists(s.file, THETA);
    if (out->has_theta) {
        TRY_OUT(exchange_theta(&s, &angles));
        out->theta_first = (double)angles[0];
        out->theta_last = (double)angles[s.views - 1];
    }
out:
    free(angles);
    scan_close(&s);
    return e;
}
#endif
