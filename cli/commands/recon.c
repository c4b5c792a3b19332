/* The command `recon`: its options, and what it tells of input and result. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/runs/before_options.h"
#include "cli/storage/volume_outputs.h"
#include "host/cluster/recon.h"
#include "host/cpu/common/threads.h"
#include "host/scan/reconstruct.h"
#include "host/store/format/volume.h"

#define HELICAL 3 /* of --redundancy, after those of enum redundancy */

static const char *const method_names[] = {"fbp", "fdk", "mbir", "fourier"};

static const char *in, *flats, *darks, *angles, *out, *geometry, *poses, *reference, *rows, *png,
    *memory, *backend = "auto";
static int method, weighting, voxel_driven, redundancy, rings, center_method, drift, resume,
    with_bar;
static const char *flats_after, *center_png;
static struct before_options before;
static struct volume_outputs outputs;
static int64_t iterations = 15, threads, seed, bin = 1;
static double center, threshold = 0.2;

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
    ROW_SEED
};

static struct opt options[] = {
    [ROW_IN] = OPTION_INPUT(
        "in", 'i', in, "FILE",
        "scan: Data Exchange or NXtomo (.h5), .txrm, folder or\nfile of TIFF, .npy with "
        "--flats; or a sinogram (.npy)"),
    [ROW_OUT] = OPTION_OUTPUT("out", 'o', out, "FILE", "volume: .nii, .nii.gz or .npy"),
    [ROW_METHOD] = OPTION_CHOICE("method", 'm', method, "fbp|fdk|mbir|fourier",
                                 "default: fbp for parallel beams, fdk for cone beams;\n"
                                 "fourier: fbp by gridding and FFT"),
    [ROW_BACKPROJECT] =
        OPTION_CHOICE("backproject", 0, voxel_driven, "matched|voxel",
                      "of fdk; voxel: bilinear at each voxel's centre, faster\n(default matched)"),
    [ROW_REDUNDANCY] = OPTION_CHOICE("redundancy", 0, redundancy, "none|parker|wang|helical",
                                     "of fdk: less than a turn (parker), a turn with the "
                                     "axis\noff-centre (wang), or a helix (default none)"),
    [ROW_CENTER] = OPTION_NUMBER(
        "center", 'c', center, "CHANNEL",
        "rotation axis: a channel, from 0, may be a fraction\n(default: found and printed)", 0, 0),
    [ROW_CENTER_METHOD] =
        OPTION_CHOICE("center-method", 0, center_method, "registration|entropy|symmetry",
                      "finds the axis by views half a turn apart, the sharpest\ntrial slice, or "
                      "the sinogram's symmetry"),
    [ROW_ITERATIONS] =
        OPTION_INT("iterations", 'n', iterations, "N", "at most, of mbir (default 15)", 1, 1e6),
    [ROW_THRESHOLD] = OPTION_NUMBER(
        "stop-threshold", 0, threshold, "PERCENT",
        "mbir ends when the volume changes less\n(default 0.2; 0: all iterations)", 0, 1e6),
    [ROW_WEIGHTS] =
        OPTION_CHOICE("weights", 'w', weighting, "none|transmission|metal",
                      "of mbir; transmission: exp(-sinogram); metal: less\nwhere rays meet metal"),
    [ROW_SEED] =
        OPTION_INT("seed", 0, seed, "N", "numpy.random.seed of mbir (default 0)", 0, 4294967295.0),
    OPTION_CHOICE("rings", 0, rings, "keep|sorting|fw",
                  "takes stripes out of the sinogram by sorting, or by\nwavelets and Fourier "
                  "transforms (default keep)"),
    OPTION_OUTPUT("center-png", 0, center_png, "FILE", "draws trial slices around the axis"),
    OPTION_NUMBER(
        "zingers", 0, before.zingers, "PERCENT",
        "replaces what is brighter than its neighbours by more;\nfills dead pixels (20 is usual)",
        0, 1e6),
    OPTION_INPUT("flats-after", 0, flats_after, "FILE",
                 "flat fields after the views: interpolates in time"),
    OPTION_CHOICE(
        "drift", 0, drift, "mean|linear",
        "linear: interpolates the scan's flats before and after\nthe views (default mean)"),
    OPTION_INT("air", 0, before.air, "N", "brings N channels of air at either side to 1, by row", 1,
               65536),
    OPTION_TEXT(
        "paganin", 0, before.paganin, "D,E,Z[,P]",
        "retrieves phase: delta/beta, keV, mm to the detector,\nmm a pixel (default: the scan's)"),
    OPTION_NUMBER("least", 0, before.least, "T",
                  "raises transmissions to T before -log (default 0)", 0, 1),
    OPTION_TEXT("hardening", 0, before.hardening, "A,B,..",
                "turns y into A y + B y^2 + .., up to 6 numbers"),
    OPTION_TEXT("tilt", 0, before.tilt, "DEGREES|auto",
                "turns the views until the axis is upright"),
    OPTION_TEXT("overlap", 0, before.overlap, "N|auto",
                "joins a full turn of an off-centre detector to half a\nturn; N: channels that "
                "both halves see"),
    OPTION_INPUT("flats", 0, flats, "FILE", "flat fields (default: those of the scan)"),
    OPTION_INPUT("darks", 0, darks, "FILE", "dark frames (default: those of the scan)"),
    OPTION_TEXT(
        "angles", 0, angles, "FILE|A:B",
        "degrees, one per view (.npy or text), or evenly from\nA to B (default: those of the "
        "scan)"),
    CLI_OPT_LINKS,
    OPTION_INPUT("geometry", 'g', geometry, "FILE",
                 "geometry of a cone-beam or .npy sinogram (JSON)"),
    OPTION_INPUT(
        "poses", 0, poses, "FILE",
        "what moved in each view: .npy of (views, 5), or 7 with\ntilts (docs/howto/scans.md)"),
    OPTION_TEXT("rows", 'r', rows, "A:B", "detector rows A to B-1 of the scan (default all)"),
    OPTION_INT("bin", 'b', bin, "N", "joins N x N detector pixels to one (default 1)", 1, 64),
    OPTION_OUTPUT("png", 'p', png, "FILE", "picture of the middle slice (default: beside --out)"),
    OPTION_FLAG("scale-bar", 0, with_bar, "draws a scale bar into the pictures"),
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
    OPTION_INPUT("reference", 0, reference, "FILE",
                 "prints PSNR and SSIM against this volume (.npy) of the\nsame shape, and draws "
                 "both and the difference"),
    OPTION_TEXT("memory", 0, memory, "SIZE",
                "uses at most this, 12GiB for instance (default: what is\nfree); fbp then goes in "
                "slabs of slices"),
    OPTION_FLAG(
        "resume", 0, resume,
        "keeps finished slabs in OUT.parts, and goes on with\nthose of the same call; not of mbir"),
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
    FAIL_IF(with_bar && reference, ERR_USAGE,
            "--scale-bar is for the picture of one slice: leave out --reference");
    const char *suffix = volume_suffix(out);
    FAIL_IF(!suffix, ERR_USAGE, "--out %s: the name must end in .nii, .nii.gz or .npy", out);
    FAIL_IF(options[ROW_CENTER].seen && options[ROW_CENTER_METHOD].seen, ERR_USAGE,
            "--center gives the axis: leave out --center-method");
    for (int i = ROW_ITERATIONS; i <= ROW_SEED; i++)
        FAIL_IF(options[i].seen && method != SCAN_MBIR, ERR_USAGE, "--%s is for --method mbir",
                options[i].name);
    int stem = (int)(strlen(out) - strlen(suffix));
    *picture = NULL;
    FAIL_IF((png ? asprintf(picture, "%s", png) : asprintf(picture, "%.*s.png", stem, out)) < 0,
            ERR_MEMORY, "no memory left for the name of the picture");
    TRY(volume_outputs_check(&outputs));
    TRY(check_writable(out));
    if (outputs.page)
        TRY(check_writable(outputs.page));
    return check_writable(*picture);
}

