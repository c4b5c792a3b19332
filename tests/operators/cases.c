/* The table of geometries: odd, prime, single, offset, anisotropic, helical and degenerate ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/operators/cases.h"

#define PAR(v, m, n) .beam = BEAM_PARALLEL, .views = v, .rows = m, .channels = n
#define CONE(v, m, n, D, d)                                                                        \
    .beam = BEAM_CONE, .views = v, .rows = m, .channels = n, .source_detector = D, .source_iso = d
#define FLAT(v, m, n) CONE(v, m, n, (double)INFINITY, (double)INFINITY)
#define EIGHTHS(v)    .start = -6 * M_PI / 4, .extent = (v)*M_PI / 4

const struct test_case cases[] = {
    {"par_even", PAR(16, 8, 24), .mbir = 1},
    {"par_prime", PAR(13, 7, 23), .start = -.4},
    {"par_one_view", PAR(1, 5, 17), .start = .3},
    {"par_one_row", PAR(9, 1, 16)},
    {"par_one_channel", PAR(9, 4, 1)}, /* its ellipse holds no pixel */
    {"par_one_channel_unmasked", PAR(9, 4, 1), .unmasked = 1},
    {"par_offset", PAR(14, 6, 20), .channel_offset = 1.7, .delta_channel = .8, .delta_row = .8,
     .mbir = 1},
    {"par_aspect", PAR(15, 5, 22), .row_aspect = 1.9},
    {"par_rectangle", PAR(12, 6, 21), .row_aspect = .6, .shape = {17, 26, 6}, .unmasked = 1,
     .mbir = 1},
    {"par_eighths", PAR(16, 5, 24), EIGHTHS(16)},
    {"par_eighths_odd", PAR(8, 3, 21), EIGHTHS(8), .unmasked = 1},
    {"par_coarse", PAR(11, 6, 30), .delta = 2.5, .shape = {12, 13, 6}},
    {"par_fine", PAR(11, 5, 12), .delta = .3, .shape = {40, 37, 5}},
    {"par_missed", PAR(6, 4, 14), .channel_offset = 1e4},
    {"par_37_slices", PAR(10, 37, 15), .start = .1},
    {"par_tall", PAR(4, 300, 9),
     .start = .2}, /* two warps of five groups of 32 (cuda/common/warp_partition.h) */
    /* These have one to nine groups of a warp, with those above; two and three warps that are not
     * equal. */
    {"par_4_groups", PAR(3, 101, 5), .start = .1},
    {"par_5_groups", PAR(3, 159, 5), .start = .1},
    {"par_6_groups", PAR(3, 161, 5), .start = .1},
    {"par_7_groups", PAR(3, 210, 5), .start = .1},
    {"par_8_groups", PAR(3, 256, 5), .start = .1},
    {"par_9_groups", PAR(4, 257, 6), .start = .1, .mbir = 1},
    {"par_11_groups", PAR(3, 330, 5), .start = .1},
    {"par_17_groups", PAR(2, 513, 4), .start = .1},
    {"par_19_groups", PAR(2, 580, 4), .start = .1},
    {"par_9_groups_3_taps", PAR(2, 288, 9), .delta = 1.8, .shape = {5, 5, 288}},
    {"par_9_groups_odd_taps", PAR(2, 260, 12), .delta = 3.3, .shape = {4, 4, 260}},
    {"par_blocks", PAR(37, 70, 66), .channel_offset = -.3}, /* more than one block of everything */
    {"par_larger_than_detector", PAR(12, 4, 11), .shape = {31, 34, 4}, .unmasked = 1},
    {"par_larger_tall", PAR(12, 20, 11), .shape = {31, 34, 20}, .unmasked = 1},
    {"par_missed_tall", PAR(5, 17, 14), .channel_offset = -1e4},
    {"par_odd_taps", PAR(11, 18, 30), .delta = 1.5, .shape = {19, 21, 18}},

    {"cone_even", CONE(16, 10, 20, 80, 40), .mbir = 1},
    {"cone_prime", CONE(13, 11, 19, 78, 31), .start = -.7},
    {"cone_one_view", CONE(1, 9, 17, 68, 34), .start = .3},
    {"cone_one_row", CONE(9, 1, 16, 64, 32)},
    {"cone_one_slice", CONE(9, 12, 16, 64, 32), .shape = {16, 16, 1}},
    {"cone_one_channel", CONE(9, 4, 1, 30, 20)},
    {"cone_one_channel_unmasked", CONE(9, 4, 1, 30, 20), .unmasked = 1},
    {"cone_offsets", CONE(14, 12, 18, 90, 60), .channel_offset = -1.3, .row_offset = .9,
     .slice_offset = .7, .mbir = 1},
    {"cone_pitches", CONE(12, 13, 17, 72, 40), .delta_channel = 1.4, .delta_row = .9},
    {"cone_aspects", CONE(14, 16, 21, 84, 42), .row_aspect = 1.9, .slice_aspect = 2.9, .mbir = 1},
    {"cone_rectangle", CONE(12, 10, 20, 80, 50), .shape = {15, 23, 9}, .unmasked = 1, .mbir = 1},
    {"cone_flat_ellipse", CONE(12, 10, 20, 80, 50), .shape = {11, 24, 9}, .row_aspect = 1.2},
    {"cone_magnified", CONE(13, 14, 24, 36, 6), .start = -.4}, /* g from 4.5 to 9 */
    {"cone_low_angle", CONE(10, 9, 18, 4000, 2000)},
    {"cone_infinite", CONE(10, 9, 18, INFINITY, INFINITY)},
    {"cone_wide_angle", CONE(10, 40, 18, 24, 12)}, /* up to 40 degrees from the midplane */
    {"cone_curved", CONE(13, 9, 21, 60, 30), .curved = 1},
    {"cone_curved_offset", CONE(12, 11, 19, 76, 30), .curved = 1, .channel_offset = 1.3,
     .row_offset = -.8, .slice_offset = .4},
    {"cone_helical", CONE(20, 8, 18, 72, 36), .start = -1, .extent = 4 * M_PI, .z_first = -3.2,
     .z_last = 3.2, .mbir = 1},
    {"cone_helical_curved", CONE(17, 8, 17, 68, 36), .extent = 3 * M_PI, .z_first = -1,
     .z_last = 3.5, .curved = 1, .channel_offset = -.6, .mbir = 1},
    {"cone_coarse", CONE(10, 18, 26, 78, 52), .delta = 2.5 / 1.5, .shape = {10, 11, 7}},
    /* 2.2 to 3.9 rows a slice, and 2.1 to 3.9 slices a row, over several vectors of each */
    {"cone_wide_slices", CONE(11, 140, 20, 60, 15), .delta = .75, .shape = {13, 14, 45},
     .row_offset = .4, .channel_offset = .3},
    {"cone_narrow_slices", CONE(9, 22, 16, 75, 20), .delta = .3, .slice_aspect = .3,
     .shape = {31, 30, 75}, .row_offset = -.4},
    {"cone_fine", CONE(10, 9, 14, 80, 40), .delta = .15, .shape = {30, 33, 31}},
    {"cone_fine_channels", CONE(10, 8, 44, 90, 60), .delta_channel = .25, .delta = .6,
     .shape = {14, 15, 9}},
    {"cone_eighths", CONE(16, 8, 20, 60, 40), EIGHTHS(16)},
    {"cone_37_slices", CONE(8, 23, 13, 60, 30), .shape = {13, 13, 37}},
    {"cone_tall", CONE(5, 290, 9, 900, 600), .shape = {9, 9, 270}, .row_offset = 1.3},
    /* Rows and slices of one to nine groups of a warp, two and three warps that are not equal. */
    {"cone_3_groups", CONE(2, 70, 5, 500, 300), .shape = {4, 5, 64}, .row_offset = .2},
    {"cone_4_groups", CONE(2, 101, 5, 700, 500), .shape = {5, 4, 130}, .row_offset = .6},
    {"cone_5_groups", CONE(2, 160, 5, 700, 500), .shape = {4, 5, 97}, .row_offset = -.7},
    {"cone_6_groups", CONE(2, 170, 5, 900, 700), .shape = {5, 4, 224}, .slice_offset = .3},
    {"cone_7_groups", CONE(2, 211, 5, 900, 700), .shape = {4, 5, 170}},
    {"cone_8_groups", CONE(2, 240, 5, 900, 700), .shape = {5, 4, 250}, .row_offset = .9},
    {"cone_9_groups", CONE(2, 280, 5, 1200, 900), .shape = {5, 5, 257}, .row_offset = .3},
    {"cone_17_groups", CONE(2, 600, 4, 2500, 2000), .shape = {4, 4, 515}, .row_offset = .3},
    {"cone_19_groups", CONE(2, 520, 4, 2500, 2000), .shape = {4, 4, 580}, .curved = 1},
    /* 1.85 rows a slice, and slices a row: the largest pieces; 2.5: beyond them */
    {"cone_large_pieces", CONE(2, 530, 4, 1850, 1000), .delta = 1, .shape = {4, 4, 281}},
    {"cone_large_pieces_of_rows", CONE(2, 283, 4, 1500, 1000), .delta = .81, .slice_aspect = .45,
     .shape = {4, 4, 530}},
    {"cone_wide_tall", CONE(2, 640, 4, 2500, 1000), .delta = 1, .shape = {4, 4, 257}},
    {"cone_narrow_tall", CONE(2, 260, 4, 1500, 1000), .delta = .8, .slice_aspect = .33,
     .shape = {4, 4, 660}},
    {"cone_blocks", CONE(37, 20, 34, 136, 68), .shape = {34, 34, 21}, .start = .02},
    {"cone_missed", CONE(6, 5, 14, 56, 28), .channel_offset = 1e4},
    {"cone_missed_rows", CONE(6, 5, 14, 56, 28), .row_offset = -1e3},
    {"cone_larger_than_detector", CONE(12, 6, 9, 90, 60), .shape = {30, 26, 19}, .unmasked = 1},
    {"cone_tall_rows", CONE(12, 7, 18, 64, 32), .start = .05, .delta_row = 3, .clips = 1,
     .mbir = 1},
    {"multiaxis_level", FLAT(13, 9, 19), .level = 1, .start = .1},
    {"multiaxis_low", FLAT(11, 17, 14), .elevation = .4, .mbir = 1},
    {"multiaxis_offsets", FLAT(10, 12, 21), .elevation = -.6, .channel_offset = .7,
     .row_offset = -.8, .slice_offset = .9, .delta_row = 1.2},
    {"multiaxis_aspects", FLAT(9, 15, 16), .elevation = .7, .row_aspect = 1.9, .slice_aspect = .8,
     .shape = {11, 13, 18}, .unmasked = 1},
    {"multiaxis_steep", FLAT(8, 20, 15), .elevation = 1.3, .shape = {14, 12, 21}},
    {"multiaxis_fine", FLAT(7, 9, 13), .elevation = .5, .delta = .2, .shape = {21, 23, 37}},
    {"multiaxis_coarse", FLAT(7, 40, 13), .elevation = .5, .delta = 2.6, .shape = {5, 6, 9}},
    {"multiaxis_tall", FLAT(3, 90, 5), .elevation = .3, .shape = {5, 4, 70}},
    {"multiaxis_one", FLAT(1, 1, 1), .elevation = .3, .shape = {1, 1, 1}, .unmasked = 1},
    {"multiaxis_missed", FLAT(5, 6, 8), .elevation = .3, .row_offset = 1e3},
    {"translation_still", CONE(5, 9, 14, 80, 40), .shift = 1e-30, .shape = {6, 14, 9},
     .row_aspect = 1, .unmasked = 1},
    {"translation_flat", CONE(12, 13, 15, 60, 40), .shift = 3, .shape = {5, 16, 15},
     .row_aspect = 3.5, .unmasked = 1, .mbir = 1},
    {"translation_offsets", CONE(9, 11, 18, 90, 60), .shift = 4, .shape = {7, 17, 12},
     .row_aspect = 1.7, .slice_aspect = 1.3, .channel_offset = -.6, .row_offset = .4},
    {"translation_pitches", CONE(8, 12, 10, 70, 45), .shift = 5, .shape = {6, 9, 8},
     .row_aspect = 1, .delta_channel = 1.4, .delta_row = .9, .unmasked = 1},
    {"translation_tall", CONE(3, 80, 6, 300, 200), .shift = 6, .shape = {4, 5, 70}, .row_aspect = 2,
     .unmasked = 1},
    {"translation_missed", CONE(4, 6, 8, 40, 30), .shift = 2, .shape = {3, 6, 5}, .row_aspect = 1,
     .channel_offset = 1e3, .unmasked = 1},
    {"cone_corner_clip", CONE(12, 20, 16, 40, 8), .start = .05, .delta = .285,
     .shape = {16, 16, 14}, .unmasked = 1, .clips = 1},
};

