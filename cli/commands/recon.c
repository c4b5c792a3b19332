/* The command `recon`: its options, and what it tells of input and result. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/storage/volume_page.h"
#include "host/backend/registry.h"
#include "host/cluster/recon.h"
#include "host/cpu/common/threads.h"
#include "host/scan/reconstruct.h"
#include "host/store/format/volume.h"
#include "host/store/writer/slices.h"

/* Stacks of TIFF and PNG and OME-Zarr of a finished volume. */

/* NULL: not wanted. */
struct volume_outputs {
    const char *tiff; /* a file that ends in .tif, or a folder of one file for each slice */
    const char *pngs, *ome_zarr; /* folders */
    const char *page;            /* of volume_page.h */
};

static enum err check_one(const char *option, const char *path)
{
    char folder[4096];
    struct stat st;
    if (!path)
        return ERR_OK;
    const size_t n = strlen(path);
    FAIL_IF(!n || path[n - 1] == '/' || n > 4000, ERR_USAGE,
            "--%s %s: give a name that does not end in /", option, path);
    path_folder(path, folder, sizeof folder);
    FAIL_IF(!stat(path, &st), ERR_USAGE,
            "--%s %s: exists already: remove it, or choose another name", option, path);
    FAIL_IF(access(folder, W_OK), ERR_USAGE, "--%s %s: cannot be written: %s", option, path,
            strerror(errno));
    return ERR_OK;
}

/* Before the work: none of them is there, and their folders can be written. */
static enum err volume_outputs_check(const struct volume_outputs *o)
{
    TRY(check_one("tiff", o->tiff));
    TRY(check_one("pngs", o->pngs));
    FAIL_IF(o->ome_zarr && !text_has_suffix(o->ome_zarr, ".zarr"), ERR_USAGE,
            "--ome-zarr %s: the name must end in .ome.zarr or .zarr", o->ome_zarr);
    FAIL_IF(o->page && !text_has_suffix(o->page, ".html"), ERR_USAGE,
            "--page %s: the name must end in .html", o->page);
    return check_one("ome-zarr", o->ome_zarr);
}

/* Orders slices, rows, columns. */
static struct writer_options options_of(const char *volume, const struct volume *v)
{
    const int npy = text_has_suffix(volume, ".npy");
    return (struct writer_options){
        .order = {2, npy ? 0 : 1, npy ? 1 : 0},
        .order_dims = 3,
        .spacing = {volume_delta_slice(v), volume_delta_row(v), v->delta}};
}

static enum err write_slices(const char *volume, const struct volume *v, const char *folder,
                             int png, int bar)
{
    struct slices_request r = {
        .options = options_of(volume, v), .png = png, .bar = bar, .pitch = v->delta};
    TRY(slices_write(volume, folder, &r));
    log_info("%s: %" PRId64 " slices%s", folder, r.count, png ? "" : ", float32");
    if (png)
        log_info("black is %g, white %g in each", r.low, r.high);
    return ERR_OK;
}

/* From the finished volume of a reconstruction, which is .npy or .nii. */
static enum err volume_outputs_write(const struct volume_outputs *o, const struct scan_context *s)
{
    const char *const volume = s->request->out;
    const struct volume *v = &s->model.volume;
    const struct writer_options options = options_of(volume, v);
    struct writer_result r;
    if (o->tiff && text_has_suffix(o->tiff, ".tif")) {
        TRY(store_convert(volume, o->tiff, &options, &r));
        log_info("%s: a page for each of %" PRId64 " slices, float32", o->tiff, v->slices);
    } else if (o->tiff) {
        TRY(write_slices(volume, v, o->tiff, 0, 0));
    }
    if (o->pngs)
        TRY(write_slices(volume, v, o->pngs, 1, s->request->scale_bar));
    if (o->ome_zarr) {
        TRY(store_pyramid(volume, o->ome_zarr, &options, &r));
        log_info("%s: OME-Zarr 0.5 of %d levels", o->ome_zarr, r.levels);
    }
    if (o->page) {
        char about[256];
        snprintf(about, sizeof about, "Reconstructed by %s on %s", scan_method_name(s->method),
                 s->be->device);
        struct volume_page p = {.reference = s->request->reference,
                                .about = about,
                                .v = v,
                                .quality = s->result->quality};
        TRY(volume_page_write(o->page, volume, &p));
        log_info("%s: a page of %d sections and the histogram", o->page, p.sections);
    }
    return ERR_OK;
}

