/* The table of primitives: work of a unit, access trace, transfers, rates of software; and the
 * amounts that follow from the edge of the volume. */
#include <fnmatch.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "profiler/triage/model/primitive.h"

/* Work of a unit, by hand. Parallel projector: 2 taps and the view's scale, coordinate, weights and
 * sums; 2 cells read, a scatter writes them too. Cone: 4 taps on a blended column; 4 cells. Squared
 * taps: a product more. Filter: two streaming transforms of 2N points of two rows at once, each
 * 2 (log2(2N)/2 - 1) complex products of 3 at N = 512, and the ramp; 22 stages of 9 sums; 2 samples
 * of padding per sample of data. Median: 126 min and max, as in fpga/median.v. Flat field: as in
 * fpga/flat_log.v, its shifter as 4 sums. Prior: 6 differences, potentials by table. Rates:
 * docs/internals/performance.md of this project (2 threads with AVX-512: half of it per thread),
 * and the derived targets for an H200, from target to stretch. Neither is a measurement of the
 * machine at hand. */
/* clang-format off */
/* Steps on volumes: bound by memory everywhere, and by the link on a card: no kernel is offered. Rates: a copy of 8 bytes a voxel,
 * half of it for two passes; an H200 at 60 to 80 % of its 4.8 TB/s. */
#define VOLUME(name_, flops_, trace_, products_, sums_, passes) \
    {.name = name_, .unit = UNIT_VOXEL, .flops = flops_, .trace = trace_, .branches = "none", \
     .work = {.products = products_, .sums = sums_, .ports = 2}, .volume_passes = passes, .volumes_moved = 1, \
     .cpu_rate = {0.3e9, 1.5e9}, .gpu_rate = {240e9, 480e9}, .rate_source = "copy bound: 8 to 12 bytes a voxel", .names = {name_}}
