/* Picks the kernel of a projection for a job: they are compiled for some numbers of taps and for
 * every depth of warp_partition.h. */
#ifndef TP_CUDA_COMMON_KERNEL_TABLE_CUH
#define TP_CUDA_COMMON_KERNEL_TABLE_CUH

#include "cuda/common/footprint.cuh"
#include "cuda/common/warp_partition.h"

/* Taps that kernels are made for; 0: any number. */
static inline int taps_of(int taps)
{
    return taps <= 4 && taps >= 2 ? taps : 0;
}

/* LAUNCHER::launch<TAPS, DEPTH> of these numbers. */
template <class LAUNCHER, int TAPS, int DEPTH, class JOB>
static enum err launch_depth(struct cuda_backend *be, const JOB &job)
{
    if constexpr (DEPTH > 1)
        if (job.partition.depth < DEPTH)
            return launch_depth<LAUNCHER, TAPS, DEPTH - 1>(be, job);
    return LAUNCHER::template launch<TAPS, DEPTH>(be, job);
}

template <class LAUNCHER, class JOB>
static enum err launch_taps(struct cuda_backend *be, const JOB &job, int taps)
{
    switch (taps) {
    case 2:
        return launch_depth<LAUNCHER, 2, DEEPEST>(be, job);
    case 3:
        return launch_depth<LAUNCHER, 3, DEEPEST>(be, job);
    case 4:
        return launch_depth<LAUNCHER, 4, DEEPEST>(be, job);
    default:
        return launch_depth<LAUNCHER, 0, DEEPEST>(be, job);
    }
}

#endif