static void recon_on_iteration(void *context, int64_t done, int64_t total)
{
    (void)context;
    progress("mbir", (double)done, (double)total);
}

static struct scan_request request = {SCAN_REQUEST_DEFAULTS, .stop = &cli_stop,
                                      .on_iteration = recon_on_iteration};
static struct volume_outputs outputs;
static const char *memory, *backend = "auto";
static struct backend_options backend_options;

enum {
    ROW_IN,
    ROW_OUT,
    ROW_METHOD,
    ROW_BACKPROJECT,
    ROW_REDUNDANCY,
    ROW_CENTER,
    ROW_CENTER_METHOD,
    ROW_ITERATIONS,
    ROW_THRESHOLD,
    ROW_WEIGHTS,
    ROW_SCHEDULE,
    ROW_SEED
};

static struct opt options[] = {
    [ROW_IN] = OPTION_INPUT(
        "in", 'i', request.source.path, "FILE",
        "scan: Data Exchange or NXtomo (.h5), .txrm, folder or\nfile of TIFF, .npy with "
        "--flats; or a sinogram (.npy)"),
    [ROW_OUT] = OPTION_OUTPUT("out", 'o', request.out, "FILE", "volume: .nii, .nii.gz or .npy"),
    [ROW_METHOD] = OPTION_CHOICE("method", 'm', request.method, SCAN_METHODS,
                                 "default: fbp for parallel beams, fdk for cone beams;\n"
                                 "fourier: fbp by gridding and FFT",
                                 .min = SCAN_FBP),
    [ROW_BACKPROJECT] =
        OPTION_CHOICE("backproject", 0, request.voxel_driven, SCAN_BACKPROJECT,
                      "of fdk; voxel: bilinear at each voxel's centre, faster\n(default matched)"),
    [ROW_REDUNDANCY] = OPTION_CHOICE("redundancy", 0, request.redundancy, REDUNDANCY_NAMES,
                                     "of fdk: less than a turn (parker), a turn with the "
                                     "axis\noff-centre (wang), or a helix (default none)"),
    [ROW_CENTER] = OPTION_NUMBER(
        "center", 'c', request.center, "CHANNEL",
        "rotation axis: a channel, from 0, may be a fraction\n(default: found and printed)", 0, 0),
    [ROW_CENTER_METHOD] =
        OPTION_CHOICE("center-method", 0, request.center_method, CENTER_NAMES,
                      "finds the axis by views half a turn apart, the sharpest\ntrial slice, or "
                      "the sinogram's symmetry",
                      .min = CENTER_REGISTRATION),
    [ROW_ITERATIONS] = OPTION_INT("iterations", 'n', request.iterations, "N",
                                  "at most, of mbir (default 15)", 1, 1e6),
    [ROW_THRESHOLD] = OPTION_NUMBER(
        "stop-threshold", 0, request.threshold_percent, "PERCENT",
        "mbir ends when the volume changes less\n(default 0.2; 0: all iterations)", 0, 1e6),
    [ROW_WEIGHTS] =
        OPTION_CHOICE("weights", 'w', request.weights, SCAN_WEIGHTS,
                      "of mbir; transmission: exp(-sinogram); metal: less\nwhere rays meet metal"),
    [ROW_SCHEDULE] = OPTION_CHOICE(
        "schedule", 0, request.fast, SCAN_SCHEDULES,
        "of mbir; fast: fine subsets sooner, and momentum:\nhalf the iterations (default mbirjax)"),
    [ROW_SEED] = OPTION_INT("seed", 0, request.seed, "N", "numpy.random.seed of mbir (default 0)",
                            0, 4294967295.0),
    OPTION_CHOICE("rings", 0, request.rings, SCAN_RINGS,
                  "takes stripes out of the sinogram by sorting, or by\nwavelets and Fourier "
                  "transforms (default keep)"),
    OPTION_OUTPUT("center-png", 0, request.center_png, "FILE",
                  "draws trial slices around the axis"),
    OPTION_NUMBER(
        "zingers", 0, request.zingers, "PERCENT",
        "replaces what is brighter than its neighbours by more;\nfills dead pixels (20 is usual)",
        0, 1e6),
    OPTION_INPUT("flats-after", 0, request.source.flats_after, "FILE",
                 "flat fields after the views: interpolates in time"),
    OPTION_CHOICE(
        "drift", 0, request.source.drift, "mean|linear",
        "linear: interpolates the scan's flats before and after\nthe views (default mean)"),
    OPTION_INT("air", 0, request.air, "N", "brings N channels of air at either side to 1, by row",
               1, 65536),
    OPTION_NUMBERS(
        "paganin", 0, request.phase, "D,E,Z[,P]",
        "retrieves phase: delta/beta, keV, mm to the detector,\nmm a pixel (default: the scan's)",
        3),
    OPTION_NUMBER("least", 0, request.least, "T",
                  "raises transmissions to T before -log (default 0)", 0, 1),
    OPTION_NUMBERS("hardening", 0, request.hardening, "A,B,..",
                   "turns y into A y + B y^2 + .., up to 6 numbers", 1),
    OPTION_AUTO("tilt", 0, request.tilt, "DEGREES|auto",
                "turns the views until the axis is upright", -45, 45),
    OPTION_AUTO("overlap", 0, request.overlap, "N|auto",
                "joins a full turn of an off-centre detector to half a\nturn; N: channels that "
                "both halves see",
                1, 1e6),
    OPTION_INPUT("flats", 0, request.source.flats, "FILE",
                 "flat fields (default: those of the scan)"),
    OPTION_INPUT("darks", 0, request.source.darks, "FILE",
                 "dark frames (default: those of the scan)"),
    OPTION_TEXT(
        "angles", 0, request.source.angles, "FILE|A:B",
        "degrees, one per view (.npy or text), or evenly from\nA to B (default: those of the "
        "scan)"),
    CLI_OPT_LINKS,
    OPTION_INPUT("geometry", 'g', request.geometry, "FILE",
                 "geometry of a cone-beam or .npy sinogram (JSON)"),
    OPTION_INPUT(
        "poses", 0, request.poses, "FILE",
        "what moved in each view: .npy of (views, 5), or 7 with\ntilts (docs/howto/scans.md)"),
    OPTION_TEXT("rows", 'r', request.rows, "A:B",
                "detector rows A to B-1 of the scan (default all)"),
    OPTION_INT("bin", 'b', request.bin, "N", "joins N x N detector pixels to one (default 1)", 1,
               64),
    OPTION_OUTPUT("png", 'p', request.picture, "FILE",
                  "picture of the middle slice (default: beside --out)"),
    OPTION_FLAG("scale-bar", 0, request.scale_bar, "draws a scale bar into the pictures"),
    OPTION_PLACE("tiff", 0, outputs.tiff, "FILE.tif|DIR",
                 "writes the volume as one TIFF of many pages too, or as\na folder of a TIFF for "
                 "each slice"),
    OPTION_PLACE("pngs", 0, outputs.pngs, "DIR",
                 "writes a picture of each slice too, all alike in grey"),
    OPTION_PLACE("ome-zarr", 0, outputs.ome_zarr, "DIR.ome.zarr",
                 "writes OME-Zarr 0.5 with halves, quarters, .. too"),
    OPTION_OUTPUT("page", 0, outputs.page, "FILE.html",
                  "writes a page with slices along three axes and the\nhistogram; with --reference "
                  "PSNR and SSIM"),
    OPTION_INPUT("reference", 0, request.reference, "FILE",
                 "prints PSNR and SSIM against this volume (.npy) of the\nsame shape, and draws "
                 "both and the difference"),
    OPTION_TEXT("memory", 0, memory, "SIZE",
                "uses at most this, 12GiB for instance (default: what is\nfree); fbp then goes in "
                "slabs of slices"),
    OPTION_FLAG(
        "resume", 0, request.resume,
        "keeps finished slabs in OUT.parts, and goes on with\nthose of the same call; not of mbir"),
    CLI_OPT_BACKEND(backend),
    CLI_OPT_THREADS(backend_options.threads),
    {0},
};

