#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "host/base/clock.h"
#include "host/base/file.h"
#include "host/base/log.h"
#include "host/base/memory.h"
#include "host/cli/cli.h"
#include "host/cli/commands/recon_input.h"
#include "host/cli/commands/recon_slabs.h"
#include "host/cpu/common/threads.h"
#include "host/store/format/image.h"
#include "host/store/format/volume.h"
#include "host/recon/recon.h"

enum method { FBP, FDK, MBIR };
static const char *const method_names[] = {"fbp", "fdk", "mbir"};

static const char *in, *out, *geometry, *rows, *png, *memory, *backend = "auto";
static int method, weighting, voxel_driven;
static int64_t iterations = 15, threads, seed;
static double center, threshold = 0.2;

enum {
    ROW_METHOD,
    ROW_BACKPROJECT,
    ROW_CENTER,
    ROW_ITERATIONS,
    ROW_THRESHOLD,
    ROW_WEIGHTS,
    ROW_SEED
};

static struct opt options[] = {
    [ROW_METHOD] = {"method", 'm', OPT_CHOICE, &method, "fbp|fdk|mbir",
                    "default: fbp for parallel beams, fdk for cone beams", 0, 0, 0},
    [ROW_BACKPROJECT] =
        {"backproject", 0, OPT_CHOICE, &voxel_driven, "matched|voxel",
         "of fdk; voxel: bilinear between detector cells at\nevery voxel's centre, faster "
         "(default matched)",
         0, 0, 0},
    [ROW_CENTER] = {"center", 'c', OPT_NUMBER, &center, "CHANNEL",
                    "rotation axis, 0-based, fractions welcome (default:\nfound and printed)", 0, 0,
                    0},
    [ROW_ITERATIONS] = {"iterations", 'n', OPT_INT, &iterations, "N",
                        "at most, of mbir (default 15)", 1, 1e6, 0},
    [ROW_THRESHOLD] = {"stop-threshold", 0, OPT_NUMBER, &threshold, "PERCENT",
                       "mbir ends when the volume changes less\n(default 0.2; 0: all iterations)",
                       0, 1e6, 0},
    [ROW_WEIGHTS] = {"weights", 'w', OPT_CHOICE, &weighting, "none|transmission",
                     "of mbir; transmission: exp(-sinogram)", 0, 0, 0},
    [ROW_SEED] = {"seed", 0, OPT_INT, &seed, "N", "numpy.random.seed of mbir (default 0)", 0,
                  4294967295.0, 0},
    {"in", 'i', OPT_PATH, &in, "FILE", "Data Exchange scan (.h5), or a sinogram (.npy)", 0, 0, 0},
    {"geometry", 'g', OPT_PATH, &geometry, "FILE",
     "geometry of a cone-beam or .npy sinogram (JSON)", 0, 0, 0},
    {"rows", 'r', OPT_TEXT, &rows, "A:B", "detector rows A to B-1 of the scan (default all)", 0, 0,
     0},
    {"out", 'o', OPT_PATH, &out, "FILE", "volume: .nii, .nii.gz or .npy", 0, 0, 0},
    {"png", 'p', OPT_PATH, &png, "FILE", "picture of the middle slice (default: beside --out)", 0,
     0, 0},
    {"memory", 0, OPT_TEXT, &memory, "SIZE",
     "at most, 12GiB for instance (default: what is free);\nfbp then goes in slabs of slices", 0, 0,
     0},
    CLI_OPT_BACKEND(backend),
    CLI_OPT_THREADS(threads),
    {0},
};

static enum err check_writable(const char *path)
{
    struct outfile f = {0};
    TRY(outfile_open(&f, path));
    outfile_abort(&f);
    return ERR_OK;
}

/* Everything that can be judged before the input is read, and the name of the picture (malloc'ed).
 */
