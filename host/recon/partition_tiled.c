/* Partitions by a tile that repeats: a grid in random order, or blue noise. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "host/geom/ct_model.h"
#include "host/recon/partition.h"

/* Void and cluster (R. Ulichney, 1993) on a torus: places are ranked by taking the tightest cluster
 * of a start pattern away, then by filling the largest void. Energies are integers, so that every
 * machine ranks alike. */

#define BLUE_NOISE_EDGE 64
#define BLUE_NOISE_SIZE (BLUE_NOISE_EDGE * BLUE_NOISE_EDGE)

#define SIGMA  1.5
#define UNIT   0x1p24
#define SPARSE (BLUE_NOISE_SIZE / 10) /* places of the start pattern */

struct pattern {
    unsigned char set[BLUE_NOISE_SIZE];
    int64_t energy[BLUE_NOISE_SIZE]; /* of the places that are set, as seen from each place */
};

static int64_t near[BLUE_NOISE_SIZE]; /* energy of a place by its distance on the torus */
static int32_t ranks[BLUE_NOISE_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_energies(void)
{
    for (int i = 0; i < BLUE_NOISE_EDGE; i++)
        for (int j = 0; j < BLUE_NOISE_EDGE; j++) {
            const int a = i < BLUE_NOISE_EDGE / 2 ? i : BLUE_NOISE_EDGE - i;
            const int b = j < BLUE_NOISE_EDGE / 2 ? j : BLUE_NOISE_EDGE - j;
            near[i * BLUE_NOISE_EDGE + j] =
                llround(UNIT * exp(-(a * a + b * b) / (2 * SIGMA * SIGMA)));
        }
}

static void pattern_flip(struct pattern *p, int at)
{
    const int row = at / BLUE_NOISE_EDGE, col = at % BLUE_NOISE_EDGE, last = BLUE_NOISE_EDGE - 1;
    const int64_t sign = p->set[at] ? -1 : 1;
    p->set[at] = !p->set[at];
    for (int i = 0; i < BLUE_NOISE_EDGE; i++)
        for (int j = 0; j < BLUE_NOISE_EDGE; j++)
            p->energy[i * BLUE_NOISE_EDGE + j] +=
                sign * near[((i - row) & last) * BLUE_NOISE_EDGE + ((j - col) & last)];
}

/* The place of highest energy among those that are set, or of lowest among the others. */
static int pattern_extreme(const struct pattern *p, int set)
{
    int best = -1;
    for (int i = 0; i < BLUE_NOISE_SIZE; i++)
        if (p->set[i] == set &&
            (best < 0 || (set ? p->energy[i] > p->energy[best] : p->energy[i] < p->energy[best])))
            best = i;
    return best;
}

/* Moves the tightest cluster into the largest void until that is where it came from. */
static void pattern_spread(struct pattern *p)
{
    for (int moves = 0; moves < BLUE_NOISE_SIZE; moves++) {
        const int from = pattern_extreme(p, 1);
        pattern_flip(p, from);
        const int to = pattern_extreme(p, 0);
        pattern_flip(p, to);
        if (from == to)
            return;
    }
}

static void blue_noise_make(void)
{
    static struct pattern start, p;
    struct rng r;
    make_energies();
    rng_seed(&r, 1);
    for (int n = 0; n < SPARSE;) {
        const int at = (int)rng_interval(&r, BLUE_NOISE_SIZE - 1);
        if (!start.set[at]) {
            pattern_flip(&start, at);
            n++;
        }
    }
    pattern_spread(&start);
    memcpy(&p, &start, sizeof p);
    for (int rank = SPARSE - 1; rank >= 0; rank--) {
        const int at = pattern_extreme(&p, 1);
        pattern_flip(&p, at);
        ranks[at] = rank;
    }
    memcpy(&p, &start, sizeof p);
    for (int rank = SPARSE; rank < BLUE_NOISE_SIZE; rank++) {
        const int at = pattern_extreme(&p, 0);
        pattern_flip(&p, at);
        ranks[at] = rank;
    }
}

/* Ranks 0..BLUE_NOISE_SIZE-1 of the places of a square tile that repeats, such that the places
 * below any rank lie evenly spread. Made once, the same on every machine. */
static const int32_t *blue_noise_ranks(void)
{
    pthread_once(&once, blue_noise_make);
    return ranks;
}

/* Pixels of the region of reconstruction and the subset of each. */
struct labelled {
    int32_t *pixels, *label;
    int64_t count, subsets;
    int64_t *size; /* pixels of each subset */
};

static void labelled_free(struct labelled *l)
{
    free(l->pixels);
    free(l->label);
    free(l->size);
}

/* tile: the subset at each place of a square of `edge`. */
static enum err labelled_create(const struct volume *v, const int32_t *tile, int64_t edge,
                                int64_t subsets, struct labelled *l)
{
    *l = (struct labelled){.subsets = subsets};
    TRY(volume_pixels_inside(v, &l->pixels, &l->count));
    l->label = malloc((size_t)(l->count + 1) * sizeof *l->label);
    l->size = calloc((size_t)subsets, sizeof *l->size);
    if (!l->label || !l->size) {
        labelled_free(l);
        return FAIL(ERR_MEMORY, "no memory for a partition of %lld pixels", (long long)l->count);
    }
    for (int64_t i = 0; i < l->count; i++) {
        const int64_t row = l->pixels[i] / v->cols, col = l->pixels[i] % v->cols;
        l->label[i] = tile[row % edge * edge + col % edge];
        l->size[l->label[i]]++;
    }
    return ERR_OK;
}

/* Leaves out subsets without pixels. */
static void drop_empty(struct labelled *l, int32_t *number)
{
    int64_t kept = 0;
    for (int64_t s = 0; s < l->subsets; s++) {
        number[s] = (int32_t)kept;
        if (l->size[s])
            l->size[kept++] = l->size[s];
    }
    for (int64_t i = 0; i < l->count; i++)
        l->label[i] = number[l->label[i]];
    l->subsets = kept;
}

static void labelled_extremes(const struct labelled *l, int64_t *least, int64_t *most)
{
    *least = *most = l->size[0];
    for (int64_t s = 1; s < l->subsets; s++) {
        *least = l->size[s] < *least ? l->size[s] : *least;
        *most = l->size[s] > *most ? l->size[s] : *most;
    }
}

/* Rows of equal length: place j behind the pixels of row s takes pixel extra[j] of row s + 1 + j.
 */
static enum err fill_rows(const struct labelled *l, struct rng *r, struct partition *out)
{
    int64_t least, most;
    void *indices;
    labelled_extremes(l, &least, &most);
    FAIL_IF(l->subsets * most > INT32_MAX, ERR_INPUT,
            "a partition of %lld pixels does not fit 32-bit indices",
            (long long)(l->subsets * most));
    int32_t *extra = malloc((size_t)(most - least + 1) * sizeof *extra);
    int64_t *next = calloc((size_t)l->subsets, sizeof *next);
    enum err e = extra && next ? mem_alloc("pixel partition",
                                           (size_t)(l->subsets * most) * sizeof(int32_t), &indices)
                               : FAIL(ERR_MEMORY, "no memory for a partition");
    if (!e) {
        *out = (struct partition){l->subsets, most, indices};
        for (int64_t j = 0; j <= most - least; j++)
            extra[j] = (int32_t)rng_interval(r, (uint32_t)(least - 1));
        for (int64_t i = 0; i < l->count; i++)
            out->indices[l->label[i] * most + next[l->label[i]]++] = l->pixels[i];
        for (int64_t s = 0; s < l->subsets; s++)
            for (int64_t j = 0; j < most - l->size[s]; j++)
                out->indices[s * most + l->size[s] + j] =
                    out->indices[(s + 1 + j) % l->subsets * most + extra[j]];
    }
    free(extra);
    free(next);
    return e;
}

ARRAY_ORDER(ascending, int32_t, COMPARE(*x, *y));

static enum err check_count(int64_t subsets)
{
    FAIL_IF(subsets < 1 || subsets > INT32_MAX / 4, ERR_USAGE,
            "a partition of %lld subsets: give 1 to %d", (long long)subsets, INT32_MAX / 4);
    return ERR_OK;
}

enum err partition_create_inside(const struct volume *v, int64_t subsets, struct rng *r,
                                 struct partition *out)
{
    int32_t *pixels;
    int64_t count;
    TRY(volume_pixels_inside(v, &pixels, &count));
    enum err e = partition_create(pixels, count, subsets, r, out);
    free(pixels);
    return e;
}

enum err partition_create_grid(const struct volume *v, int64_t subsets, struct rng *r,
                               struct partition *out)
{
    struct labelled l = {0};
    *out = (struct partition){0};
    TRY(check_count(subsets));
    int64_t side = (int64_t)ceil(sqrt((double)subsets));
    const int64_t places = side * side;
    int32_t *tile = malloc((size_t)places * sizeof *tile);
    FAIL_IF(!tile, ERR_MEMORY, "no memory for a tile of %lld places", (long long)places);
    for (int64_t i = 0; i < places; i++)
        tile[i] = (int32_t)i;
    rng_shuffle(r, tile, places);
    enum err e = labelled_create(v, tile, side, places, &l);
    if (!e && places > l.count)
        e = partition_create_inside(v, places, r, out);
    else if (!e) {
        drop_empty(&l, tile); /* its ranks are in the labels now */
        e = fill_rows(&l, r, out);
    }
    free(tile);
    labelled_free(&l);
    return e;
}

/* Returns 1 where each of the subsets has a pixel. */
static int all_used(const struct labelled *l)
{
    int64_t least, most;
    labelled_extremes(l, &least, &most);
    return l->subsets <= l->count && least > 0;
}

enum err partition_create_blue_noise(const struct volume *v, int64_t subsets, struct rng *r,
                                     struct partition *out)
{
    int32_t tile[BLUE_NOISE_SIZE];
    struct labelled l = {0};
    *out = (struct partition){0};
    TRY(check_count(subsets));
    if (subsets > BLUE_NOISE_SIZE)
        return partition_create_inside(v, subsets, r, out);
    for (int i = 0; i < BLUE_NOISE_SIZE; i++)
        tile[i] = (int32_t)(blue_noise_ranks()[i] * subsets / BLUE_NOISE_SIZE);
    TRY(labelled_create(v, tile, BLUE_NOISE_EDGE, subsets, &l));
    if (!all_used(&l)) {
        labelled_free(&l);
        return partition_create_inside(v, subsets, r, out);
    }
    enum err e = fill_rows(&l, r, out);
    for (int64_t s = 0; !e && s < out->subsets; s++)
        qsort(out->indices + s * out->length, (size_t)out->length, sizeof(int32_t), ascending);
    labelled_free(&l);
    return e;
}

enum err partition_draw(const struct volume *v, enum partition_method how, int64_t subsets,
                        uint32_t seed, struct partition *out)
{
    static enum err (*const draw[PARTITION_METHODS])(const struct volume *, int64_t, struct rng *,
                                                     struct partition *) = {
        [PARTITION_RANDOM] = partition_create_inside,
        [PARTITION_GRID] = partition_create_grid,
        [PARTITION_BLUE_NOISE] = partition_create_blue_noise};
    struct rng r;
    *out = (struct partition){0};
    rng_seed(&r, seed);
    return draw[how](v, subsets, &r, out);
}