static enum err check_writable(const char *path)
{
    struct outfile f = {0};
    TRY(outfile_open(&f, path));
    outfile_abort(&f);
    return ERR_OK;
}

/* Judges all that can be judged before the input is read. The picture's name, where none was given,
 * goes into *picture (malloc'ed). */
static enum err check_recon_call(char **picture)
{
    const struct scan_request *r = &request;
    size_t limit;
    FAIL_IF(!r->source.path, ERR_USAGE, "recon needs --in FILE, a scan");
    FAIL_IF(!r->out, ERR_USAGE, "recon needs --out FILE, the volume");
    if (memory && mem_parse(memory, &limit))
        return err_prefix(ERR_USAGE, "--memory");
    FAIL_IF(r->scale_bar && r->reference, ERR_USAGE,
            "--scale-bar is for the picture of one slice: leave out --reference");
    const char *suffix = volume_suffix(r->out);
    FAIL_IF(!suffix, ERR_USAGE, "--out %s: the name must end in .nii, .nii.gz or .npy", r->out);
    FAIL_IF(options[ROW_CENTER].seen && options[ROW_CENTER_METHOD].seen, ERR_USAGE,
            "--center gives the axis: leave out --center-method");
    for (int i = ROW_ITERATIONS; i <= ROW_SEED; i++)
        FAIL_IF(options[i].seen && r->method != SCAN_MBIR, ERR_USAGE, "--%s is for --method mbir",
                options[i].name);
    if (!r->picture) {
        FAIL_IF(asprintf(picture, "%.*s.png", (int)(strlen(r->out) - strlen(suffix)), r->out) < 0,
                ERR_MEMORY, "no memory left for the name of the picture");
        request.picture = *picture;
    }
    TRY(volume_outputs_check(&outputs));
    TRY(check_writable(r->out));
    if (outputs.page)
        TRY(check_writable(outputs.page));
    return check_writable(r->picture);
}

