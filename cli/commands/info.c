/* The command `info`: what a file holds, by its content. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "base/timing/timing.h"
#include "cli/cli.h"
#include "cli/doctor/facts.h"
#include "cli/storage/info_store.h"
#include "host/geom/ct_model.h"
#include "host/geom/kinds.h"
#include "host/store/format/nifti.h"
#include "host/store/format/geometry_json.h"
#include "host/store/engine/overview.h"
#include "host/store/fetch/http.h"
#include "host/store/format/npy.h"

#define HEAD_BYTES 65536
#define UNKNOWN    ((double)NAN)
#define JSON_LIMIT ((size_t)256 << 20)

static struct info_request {
    int json, histogram;
    int64_t bins;
} request;

static struct opt options[] = {
    OPTION_FLAG("histogram", 0, request.histogram,
                "counts the values of the file's first array in bins\nof one width"),
    OPTION_INT("bins", 0, request.bins, "N", "of --histogram (default 64)", 1, HISTOGRAM_BINS_MOST),
    CLI_OPT_LINKS,
    CLI_OPT_JSON(request.json),
    {0},
};

struct summary {
    double min, max, sum;
    int64_t n, not_finite;
};

/* Minimum, maximum and sum of the float32 values from `offset` on, read in pieces. */
static enum err summarise_values(const char *path, int64_t offset, struct summary *s)
{
    *s = (struct summary){.min = INFINITY, .max = -INFINITY};
    static float piece[1 << 16];
    FILE *f;
    TRY(file_open(path, &f));
    if (fseeko(f, offset, SEEK_SET)) {
        fclose(f);
        return FAIL(ERR_INPUT, "%s: ends before its data", path);
    }
    size_t got;
    while ((got = fread(piece, sizeof *piece, sizeof piece / sizeof *piece, f)) > 0) {
        for (size_t i = 0; i < got; i++) {
            double v = (double)piece[i];
            if (!isfinite(v)) {
                s->not_finite++;
                continue;
            }
            s->min = v < s->min ? v : s->min;
            s->max = v > s->max ? v : s->max;
            s->sum += v;
        }
        s->n += (int64_t)got;
    }
    const int failed = ferror(f) ? errno : 0;
    fclose(f);
    FAIL_IF(failed, ERR_IO, "%s: reading failed: %s", path, strerror(failed));
    return ERR_OK;
}

static enum err info_npy(const char *path, const unsigned char *head, size_t bytes)
{
    struct npy_header h;
    TRY(npy_parse(path, head, bytes, &h));
    int64_t count = 1;
    for (int i = 0; i < h.dims; i++)
        FAIL_IF(__builtin_mul_overflow(count, h.shape[i], &count), ERR_INPUT,
                "%s: the shape is impossibly large", path);
    int floats = !strcmp(h.dtype, "<f4");
    struct summary s = {0};
    if (floats)
        TRY(summarise_values(path, h.data_offset, &s));
    struct facts f;
    facts_begin(&f, request.json);
    facts_string(&f, "file", path);
    facts_string(&f, "format", "NumPy array");
    facts_shape(&f, "shape", h.dims, h.shape);
    facts_string(&f, "dtype", h.dtype);
    facts_string(&f, "order", h.fortran ? "Fortran" : "C");
    if (floats) {
        double finite = (double)(s.n - s.not_finite);
        facts_number(&f, "minimum", finite > 0 ? s.min : UNKNOWN, "");
        facts_number(&f, "maximum", finite > 0 ? s.max : UNKNOWN, "");
        facts_number(&f, "mean", finite > 0 ? s.sum / finite : UNKNOWN, "");
        facts_int(&f, "not_finite", s.not_finite);
        facts_int(&f, "values_missing", count - s.n);
    }
    facts_bool(&f, "usable_by_op", floats && !h.fortran && count == s.n && !s.not_finite);
    facts_end(&f);
    return ERR_OK;
}

