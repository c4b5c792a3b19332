/* The table of operations, and the functions that run them. */
#include <stdlib.h>
#include <string.h>

#include "host/geom/ct_model.h"
#include "host/suite/catalogue/check.h"
#include "host/suite/catalogue/inputs.h"
#include "host/suite/catalogue/state.h"
#include "host/suite/catalogue/volume.h"
#include "host/suite/catalogue/catalogue.h"

static enum err suite_run_forward(struct run_state *s)
{
    return forward_project(s->be, &s->model, &s->in.buffer, &s->out.buffer);
}

static enum err suite_run_back(struct run_state *s)
{
    return back_project(s->be, &s->model, &s->in.buffer, &s->out.buffer);
}

static enum err suite_run_hessian(struct run_state *s)
{
    return hessian_diagonal(s->be, &s->model, given_buffer(&s->weights), &s->out.buffer);
}

static enum err suite_run_filter(struct run_state *s)
{
    return direct_filter(s->be, &s->model, &s->in.buffer, &s->out.buffer);
}

static enum err suite_run_recon(struct run_state *s)
{
    struct buffer *scratch = s->scratch.buffer.ptr ? &s->scratch.buffer : &s->in.buffer;
    return direct_recon(s->be, &s->model, &s->in.buffer, scratch, &s->out.buffer);
}

static enum err run_back_voxel(struct run_state *s)
{
    return back_project_voxel(s->be, &s->model, &s->in.buffer, &s->out.buffer);
}

static enum err run_recon_voxel(struct run_state *s)
{
    return fdk_voxel_recon(s->be, &s->model, &s->in.buffer, &s->scratch.buffer, &s->out.buffer);
}

static enum err run_mbir_recon(struct run_state *s)
{
    struct mbir_options o = s->mbir;
    o.weights = given_buffer(&s->weights);
    o.initial = given_buffer(&s->initial);
    mbir_report_free(&s->report);
    s->report = (struct mbir_report){0};
    return mbir_recon(s->be, &s->model, &s->in.buffer, &o, &s->out.buffer, &s->report);
}

static enum err suite_run_median(struct run_state *s)
{
    return median_filter(s->be, &s->model, &s->in.buffer, &s->out.buffer);
}

static enum err suite_run_partition(struct run_state *s)
{
    partition_free(&s->partition);
    return partition_draw(&s->model.volume, PARTITION_RANDOM, s->subsets, (uint32_t)s->seed,
                          &s->partition);
}

/* Counts cylinders inside the region of reconstruction x slices x views. */
static enum err updates_inside(const struct run_state *s, double *out)
{
    int32_t *pixels;
    int64_t count;
    TRY(volume_pixels_inside(&s->model.volume, &pixels, &count));
    free(pixels);
    *out = (double)count * (double)s->model.volume.slices * (double)s->model.scan.views;
    return ERR_OK;
}

static enum err updates_all(const struct run_state *s, double *out)
{
    *out = (double)volume_voxels(&s->model.volume) * (double)s->model.scan.views;
    return ERR_OK;
}

/* The iteration before the first over the finest partition (recon.h: 2 4 6, then 7). */
#define WARM_UP_ITERATION 3

static void set_up_ramp(struct ct_model *m, int64_t size)
{
    (void)size;
    m->scan.channels = m->volume.rows = m->volume.cols = 1024;
}

/* RabbitCT at N = 512 (496 views of 1248 x 960 cells of 0.32 mm, source 750 mm from the axis and
 * 1200 mm from the detector, volume 256 mm wide) over a full circle; other N in proportion. */
static void set_up_rabbitct(struct ct_model *m, int64_t size)
{
    struct scan *s = &m->scan;
    s->views = size * 496 / 512;
    s->rows = size * 960 / 512;
    s->channels = size * 1248 / 512;
    s->delta_row = s->delta_channel = 0.32 * 512 / (double)size;
    s->source_iso = 750;
    s->source_detector = 1200;
    m->volume.delta = 256 / (double)size;
}

/* clang-format off */
#define FORWARD(beam) \
    {.name = #beam "_forward_project", .geometry = #beam, .group = "projection", .apart = APART_##beam, .access_pattern = "scatter", \
     .help = "volume -> sinogram, A x", .input = ARRAY_VOLUME, .output = ARRAY_SINOGRAM, \
     .share = SHARE_FORWARD, \
     .prepare = prepare_volume, .run = suite_run_forward, .check = check_forward, .work = work_declared, \
     .updates = updates_inside}
#define BACK(beam) \
    {.name = #beam "_back_project", .geometry = #beam, .group = "projection", .apart = APART_##beam, .access_pattern = "gather", \
     .help = "sinogram -> volume, exact adjoint A' y", .input = ARRAY_SINOGRAM, .output = ARRAY_VOLUME, \
     .share = SHARE_SLICES, \
     .prepare = prepare_sinogram, .run = suite_run_back, .check = check_back, .work = work_declared, \
     .updates = updates_inside}
