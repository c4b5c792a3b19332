/* Builds the footprint table of a subset: each view's pixels counting-sorted by their first
 * channel. */
#include <omp.h>
#include <string.h>

#include "host/backend/course.h"
#include "host/cpu/common/arithmetic.h"
#include "host/cpu/vcd/footprint_table.h"

double footprint_whole(const struct projector *p)
{
    return p->volume.delta * volume_delta_row(&p->volume) / p->scan.delta_channel;
}

/* The fixed entries of a channel: near the average number of pixels that begin in one. */
static int fixed_entries(const struct projector *p, int64_t length)
{
    const int64_t channels = p->scan.channels;
    return length * 4 < 5 * channels ? 1 : length * 2 < 5 * channels ? 2 : 4;
}

struct footprint_table footprint_table_of(const struct projector *p, int64_t length)
{
    const int fixed = fixed_entries(p, length);
    return (struct footprint_table){p->scan.channels, length,
                                    round_up(length + fixed * (p->scan.channels + 1), 4), fixed,
                                    NULL};
}

size_t footprint_table_floats(const struct projector *p, int64_t length)
{
    return (size_t)(p->scan.views * footprint_table_of(p, length).stride) *
           (sizeof(struct sparse_entry) / sizeof(float));
}

struct sparse_view footprint_table_at(const struct footprint_table *t, int64_t view)
{
    return (struct sparse_view){t->channels, t->fixed, t->entries + view * t->stride};
}

/* Footprints of a subset in one view in the order of its pixels, and room to count. */
struct unsorted {
    int32_t *first, *next; /* [pixels] 1 + first channel; [channels + 2] */
    float *share;
};

static struct unsorted unsorted_of(int64_t pixels, float *scratch)
{
    const int64_t stride = round_up(pixels, 16);
    int32_t *index = (int32_t *)(void *)scratch;
    return (struct unsorted){index, index + 2 * stride, scratch + stride};
}

/* Footprints that miss the detector go to channels + 1, whose entries nobody reads. */
static void batch_footprints(const struct projector *p, int64_t view,
                             const struct pixel_batch *batch, float inverse, int32_t *first,
                             float *share)
{
    const int32_t beyond = (int32_t)p->scan.channels + 1;
    struct footprints footprints;
    float weight[2 * BATCH];
    footprints.weight = weight;
    ISA_PICK(footprint_kernels)->compute(p, view, batch, 1, &footprints);
    for (int q = 0; q < batch->n; q++) {
        const int32_t n = footprints.start[q] - p->taps + 1;
        first[q] = n < 0 || n > beyond ? beyond : n;
        share[q] = weight[q] * inverse;
    }
}

/* Counting sort over blank entries. */
static void sort_view(const struct unsorted *u, const struct footprint_table *t,
                      struct sparse_entry *out)
{
    memset(u->next, 0, (size_t)(t->channels + 2) * sizeof *u->next);
    for (int64_t q = 0; q < t->pixels; q++)
        u->next[u->first[q]]++;
    int32_t at = 0;
    for (int64_t n = 0; n <= t->channels; n++) {
        const int32_t entries = u->next[n], more = entries > t->fixed ? entries - t->fixed : 0;
        u->next[n] = at;
        for (int32_t i = 0; i < t->fixed; i++)
            out[at + i] = (struct sparse_entry){0, (int32_t)t->pixels + (at + i) % BLANKS, more};
        at += t->fixed + more;
    }
    u->next[t->channels + 1] = at;
    for (int64_t q = 0; q < t->pixels; q++) {
        struct sparse_entry *to = out + u->next[u->first[q]]++;
        to->share = u->share[q];
        to->pixel = (int32_t)q;
    }
}

void footprint_table_fill(const struct projector *p, const int32_t *indices,
                          const struct footprint_team *team, struct footprint_table *t)
{
    const struct pixel_set set = {indices, t->pixels, 1};
    const float inverse = (float)(1 / footprint_whole(p));
    for (int64_t first = 0; first < t->pixels; first += BATCH)
        batch_fill(p, &set, first, t->pixels, &team->batches[first / BATCH]);
#pragma omp parallel num_threads(team->threads)
    {
        struct unsorted u =
            unsorted_of(t->pixels, team->scratch + (size_t)omp_get_thread_num() * team->each);
#pragma omp for schedule(static)
        for (int64_t view = 0; view < p->scan.views; view++) {
            if (backend_stopped(team->be))
                continue;
            for (int64_t first = 0; first < t->pixels; first += BATCH)
                batch_footprints(p, view, &team->batches[first / BATCH], inverse, u.first + first,
                                 u.share + first);
            sort_view(&u, t, t->entries + view * t->stride);
        }
    }
}