const int case_count = (int)(sizeof cases / sizeof *cases);

static double or_else(double value, double standard)
{
    return value != 0 ? value : standard;
}

static enum err helix(const struct test_case *c, struct scan *s)
{
    if (c->z_first == c->z_last)
        return ERR_OK;
    float *z = malloc((size_t)c->views * sizeof *z);
    FAIL_IF(!z, ERR_MEMORY, "no memory for the shifts of %s", c->name);
    for (int64_t v = 0; v < c->views; v++)
        z[v] = (float)(c->z_first + (c->z_last - c->z_first) * (double)v / (double)(c->views - 1));
    s->z_shifts = z;
    return ERR_OK;
}

/* Views in turn at other places along each axis, or at other elevations. */
static enum err moves(const struct test_case *c, struct scan *s)
{
    static const float x[] = {0, .6f, -1, .3f, .9f}, y[] = {.2f, -.5f, 1}, z[] = {-1, .4f, .7f, 0};
    static const float tilt[] = {1, -1, .5f};
    if (c->shift == 0 && c->elevation == 0 && !c->level)
        return ERR_OK;
    struct view_move *move = calloc((size_t)c->views, sizeof *move);
    float *shift = c->shift != 0 ? calloc((size_t)c->views, sizeof *shift) : NULL;
    s->moves = move;
    s->z_shifts = shift;
    FAIL_IF(!move || (c->shift != 0 && !shift), ERR_MEMORY, "no memory for the moves of %s",
            c->name);
    for (int64_t v = 0; v < c->views; v++) {
        move[v].elevation = (float)c->elevation * tilt[v % 3];
        if (!shift)
            continue;
        move[v].x = (float)c->shift * x[v % 5];
        move[v].y = (float)c->shift * y[v % 3];
        shift[v] = (float)c->shift * z[v % 4];
    }
    return ERR_OK;
}

