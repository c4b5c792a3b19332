/* Picks the partition of each iteration of MBIR, and how far the slices of cone beams are
 * damped. */
#include <math.h>
#include <stdlib.h>

#include "host/recon/mbir.h"

static const int64_t granularity[PARTITIONS] = {1, 2, 4, 8, 16, 32, 64, 128, 128, 128, 128};
static const int64_t granularity_06[PARTITIONS] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

/* Finest partition of fast cone beams: 64 subsets, for which the error sinogram passes half as often. */
#define COARSE 6

/* Partition of an iteration: 2 4 6, then 7 8 9 10 twenty-five times, then 10 for ever. 0.6: 0 2 4
 * 6, then 7. Fast: 7 8 9 10 from the first. */
static int partition_index(int64_t iteration, int compat_06, int fast)
{
    if (fast)
        return 7 + (int)(iteration % 4);
    if (compat_06)
        return iteration < 4 ? 2 * (int)iteration : 7;
    if (iteration < 3)
        return 2 + 2 * (int)iteration;
    return iteration < 103 ? 7 + (int)((iteration - 3) % 4) : 10;
}

/* A shuffle whose result nobody needs. */
static enum err shuffle_in_vain(struct rng *r, int64_t count)
{
    int32_t *all = calloc((size_t)count + 1, sizeof *all);
    FAIL_IF(!all, ERR_MEMORY, "no memory to shuffle %lld pixels", (long long)count);
    rng_shuffle(r, all, count);
    free(all);
    return ERR_OK;
}

enum err schedule_start(struct schedule *s, int64_t count, int has_initial)
{
    if (!s->compat_06)
        return ERR_OK;
    if (!has_initial)
        TRY(shuffle_in_vain(&s->rng, count));
    return shuffle_in_vain(&s->rng, count);
}

enum err schedule_create(const int32_t *pixels, int64_t count, uint32_t seed, int compat_06,
                         struct schedule *out)
{
    const int64_t *subsets = compat_06 ? granularity_06 : granularity;
    *out = (struct schedule){.compat_06 = compat_06};
    rng_seed(&out->rng, seed);
    for (int i = 0; i < PARTITIONS && subsets[i]; i++) {
        enum err e = compat_06 && subsets[i] == 1 ? shuffle_in_vain(&out->rng, count) : ERR_OK;
        if (!e)
            e = partition_create(pixels, count, subsets[i], &out->rng, &out->partitions[i]);
        if (e) {
            schedule_free(out);
            return e;
        }
    }
    return ERR_OK;
}

enum err schedule_create_turns(const struct volume *v, uint32_t seed, struct schedule *out)
{
    *out = (struct schedule){0};
    rng_seed(&out->rng, seed);
    for (int i = 0; i < PARTITIONS; i++) {
        const enum err e =
            partition_create_turns(v, granularity[i], &out->rng, &out->partitions[i]);
        if (e) {
            schedule_free(out);
            return e;
        }
    }
    return ERR_OK;
}

void schedule_free(struct schedule *s)
{
    for (int i = 0; i < PARTITIONS; i++)
        partition_free(&s->partitions[i]);
}

const struct partition *schedule_at(const struct schedule *s, int64_t iteration)
{
    const int index = partition_index(iteration, s->compat_06, s->fast);
    return &s->partitions[s->coarse && index > COARSE ? COARSE : index];
}

int64_t schedule_longest(int64_t pixels, int compat_06)
{
    int64_t subsets = granularity[partition_index(0, compat_06, 0)];
    return (pixels + subsets - 1) / subsets;
}

size_t schedule_bytes(int64_t pixels)
{
    return (size_t)(PARTITIONS * (pixels + granularity[PARTITIONS - 1])) * sizeof(int32_t);
}

static double damping_at(double t)
{
    const double a = 0.25, b = 100, p = 0.7, c = 0.5;
    return (c * pow(t, p) + a * pow(b, p)) / (pow(t, p) + pow(b, p));
}

enum err slice_damping(const struct ct_model *m, float **damping)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    *damping = NULL;
    if (!scan_is_cone(s))
        return ERR_OK;
    *damping = malloc((size_t)v->slices * sizeof **damping);
    FAIL_IF(!*damping, ERR_MEMORY, "no memory for %lld slice weights", (long long)v->slices);
    const double dz = volume_delta_slice(v), middle = 0.5 * (double)(v->slices - 1);
    const double reach = (double)v->rows * v->delta / (s->source_iso * dz);
    const int64_t heights = s->z_shifts ? s->views : 1;
    for (int64_t k = 0; k < v->slices; k++) {
        double z = dz * ((double)k - middle) + v->slice_offset, sum = 0;
        for (int64_t i = 0; i < heights; i++)
            sum += damping_at(reach * fabs(z - (s->z_shifts ? (double)s->z_shifts[i] : 0)));
        (*damping)[k] = (float)(sum / (double)heights);
    }
    return ERR_OK;
}