static enum err check_call(char **picture)
{
    size_t limit;
    FAIL_IF(!in, ERR_USAGE, "recon needs --in FILE, a scan");
    FAIL_IF(!out, ERR_USAGE, "recon needs --out FILE, the volume");
    if (memory && mem_parse(memory, &limit))
        return err_prefix(ERR_USAGE, "--memory");
    const char *suffix = volume_suffix(out);
    FAIL_IF(!suffix, ERR_USAGE, "--out %s: the name must end in .nii, .nii.gz or .npy", out);
    for (int i = ROW_ITERATIONS; i <= ROW_SEED; i++)
        FAIL_IF(options[i].seen && method != MBIR, ERR_USAGE, "--%s is for --method mbir",
                options[i].name);
    int stem = (int)(strlen(out) - strlen(suffix));
    *picture = NULL;
    FAIL_IF((png ? asprintf(picture, "%s", png) : asprintf(picture, "%.*s.png", stem, out)) < 0,
            ERR_MEMORY, "no memory left for the name of the picture");
    TRY(check_writable(out));
    return check_writable(*picture);
}

/* fbp is for parallel and fdk for cone beams; mbir for both. */
static enum err check_method(enum beam beam)
{
    if (!options[ROW_METHOD].seen)
        method = beam == BEAM_CONE ? FDK : FBP;
    FAIL_IF(method == FDK && beam != BEAM_CONE, ERR_USAGE,
            "--method fdk is for cone beams: give --geometry FILE with \"geometry\": \"cone\", or "
            "take fbp");
    FAIL_IF(options[ROW_BACKPROJECT].seen && method != FDK, ERR_USAGE,
            "--backproject is for --method fdk of cone beams");
    FAIL_IF(method == FBP && beam == BEAM_CONE, ERR_USAGE,
            "--method fbp is for parallel beams, and %s has a cone beam: take fdk or mbir",
            geometry);
    return ERR_OK;
}

/* What is held at once at most: sinogram and volume, for mbir its work arrays and the weights. FBP
 * goes in slabs where that is too much. */
static enum err check_memory(const struct recon_request *r, const struct model *m,
                             struct slabs *slabs, size_t *bytes)
{
    size_t sinogram, volume;
    TRY(mem_size("sinogram", m->scan.views, m->scan.rows, m->scan.channels, sizeof(float),
                 &sinogram));
    TRY(mem_size("volume", m->volume.rows, m->volume.cols, m->volume.slices, sizeof(float),
                 &volume));
    *slabs = (struct slabs){m->volume.slices, m->volume.slices, 1};
    *bytes = sinogram + volume;
    if (method == FBP) {
        TRY(recon_slabs_plan(r, m, slabs));
        *bytes = *bytes / (size_t)slabs->length * (size_t)slabs->thickness;
        return ERR_OK;
    }
    if (method == MBIR)
        *bytes += mbir_scratch_bytes(m) + (weighting ? sinogram : 0);
    return mem_require("this reconstruction", *bytes,
                       geometry ? NULL : "take fewer rows with --rows A:B");
}

static void tell_input(const struct recon_input *i, size_t bytes)
{
    char human[16];
    const struct model *m = &i->model;
    log_info("%s: %" PRId64 " views of %" PRId64 " x %" PRId64 "; volume %" PRId64 " x %" PRId64
             " x %" PRId64 ", %s of memory",
             in, m->scan.views, m->scan.rows, m->scan.channels, m->volume.rows, m->volume.cols,
             m->volume.slices, mem_human((double)bytes, human));
    if (i->repaired)
        log_info("%" PRId64 " samples without a valid count were filled from their neighbours",
                 i->repaired);
    if (isfinite(i->center))
        log_info("rotation centre: channel %.2f (%s)", i->center,
                 isfinite(i->score) ? "found" : "given");
    if (i->score < 0.9)
        log_warn("views half a turn apart match by %.2f only: check the picture, or give --center",
                 i->score);
}

/* One reconstruction under way. */
struct job {
    struct backend *be;
    struct recon_input input;
    float *weights, *volume; /* host, mem_alloc */
    struct buffer y, w, x;
    struct mbir_report report;
    int stopped; /* by a signal, within the iteration after report.iterations */
};

static void job_free(struct job *j)
{
    struct buffer *const buffers[] = {&j->y, &j->w, &j->x};
    for (size_t i = 0; j->be && i < 3; i++)
        j->be->ops->release(j->be, buffers[i]);
    mbir_report_free(&j->report);
    mem_free(j->weights);
    mem_free(j->volume);
    recon_input_free(&j->input);
    backend_close(j->be);
}

