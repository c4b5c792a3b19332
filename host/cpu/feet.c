#include <omp.h>
#include <string.h>

#include "host/cpu/feet.h"
#include "host/cpu/worker.h"

/* The fixed entries of a channel: near the average number of pixels that begin in one. */
static int fixed_entries(const struct projector *p, int64_t length)
{
    const int64_t channels = p->scan.channels;
    return length * 4 < 5 * channels ? 1 : length * 2 < 5 * channels ? 2 : 4;
}

struct feet_table feet_table_of(const struct projector *p, int64_t length)
{
    const int fixed = fixed_entries(p, length);
    return (struct feet_table){p->scan.channels, length,
                               round_up(length + fixed * p->scan.channels, 4), fixed, NULL};
}

size_t feet_table_floats(const struct projector *p, int64_t length)
{
    return (size_t)(p->scan.views * feet_table_of(p, length).stride) *
           (sizeof(struct sparse_entry) / sizeof(float));
}

struct sparse_view feet_at(const struct feet_table *t, int64_t view)
{
    return (struct sparse_view){t->channels, t->fixed, t->entries + view * t->stride};
}

/* Two channels that both exist; what falls beside the detector has weight 0. */
static void fit_detector(int64_t channels, int32_t *channel, float *low, float *high)
{
    const int32_t c = *channel, last = (int32_t)channels - 2;
    if (c >= 0 && c <= last)
        return;
    const float first = c == -1 ? *high : 0, second = c == last + 1 ? *low : 0;
    *channel = c < 0 ? 0 : last;
    *low = first;
    *high = second;
}

/* Footprints of a subset in one view in the order of its pixels, and room to count. */
struct unsorted {
    int32_t *channel, *next; /* [pixels], [channels] */
    float *low, *high;
};

size_t feet_scratch_floats(const struct projector *p, int64_t pixels)
{
    return (size_t)(3 * round_up(pixels, 16) + round_up(p->scan.channels, 16));
}

static struct unsorted unsorted_of(int64_t pixels, float *scratch)
{
    const int64_t stride = round_up(pixels, 16);
    int32_t *index = (int32_t *)(void *)scratch;
    return (struct unsorted){index, index + 3 * stride, scratch + stride, scratch + 2 * stride};
}

/* Returns whether all channels exist as they are. */
static int batch_feet(const struct projector *p, int64_t view, const struct pixel_batch *batch,
                      int32_t *channel, float *low, float *high)
{
    struct footprints feet;
    float weight[2 * BATCH];
    int inside = 1;
    feet.weight = weight;
    ISA_PICK(footprint_kernels)->compute(p, view, batch, 1, &feet);
    memcpy(low, weight, (size_t)batch->n * sizeof *low);
    memcpy(high, weight + BATCH, (size_t)batch->n * sizeof *high);
    for (int q = 0; q < batch->n; q++) {
        channel[q] = feet.start[q] - p->taps;
        inside &= channel[q] >= 0 && channel[q] <= p->scan.channels - 2;
    }
    return inside;
}

static void view_feet(const struct projector *p, const struct pixel_batch *batches, int64_t view,
                      int64_t pixels, struct unsorted *u)
{
    int inside = 1;
    for (int64_t first = 0; first < pixels; first += BATCH)
        inside &= batch_feet(p, view, &batches[first / BATCH], u->channel + first, u->low + first,
                             u->high + first);
    for (int64_t q = 0; !inside && q < pixels; q++)
        fit_detector(p->scan.channels, &u->channel[q], &u->low[q], &u->high[q]);
}

/* Counting sort over blank entries. */
static void sort_view(const struct unsorted *u, const struct feet_table *t,
                      struct sparse_entry *out)
{
    memset(u->next, 0, (size_t)t->channels * sizeof *u->next);
    for (int64_t q = 0; q < t->pixels; q++)
        u->next[u->channel[q]]++;
    int32_t at = 0;
    for (int64_t c = 0; c < t->channels - 1; c++) {
        const int32_t entries = u->next[c], more = entries > t->fixed ? entries - t->fixed : 0;
        u->next[c] = at;
        for (int32_t i = 0; i < t->fixed; i++)
            out[at + i] = (struct sparse_entry){0, 0, (int32_t)t->pixels + (at + i) % BLANKS, more};
        at += t->fixed + more;
    }
    for (int64_t q = 0; q < t->pixels; q++) {
        struct sparse_entry *to = out + u->next[u->channel[q]]++;
        to->low = u->low[q];
        to->high = u->high[q];
        to->pixel = (int32_t)q;
    }
}

void feet_find(const struct projector *p, const int32_t *indices, const struct feet_team *team,
               struct feet_table *t)
{
    const struct pixel_set set = {indices, t->pixels, 1};
    for (int64_t first = 0; first < t->pixels; first += BATCH)
        batch_fill(p, &set, first, t->pixels, &team->batches[first / BATCH]);
#pragma omp parallel num_threads(team->threads)
    {
        struct unsorted u =
            unsorted_of(t->pixels, team->scratch + (size_t)omp_get_thread_num() * team->each);
#pragma omp for schedule(static)
        for (int64_t view = 0; view < p->scan.views; view++) {
            view_feet(p, team->batches, view, t->pixels, &u);
            sort_view(&u, t, t->entries + view * t->stride);
        }
    }
}