static void log_input(const struct scan_context *s, const struct cluster *c)
{
    char human[16];
    const struct scan_result *result = s->result;
    const struct ct_model *m = &s->model;
    log_info("%s: %" PRId64 " views of %" PRId64 " x %" PRId64 "; volume %" PRId64 " x %" PRId64
             " x %" PRId64 ", %s of memory",
             request.source.path, m->scan.views, m->scan.rows, m->scan.channels, m->volume.rows,
             m->volume.cols, m->volume.slices, mem_human((double)s->bytes, human));
    if (result->repaired)
        log_info("%" PRId64 " samples without a valid count were filled from their neighbours",
                 result->repaired);
    if (isfinite(result->center))
        log_info("rotation centre: channel %.2f (%s)", result->center, result->center_from);
    if (result->score < 0.9) /* false of NAN */
        log_warn("views half a turn apart match by %.2f only: check the picture, or give --center",
                 result->score);
    if (request.rows && m->scan.beam == BEAM_CONE && result->whole_count < m->volume.slices)
        log_info("--rows of a cone beam: %" PRId64 " of the %" PRId64 " slices, from %" PRId64
                 " on, need no other rows; the rest is approximate",
                 result->whole_count, m->volume.slices, result->whole_first);
    if (s->slabs.count > 1 && c->calls)
        log_info("%d processes share %" PRId64 " slabs of %" PRId64 " slices", c->place.size,
                 s->slabs.count, s->slabs.thickness);
    else if (s->slabs.count > 1)
        log_info("it does not fit into memory at once: %" PRId64 " slabs of %" PRId64 " slices",
                 s->slabs.count, s->slabs.thickness);
}

/* Prints the steps and their times in one line, then what they found. */
static void log_steps(const struct scan_result *r)
{
    char line[512] = "";
    for (int i = 0; i < r->step_count && strlen(line) + 64 < sizeof line; i++)
        text_append(line, sizeof line, "%s%s %.3g s", i ? ", " : "", r->steps[i].name,
                    r->steps[i].seconds);
    if (r->step_count)
        log_info("steps: %s", line);
    if (request.zingers > 0)
        log_info("%" PRId64 " samples were zingers; %" PRId64 " pixels are dead", r->zapped,
                 r->dead);
    if (!isnan(request.tilt))
        log_info("tilt: %.4f degrees (%s)", r->tilt, isinf(request.tilt) ? "found" : "given");
    if (!isnan(request.overlap))
        log_info("overlap: %.2f channels (%s), the axis near the %s channel", r->overlap,
                 isinf(request.overlap) ? "found" : "given", r->end > 0 ? "last" : "first");
}

static enum err log_result(const struct scan_context *s)
{
    const struct scan_result *r = s->result;
    const int64_t slices = s->model.volume.slices;
    log_steps(r);
    log_info("%s: %s in %.3g s on %s; slice %" PRId64 " of %" PRId64 ": %s", request.out,
             scan_method_name(s->method), r->seconds, s->be->device, slices / 2, slices,
             request.picture);
    if (r->bar > 0)
        log_info("scale bar: %g of the unit in which a detector channel is %g wide", r->bar,
                 s->model.scan.delta_channel);
    if (request.reference)
        log_info("against %s: PSNR %.2f dB, SSIM %.4f", request.reference, r->quality.psnr,
                 r->quality.ssim);
    FAIL_IF(r->stopped, ERR_INTERRUPTED,
            "interrupted in iteration %" PRId64 " of %" PRId64 ": %s holds what there is",
            r->report.iterations + 1, request.iterations, request.out);
    return ERR_OK;
}

