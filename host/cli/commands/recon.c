/* The command `recon`: its options, and what it tells of input and result. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "host/base/file.h"
#include "host/base/log.h"
#include "host/base/memory.h"
#include "host/cli/cli.h"
#include "host/cpu/common/threads.h"
#include "host/scan/reconstruct.h"
#include "host/store/format/volume.h"

static const char *const method_names[] = {"fbp", "fdk", "mbir", "fourier"};

static const char *in, *flats, *darks, *angles, *out, *geometry, *rows, *png, *memory,
    *backend = "auto";
static int method, weighting, voxel_driven, redundancy, rings;
static int64_t iterations = 15, threads, seed, bin = 1;
static double center, threshold = 0.2;

enum {
    ROW_METHOD,
    ROW_BACKPROJECT,
    ROW_REDUNDANCY,
    ROW_CENTER,
    ROW_ITERATIONS,
    ROW_THRESHOLD,
    ROW_WEIGHTS,
    ROW_SEED
};

static struct opt options[] = {
    [ROW_METHOD] = OPTION_CHOICE("method", 'm', method, "fbp|fdk|mbir|fourier",
                                 "default: fbp for parallel beams, fdk for cone beams;\n"
                                 "fourier: fbp by gridding and FFT"),
    [ROW_BACKPROJECT] = OPTION_CHOICE(
        "backproject", 0, voxel_driven, "matched|voxel",
        "of fdk; voxel: bilinear between detector cells at\nevery voxel's centre, faster "
        "(default matched)"),
    [ROW_REDUNDANCY] = OPTION_CHOICE(
        "redundancy", 0, redundancy, "none|parker|wang",
        "of fdk; parker: scans of less than a turn; wang: a\nturn with the axis off-centre "
        "(default none)"),
    [ROW_CENTER] = OPTION_NUMBER(
        "center", 'c', center, "CHANNEL",
        "rotation axis: 0-based channel, may be a fraction\n(default: found and printed)", 0, 0),
    [ROW_ITERATIONS] =
        OPTION_INT("iterations", 'n', iterations, "N", "at most, of mbir (default 15)", 1, 1e6),
    [ROW_THRESHOLD] = OPTION_NUMBER(
        "stop-threshold", 0, threshold, "PERCENT",
        "mbir ends when the volume changes less\n(default 0.2; 0: all iterations)", 0, 1e6),
    [ROW_WEIGHTS] = OPTION_CHOICE("weights", 'w', weighting, "none|transmission",
                                  "of mbir; transmission: exp(-sinogram)"),
    [ROW_SEED] =
        OPTION_INT("seed", 0, seed, "N", "numpy.random.seed of mbir (default 0)", 0, 4294967295.0),
    OPTION_CHOICE("rings", 0, rings, "keep|sorting",
                  "sorting: stripes taken out of the sinogram (default keep)"),
    OPTION_INPUT("in", 'i', in, "FILE",
                 "scan: Data Exchange or NXtomo (.h5), .txrm, folder or\nfile of TIFF, .npy with "
                 "--flats; or a sinogram (.npy)"),
    OPTION_INPUT("flats", 0, flats, "FILE", "flat fields (default: those of the scan)"),
    OPTION_INPUT("darks", 0, darks, "FILE", "dark frames (default: those of the scan)"),
    OPTION_TEXT(
        "angles", 0, angles, "FILE|A:B",
        "degrees, one per view (.npy or text), or evenly from\nA to B (default: those of the "
        "scan)"),
    OPTION_INPUT("geometry", 'g', geometry, "FILE",
                 "geometry of a cone-beam or .npy sinogram (JSON)"),
    OPTION_TEXT("rows", 'r', rows, "A:B", "detector rows A to B-1 of the scan (default all)"),
    OPTION_INT("bin", 'b', bin, "N", "N x N detector pixels become one (default 1)", 1, 64),
    OPTION_OUTPUT("out", 'o', out, "FILE", "volume: .nii, .nii.gz or .npy"),
    OPTION_OUTPUT("png", 'p', png, "FILE", "picture of the middle slice (default: beside --out)"),
    OPTION_TEXT(
        "memory", 0, memory, "SIZE",
        "at most, 12GiB for instance (default: what is free);\nfbp then goes in slabs of slices"),
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
        FAIL_IF(options[i].seen && method != SCAN_MBIR, ERR_USAGE, "--%s is for --method mbir",
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
        method = beam == BEAM_CONE ? SCAN_FDK : SCAN_FBP;
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

static void tell_input(const struct scan_recon *s)
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
    if (i->score < 0.9)
        log_warn("views half a turn apart match by %.2f only: check the picture, or give --center",
                 i->score);
    if (rows && m->scan.beam == BEAM_CONE && i->whole_count < m->volume.slices)
        log_info("--rows of a cone beam: %" PRId64 " of the %" PRId64 " slices, from %" PRId64
                 " on, need no other rows; the rest is approximate",
                 i->whole_count, m->volume.slices, i->whole_first);
    if (s->slabs.count > 1)
        log_info("it does not fit into memory at once: %" PRId64 " slabs of %" PRId64 " slices",
                 s->slabs.count, s->slabs.thickness);
}

static enum err tell_result(const struct scan_recon *s, const struct backend *be)
{
    const int64_t slices = s->input.model.volume.slices;
    log_info("%s: %s in %.3g s on %s; slice %" PRId64 " of %" PRId64 ": %s", out,
             method_names[method], s->seconds, be->device, slices / 2, slices, s->request->picture);
    FAIL_IF(s->stopped, ERR_INTERRUPTED,
            "interrupted in iteration %" PRId64 " of %" PRId64 ": %s holds what there is",
            s->report.iterations + 1, iterations, out);
    return ERR_OK;
}

static enum err run(int words, char **word)
{
    (void)words;
    (void)word;
    struct scan_request r = {.in = in,
                             .flats = flats,
                             .darks = darks,
                             .angles = angles,
                             .bin = bin,
                             .geometry = geometry,
                             .rows = rows,
                             .center = options[ROW_CENTER].seen ? &center : NULL,
                             .out = out,
                             .voxel_driven = voxel_driven,
                             .rings = rings,
                             .redundancy = (enum redundancy)redundancy,
                             .transmission_weights = weighting,
                             .iterations = iterations,
                             .threshold_percent = threshold,
                             .seed = (uint32_t)seed,
                             .stop = &cli_stop};
    struct backend_options o = {.threads = (int)threads};
    struct backend *be = NULL;
    struct scan_recon s = {0};
    char *picture = NULL;
    enum err e;
    cpu_threads_default((int)threads);
    if (memory)
        setenv("TOMOPROF_MEMORY", memory, 1);
    TRY_OUT(check_call(&picture));
    r.picture = picture;
    TRY_OUT(scan_recon_open(&r, &s));
    TRY_OUT(check_method(s.input.model.scan.beam));
    r.method = (enum scan_method)method;
    TRY_OUT(scan_recon_plan(&s));
    TRY_OUT(backend_open(backend, &o, &be));
    TRY_OUT(scan_recon_read(&s));
    tell_input(&s);
    TRY_OUT(scan_recon_run(&s, be));
    e = tell_result(&s, be);
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
        "Reads a scan, corrects it (-log of the transmission, defects filled), finds the rotation "
        "centre\n"
        "where neither --center nor the file tells it, and writes the volume and a picture of its "
        "middle\n"
        "slice. Flat and dark frames, angles and the geometry come from the file: Data Exchange, "
        "NXtomo,\n"
        "Zeiss TXRM (also its cone beam). In a folder of TIFF files the names tell them: "
        "proj_0001.tif,\n"
        "flat_0001.tif, dark_0001.tif. Other cone beams and own arrays come with a geometry file "
        "(`tomoprof\n"
        "apply --help` shows one). FBP of what does not fit into memory reads, reconstructs and "
        "writes slabs\n"
        "of slices in turn, with the same result; the centre is then found on the middle 32 "
        "rows.\n\n"
        "Examples:\n"
        "  tomoprof recon --in scan.h5 --out volume.nii.gz\n"
        "  tomoprof recon --in scan_folder --angles 0:180 --bin 2 --out volume.nii\n"
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
