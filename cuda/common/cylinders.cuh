/* Finds the pixels of the image and their cylinders in x, also for kernels whose blocks own tiles of
 * the image rather than entries of a list. */
#ifndef TP_CUDA_COMMON_CYLINDERS_CUH
#define TP_CUDA_COMMON_CYLINDERS_CUH

#include "cuda/common/projection.cuh"

struct pixel_ij {
    int i, j;
};

static __device__ inline struct pixel_ij pixel_ij_of(const struct geometry &g, int pixel)
{
    const int i = pixel / g.cols;
    return pixel_ij{i, pixel - i * g.cols};
}

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

#define STRIP_TILES 16

/* Returns row and column of a tile: blocks go through strips of 16 tiles, so that those on the card
 * at a time lie in a square, and share the channels under it in L2. */
static __device__ inline struct pixel_ij tile_in_strips(int tile, int across, int down)
{
    const int strip = tile / (STRIP_TILES * down), left = strip * STRIP_TILES;
    const int within = tile - left * down, rest = across - left;
    const int width = rest < STRIP_TILES ? rest : STRIP_TILES;
    return pixel_ij{within / width, left + within % width};
}

/* Tiles pay for lists of most of the image's pixels. */
static inline int list_fills_tiles(const struct geometry *g, const struct pixel_list *list)
{
    return list->ascending && 2 * list->count > (int64_t)g->image_rows * g->cols;
}

#endif