static enum err make_weights(struct job *j, size_t bytes)
{
    void *w;
    TRY(mem_alloc("weights", bytes, &w));
    j->weights = w;
    const int64_t samples = (int64_t)(bytes / sizeof(float));
#pragma omp parallel for schedule(static) if (samples >= 1 << 16)
    for (int64_t i = 0; i < samples; i++)
        j->weights[i] = expf(-j->input.sinogram[i]);
    return j->be->ops->upload(j->be, w, bytes, &j->w);
}

static void on_iteration(void *context, int64_t done, int64_t total)
{
    (void)context;
    progress("mbir", (double)done, (double)total);
}

static enum err run_mbir(struct job *j)
{
    struct mbir_options o = {.max_iterations = iterations,
                             .stop_threshold_percent = threshold,
                             .seed = (uint32_t)seed,
                             .weights = weighting ? &j->w : NULL,
                             .on_iteration = on_iteration,
                             .stop = &cli_stop};
    enum err e = mbir_recon(j->be, &j->input.model, &j->y, &o, &j->x, &j->report);
    progress_end();
    j->stopped = e == ERR_INTERRUPTED; /* the volume is whole after every subset of pixels */
    return j->stopped ? ERR_OK : e;
}

/* `large`: the array stays where it is. */
static enum err hand_over(struct job *j, int large, float *host, size_t bytes, struct buffer *b)
{
    if (!large)
        return j->be->ops->upload(j->be, host, bytes, b);
    *b = (struct buffer){PLACE_HOST, 0, bytes, host};
    return ERR_OK;
}

static enum err place(struct job *j, size_t arrays, int *large)
{
    const struct model *m = &j->input.model;
    *large = 0;
    if (method == MBIR)
        arrays += mbir_scratch_bytes(m);
    return voxel_driven ? ERR_OK
                        : recon_place(j->be, method == MBIR ? RECON_MBIR : RECON_DIRECT, m, 1,
                                      arrays, large);
}

/* The volume on the host: where the back end computes there, in its own memory. */
static enum err compute(struct job *j)
{
    const struct backend_ops *ops = j->be->ops;
    const struct model *m = &j->input.model;
    size_t y_bytes, x_bytes;
    int large;
    void *x;
    TRY(mem_size("sinogram", m->scan.views, m->scan.rows, m->scan.channels, sizeof(float),
                 &y_bytes));
    TRY(mem_size("volume", m->volume.rows, m->volume.cols, m->volume.slices, sizeof(float),
                 &x_bytes));
    TRY(place(j, x_bytes + y_bytes * (method == MBIR && weighting ? 2 : 1), &large));
    TRY(mem_alloc("volume", x_bytes, &x));
    j->volume = x;
    TRY(hand_over(j, large, j->input.sinogram, y_bytes, &j->y));
    TRY(hand_over(j, large, x, x_bytes, &j->x));
    if (method == MBIR && weighting)
        TRY(make_weights(j, y_bytes));
    if (method == MBIR)
        TRY(run_mbir(j));
    else
        TRY((voxel_driven ? fdk_voxel_recon : direct_recon)(j->be, m, &j->y, &j->y, &j->x));
    return large ? ERR_OK : ops->download(j->be, &j->x, x, x_bytes);
}

static enum err write_volume(const struct volume *v, const float *x)
{
    struct volume_writer *w;
    TRY(volume_writer_open(out, v, &w));
    return volume_writer_close(w, volume_writer_add(w, 0, v->slices, x));
}

/* `slice`: a value every `stride` floats. */
static enum err write_picture(const char *path, const struct volume *v, const float *slice,
                              int64_t stride)
{
    double low, high;
    image_window(v->rows, v->cols, slice, v->cols * stride, stride, &low, &high);
    return png_write_grey(path, v->rows, v->cols, slice, v->cols * stride, stride, low, high);
}

static void tell_result(const struct job *j, const char *picture, double seconds)
{
    const int64_t slices = j->input.model.volume.slices;
    log_info("%s: %s in %.3g s on %s; slice %" PRId64 " of %" PRId64 ": %s", out,
             method_names[method], seconds, j->be->device, slices / 2, slices, picture);
}

