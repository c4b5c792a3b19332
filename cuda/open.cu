/* The table of the back end; opening a device and closing it. */
#include <cuda_profiler_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/common/elementwise.cuh"
#include "cuda/common/services.cuh"
#include "cuda/filter/filter.cuh"
#include "cuda/fourier/fourier.cuh"
#include "cuda/median/median.cuh"
#include "cuda/prepare/prepare.cuh"
#include "cuda/projection/project.cuh"
#include "cuda/streams.cuh"
#include "cuda/vcd/vcd.cuh"
#include "cuda/volume/volume.cuh"

extern const struct backend_ops cuda_backend_ops;

#define OLDEST 75 /* compute capability */

/* CUDA 13000 -> 13.0 */
static enum err check_driver(void)
{
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    FAIL_IF(driver == 0, ERR_UNSUPPORTED,
            "no NVIDIA driver is installed, or none reaches this container: install one and "
            "nvidia-container-toolkit, or use `backend=cpu`");
    FAIL_IF(
        driver / 1000 < runtime / 1000, ERR_UNSUPPORTED,
        "the NVIDIA driver is too old: it serves CUDA %d.%d, this build needs %d.0 (driver %s or "
        "later)%s; or use `backend=cpu`",
        driver / 1000, driver % 1000 / 10, runtime / 1000, runtime < 13000 ? "525" : "580",
        runtime < 13000 || driver < 12000
            ? ": update it"
            : ": update it, or build for CUDA 12 too (`./start.sh cuda 12`)");
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    FAIL_IF(code == cudaErrorNoDevice || (code == cudaSuccess && devices == 0), ERR_UNSUPPORTED,
            "the NVIDIA driver finds no GPU (is CUDA_VISIBLE_DEVICES empty?): use `backend=cpu`");
    TRY_CUDA(code, "being looked for");
    return ERR_OK;
}

static enum err take_device(struct cuda_backend *be)
{
    struct cudaDeviceProp properties;
    char memory[16];
    TRY_CUDA(cudaSetDevice(CUDA_DEVICE), "being opened");
    TRY_CUDA(cudaGetDeviceProperties(&properties, CUDA_DEVICE), "being opened");
    FAIL_IF(properties.major * 10 + properties.minor < OLDEST, ERR_UNSUPPORTED,
            "the %.60s has compute capability %d.%d, this build needs %d.%d: use `backend=cpu`",
            properties.name, properties.major, properties.minor, OLDEST / 10, OLDEST % 10);
    TRY_CUDA(cudaStreamCreateWithFlags(&be->stream, cudaStreamNonBlocking), "being opened");
    TRY_CUDA(cudaMallocHost((void **)&be->result, MAX_SUMS * sizeof(double) + TABLE_ROOM),
             "being opened");
    be->tables = reinterpret_cast<char *>(be->result + MAX_SUMS);
    be->shared_most = properties.sharedMemPerBlockOptin;
    TRY(streams_open(be));
    be->multiprocessors = properties.multiProcessorCount;
    const size_t whole = properties.totalGlobalMem;
    snprintf(memory, sizeof memory, "%.0f GiB",
             (double)(be->limit && be->limit < whole ? be->limit : whole) / 0x1p30);
    snprintf(be->base.device, sizeof be->base.device, "%.60s, compute capability %d.%d, %s",
             properties.name, properties.major, properties.minor, memory);
    return ERR_OK;
}

/* Caches kept between calls, in the order in which they are freed. */
static const struct device_cache *const caches[] = {
    &vcd_state_cache, &sorted_pixels_cache, &pixel_lists_cache,   &fft_plans_cache,
    &ramp_plan_cache, &fourier_cache,       &transfer_ring_cache, NULL};

