/* The command `simulate`: a synthetic scan as geometry, arrays and a Data Exchange file. */
#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/backend/course.h"
#include "host/backend/registry.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "host/geom/ct_model.h"
#include "host/geom/kinds.h"
#include "host/store/exchange/exchange.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/npy.h"
#include "host/recon/recon.h"
#include "host/recon/synthetic.h"

#define WHITE_COUNTS 50000.0 /* flat field of the .h5: what a 16-bit camera is exposed to */

static struct simulate_request {
    const char *geometry, *out, *backend;
    int64_t size, views, rows, channels, seed;
    double noise, range;
    int phantom, exact;
    struct backend_options backend_options;
} request = {.geometry = "parallel",
             .out = "scan",
             .backend = "auto",
             .size = 64,
             .seed = 42,
             .noise = 0.01};

static struct opt options[] = {
    OPTION_INPUT(
        "geometry", 'g', request.geometry, "KIND|FILE",
        "parallel (default), cone (source to detector 4 N, to axis 2 N),\ntranslation (that cone, "
        "the object moves), multiaxis (parallel\nrays, 20 degrees up), or a file that gives all"),
    OPTION_INT("size", 'n', request.size, "N", "N/2 views of N x N cells, volume N^3 (default 64)",
               1, 65536),
    OPTION_INT("views", 0, request.views, "N", "number of views, instead of N/2", 1, 1e7),
    OPTION_INT("rows", 0, request.rows, "N", "detector rows, instead of N", 1, 1e6),
    OPTION_INT("channels", 0, request.channels, "N", "detector channels, instead of N", 1, 1e6),
    OPTION_NUMBER("range", 0, request.range, "DEGREES",
                  "angle covered (default: parallel 180, cone 360)", -36000, 36000),
    OPTION_CHOICE("phantom", 'p', request.phantom, PHANTOM_NAMES,
                  "the object (default two-ellipsoids)"),
    OPTION_NUMBER("noise", 0, request.noise, "X",
                  "standard deviation as a share of the largest value (default 0.01)", 0, 1e6),
    OPTION_INT("seed", 0, request.seed, "N", "seed of the noise (default 42)", 0, 4294967295.0),
    OPTION_FLAG("exact", 'x', request.exact,
                "line integrals by formula, not by the forward projector"),
    OPTION_PLACE("out", 'o', request.out, "PREFIX", "where the files go (default scan)"),
    CLI_OPT_BACKEND(request.backend),
    CLI_OPT_THREADS(request.backend_options.threads),
    {0},
};

static int option_given(const char *name)
{
    for (const struct opt *o = options; o->name; o++)
        if (!strcmp(o->name, name))
            return o->seen;
    return 0;
}

/* A geometry file gives all, and goes with none of the options of sizes. */
static enum err read_model(struct ct_model *m)
{
    static const char *const sizes[] = {"size", "views", "rows", "channels", "range"};
    FAIL_IF(!strcmp(request.geometry, "fan"), ERR_USAGE,
            "--geometry fan: a fan beam is a cone beam with one detector row: --geometry cone "
            "--rows 1");
    FAIL_IF(!strchr(request.geometry, '.') && !strchr(request.geometry, '/') &&
                access(request.geometry, F_OK),
            ERR_USAGE,
            "--geometry %s: give parallel, cone, translation, multiaxis or a geometry file (no "
            "file has that name)",
            request.geometry);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        FAIL_IF(option_given(sizes[i]), ERR_USAGE,
                "--%s: the geometry file %s sets it already; leave --%s out", sizes[i],
                request.geometry, sizes[i]);
    return ct_model_read(request.geometry, m);
}