static void log_ranks(const struct cluster *c, const struct scan_result *r)
{
    const uint64_t device = c->device_bytes + c->staged_bytes;
    char human[16];
    if (!c->calls)
        return;
    log_info("%d processes; the first one spent %.3g of %.3g s with the others, and sent %s in "
             "%" PRIu64 " messages",
             c->place.size, c->seconds, r->seconds, mem_human((double)c->bytes, human),
             c->messages);
    if (device)
        log_info("of its GPU's memory %s were sent or received %s",
                 mem_human((double)device, human),
                 c->staged_bytes ? "by copies in host memory, for this MPI library reads no GPU's"
                                 : "straight, without copies");
}

/* Judges all that can be judged before the back end is opened. */
static enum err prepare_recon(struct cluster *c, struct scan_context *s, struct scan_result *result,
                              char **picture)
{
    TRY(check_recon_call(picture));
    TRY(scan_recon_open(&request, result, s));
    if (c->calls && s->method == SCAN_MBIR && !strcmp(backend, "auto"))
        backend = "cpu";
    return c->calls || request.resume ? cluster_recon_plan(c, s) : scan_recon_plan(s);
}

static enum err run_recon(int words, char **word)
{
    (void)words;
    (void)word;
    struct cluster *c;
    struct scan_result result = {0};
    struct scan_context s = {0};
    char *picture = NULL;
    enum err e;
    TRY(cluster_join(&c, &cli_end.silent));
    if (memory)
        setenv("TOMOPROF_MEMORY", memory, 1);
    cluster_choose_gpu(c);
    if (!backend_options.threads)
        backend_options.threads = cluster_threads(c, cpu_threads_usable());
    cpu_threads_default(backend_options.threads);
    if (c->calls)
        cli_signals_stop(1); /* all ranks end in one step: one that is behind must not end before */
    TRY_OUT(cluster_agree(c, prepare_recon(c, &s, &result, &picture), &cli_end.silent));
    TRY_OUT(backend_open(backend, &backend_options, &s.be));
    if (c->calls || request.resume) {
        cli_signals_stop(1);
        log_input(&s, c);
        TRY_OUT(cluster_recon_run(c, &s, &cli_end.silent));
        log_ranks(c, &result);
    } else {
        TRY_OUT(scan_recon_read(&s));
        cli_signals_stop(s.method == SCAN_MBIR); /* which has a volume after each step */
        log_input(&s, c);
        TRY_OUT(scan_recon_run(&s));
    }
    e = cluster_agree(c, log_result(&s), &cli_end.silent);
    if (!e && !c->place.rank)
        e = volume_outputs_write(&outputs, &s);
out:
    backend_close(s.be);
    scan_recon_free(&s);
    free(picture);
    return e;
}

const struct command cmd_recon = {
    .name = "recon",
    .summary = "Reconstructs a scan.",
    .words = "",
    .text =
        "Reads a scan, corrects it, finds the rotation centre where neither --center nor the file "
        "gives\n"
        "it, and writes the volume and a picture of its middle slice. Flat and dark frames, angles "
        "and\n"
        "geometry come from the file: Data Exchange, NXtomo, Zeiss TXRM, a folder of TIFF files\n"
        "(docs/howto/scans.md). Other cone beams and own arrays need a geometry file; `tomoprof "
        "apply\n"
        "--help` shows one. FBP, FDK and Fourier go in slabs of slices where memory is short. "
        "Under mpirun\n"
        "or srun the processes share the slices (docs/howto/mpi.md).\n"
        "Steps before the reconstruction, in this order: --zingers, --flats-after or --drift, "
        "--air,\n"
        "--paganin, --least, --hardening, --tilt, --overlap, --rings. docs/howto/good-volume.md "
        "shows\n"
        "which one helps.\n"
        "\n"
        "Examples:\n"
        "  tomoprof recon --in scan.h5 --out volume.nii.gz\n"
        "  tomoprof recon --in scan_folder --angles 0:180 --bin 2 --out volume.nii\n"
        "  tomoprof recon --in scan.h5 --rows 100:120 --method mbir --weights transmission --out "
        "part.npy\n"
        "  tomoprof recon --in sinogram.npy --geometry cone.json --out volume.nii\n",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .run = run_recon,
};