static void close_device(struct backend *base)
{
    struct cuda_backend *be = device_of(base);
    struct workspace *const held[] = {&be->scratch, &be->partial, &be->views};
    for (struct workspace *w : held)
        workspace_drop(be, w);
    for (const struct device_cache *const *c = be->caches; *c; c++)
        (*c)->free(be);
    if (be->result)
        let_pass(cudaFreeHost(be->result));
    streams_close(be);
    if (be->stream)
        let_pass(cudaStreamDestroy(be->stream));
    /* A context takes some 400 MB, and keeps others off a device in exclusive mode. */
    if (be->look)
        let_pass(cudaDeviceReset());
    free(be);
}

/* Updates (voxel x view) of one launch for each multiprocessor: a tenth to half a second on cards
 * that are known, of the two seconds that a display's watchdog gives. */
#define UPDATES_OF_LAUNCH 1e9

static void bound_launches(struct cuda_backend *be)
{
    const char *const wanted = getenv("TOMOPROF_CUDA_LAUNCH");
    const double share = wanted ? strtod(wanted, NULL) : 1;
    be->launch_updates = UPDATES_OF_LAUNCH * be->multiprocessors * (share > 0 ? share : 1);
}

static enum err open_device(const struct backend_options *options, struct backend **out)
{
    TRY(check_driver());
    struct cuda_backend *be = static_cast<struct cuda_backend *>(calloc(1, sizeof *be));
    FAIL_IF(!be, ERR_MEMORY, "no memory left to open the CUDA back end");
    be->base.ops = &cuda_backend_ops;
    be->caches = caches;
    be->base.threads = options->threads > 0 ? options->threads : 1; /* of the host: it waits */
    be->limit = options->device_memory;
    be->look = options->look;
    int outer = CUDA_DEVICE; /* the caller's current device, which stays that */
    const cudaError_t code = cudaGetDevice(&outer);
    const enum err e = code ? cuda_failed(code, "being opened") : take_device(be);
    if (outer != CUDA_DEVICE)
        let_pass(cudaSetDevice(outer));
    bound_launches(be);
    if (e)
        close_device(&be->base);
    else
        *out = &be->base;
    return e;
}

static void profiler_switch(struct backend *base, int begins)
{
    (void)base;
    if (begins)
        let_pass(cudaProfilerStart());
    else
        let_pass(cudaProfilerStop());
}

/* In the order of backend.h: C++17 knows no designated initialisers. */
const struct backend_ops cuda_backend_ops = {
    "cuda",
    open_device,
    close_device,
    cuda_alloc,
    cuda_release,
    cuda_upload,
    cuda_download,
    cuda_zero,
    cuda_copy,
    cuda_sync,
    cuda_projector_create,
    cuda_projector_free,
    cuda_forward,
    cuda_back,
    cuda_back_voxel,
    cuda_fourier_back,
    cuda_remove_stripes,
    cuda_prepare_step,
    cuda_weigh_rays,
    cuda_ramp_filter,
    cuda_median3,
    cuda_volume_step,
    cuda_make_weights,
    cuda_prior_terms,
    cuda_vcd_direction,
    cuda_weighted_dots,
    cuda_forward_dots,
    cuda_update_back,
    cuda_clip_positive,
    cuda_add_cylinders,
    cuda_vcd_iteration,
    NULL, /* vcd_iteration_fits: always */
    cuda_scale,
    cuda_scale_slices,
    cuda_move_slices,
    cuda_sum_abs,
    cuda_sino_reorder,
    cuda_fingerprint,
    cuda_measure_peak,
    NULL, /* glance_peak: calibrations are not kept */
    cuda_measure_ceilings,
    profiler_switch,
    &cuda_streams,
};

/* The entry of the shared object: the only symbol that it shows. */

extern "C" __attribute__((visibility("default"))) const struct backend_ops *
tomoprof_cuda(const struct cuda_services *lent)
{
    if (lent->seam != sizeof(struct backend_ops))
        return NULL;
    services = lent;
    return &cuda_backend_ops;
}