/* fbp is for parallel and fdk for cone beams; mbir for all, and the default where no direct method
 * is exact. */
static enum err check_method(const struct scan *s)
{
    const enum beam beam = s->beam;
    if (!options[ROW_METHOD].seen)
        method = s->moves ? SCAN_MBIR : beam == BEAM_CONE ? SCAN_FDK : SCAN_FBP;
    FAIL_IF(
        s->moves && method != SCAN_MBIR, ERR_USAGE,
        "--method %s is for parallel and cone beams: translation and multi-axis scans take mbir",
        method_names[method]);
    FAIL_IF(method == SCAN_FDK && beam != BEAM_CONE, ERR_USAGE,
            "--method fdk is for cone beams: give --geometry FILE with \"geometry\": \"cone\", or "
            "take fbp");
    FAIL_IF(options[ROW_BACKPROJECT].seen && method != SCAN_FDK, ERR_USAGE,
            "--backproject is for --method fdk of cone beams");
    FAIL_IF(options[ROW_REDUNDANCY].seen && method != SCAN_FDK, ERR_USAGE,
            "--redundancy is for --method fdk of cone beams");
    FAIL_IF((method == SCAN_FBP || method == SCAN_FOURIER) && beam == BEAM_CONE, ERR_USAGE,
            "--method %s is for parallel beams, and %s has a cone beam: take fdk or mbir",
            method_names[method], geometry ? geometry : in);
    return ERR_OK;
}

