/* Operations of MBIRJAX beside those that the suite began with: pixel subsets, proximal map,
 * weights, denoiser, other partitions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "host/recon/denoise.h"
#include "host/recon/common/direct_weights.h"
#include "host/recon/weights.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/check.h"
#include "host/suite/catalogue/inputs.h"

static enum err draw_partition(struct run_state *s, enum partition_method how)
{
    partition_free(&s->partition);
    return partition_draw(&s->model.volume, how, s->subsets, (uint32_t)s->seed, &s->partition);
}

static enum err ready_subset(struct run_state *s)
{
    return draw_partition(s, PARTITION_RANDOM);
}

/* The first subset; cylinders lie in whole volumes. */
static struct pixel_set first_subset(const struct run_state *s)
{
    return (struct pixel_set){s->partition.indices, s->partition.length, 0};
}

static enum err run_sparse_forward(struct run_state *s)
{
    const struct pixel_set pixels = first_subset(s);
    return sparse_forward_project(s->be, &s->model, &pixels, &s->in.buffer, &s->out.buffer);
}

static enum err run_sparse_back(struct run_state *s)
{
    const struct pixel_set pixels = first_subset(s);
    return sparse_back_project(s->be, &s->model, &pixels, &s->in.buffer, 1, &s->out.buffer);
}

static enum err updates_subset(const struct run_state *s, double *out)
{
    int32_t *pixels;
    int64_t count;
    TRY(volume_pixels_inside(&s->model.volume, &pixels, &count));
    free(pixels);
    const int64_t subsets = s->subsets ? s->subsets : SUITE_SUBSETS;
    *out = (double)((count + subsets - 1) / subsets) * (double)s->model.volume.slices *
           (double)s->model.scan.views;
    return ERR_OK;
}

static enum err run_direct_filter(struct run_state *s)
{
    return direct_filter(s->be, &s->model, &s->in.buffer, &s->out.buffer);
}

static enum err published_run_fourier(struct run_state *s)
{
    struct buffer *scratch = s->scratch.buffer.ptr ? &s->scratch.buffer : &s->in.buffer;
    return fourier_recon(s->be, &s->model, &s->in.buffer, scratch, &s->out.buffer);
}

static enum err run_stripes(struct run_state *s)
{
    return remove_stripes(s->be, &s->model, STRIPES_MEDIAN, &s->in.buffer, &s->out.buffer);
}

/* A channel in seven is brighter or darker than it should be. */
enum err prepare_stripes(struct run_state *s)
{
    const struct scan *scan = &s->model.scan;
    int64_t shape[3];
    ct_model_shape(&s->model, ARRAY_SINOGRAM, shape);
    TRY(state_host_array(&s->in, "sinogram", shape));
    phantom_sinogram(&s->model, s->in.host);
    noise_add(s->in.host, scan_samples(scan), 0.01, s->seed);
    for (int64_t i = 0; i < scan_samples(scan); i++)
        if (i % scan->channels % 7 == 3)
            s->in.host[i] += (i % scan->channels % 2 ? 0.02f : -0.02f) * (float)scan->channels;
    return state_upload(s, &s->in, shape);
}

static enum err run_parker(struct run_state *s)
{
    return redundancy_weigh(s->be, &s->model, REDUNDANCY_PARKER, &s->in.buffer, &s->out.buffer);
}

static enum err run_wang(struct run_state *s)
{
    return redundancy_weigh(s->be, &s->model, REDUNDANCY_WANG, &s->in.buffer, &s->out.buffer);
}

/* A short scan, and a detector that is moved by a quarter of its width. */
static void set_up_parker(struct ct_model *m, int64_t size)
{
    m->scan.views = size < 16 ? 16 : size;
}

static void set_up_wang(struct ct_model *m, int64_t size)
{
    m->scan.views = size < 16 ? 16 : size;
    m->scan.channel_offset = -(double)(size / 4);
}

/* The suite's input: a noisy sinogram, and the phantom to stay near. */
static enum err prepare_prox(struct run_state *s)
{
    int64_t shape[3];
    TRY(prepare_sinogram(s));
    ct_model_shape(&s->model, ARRAY_VOLUME, shape);
    TRY(state_host_array(&s->prox, "volume to stay near", shape));
    phantom_volume(&s->model, s->prox.host);
    return state_upload(s, &s->prox, shape);
}