static enum err build_model(struct ct_model *m)
{
    const enum scan_kind kind = scan_kind_named(request.geometry);
    const double turn = option_given("range") ? request.range * M_PI / 180 : (double)NAN;
    struct scan *s = &m->scan;
    if (kind == SCAN_KINDS)
        return read_model(m);
    FAIL_IF(kind == KIND_TRANSLATION && option_given("range"), ERR_USAGE,
            "--range: a translation scan does not turn; leave --range out");
    ct_model_init(m);
    s->views = request.views ? request.views : request.size > 1 ? request.size / 2 : 1;
    s->rows = request.rows ? request.rows : request.size;
    s->channels = request.channels ? request.channels : request.size;
    scan_example_beam(kind, s);
    TRY(scan_example_views(kind, 0, turn, M_PI / 9, s));
    if (kind == KIND_TRANSLATION) { /* cubes; else MBIRJAX's own defaults, as for a geometry file */
        m->volume.rows = m->volume.cols = s->channels;
        m->volume.slices = s->rows;
        m->volume.ror = ROR_NONE;
        m->regularisation.neighbour_weights[0] = 0.1;
        m->regularisation.max_overrelaxation = 1.3;
    }
    return ct_model_resolve(m);
}

/* y = A x through a back end; both arrays on the host. */
static enum err project_volume(struct backend *be, const struct ct_model *m, float *x,
                               size_t x_bytes, float *y, size_t y_bytes)
{
    struct buffer in = {PLACE_HOST, 0, x_bytes, x}, sinogram = {PLACE_HOST, 0, y_bytes, y};
    int large;
    enum err e;
    TRY(recon_place(be, RECON_FORWARD, m, 1, x_bytes + y_bytes, &large));
    if (large)
        return forward_project(be, m, &in, &sinogram);
    TRY_OUT(be->ops->upload(be, x, x_bytes, &in));
    TRY_OUT(be->ops->upload(be, y, y_bytes, &sinogram));
    TRY_OUT(forward_project(be, m, &in, &sinogram));
    TRY_OUT(be->ops->download(be, &sinogram, y, y_bytes));
out:
    be->ops->release(be, &in);
    be->ops->release(be, &sinogram);
    return e;
}

static void simulate_report(void *what, double share)
{
    progress(what, share, 1);
}

/* Makes the object, its projections and their noise, each with its progress. */
static enum err make_scan(struct backend *be, const struct ct_model *m, float *x, size_t x_bytes,
                          float *y, size_t y_bytes)
{
    struct backend_progress bar = {
        .report = simulate_report, .context = "phantom", .range = PROGRESS_ALL};
    progress_begin(be, &bar);
    enum err e =
        synthetic_phantom(be, (enum phantom)request.phantom, m, x, request.exact ? y : NULL);
    bar.context = "projections";
    progress_begin(be, &bar);
    if (!e && !request.exact)
        e = project_volume(be, m, x, x_bytes, y, y_bytes);
    bar.context = "noise";
    progress_begin(be, &bar);
    if (!e && request.noise > 0)
        e = synthetic_noise(be, request.noise, (uint32_t)request.seed, y, scan_samples(&m->scan));
    progress_begin(be, NULL);
    progress_end();
    return e;
}

/* PREFIX + suffix, malloc'ed; NULL when out of memory. */
static char *simulated_name(const char *suffix)
{
    char *name = NULL;
    return asprintf(&name, "%s%s", request.out, suffix) < 0 ? NULL : name;
}

static enum err write_exchange(const char *path, const struct ct_model *m, const float *y)
{
    const struct scan *s = &m->scan;
    return exchange_write(path, s->views, s->rows, s->channels, y, s->angles, WHITE_COUNTS);
}