#define HESSIAN(beam) \
    {.name = #beam "_hessian_diagonal", .geometry = #beam, .group = "projection", .apart = APART_##beam, .access_pattern = "gather", \
     .help = "weights -> volume, sum of A^2 w over the rays", .output = ARRAY_VOLUME, .takes = TAKES_WEIGHTS, \
     .share = SHARE_SLICES, \
     .run = suite_run_hessian, .check = check_hessian, .work = work_declared, .updates = updates_all}
#define MBIR(beam) \
    {.name = #beam "_mbir_recon", .geometry = #beam, .group = "reconstruction", .apart = APART_##beam, .access_pattern = "mixed", \
     .help = "sinogram -> volume, VCD with the qGGMRF prior", .input = ARRAY_SINOGRAM, .output = ARRAY_VOLUME, \
     .scratch = SCRATCH_MBIR, .share = SHARE_MBIR, \
     .takes = TAKES_WEIGHTS | TAKES_ITERATIONS | TAKES_SEED | TAKES_INIT | TAKES_COMPAT, \
     .prepare = prepare_sinogram, .run = run_mbir_recon, .check = CHECK_##beam, .work = work_declared}
#define FILTER(beam, letters) \
    {.name = #beam "_" #letters "_filter", .geometry = #beam, .group = "filter", .access_pattern = "stream", \
     .help = "sinogram -> sinogram, ramp along channels", .input = ARRAY_SINOGRAM, .output = ARRAY_SINOGRAM, \
     .share = SHARE_ROWS, .prepare = prepare_sinogram, .run = suite_run_filter, .check = check_filter, \
     .work = work_declared}
#define RECON(beam, letters, text) \
    {.name = #beam "_" #letters "_recon", .geometry = #beam, .group = "reconstruction", .apart = APART_##beam, \
     .access_pattern = "gather", .help = text, .input = ARRAY_SINOGRAM, .output = ARRAY_VOLUME, \
     .scratch = SCRATCH_SINOGRAM, .share = SHARE_SLICES, .prepare = prepare_sinogram, .run = suite_run_recon, \
     .check = CHECK_##beam, .work = work_declared}

static const struct operation operations[] = {
    FORWARD(parallel),
    BACK(parallel),
    HESSIAN(parallel),
    MBIR(parallel),
    RECON(parallel, fbp, "sinogram -> volume, filtered back projection"),
    FILTER(parallel, fbp),
    RECON(parallel, direct, "sinogram -> volume, direct method: fbp_recon"),
    FORWARD(cone),
    BACK(cone),
    HESSIAN(cone),
    MBIR(cone),
    RECON(cone, fdk, "sinogram -> volume, Feldkamp, matched adjoint"),
    FILTER(cone, fdk),
    RECON(cone, direct, "sinogram -> volume, direct method: fdk_recon"),
    {.name = "median_filter3d", .geometry = "any", .group = "utility", .access_pattern = "stencil",
     .help = "volume -> volume, 3x3x3, edges repeated", .input = ARRAY_VOLUME, .output = ARRAY_VOLUME,
     .share = SHARE_PLANES,
     .prepare = prepare_noisy_volume, .run = suite_run_median, .check = check_median, .work = work_declared},
    {.name = "gen_pixel_partition", .geometry = "any", .group = "utility", .access_pattern = "random",
     .help = "geometry -> random pixel subsets of MBIR", .output = ARRAY_PARTITION,
     .takes = TAKES_SEED | TAKES_SUBSETS, .run = suite_run_partition, .check = check_partition,
     .work = work_partition},
    FORWARD(translation),
    BACK(translation),
    HESSIAN(translation),
    MBIR(translation),
    RECON(translation, direct, "sinogram -> volume, FDK, where MBIR starts"),
    FORWARD(multiaxis),
    BACK(multiaxis),
    HESSIAN(multiaxis),
    MBIR(multiaxis),
    RECON(multiaxis, direct, "sinogram -> volume, FBP, where MBIR starts"),
};

#define ITERATION(beam) \
    {.name = #beam "_vcd_iteration", .geometry = #beam, .group = "benchmark", .access_pattern = "mixed", \
     .help = "one iteration of mbir_recon over 128 subsets", .input = ARRAY_SINOGRAM, .output = ARRAY_VOLUME, \
     .scratch = SCRATCH_MBIR, .prepare = prepare_sinogram, .run = run_mbir_recon, .check = check_recon, \
     .work = work_declared, .first_iteration = WARM_UP_ITERATION, .apart = 1}

/* Parts and published problems that the other rows do not time. */
static const struct operation benchmarks[] = {
    {.name = "cone_voxel_back_project", .geometry = "cone", .group = "benchmark", .access_pattern = "gather",
     .help = "sinogram -> volume, voxel-driven, for FDK", .input = ARRAY_SINOGRAM,
     .output = ARRAY_VOLUME, .prepare = prepare_sinogram, .run = run_back_voxel, .check = check_back_voxel,
     .work = work_declared, .updates = updates_inside, .apart = 1},
    ITERATION(parallel),
    ITERATION(cone),
    {.name = "parallel_ramp_filter_2048", .geometry = "parallel", .group = "benchmark", .access_pattern = "stream",
     .help = "1024 channels: transforms of 2048 points", .input = ARRAY_SINOGRAM,
     .output = ARRAY_SINOGRAM, .prepare = prepare_sinogram, .run = suite_run_filter, .check = check_filter,
     .work = work_declared, .set_up = set_up_ramp, .apart = 1},
    {.name = "cone_rabbitct_fdk_recon", .geometry = "cone", .group = "benchmark", .access_pattern = "gather",
     .help = "FDK as RabbitCT, at 512: 496 views", .input = ARRAY_SINOGRAM,
     .output = ARRAY_VOLUME, .scratch = SCRATCH_SINOGRAM, .prepare = prepare_sinogram, .run = suite_run_recon,
     .check = check_recon, .work = work_declared, .set_up = set_up_rabbitct, .apart = 1},
    {.name = "cone_rabbitct_voxel_recon", .geometry = "cone", .group = "benchmark", .access_pattern = "gather",
     .help = "the same with voxel-driven back projection", .input = ARRAY_SINOGRAM, .output = ARRAY_VOLUME,
     .scratch = SCRATCH_SINOGRAM, .prepare = prepare_sinogram, .run = run_recon_voxel, .check = check_recon,
     .work = work_declared, .set_up = set_up_rabbitct, .apart = 1},
};
/* clang-format on */
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* The whole catalogue, in this order. */
static const struct operation_rows own_rows = {operations, COUNT(operations)},
                                   benchmark_rows = {benchmarks, COUNT(benchmarks)};
static const struct operation_rows *const tables[] = {
    &own_rows,           &published_operations, &prepare_operations, &volume_operations,
    &storage_operations, &demo_operations,      &benchmark_rows};

const struct operation *operation_at(int index)
{
    for (int t = 0; index >= 0 && t < COUNT(tables); t++) {
        if (index < tables[t]->count)
            return &tables[t]->rows[index];
        index -= tables[t]->count;
    }
    return NULL;
}

const struct operation *operation_named(const char *name)
{
    const struct operation *op;
    for (int i = 0; (op = operation_at(i)) && strcmp(op->name, name);)
        i++;
    return op;
}

int operation_recon(const struct operation *op, enum recon_op *out)
{
    static const struct {
        enum err (*run)(struct run_state *s);
        enum recon_op op;
    } rows[] = {{suite_run_forward, RECON_FORWARD}, {suite_run_back, RECON_BACK},
                {suite_run_hessian, RECON_HESSIAN}, {suite_run_filter, RECON_FILTER},
                {suite_run_recon, RECON_DIRECT},    {suite_run_median, RECON_MEDIAN},
                {run_mbir_recon, RECON_MBIR}};
    for (int i = 0; i < COUNT(rows); i++)
        if (rows[i].run == op->run) {
            *out = rows[i].op;
            return 1;
        }
    return 0;
}

static double array_bytes(const struct ct_model *m, enum array array)
{
    int64_t shape[3];
    ct_model_shape(m, array, shape);
    return 4.0 * (double)shape[0] * (double)shape[1] * (double)shape[2];
}

/* Bytes of the arrays and of the scratch that `apply` holds on this model: what its memory is
 * planned with. */
static double operation_run_bytes(const struct operation *op, const struct ct_model *m)
{
    /* Volumes made larger: by 5/4 along each axis where no setting says more. */
    const double larger = op->output == ARRAY_STEP ? 1.96 : 1;
    double bytes = array_bytes(m, op->input) + larger * array_bytes(m, op->output);
    bytes += op->scratch == SCRATCH_SINOGRAM ? array_bytes(m, ARRAY_SINOGRAM) : 0;
    return bytes + (op->scratch == SCRATCH_MBIR ? (double)mbir_scratch_bytes(m) : 0);
}

double operation_bytes(const struct operation *op, const struct ct_model *m)
{
    /* The program itself, its threads' stacks and tile buffers: 16 MiB. Pixel lists: 3 x 4 bytes a
     * pixel. The check holds one reference of the larger shape. */
    double input = array_bytes(m, op->input), output = array_bytes(m, op->output);
    return 0x1p24 + 12.0 * (double)volume_pixels(&m->volume) + operation_run_bytes(op, m) +
           (input > output ? input : output);
}

enum err state_place(struct run_state *s, int has_weights, double extra)
{
    enum recon_op op;
    if (!operation_recon(s->op, &op))
        return ERR_OK;
    const int has_input = s->op->input != ARRAY_NONE || has_weights;
    const double arrays = operation_run_bytes(s->op, &s->model) + extra;
    return recon_place(s->be, op, &s->model, has_input, (size_t)arrays, &s->large);
}

enum err state_prepare(struct run_state *s)
{
    s->subsets = SUITE_SUBSETS;
    s->mbir = (struct mbir_options){.max_iterations = 1, .seed = (uint32_t)s->seed};
    TRY(state_place(s, 0, check_device_bytes(s)));
    if (s->op->prepare)
        TRY(s->op->prepare(s));
    if (s->op->scratch == SCRATCH_SINOGRAM)
        TRY(state_allocate_scratch(s));
    TRY(state_allocate_output(s));
    return s->op->ready ? s->op->ready(s) : ERR_OK;
}