enum err case_model(const struct test_case *c, struct ct_model *m)
{
    ct_model_init(m);
    struct scan *s = &m->scan;
    struct volume *v = &m->volume;
    s->beam = c->beam;
    s->views = c->views;
    s->rows = c->rows;
    s->channels = c->channels;
    s->delta_row = or_else(c->delta_row, 1);
    s->delta_channel = or_else(c->delta_channel, 1);
    s->row_offset = c->row_offset;
    s->channel_offset = c->channel_offset;
    s->source_detector = c->source_detector;
    s->source_iso = c->source_iso;
    s->curved = c->curved;
    s->angles =
        angles_even(c->start, or_else(c->extent, s->beam == BEAM_CONE ? 2 * M_PI : M_PI), s->views);
    v->rows = c->shape[0];
    v->cols = c->shape[1];
    v->slices = c->shape[2];
    v->delta = c->delta;
    v->row_aspect = or_else(c->row_aspect, 1);
    v->slice_aspect = or_else(c->slice_aspect, 1);
    if (c->slice_offset != 0)
        v->slice_offset = c->slice_offset;
    v->ror = c->unmasked ? ROR_NONE : ROR_ELLIPSE;
    if (c->shift != 0)
        memset((float *)(uintptr_t)s->angles, 0, (size_t)s->views * sizeof *s->angles);
    TRY(helix(c, s));
    TRY(moves(c, s));
    return ct_model_resolve(m);
}

/* splitmix64 (Steele, Lea and Flood 2014): a good hash of a counter. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void fill_uniform(uint64_t seed, double low, double high, float *out, int64_t n)
{
    uint64_t base = mix(seed);
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(low + (high - low) * (double)(mix(base + (uint64_t)i) >> 40) * 0x1p-24);
}