static enum err simulate_write_files(const struct ct_model *m, const float *x, const float *y)
{
    enum { GEOMETRY, SINOGRAM, VOLUME, EXCHANGE, FILES };
    static const char *const suffixes[FILES] = {".json", "_sinogram.npy", "_volume.npy", ".h5"};
    const int64_t y_shape[] = {m->scan.views, m->scan.rows, m->scan.channels};
    const int64_t x_shape[] = {m->volume.rows, m->volume.cols, m->volume.slices};
    char *names[FILES] = {0};
    enum err e = ERR_OK;
    for (int i = 0; i < FILES; i++)
        if (!(names[i] = simulated_name(suffixes[i]))) {
            e = FAIL(ERR_MEMORY, "no memory left for the names of the outputs");
            goto out;
        }
    TRY_OUT(ct_model_write(names[GEOMETRY], m));
    TRY_OUT(npy_write(names[SINOGRAM], 3, y_shape, y));
    TRY_OUT(npy_write(names[VOLUME], 3, x_shape, x));
    log_info("%s: geometry, %" PRId64 " views of %" PRId64 " x %" PRId64, names[GEOMETRY],
             y_shape[0], y_shape[1], y_shape[2]);
    log_info("%s: projections", names[SINOGRAM]);
    log_info("%s: the object, %" PRId64 " x %" PRId64 " x %" PRId64, names[VOLUME], x_shape[0],
             x_shape[1], x_shape[2]);
    if (m->scan.beam == BEAM_PARALLEL) {
        e = write_exchange(names[EXCHANGE], m, y);
        if (e == ERR_UNSUPPORTED) {
            log_warn("left out: %s", err_text());
            e = ERR_OK;
        } else if (!e) {
            log_info("%s: the same scan as counts, with flats and darks", names[EXCHANGE]);
        }
    }
out:
    for (int i = 0; i < FILES; i++)
        free(names[i]);
    return e;
}

static enum err make_parent(void)
{
    char *copy = strdup(request.out);
    FAIL_IF(!copy, ERR_MEMORY, "no memory left for the name of the output");
    enum err e = dir_make(dirname(copy));
    free(copy);
    return e;
}

static enum err run_simulate(int words, char **word)
{
    (void)words;
    (void)word;
    struct ct_model m = {0};
    struct backend *be = NULL;
    void *x = NULL, *y = NULL;
    size_t x_bytes, y_bytes;
    enum err e;
    TRY_OUT(build_model(&m));
    TRY_OUT(
        mem_size("volume", m.volume.rows, m.volume.cols, m.volume.slices, sizeof(float), &x_bytes));
    TRY_OUT(
        mem_size("sinogram", m.scan.views, m.scan.rows, m.scan.channels, sizeof(float), &y_bytes));
    TRY_OUT(mem_require("a scan of this size", x_bytes + y_bytes, "try a smaller --size"));
    TRY_OUT(make_parent());
    TRY_OUT(mem_alloc("volume", x_bytes, &x));
    TRY_OUT(mem_alloc("sinogram", y_bytes, &y));

    TRY_OUT(backend_open(request.exact ? "cpu" : request.backend, &request.backend_options, &be));
    TRY_OUT(make_scan(be, &m, x, x_bytes, y, y_bytes));
    e = simulate_write_files(&m, x, y);
out:
    backend_close(be);
    mem_free(x);
    mem_free(y);
    ct_model_free(&m);
    return e;
}

const struct command cmd_simulate = {
    .name = "simulate",
    .older = "gen",
    .summary = "Writes a synthetic scan: geometry, projections and the object itself.",
    .words = "",
    .text =
        "Files: PREFIX.json (geometry), PREFIX_sinogram.npy (views, rows, channels), "
        "PREFIX_volume.npy\n"
        "(rows, columns, slices) and, for parallel beams, PREFIX.h5 (Data Exchange).\n\n"
        "Examples:\n"
        "  tomoprof simulate --size 128 --out /tmp/scan\n"
        "  tomoprof recon --in /tmp/scan.h5 --out /tmp/volume.nii\n"
        "  tomoprof simulate --geometry cone --views 90 --rows 64 --channels 96 --exact --noise 0\n"
        "  tomoprof apply cone_fdk_recon --geometry scan.json --in scan_sinogram.npy --out "
        "volume.npy\n",
    .options = options,
    .run = run_simulate,
};