static const struct primitive primitives[] = {
    {.name = "parallel_forward_project", .hls_kernel = 1, .unit = UNIT_UPDATE, .flops = 4, .trace = ACCESS_PARALLEL_FORWARD, .branches = "at the edge of the detector",
     .work = {.products = 3, .sums = 6, .ports = 4}, .dependency = DEPENDS_SUM,
     .volume_passes = 1, .volume_per_32_views = 1, .sinogram_passes = 2, .volumes_moved = 1, .sinograms_moved = 1,
     .cpu_rate = {7e9, 12.5e9}, .gpu_rate = {2.5e12, 4e12}, .rate_source = "docs/internals/performance.md; derived H200 target", .names = {"parallel_forward", "straight<"}},
    {.name = "parallel_back_project", .hls_kernel = 1, .unit = UNIT_UPDATE, .flops = 4, .trace = ACCESS_PARALLEL_BACK, .branches = "at the edge of the detector",
     .work = {.products = 3, .sums = 6, .ports = 2},
     .volume_passes = 1, .volume_per_32_views = 2, .sinogram_passes = 1, .volumes_moved = 1, .sinograms_moved = 1,
     .cpu_rate = {9e9, 12.5e9}, .gpu_rate = {2.5e12, 4e12}, .rate_source = "docs/internals/performance.md; derived H200 target", .names = {"parallel_back", "straight_back<"}},
    {.name = "parallel_hessian_diagonal", .hls_kernel = 1, .unit = UNIT_UPDATE, .flops = 4, .trace = ACCESS_PARALLEL_BACK, .branches = "at the edge of the detector",
     .work = {.products = 4, .sums = 6, .ports = 2},
     .volume_passes = 1, .volume_per_32_views = 2, .sinogram_passes = 1, .volumes_moved = 1, .sinograms_moved = 1,
     .cpu_rate = {9e9, 12.5e9}, .gpu_rate = {2.5e12, 4e12}, .rate_source = "as back projection: one pass with squared taps", .names = {"parallel_hessian"}},
    {.name = "parallel_fbp_filter", .hls_kernel = 1, .unit = UNIT_SAMPLE, .flops = 110, .trace = ACCESS_FILTER, .branches = "none",
     .work = {.products = 58, .sums = 198, .ports = 24, .stages = 22}, .streams = 1,
     .sinogram_passes = 2, .sinograms_moved = 1,
     .cpu_rate = {0.3e9, 0.6e9}, .gpu_rate = {130e9, 260e9}, .rate_source = "docs/internals/performance.md (1.2 M rows/s of 1024 on 2 threads); derived H200 target", .names = {"fbp_filter", "ramp_filter"}},
    {.name = "cone_forward_project", .hls_kernel = 1, .unit = UNIT_UPDATE, .flops = 8, .trace = ACCESS_CONE_FORWARD, .branches = "at the edge of the detector",
     .work = {.products = 5, .sums = 9, .ports = 8}, .dependency = DEPENDS_SUM,
     .volume_passes = 1, .volume_per_32_views = 1, .sinogram_passes = 2, .volumes_moved = 1, .sinograms_moved = 1,
     .cpu_rate = {1.5e9, 2.5e9}, .gpu_rate = {450e9, 800e9}, .rate_source = "docs/internals/performance.md; derived H200 target", .names = {"cone_forward", "forward_proj", "fan_forward<"}},
    {.name = "cone_back_project", .hls_kernel = 1, .unit = UNIT_UPDATE, .flops = 8, .trace = ACCESS_CONE_BACK, .branches = "at the edge of the detector",
     .work = {.products = 4, .sums = 9, .ports = 4},
     .volume_passes = 1, .volume_per_32_views = 2, .sinogram_passes = 1, .volumes_moved = 1, .sinograms_moved = 1,
     .cpu_rate = {1.5e9, 2.5e9}, .gpu_rate = {450e9, 1000e9}, .rate_source = "docs/internals/performance.md; derived H200 target, to voxel-driven", .names = {"cone_back", "back_proj", "backproj", "fan_back<"}},
    {.name = "cone_hessian_diagonal", .hls_kernel = 1, .unit = UNIT_UPDATE, .flops = 8, .trace = ACCESS_CONE_BACK, .branches = "at the edge of the detector",
     .work = {.products = 5, .sums = 9, .ports = 4},
     .volume_passes = 1, .volume_per_32_views = 2, .sinogram_passes = 1, .volumes_moved = 1, .sinograms_moved = 1,
     .cpu_rate = {1.5e9, 2.5e9}, .gpu_rate = {450e9, 800e9}, .rate_source = "as back projection: one pass with squared taps", .names = {"hessian"}},
    {.name = "cone_fdk_filter", .hls_kernel = 1, .unit = UNIT_SAMPLE, .flops = 112, .trace = ACCESS_FILTER, .branches = "none",
     .work = {.products = 60, .sums = 200, .ports = 24, .stages = 22}, .streams = 1,
     .sinogram_passes = 2, .sinograms_moved = 1,
     .cpu_rate = {0.3e9, 0.6e9}, .gpu_rate = {130e9, 260e9}, .rate_source = "docs/internals/performance.md (1.2 M rows/s of 1024 on 2 threads); derived H200 target", .names = {"fdk_filter"}},
    {.name = "mbir_prior_and_updates", .unit = UNIT_VOXEL, .flops = 370, .trace = ACCESS_PRIOR, .branches = "clip at zero; step length decided per subset",
     .work = {.products = 45, .sums = 60, .ports = 20}, .dependency = DEPENDS_FEEDBACK, .steps = 128,
     .volume_passes = 4, .volumes_moved = 1,
     .cpu_rate = {0.05e9, 0.3e9}, .gpu_rate = {20e9, 200e9}, .rate_source = "declared work on the measured peak; from memory-bound ideal on an H200", .names = {"qggmrf", "prior"}},
    {.name = "median_filter3d", .hls_kernel = 1, .unit = UNIT_VOXEL, .flops = 77, .trace = ACCESS_MEDIAN, .branches = "none: a fixed network",
     .work = {.compares = 126, .ports = 9},
     .volume_passes = 2, .volumes_moved = 1,
     .cpu_rate = {0.7e9, 1e9}, .gpu_rate = {80e9, 130e9}, .rate_source = "docs/internals/performance.md; derived H200 target", .names = {"median"}},
    {.name = "gen_pixel_partition", .unit = UNIT_PIXEL, .flops = 0, .trace = ACCESS_PARTITION, .branches = "rejection in the generator", .dependency = DEPENDS_FEEDBACK,
     .work = {.sums = 8, .ports = 4}, .most_lanes = 1,
     .cpu_rate = {50e6, 200e6}, .gpu_rate = {50e6, 1e9}, .rate_source = "a shuffle is serial; recalled", .names = {"partition"}},
    {.name = "flat_field_and_log", .hls_kernel = 1, .unit = UNIT_SAMPLE, .flops = 6, .trace = ACCESS_CORRECT, .branches = "clip at the dark level", .streams = 1,
     .work = {.products = 1, .sums = 12, .ports = 3},
     .sinogram_passes = 2, .sinograms_moved = 1,
     .cpu_rate = {0.5e9, 2e9}, .gpu_rate = {300e9, 600e9}, .rate_source = "copy bound: 8 to 16 bytes a sample", .names = {"flat_field", "neg_log"}},
    VOLUME("volume_z_norm", 7, ACCESS_COPY, 3, 4, 3), VOLUME("volume_rescale", 5, ACCESS_COPY, 1, 4, 3),
    VOLUME("volume_crop", 0, ACCESS_COPY, 0, 1, 2), VOLUME("volume_crop_or_pad", 0, ACCESS_COPY, 0, 1, 2),
    VOLUME("volume_flip", 0, ACCESS_COPY, 0, 1, 2), VOLUME("volume_flip_all", 0, ACCESS_COPY, 0, 1, 2),
    VOLUME("volume_rot90", 0, ACCESS_COPY, 0, 1, 2), VOLUME("volume_cast", 0, ACCESS_COPY, 0, 4, 1.5),
    VOLUME("volume_crop_z_norm_cast", 7, ACCESS_COPY, 3, 8, 2.5), VOLUME("volume_downsample2", 8, ACCESS_COPY, 0, 8, 1.125),
    VOLUME("volume_resample_nearest", 0, ACCESS_RESAMPLE, 1, 3, 3), VOLUME("volume_resample_linear", 9, ACCESS_RESAMPLE, 7, 14, 3),
};
#undef VOLUME
/* clang-format on */
#define PRIMITIVES (int)(sizeof primitives / sizeof *primitives)