static enum err run_prox(struct run_state *s)
{
    struct mbir_options o = s->mbir;
    o.weights = given_buffer(&s->weights);
    o.initial = given_buffer(&s->initial);
    o.prox_target = given_buffer(&s->prox);
    mbir_report_free(&s->report);
    return mbir_recon(s->be, &s->model, &s->in.buffer, &o, &s->out.buffer, &s->report);
}

static enum err run_denoise(struct run_state *s)
{
    const struct denoise_options o = {.max_iterations = s->mbir.max_iterations,
                                      .stop_threshold_percent = s->mbir.stop_threshold_percent,
                                      .seed = s->mbir.seed,
                                      .on_iteration = s->mbir.on_iteration,
                                      .context = s->mbir.context};
    const struct regularisation *r = &s->model.regularisation;
    if (!(r->p > 0)) /* no geometry file */
        r = NULL;
    return qggmrf_denoise(s->be, &s->model.volume, r, &s->in.buffer, &o, &s->out.buffer,
                          &s->denoised);
}

#define RUN_WEIGHTS(name, kind)                                                                    \
    static enum err run_##name(struct run_state *s)                                                \
    {                                                                                              \
        return gen_weights(s->be, kind, &s->in.buffer, &s->out.buffer);                            \
    }
RUN_WEIGHTS(unweighted, WEIGHTS_ONE)
RUN_WEIGHTS(transmission, WEIGHTS_TRANSMISSION)
RUN_WEIGHTS(transmission_root, WEIGHTS_ROOT)
RUN_WEIGHTS(emission, WEIGHTS_EMISSION)

static enum err run_mar(struct run_state *s)
{
    const struct mar_options o = {MAR_DEFAULTS, .initial = given_buffer(&s->initial)};
    return gen_weights_mar(s->be, &s->model, &s->in.buffer, &o, &s->out.buffer);
}

static enum err run_grid(struct run_state *s)
{
    return draw_partition(s, PARTITION_GRID);
}

static enum err run_blue_noise(struct run_state *s)
{
    return draw_partition(s, PARTITION_BLUE_NOISE);
}

/* clang-format off */
#define SPARSE(beam) \
    {.name = #beam "_sparse_forward_project", .geometry = #beam, .apart = APART_##beam, .group = "projection", \
     .access_pattern = "scatter", .help = "volume -> sinogram, of one subset of pixels", \
     .input = ARRAY_VOLUME, .output = ARRAY_SINOGRAM, .share = SHARE_FORWARD, .takes = TAKES_SEED | TAKES_SUBSETS, \
     .prepare = prepare_volume, .ready = ready_subset, .run = run_sparse_forward, \
     .check = check_sparse_forward, .work = work_declared, .updates = updates_subset}, \
    {.name = #beam "_sparse_back_project", .geometry = #beam, .apart = APART_##beam, .group = "projection", \
     .access_pattern = "gather", .help = "sinogram -> volume, into one subset of pixels", \
     .input = ARRAY_SINOGRAM, .output = ARRAY_VOLUME, .share = SHARE_SLICES, .takes = TAKES_SEED | TAKES_SUBSETS, \
     .prepare = prepare_sinogram, .ready = ready_subset, .run = run_sparse_back, \
     .check = check_sparse_back, .work = work_declared, .updates = updates_subset}
#define FILTER(beam) \
    {.name = #beam "_direct_filter", .geometry = #beam, .apart = APART_##beam, .group = "filter", .access_pattern = "stream", \
     .help = "sinogram -> sinogram, filter of direct_recon", .input = ARRAY_SINOGRAM, \
     .output = ARRAY_SINOGRAM, .share = SHARE_ROWS, .prepare = prepare_sinogram, .run = run_direct_filter, .check = check_filter, \
     .work = work_declared}
