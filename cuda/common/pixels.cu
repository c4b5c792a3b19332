/* Pixel lists come from host memory. VCD gives each subset to three projections in a row, and two
 * subsets to one of them: the last two lists stay in device memory, and a list that is equal to one
 * of them is not sent again. */
#include <stdlib.h>
#include <string.h>

#include "cuda/common/projection.cuh"

#define KEPT 2

struct cached_list {
    int32_t *copy; /* host memory */
    int64_t count, room;
    int ascending;
    uint64_t used;
    struct workspace device;
};

struct pixel_cache {
    struct cached_list list[KEPT];
    uint64_t clock;
};

static void free_lists(struct cuda_backend *be)
{
    for (int i = 0; be->pixels && i < KEPT; i++) {
        free(be->pixels->list[i].copy);
        workspace_drop(be, &be->pixels->list[i].device);
    }
    free(be->pixels);
    be->pixels = NULL;
}

const struct device_cache pixel_lists_cache = {free_lists, 1, NULL, NULL};

static int list_ascends(const struct pixel_set *pixels)
{
    for (int64_t q = 1; q < pixels->count; q++)
        if (pixels->indices[q] <= pixels->indices[q - 1])
            return 0;
    return 1;
}

static enum err list_fill(struct cuda_backend *be, struct cached_list *k,
                          const struct pixel_set *pixels)
{
    const size_t bytes = (size_t)pixels->count * sizeof(int32_t);
    k->count = 0;
    if (k->room < pixels->count) {
        free(k->copy);
        k->room = 0;
        k->copy = static_cast<int32_t *>(malloc(bytes));
        FAIL_IF(!k->copy, ERR_MEMORY, "no memory for a list of %lld pixels",
                (long long)pixels->count);
        k->room = pixels->count;
    }
    TRY(workspace_hold(be, "a list of pixels", bytes, &k->device));
    TRY(device_put(be, k->device.ptr, pixels->indices, bytes));
    memcpy(k->copy, pixels->indices, bytes);
    k->count = pixels->count;
    k->ascending = list_ascends(pixels);
    return ERR_OK;
}

static int list_holds(const struct cached_list *k, const struct pixel_set *pixels)
{
    return k->count == pixels->count &&
           !memcmp(k->copy, pixels->indices, (size_t)k->count * sizeof *k->copy);
}

enum err list_put(struct cuda_backend *be, const struct pixel_set *pixels, struct pixel_list *out)
{
    *out = pixel_list{NULL, pixels->count, pixels->packed, 1};
    if (!pixels->indices || !pixels->count)
        return ERR_OK;
    if (!be->pixels)
        be->pixels = static_cast<struct pixel_cache *>(calloc(1, sizeof *be->pixels));
    FAIL_IF(!be->pixels, ERR_MEMORY, "no memory for lists of pixels");
    struct cached_list *lists = be->pixels->list, *k = &lists[lists[1].used < lists[0].used];
    for (int i = 0; i < KEPT; i++)
        if (list_holds(&lists[i], pixels))
            k = &lists[i];
    if (!list_holds(k, pixels))
        TRY(list_fill(be, k, pixels));
    k->used = ++be->pixels->clock;
    out->ascending = k->ascending;
    out->indices = static_cast<const int32_t *>(k->device.ptr);
    return ERR_OK;
}