const struct primitive *primitive_at(int i)
{
    return i >= 0 && i < PRIMITIVES ? &primitives[i] : NULL;
}

const struct primitive *primitive_named(const char *name)
{
    for (int i = 0; name && i < PRIMITIVES; i++)
        if (!strcmp(primitives[i].name, name))
            return &primitives[i];
    return NULL;
}

int primitive_called(const struct primitive *p, const char *name)
{
    if (!name)
        return 0;
    for (int i = 0; i < 4 && p->names[i]; i++)
        if (strstr(name, p->names[i]))
            return 1;
    return !strcmp(p->name, name);
}

double primitive_units(const struct primitive *p, double n)
{
    switch (p->unit) {
    case UNIT_UPDATE:
        return M_PI / 4 * n * n * n * (n / 2);
    case UNIT_VOXEL:
        return n * n * n;
    case UNIT_SAMPLE:
        return n * n * (n / 2);
    case UNIT_PIXEL:
        return n * n;
    }
    return (double)NAN;
}

double primitive_traffic(const struct primitive *p, double n, double passes)
{
    double volume = n * n * n, sinogram = volume / 2;
    return volume * (p->volume_passes + p->volume_per_32_views * n / 2 / 32) +
           sinogram * p->sinogram_passes * passes;
}

double primitive_moved(const struct primitive *p, double n)
{
    return n * n * n * fmax(p->volumes_moved, p->sinograms_moved / 2);
}

const char *unit_name(enum unit unit)
{
    static const char *const names[] = {"update", "voxel", "sample", "pixel"};
    return names[unit];
}