static void tell_input(const struct scan_recon *s, const struct cluster *c)
{
    char human[16];
    const struct scan_input *i = &s->input;
    const struct ct_model *m = &i->model;
    log_info("%s: %" PRId64 " views of %" PRId64 " x %" PRId64 "; volume %" PRId64 " x %" PRId64
             " x %" PRId64 ", %s of memory",
             in, m->scan.views, m->scan.rows, m->scan.channels, m->volume.rows, m->volume.cols,
             m->volume.slices, mem_human((double)s->bytes, human));
    if (i->repaired)
        log_info("%" PRId64 " samples without a valid count were filled from their neighbours",
                 i->repaired);
    if (isfinite(i->center))
        log_info("rotation centre: channel %.2f (%s)", i->center, i->center_from);
    if (i->score < 0.9) /* false of NAN */
        log_warn("views half a turn apart match by %.2f only: check the picture, or give --center",
                 i->score);
    if (rows && m->scan.beam == BEAM_CONE && i->whole_count < m->volume.slices)
        log_info("--rows of a cone beam: %" PRId64 " of the %" PRId64 " slices, from %" PRId64
                 " on, need no other rows; the rest is approximate",
                 i->whole_count, m->volume.slices, i->whole_first);
    if (s->slabs.count > 1 && c->calls)
        log_info("%d processes share %" PRId64 " slabs of %" PRId64 " slices", c->place.size,
                 s->slabs.count, s->slabs.thickness);
    else if (s->slabs.count > 1)
        log_info("it does not fit into memory at once: %" PRId64 " slabs of %" PRId64 " slices",
                 s->slabs.count, s->slabs.thickness);
}

static enum err tell_result(const struct scan_recon *s, const struct backend *be)
{
    const int64_t slices = s->input.model.volume.slices;
    before_options_tell(s->request->steps);
    log_info("%s: %s in %.3g s on %s; slice %" PRId64 " of %" PRId64 ": %s", out,
             method_names[method], s->seconds, be->device, slices / 2, slices, s->request->picture);
    if (s->bar > 0)
        log_info("scale bar: %g of the unit in which a detector channel is %g wide", s->bar,
                 s->input.model.scan.delta_channel);
    if (reference)
        log_info("against %s: PSNR %.2f dB, SSIM %.4f", reference, s->quality.psnr,
                 s->quality.ssim);
    FAIL_IF(s->stopped, ERR_INTERRUPTED,
            "interrupted in iteration %" PRId64 " of %" PRId64 ": %s holds what there is",
            s->report.iterations + 1, iterations, out);
    return ERR_OK;
}

static enum err write_outputs(const struct scan_recon *s, const struct backend *be)
{
    char about[256];
    snprintf(about, sizeof about, "Reconstructed by %s on %s", method_names[method], be->device);
    outputs.about = about;
    outputs.reference = reference;
    outputs.quality = reference ? s->quality : (struct quality){(double)NAN, (double)NAN};
    return volume_outputs_write(&outputs, out, &s->input.model.volume);
}

