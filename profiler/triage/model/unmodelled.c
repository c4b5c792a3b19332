/* The table of operations without a model. */
#include <fnmatch.h>
#include <stddef.h>

#include "profiler/triage/model/unmodelled.h"

#define SAMPLE  "operations of a sample, times samples (host/backend/prepare.c)"
#define BOUND   "one pass over the views: memory or the link bounds it on every machine"
#define NO_LANE "its transforms need a core of their own, which is not modelled"

/* clang-format off */
static const struct unmodelled table[] = {
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
#define ROWS (int)(sizeof table / sizeof *table)

const struct unmodelled *unmodelled_named(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (!fnmatch(table[i].name, name, 0))
            return &table[i];
    return NULL;
}