#define SAMPLE  "operations of a sample, times samples (host/backend/prepare.c)"
#define BOUND   "one pass over the views: memory or the link bounds it on every machine"
#define NO_LANE "its transforms need a core of their own, which is not modelled"

/* clang-format off */
static const struct unmodelled unmodelled[] = {
    {"*_sparse_forward_project", "scatter", "taps of the subset's pixels", "the same lanes as the whole projection: see forward_project"},
    {"*_sparse_back_project", "gather", "taps of the subset's pixels", "the same lanes as the whole projection: see back_project"},
    {"*_direct_filter", "stream", "as fbp_filter and fdk_filter", "the same lanes: see fbp_filter and fdk_filter"},
    {"*_prox_map", "mixed", "as mbir_recon", "made of the parts of mbir_recon: see those"},
    {"*_forward_project", "scatter", "taps of the projection", "the cone's lanes with other coordinates: see cone_forward_project"},
    {"*_back_project", "gather", "taps of the projection", "the cone's lanes with other coordinates: see cone_back_project"},
    {"*_hessian_diagonal", "gather", "taps of the projection", "the cone's lanes with other coordinates: see cone_hessian_diagonal"},
    {"*_mbir_recon", "mixed", "sums of its parts", "made of projections and the prior: see those of the cone"},
    {"*_direct_recon", "gather", "sums of its parts", "a filter and a back projection: see those of the cone"},
    {"parallel_fourier_recon", "mixed", "taps of the grid, and 2.5 n log2 n of each real transform (host/cpu/fourier)", NO_LANE},
    {"cone_parker_weights", "stream", "one product a sample", BOUND},
    {"cone_wang_weights", "stream", "one product a sample", BOUND},
    {"remove_stripes_sorting", "random", NULL, "sorts and medians compare, and how often depends on the data"},
    {"gen_weights_*", "stream", "operations of a sample, an exponential as 20 (host/backend/backend.h)", BOUND},
    {"qggmrf_denoise", "stencil", "as the prior of mbir_recon", "its updates wait for each other: see mbir_prior_and_updates"},
    {"gen_pixel_partition_*", "random", NULL, "integers alone, once a scan"},
    {"remove_outliers", "stencil", NULL, "medians compare, and how often depends on the data"},
    {"correct_flat_field", "stream", SAMPLE, "see flat_field_and_log, which has a kernel"},
    {"normalise_air", "stream", SAMPLE, BOUND},
    {"retrieve_phase", "mixed", "5 n log2 n of transforms of two views at once (host/backend/prepare.c)", NO_LANE},
    {"minus_log", "stream", SAMPLE, "see flat_field_and_log, which has a kernel"},
    {"correct_hardening", "stream", SAMPLE, BOUND},
    {"correct_tilt", "gather", SAMPLE, BOUND},
    {"join_half_turns", "gather", SAMPLE, BOUND},
    {"remove_stripes_wavelet", "mixed", "taps of separable filters, 4/3 for all levels (host/backend/prepare.c)", NO_LANE},
    {"find_center_*", "mixed", NULL, "how many trials are computed depends on the data"},
    {"*_vcd_iteration", "mixed", "as mbir_recon", "made of the parts of mbir_recon: see those"},
    {"*_ramp_filter_2048", "stream", "as fbp_filter", "the same lanes: see fbp_filter"},
    {"cone_rabbitct_*", "gather", "sums of its parts", "a filter and a back projection: see those of the cone"},
    {"demo_*", "mixed", "sums of their parts", "made of other operations: see those"},
    {"volume_load_*", "stream", NULL, "reads files: no arithmetic"},
    {"volume_save_*", "stream", NULL, "writes files: no arithmetic"},
    {"storage_*", "stream", NULL, "reads and writes files: no arithmetic"},
};
/* clang-format on */
#define UNMODELLED (int)(sizeof unmodelled / sizeof *unmodelled)

const struct unmodelled *unmodelled_named(const char *name)
{
    for (int i = 0; i < UNMODELLED; i++)
        if (!fnmatch(unmodelled[i].name, name, 0))
            return &unmodelled[i];
    return NULL;
}