static void tell_ranks(const struct cluster *c, const struct scan_recon *s)
{
    const uint64_t device = c->device_bytes + c->staged_bytes;
    char human[16];
    if (!c->calls)
        return;
    log_info("%d processes; the first one spent %.3g of %.3g s with the others, and sent %s in "
             "%" PRIu64 " messages",
             c->place.size, c->seconds, s->seconds, mem_human((double)c->bytes, human),
             c->messages);
    if (device)
        log_info("of its GPU's memory %s were sent or received %s",
                 mem_human((double)device, human),
                 c->staged_bytes ? "by copies in host memory, for this MPI library reads no GPU's"
                                 : "straight, without copies");
}

/* All that can be said before the back end is opened. */
static enum err prepare(struct scan_request *r, struct scan_steps *steps, struct scan_recon *s,
                        struct cluster *c, char **picture)
{
    TRY(before_options_read(&before, steps));
    outputs.bar = with_bar;
    TRY(check_call(picture));
    r->picture = *picture;
    TRY(scan_recon_open(r, s));
    TRY(check_method(&s->input.model.scan));
    r->method = (enum scan_method)method;
    if (c->calls && method == SCAN_MBIR && !strcmp(backend, "auto"))
        backend = "cpu";
    return c->calls || resume ? cluster_recon_plan(c, s, resume) : scan_recon_plan(s);
}

static enum err run(int words, char **word)
{
    (void)words;
    (void)word;
    struct scan_steps steps;
    struct scan_request r = {.in = in,
                             .flats_after = flats_after,
                             .drift = drift,
                             .steps = &steps,
                             .center_method = (enum scan_center)center_method,
                             .search_center = options[ROW_CENTER_METHOD].seen,
                             .center_png = center_png,
                             .flats = flats,
                             .darks = darks,
                             .angles = angles,
                             .bin = bin,
                             .geometry = geometry,
                             .poses = poses,
                             .rows = rows,
                             .center = options[ROW_CENTER].seen ? &center : NULL,
                             .out = out,
                             .reference = reference,
                             .scale_bar = with_bar,
                             .voxel_driven = voxel_driven,
                             .rings = (enum scan_rings)rings,
                             .helical = redundancy == HELICAL,
                             .redundancy = redundancy == HELICAL ? REDUNDANCY_NONE
                                                                 : (enum redundancy)redundancy,
                             .weights = (enum scan_weights)weighting,
                             .iterations = iterations,
                             .threshold_percent = threshold,
                             .seed = (uint32_t)seed,
                             .stop = &cli_stop};
    struct backend_options o = {.threads = (int)threads};
    struct backend *be = NULL;
    struct cluster *c;
    struct scan_recon s = {0};
    char *picture = NULL;
    enum err e;
    TRY(cluster_join(&c, &cli_end.silent));
    if (memory)
        setenv("TOMOPROF_MEMORY", memory, 1);
    cluster_choose_gpu(c);
    if (!threads)
        o.threads = cluster_threads(c, cpu_threads_usable());
    cpu_threads_default(o.threads);
    TRY_OUT(cluster_agree(c, prepare(&r, &steps, &s, c, &picture), &cli_end.silent));
    TRY_OUT(backend_open(backend, &o, &be));
    steps.be = be;
    if (c->calls || resume) {
        tell_input(&s, c);
        TRY_OUT(cluster_recon_run(c, &s, be, resume, &cli_end.silent));
        tell_ranks(c, &s);
    } else {
        TRY_OUT(scan_recon_read(&s));
        tell_input(&s, c);
        TRY_OUT(scan_recon_run(&s, be));
    }
    e = cluster_agree(c, tell_result(&s, be), &cli_end.silent);
    if (!e && !c->place.rank)
        e = write_outputs(&s, be);
out:
    free(picture);
    scan_recon_free(&s);
    backend_close(be);
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
    .flags = CMD_STOPS,
    .run = run,
};
