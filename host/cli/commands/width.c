/* Number widths of the primitives, measured: on the two-ellipsoid phantom and, if given, on a row
 * of a scan. For those who change the table of profiler/triage/model/width_needed.c or doubt it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/file.h"
#include "host/base/log.h"
#include "host/base/memory.h"
#include "host/cli/cli.h"
#include "host/geom/model.h"
#include "host/geom/phantom.h"
#include "host/store/format/exchange.h"
#include "profiler/fpga/hls/hls_export.h"
#include "profiler/fpga/width/width_sweep.h"

static const char *scan, *out = "width", *only, *hls;
static int64_t size = WIDTH_SIZE;
static double rmse = WIDTH_RMSE, ssim = WIDTH_SSIM, center = -1;

static struct opt options[] = {
    {"scan", 0, OPT_PATH, &scan, "FILE", "a Data Exchange scan, of which one row is used too", 0, 0,
     0},
    {"center", 0, OPT_NUMBER, &center, "X", "its rotation axis (default: found)", 0, 65536, 0},
    {"size", 'n', OPT_INT, &size, "N", "channels, views and edge of the slice (default 64)", 8, 256,
     0},
    {"rmse", 0, OPT_NUMBER, &rmse, "X", "largest error over the range (default 1e-3)", 1e-9, 1, 0},
    {"ssim", 0, OPT_NUMBER, &ssim, "X", "smallest similarity (default 0.999)", 0, 1, 0},
    {"only", 0, OPT_TEXT, &only, "NAME", "one primitive", 0, 0, 0},
    {"hls", 0, OPT_PATH, &hls, "FOLDER",
     "no sweep: write the C++ kernel of --only with its widths there", 0, 0, 0},
    {"out", 'o', OPT_PATH, &out, "PREFIX", "of .json and .svg (default width)", 0, 0, 0},
    {0},
};

/* The phantom's central slice by its exact line integrals, with 1 % of noise. */
static enum err phantom_case(struct width_case *c)
{
    const int n = (int)size;
    struct model m;
    struct ellipsoid e[PHANTOM_MAX];
    double *y = NULL, *angles = NULL;
    float *values = NULL;
    model_init(&m);
    m.scan.views = m.scan.channels = n;
    m.scan.rows = 1;
    m.scan.angles = angles_even(0, M_PI, n);
    enum err err = m.scan.angles ? model_resolve(&m) : FAIL(ERR_MEMORY, "no memory left");
    if (err)
        goto out;
    y = calloc((size_t)n * (size_t)n, sizeof *y);
    values = calloc((size_t)n * (size_t)n, sizeof *values);
    angles = calloc((size_t)n, sizeof *angles);
    if (!y || !values || !angles) {
        err = FAIL(ERR_MEMORY, "no memory left for a phantom of %d channels", n);
        goto out;
    }
    phantom_project(e, phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, &m.volume, e), &m.scan, values);
    noise_add(values, (int64_t)n * n, 0.01, 42);
    for (int i = 0; i < n * n; i++)
        y[i] = (double)values[i];
    for (int v = 0; v < n; v++)
        angles[v] = (double)m.scan.angles[v];
    err = width_case_create(c, "two ellipsoids", n, n, angles, 0.5 * (n - 1), y);
out:
    model_free(&m);
    free(y);
    free(values);
    free(angles);
    return err;
}

/* Row 0 of the scan with its channels added up in `size` bins (line integrals in units of a bin)
 * and `size` of its views. */
static enum err bin_scan(const struct projections *p, double axis, struct width_case *c)
{
    const int n = (int)size;
    const int64_t bin = (p->channels + n - 1) / n;
    double *y = calloc((size_t)n * (size_t)n, sizeof *y), *angles = calloc((size_t)n, sizeof *y);
    enum err e = y && angles ? ERR_OK : FAIL(ERR_MEMORY, "no memory left for a row of the scan");
    for (int v = 0; !e && v < n; v++) {
        const int64_t view = v * p->views / n;
        const float *row = p->sinogram + view * p->rows * p->channels;
        angles[v] = (double)p->angles[view];
        for (int64_t k = 0; k < n * bin; k++) /* the last channel goes on to the edge of the bins */
            y[v * n + k / bin] += (double)row[k < p->channels ? k : p->channels - 1] / (double)bin;
    }
    if (!e)
        e = width_case_create(c, "scan", n, n, angles, (axis + 0.5) / (double)bin - 0.5, y);
    free(y);
    free(angles);
    return e;
}

