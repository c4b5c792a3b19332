/* Parker's and Wang's weights in a sinogram, and the channels that Wang's leave missing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/scan/rays.h"

/* Rows get `low` and `high` channels of zeros more: a filtered view of half the object is not zero
 * beside the detector, and the other half of the volume lies there. */
static enum err rays_widen(struct scan_context *c, int64_t low, int64_t high)
{
    struct scan *scan = &c->model.scan;
    const int64_t from = scan->channels, to = low + from + high;
    size_t bytes;
    void *wider;
    TRY(mem_size("sinogram", scan->views, scan->rows, to, sizeof(float), &bytes));
    TRY(mem_alloc("sinogram, widened", bytes, &wider));
    memset(wider, 0, bytes);
    for (int64_t row = 0; row < scan->views * scan->rows; row++)
        memcpy((float *)wider + row * to + low, c->sinogram + row * from,
               (size_t)from * sizeof(float));
    mem_free(c->sinogram);
    c->sinogram = wider;
    scan->channels = to;
    scan->channel_offset += 0.5 * (double)(low - high) * scan->delta_channel;
    return ERR_OK;
}

enum err scan_weigh_rays(struct scan_context *c)
{
    const enum redundancy how = c->request->redundancy;
    const struct scan *scan = &c->model.scan;
    const int64_t channels = scan->channels;
    float *factor, *y = c->sinogram;
    if (how != REDUNDANCY_PARKER && how != REDUNDANCY_WANG)
        return ERR_OK;
    TRY(redundancy_factors(scan, how, &factor));
    for (int64_t row = 0; row < scan->views * scan->rows; row++)
        for (int64_t i = 0; i < channels; i++)
            y[row * channels + i] *= factor[row / scan->rows * channels + i];
    free(factor);
    if (how != REDUNDANCY_WANG)
        return ERR_OK;
    const int64_t missing = (int64_t)ceil(2 * fabs(scan->channel_offset) / scan->delta_channel);
    const int low = scan->channel_offset < 0;
    return rays_widen(c, low ? missing : 0, low ? 0 : missing);
}
