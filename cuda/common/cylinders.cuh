/* Where the pixels of a tile of the image have their cylinders: for kernels whose blocks own tiles
 * rather than entries of a list. */
#ifndef TP_CUDA_COMMON_CYLINDERS_CUH
#define TP_CUDA_COMMON_CYLINDERS_CUH

#include "cuda/common/footprint.cuh"

/* Finds a pixel's cylinder in x: its place in an ascending list; -1 if it is not in it. */
static __device__ inline int cylinder_place(const struct geometry &g, const struct pixel_list &list,
                                            struct pixel_ij at)
{
    const int pixel = at.i * g.cols + at.j;
    int low = 0, high = (int)list.count;
    if (at.i >= g.image_rows || at.j >= g.cols)
        return -1;
    if (!list.indices)
        return pixel;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (list.indices[middle] < pixel)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == (int)list.count || list.indices[low] != pixel)
        return -1;
    return list.packed ? low : pixel;
}

/* Tiles pay for lists of most of the image's pixels. */
static inline int list_fills_tiles(const struct geometry *g, const struct pixel_list *list)
{
    return list->ascending && 2 * list->count > (int64_t)g->image_rows * g->cols;
}

#endif