#define PROX(beam) \
    {.name = #beam "_prox_map", .geometry = #beam, .apart = APART_##beam, .group = "reconstruction", .access_pattern = "mixed", \
     .help = "sinogram -> volume, VCD near a given volume", .input = ARRAY_SINOGRAM, \
     .output = ARRAY_VOLUME, .scratch = SCRATCH_MBIR, .share = SHARE_MBIR, \
     .takes = TAKES_WEIGHTS | TAKES_ITERATIONS | TAKES_SEED | TAKES_INIT | TAKES_PROX | TAKES_COMPAT, \
     .prepare = prepare_prox, .run = run_prox, .check = CHECK_##beam, .work = work_declared}
#define WEIGHTS(kind, text) \
    {.name = "gen_weights_" #kind, .geometry = "any", .group = "utility", .access_pattern = "stream", \
     .help = "sinogram -> weights, " text, .input = ARRAY_SINOGRAM, .output = ARRAY_SINOGRAM, .share = SHARE_ROWS, \
     .prepare = prepare_sinogram, .run = run_##kind, .check = check_weights, .work = work_declared}
#define PARTITION(name_, text, how) \
    {.name = "gen_pixel_partition_" name_, .geometry = "any", .group = "utility", \
     .access_pattern = "random", .help = text, .output = ARRAY_PARTITION, \
     .takes = TAKES_SEED | TAKES_SUBSETS, .run = how, .check = check_tiled, .work = work_partition}

static const struct operation rows[] = {
    SPARSE(parallel),
    FILTER(parallel),
    PROX(parallel),
    {.name = "parallel_fourier_recon", .geometry = "parallel", .group = "reconstruction",
     .access_pattern = "mixed", .help = "sinogram -> volume, FBP by gridding and FFT",
     .input = ARRAY_SINOGRAM, .output = ARRAY_VOLUME, .scratch = SCRATCH_SINOGRAM, .share = SHARE_GROUPS,
     .prepare = prepare_sinogram, .run = published_run_fourier, .check = check_recon, .work = work_declared},
    SPARSE(cone),
    FILTER(cone),
    PROX(cone),
    SPARSE(translation),
    FILTER(translation),
    PROX(translation),
    SPARSE(multiaxis),
    FILTER(multiaxis),
    PROX(multiaxis),
    {.name = "cone_parker_weights", .geometry = "cone", .group = "filter", .access_pattern = "stream",
     .help = "sinogram -> sinogram, for FDK of short scans", .input = ARRAY_SINOGRAM,
     .output = ARRAY_SINOGRAM, .prepare = prepare_sinogram, .run = run_parker, .check = check_rays,
     .work = work_declared, .set_up = set_up_parker, .turn = 1.25 * M_PI},
    {.name = "cone_wang_weights", .geometry = "cone", .group = "filter", .access_pattern = "stream",
     .help = "sinogram -> sinogram, for FDK, axis off-centre", .input = ARRAY_SINOGRAM,
     .output = ARRAY_SINOGRAM, .prepare = prepare_sinogram, .run = run_wang, .check = check_rays,
     .work = work_declared, .set_up = set_up_wang},
    {.name = "remove_stripes_sorting", .geometry = "any", .group = "filter", .access_pattern = "random",
     .help = "sinogram -> sinogram, rings taken out", .input = ARRAY_SINOGRAM,
     .output = ARRAY_SINOGRAM, .share = SHARE_ROWS, .prepare = prepare_stripes, .run = run_stripes, .check = check_stripes,
     .work = work_declared},
    WEIGHTS(transmission, "exp(-y)"),
    WEIGHTS(transmission_root, "exp(-y/2)"),
    WEIGHTS(emission, "1/(|y| + 0.1)"),
    WEIGHTS(unweighted, "1"),
    {.name = "gen_weights_mar", .geometry = "any", .group = "utility", .access_pattern = "stream",
     .help = "sinogram -> weights, less where metal is", .input = ARRAY_SINOGRAM,
     .output = ARRAY_SINOGRAM, .takes = TAKES_INIT, .prepare = prepare_sinogram, .run = run_mar,
     .check = check_mar, .work = work_declared},
    {.name = "qggmrf_denoise", .geometry = "any", .group = "utility", .access_pattern = "stencil",
     .help = "volume -> volume, MAP with the qGGMRF prior", .input = ARRAY_VOLUME,
     .output = ARRAY_VOLUME, .takes = TAKES_ITERATIONS | TAKES_SEED, .prepare = prepare_noisy_volume,
     .run = run_denoise, .check = check_denoise, .work = work_declared},
    PARTITION("grid", "geometry -> pixel subsets of a repeated tile", run_grid),
    PARTITION("blue_noise", "geometry -> pixel subsets of blue noise", run_blue_noise),
};
/* clang-format on */

const struct operation_rows published_operations = {rows, sizeof rows / sizeof *rows};