static enum err finish(struct job *j, const char *picture, double seconds)
{
    const struct volume *v = &j->input.model.volume;
    TRY(write_volume(v, j->volume));
    TRY(write_picture(picture, v, j->volume + v->slices / 2, v->slices));
    tell_result(j, picture, seconds);
    FAIL_IF(j->stopped, ERR_INTERRUPTED,
            "interrupted in iteration %" PRId64 " of %" PRId64 ": %s holds what there is",
            j->report.iterations + 1, iterations, out);
    return ERR_OK;
}

/* Reading, computing and writing in turn; the time is that of all three. */
static enum err run_slabs(struct job *j, const struct recon_request *r, const struct slabs *slabs,
                          size_t bytes, const char *picture)
{
    const struct volume *v = &j->input.model.volume;
    const int64_t start = clock_ns();
    void *middle;
    TRY(recon_input_prepare(r, &j->input));
    tell_input(&j->input, bytes);
    log_info("it does not fit into memory at once: %" PRId64 " slabs of %" PRId64 " slices",
             slabs->count, slabs->thickness);
    TRY(mem_alloc("picture", (size_t)volume_pixels(v) * sizeof(float), &middle));
    enum err e = recon_slabs_run(j->be, r, &j->input, slabs, out, &cli_stop, middle);
    if (!e)
        e = write_picture(picture, v, middle, 1);
    mem_free(middle);
    if (!e)
        tell_result(j, picture, clock_seconds_since(start));
    return e;
}

static enum err check_stop(void)
{
    FAIL_IF(cli_stop, ERR_INTERRUPTED, "interrupted: nothing was written");
    return ERR_OK;
}

static enum err run(int words, char **word)
{
    (void)words;
    (void)word;
    struct recon_request r = {in, geometry, rows, options[ROW_CENTER].seen ? &center : NULL};
    struct backend_options o = {.threads = (int)threads};
    struct job j = {0};
    struct slabs slabs;
    char *picture = NULL;
    size_t bytes;
    enum err e;
    cpu_threads_default((int)threads);
    if (memory)
        setenv("TOMOPROF_MEMORY", memory, 1);
    TRY_OUT(check_call(&picture));
    TRY_OUT(recon_input_plan(&r, &j.input));
    TRY_OUT(check_method(j.input.model.scan.beam));
    TRY_OUT(check_memory(&r, &j.input.model, &slabs, &bytes));
    TRY_OUT(backend_open(backend, &o, &j.be));
    if (slabs.count > 1) {
        e = run_slabs(&j, &r, &slabs, bytes, picture);
        goto out;
    }
    TRY_OUT(recon_input_read(&r, &j.input));
    tell_input(&j.input, bytes);
    int64_t start = clock_ns();
    TRY_OUT(check_stop());
    TRY_OUT(compute(&j));
    if (method != MBIR) /* mbir ends by itself with what it has */
        TRY_OUT(check_stop());
    e = finish(&j, picture, clock_seconds_since(start));
out:
    free(picture);
    job_free(&j);
    return e;
}

const struct command cmd_recon = {
    .name = "recon",
    .summary = "Reconstructs a scan.",
    .words = "",
    .text =
        "Reads a Data Exchange HDF5 scan of a parallel beam (exchange/data, data_white, "
        "data_dark, theta),\n"
        "corrects it (-log of the transmission, defects filled), finds the rotation centre "
        "where --center\n"
        "does not give it, and writes the volume and a picture of its middle slice. Cone beams "
        "and own\n"
        "arrays come with a geometry file (`tomoprof op --help` shows one). FBP of what does not "
        "fit\n"
        "into memory reads, reconstructs and writes slabs of slices in turn, with the same "
        "result; the\n"
        "centre is then found on the middle 32 rows.\n\n"
        "Examples:\n"
        "  tomoprof recon --in scan.h5 --out volume.nii.gz\n"
        "  tomoprof recon --in scan.h5 --rows 100:120 --center 1023.5 --method mbir --weights "
        "transmission \\\n"
        "    --out part.npy\n"
        "  tomoprof recon --in sinogram.npy --geometry cone.json --out volume.nii\n",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .flags = CMD_STOPS,
    .run = run,
};