static enum err info_nifti(const char *path)
{
    struct nifti_header h;
    TRY(nifti_read_header(path, &h));
    struct facts f;
    facts_begin(&f, request.json);
    facts_string(&f, "file", path);
    facts_string(&f, "format",
                 h.analyze        ? "Analyze 7.5 volume"
                 : h.version == 2 ? "NIfTI-2 volume"
                                  : "NIfTI-1 volume");
    facts_shape(&f, "shape", h.dims, h.shape);
    const char *unit = nifti_unit(h.details.units, 0);
    facts_number(&f, "spacing_x", h.spacing[0], unit ? unit : "");
    facts_number(&f, "spacing_y", h.dims > 1 ? h.spacing[1] : UNKNOWN, unit ? unit : "");
    facts_number(&f, "spacing_z", h.dims > 2 ? h.spacing[2] : UNKNOWN, unit ? unit : "");
    info_affine(&f, &h.details);
    facts_int(&f, "datatype", h.datatype);
    facts_int(&f, "bits", h.bits);
    facts_bool(&f, "big_endian", h.big_endian);
    facts_number(&f, "slope", h.slope, "");
    facts_number(&f, "intercept", h.intercept, "");
    facts_end(&f);
    return ERR_OK;
}

static enum err info_model(const char *path, const char *text, size_t bytes)
{
    struct ct_model m;
    TRY(ct_model_parse(path, text, bytes, &m));
    const struct scan *s = &m.scan;
    const struct volume *v = &m.volume;
    const int64_t sinogram[] = {s->views, s->rows, s->channels},
                  volume[] = {v->rows, v->cols, v->slices};
    struct facts f;
    facts_begin(&f, request.json);
    facts_string(&f, "file", path);
    facts_string(&f, "format", "geometry");
    facts_string(&f, "beam", scan_kind_names[scan_kind_of(s)]);
    facts_shape(&f, "sinogram_shape", 3, sinogram);
    facts_shape(&f, "recon_shape", 3, volume);
    facts_number(&f, "delta_voxel", v->delta, "");
    facts_number(&f, "angle_first", (double)s->angles[0] * 180 / M_PI, "degrees");
    facts_number(&f, "angle_last", (double)s->angles[s->views - 1] * 180 / M_PI, "degrees");
    if (scan_is_translation(s))
        facts_number(&f, "magnification", scan_magnification(s), "");
    if (scan_is_cone(s)) {
        facts_number(&f, "magnification", scan_magnification(s), "");
        facts_bool(&f, "curved_detector", s->curved);
        facts_bool(&f, "helical", s->z_shifts != NULL);
    }
    facts_bytes(&f, "sinogram_bytes", 4.0 * (double)scan_samples(s));
    facts_bytes(&f, "volume_bytes", 4.0 * (double)volume_voxels(v));
    facts_end(&f);
    ct_model_free(&m);
    return ERR_OK;
}

/* Is the schema one of tomoprof's timings? */
static int info_is_timing(const struct timing_file *t)
{
    return t && t->schema && !strncmp(t->schema, "tomoprof-timing/", 16);
}

static void info_print_environment(struct facts *f, const struct timing_environment *e)
{
    const struct json_record *type = &record_timing_environment;
    facts_group(f, "environment");
    for (int i = 0; i < type->count; i++) {
        const struct json_field *field = &type->fields()[i];
        const void *at = json_at(field, e);
        if (field->kind == JSON_TEXT && *(const char *const *)at)
            facts_string(f, field->key, *(const char *const *)at);
        else if (field->kind == JSON_REAL && isfinite(*(const double *)at))
            facts_number(f, field->key, *(const double *)at, "");
        else if (field->kind == JSON_INT && *(const int64_t *)at != JSON_UNKNOWN)
            facts_number(f, field->key, (double)*(const int64_t *)at, "");
    }
    facts_group_end(f);
}

static void info_print_counts(struct facts *f, const struct timing_file *t)
{
    static const char *const states[] = {"ok", "skipped", "failed"};
    int counts[3] = {0};
    for (int k = 0; k < t->measurements_count; k++) {
        const char *status = t->measurements[k].status;
        for (int i = 0; i < 3; i++)
            counts[i] += status && !strcmp(status, states[i]);
    }
    facts_group(f, "measurements");
    for (int i = 0; i < 3; i++)
        facts_int(f, states[i], counts[i]);
    facts_group_end(f);
}

static void info_print_number(double v, int columns, const char *format)
{
    if (isfinite(v))
        printf(format, v);
    else
        plain_print(stdout, "%*s", columns, "-");
}