static enum err scan_case(struct width_case *c)
{
    struct projections p = {0};
    double axis = center, score;
    TRY(exchange_read(scan, 0, 1, &p));
    enum err e = ERR_OK;
    if (axis < 0)
        e = find_center(&p, &axis, &score);
    if (!e && (p.channels < size || p.views < size))
        e = FAIL(ERR_INPUT,
                 "%s: %" PRId64 " views of %" PRId64 " channels: --size %" PRId64
                 " needs as many of both",
                 scan, p.views, p.channels, size);
    if (!e)
        e = bin_scan(&p, axis, c);
    projections_free(&p);
    return e;
}

static void report(const struct width_sweep *s)
{
    printf("%-26s", s->primitive->name);
    for (int k = 0; k < WIDTH_STAGES; k++)
        if (!s->primitive->stages[k])
            printf("  -");
        else
            printf(" %2d", s->bits[k]);
    for (int c = 0; c < s->cases; c++)
        printf("  %.1e %.5f", s->together[c].rmse, s->together[c].ssim);
    for (int i = 0; i < s->formats_count; i++) {
        int keeps = 1;
        for (int c = 0; c < s->cases; c++)
            keeps &= width_keeps(&s->formats[i].at[c], s->limits);
        if (keeps)
            printf("  %s%s", s->formats[i].name, s->formats[i].sums_wide ? "*" : "");
    }
    printf("%s\n", s->reached ? "" : "  NOT REACHED");
}

static enum err write_files(const struct width_sweep *s, int n, const struct width_case *cases)
{
    static const char *const suffixes[] = {".json", ".svg"};
    for (int i = 0; i < 2; i++) {
        struct outfile f = {0};
        char *path = NULL;
        FAIL_IF(asprintf(&path, "%s%s", out, suffixes[i]) < 0, ERR_MEMORY, "no memory left");
        enum err e = outfile_open(&f, path);
        if (!e)
            e = i ? width_write_svg(s, n, f.stream)
                  : width_write_json(s, n, cases, TP_VERSION, f.stream);
        if (!e)
            e = outfile_commit(&f);
        outfile_abort(&f);
        if (!e)
            log_info("%s", path);
        free(path);
        TRY(e);
    }
    return ERR_OK;
}

static enum err sweep_all(const struct width_case *cases, int n)
{
    int count = 0, room = 0;
    while (width_primitive_at(room))
        room++;
    struct width_sweep *s = calloc((size_t)room, sizeof *s);
    FAIL_IF(!s, ERR_MEMORY, "no memory left for %d sweeps", room);
    enum err e = ERR_OK;
    for (int i = 0; !e && i < room; i++) {
        const struct width_primitive *p = width_primitive_at(i);
        if (only && strcmp(only, p->name))
            continue;
        e = width_sweep(p, cases, n, (struct width_limits){rmse, ssim}, &s[count]);
        if (!e)
            report(&s[count++]);
        fflush(stdout);
    }
    if (!e)
        e = write_files(s, count, cases);
    free(s);
    return e;
}

static enum err run(int words, char **word)
{
    (void)words, (void)word;
    struct width_case cases[2] = {0};
    FAIL_IF(only && !width_primitive_named(only), ERR_USAGE,
            "--only %s: no such primitive; docs/triage-width.md lists them", only);
    FAIL_IF(hls && !only, ERR_USAGE, "--hls: say of which primitive with --only NAME");
    enum err e = phantom_case(&cases[0]);
    if (!e && scan)
        e = scan_case(&cases[1]);
    if (!e && hls)
        e = hls_export_write(only, &cases[scan ? 1 : 0], NULL, hls);
    else if (!e)
        e = sweep_all(cases, scan ? 2 : 1);
    width_case_destroy(&cases[0]);
    width_case_destroy(&cases[1]);
    return e;
}

const struct command cmd_width = {
    "width",
    "Measures how many bits each stage of a primitive needs; writes its kernel for an FPGA.",
    "",
    "Simulates each primitive with rounded stages against itself in float64, on the two-ellipsoid\n"
    "phantom and on a scan. A line for each: bits of sample, coordinate, coefficient, product and\n"
    "sum, error and similarity for each data set, small formats that keep the quality (*: sums in\n"
    "float32). PREFIX.json and PREFIX.svg hold the curves.\n\n"
    "Example: tomoprof width --scan tests/data/tooth.h5\n",
    options,
    0,
    0,
    0,
    run,
};
