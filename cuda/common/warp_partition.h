/* How the rows of a view, or the slices of a pixel, are shared out among the warps of a projection:
 * in groups of 32, one row a lane, as evenly as they go to as few warps as can hold them. What a
 * warp reads and works out for a pixel and view serves all of its groups. */
#ifndef TP_CUDA_COMMON_WARP_PARTITION_H
#define TP_CUDA_COMMON_WARP_PARTITION_H

#include <stdint.h>

#ifdef __CUDACC__
#define PARTITION_INLINE static __host__ __device__ inline
#else
#define PARTITION_INLINE static inline
#endif

#define GROUP_ROWS 32
#define DEEPEST    9 /* groups of a warp at most: the registers of more cost blocks */

struct warp_partition {
    int depth;   /* groups of a warp */
    int warps;   /* the last one's last group may be partly filled */
    int shorter; /* so many, the first ones, have one group less */
};

/* A warp's rows [first, end). */
struct warp_range {
    int first, end;
};

PARTITION_INLINE struct warp_partition warp_partition_of(int64_t n)
{
    const int64_t groups = (n + GROUP_ROWS - 1) / GROUP_ROWS;
    const int64_t warps = (groups + DEEPEST - 1) / DEEPEST, depth = (groups + warps - 1) / warps;
    const struct warp_partition s = {(int)depth, (int)warps, (int)(warps * depth - groups)};
    return s;
}

/* All lanes have a row of each group, but for the last one. */
PARTITION_INLINE struct warp_range warp_range_of(const struct warp_partition *s, int warp, int n)
{
    const int shorter = warp < s->shorter;
    const int group = warp * s->depth - (shorter ? warp : s->shorter);
    const int end = (group + s->depth - shorter) * GROUP_ROWS;
    const struct warp_range rows = {group * GROUP_ROWS, end < n ? end : n};
    return rows;
}

#endif