static void info_print_statistics(const struct timing_file *t)
{
    plain_print(stdout, "\n%-32s %6s %10s%10s%10s\n", "operation", "size", "median s", "spread %",
                "of peak %");
    for (int i = 0; i < t->statistics_count; i++) {
        const struct timing_statistics *s = &t->statistics[i];
        plain_print(stdout, "%-32s ", s->operation ? s->operation : "?");
        info_print_number(json_real(s->volume_size), 6, "%6.0f");
        putchar(' ');
        info_print_number(s->median, 10, "%10.4g");
        info_print_number(100 * s->cv, 10, "%10.1f");
        info_print_number(100 * s->roof_share, 10, "%10.1f");
        putchar('\n');
    }
}

/* Prints environment, counts of rows and the statistics. */
static void info_timing(const char *path, const struct timing_file *t)
{
    struct facts f;
    facts_begin(&f, request.json);
    facts_string(&f, "file", path);
    facts_string(&f, "format", "timings of the profile suite");
    facts_string(&f, "schema", t->schema);
    info_print_environment(&f, &t->environment);
    info_print_counts(&f, t);
    facts_end(&f);
    if (!request.json)
        info_print_statistics(t);
}

static enum err info_json(const char *path)
{
    struct timing_file *t;
    char *text;
    size_t bytes;
    TRY(timing_file_read(path, &t));
    const int timing = info_is_timing(t);
    if (timing)
        info_timing(path, t);
    timing_file_free(t);
    if (timing)
        return ERR_OK;
    TRY(file_read_all(path, JSON_LIMIT, &text, &bytes));
    enum err e = info_model(path, text, bytes);
    free(text);
    return e;
}

static enum err info_folder(const char *path)
{
    char folder[RUN_PATH], name[RUN_PATH + 16];
    struct stat st;
    TRY(run_find(path, folder));
    snprintf(name, sizeof name, "%s/timing.json", folder);
    if (!stat(name, &st))
        return info_json(name);
    snprintf(name, sizeof name, "%s/record.json", folder);
    FAIL_IF(!stat(name, &st), ERR_INPUT,
            "%s: a recording, which has lines and no times of operations: `tomoprof report %s "
            "--text` prints them",
            folder, folder);
    return FAIL(ERR_INPUT, "%s: a folder without timing.json: name a run, as in latest", folder);
}

static enum err run_info(int words, char **word)
{
    (void)words;
    const char *path = word[0];
    static unsigned char head[HEAD_BYTES + 1];
    struct stat st;
    FAIL_IF(request.bins && !request.histogram, ERR_USAGE, "--bins is for --histogram: add it");
    if (request.histogram)
        return info_histogram(path, request.bins ? (int)request.bins : 64, request.json);
    if (http_is_url(path))
        return info_store(path, request.json);
    if (!stat(path, &st) && S_ISDIR(st.st_mode) && info_is_store(path))
        return info_store(path, request.json);
    FILE *f;
    if (!run_is_file(path))
        return info_folder(path);
    TRY(file_open(path, &f));
    size_t bytes = fread(head, 1, HEAD_BYTES, f);
    const int failed = ferror(f) ? errno : 0;
    fclose(f);
    FAIL_IF(failed, ERR_IO, "%s: reading failed: %s", path, strerror(failed));

    int32_t first = 0;
    memcpy(&first, head, bytes < sizeof first ? bytes : sizeof first);
    int32_t swapped = (int32_t)__builtin_bswap32((uint32_t)first);
    size_t blank = 0;
    while (blank < bytes && head[blank] && strchr(" \t\r\n", head[blank]))
        blank++;
    if (bytes >= 6 && !memcmp(head, "\x93NUMPY", 6))
        return info_npy(path, head, bytes);
    if (first == 348 || first == 540 || swapped == 348 || swapped == 540 ||
        (head[0] == 0x1f && head[1] == 0x8b))
        return info_nifti(path);
    if (blank < bytes && head[blank] == '{' && !info_is_references((const char *)head))
        return info_json(path);
    return info_store(path, request.json);
}

const struct command cmd_info = {
    .name = "info",
    .summary = "Shows what is in a file or a run.",
    .words = "FILE",
    .text = "Reads every format that `tomoprof load` reads, geometry files, timing.json and run "
            "folders. The\n"
            "content decides, not the name.\n\n"
            "Examples:\n"
            "  tomoprof info tests/data/tooth.h5\n"
            "  tomoprof info latest\n"
            "  tomoprof info --json volume.nii.gz\n"
            "  tomoprof info --histogram --bins 100 volume.nii\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_info,
};
