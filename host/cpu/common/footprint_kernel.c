/* Footprints of pixels on detector channels: operators.md's tau(W, t), the overlap of a unit cell
 * with a box of width W. Positions in float64 (a channel coordinate near 1000 has an error of 6e-5
 * in float32); the fraction inside a cell and the weights in float32. */
#include <math.h>

#include "host/cpu/common/projection.h"

/* Taps n = start .. start + taps - 1 with start = floor(position - taps/2 + 1) hold every non-zero
 * one, since W + 1 <= taps, or are exactly the window round(position) +- r when taps = 2r + 1.
 * Guards: columns below 0 and above channels + taps are all misses. */
static void footprint_weigh(const struct projector *p, int n, const double *position,
                            const float *width, const float *height, int power,
                            struct footprints *out)
{
    const int taps = p->taps;
    const double shift = 1 - 0.5 * taps;
    const double low = -taps, high = (double)p->scan.channels;
    float offset[BATCH];
    for (int q = 0; q < n; q++) {
        double first = floor(position[q] + shift);
        offset[q] = (float)(position[q] - first);
        first = first < low ? low : first > high ? high : first;
        out->start[q] = (int32_t)(first + taps);
    }
    for (int t = 0; t < taps; t++) {
        float *w = out->weight + t * BATCH;
        for (int q = 0; q < n; q++) {
            float overlap = 0.5f * (width[q] + 1) - fabsf(offset[q] - (float)t);
            float most = width[q] < 1 ? width[q] : 1;
            overlap = overlap < 0 ? 0 : overlap > most ? most : overlap;
            w[q] = overlap * height[q];
            if (power == 2)
                w[q] *= w[q];
        }
    }
}

static void footprint_parallel(const struct projector *p, const struct view_geometry *g,
                               const struct pixel_batch *b, int power, struct footprints *out)
{
    const double delta = p->volume.delta, delta_row = volume_delta_row(&p->volume);
    const double cell = p->scan.delta_channel;
    const double c = g->cos / cell, s = g->sin / cell;
    const double centre = p->scan.channel_offset / cell + 0.5 * (double)(p->scan.channels - 1);
    const double footprint = fmax(fabs(g->cos) * delta, fabs(g->sin) * delta_row);
    double position[BATCH];
    float width[BATCH], height[BATCH];
    for (int q = 0; q < b->n; q++) {
        position[q] = c * b->x[q] - s * b->y[q] + centre;
        width[q] = (float)(footprint / cell);
        height[q] = (float)(delta * delta_row / footprint);
    }
    footprint_weigh(p, b->n, position, width, height, power, out);
}

static void footprint_cone(const struct projector *p, const struct view_geometry *g,
                           const struct pixel_batch *b, int power, struct footprints *out)
{
    const struct scan *s = &p->scan;
    const struct volume *v = &p->volume;
    const double delta = v->delta, delta_row = volume_delta_row(v),
                 delta_slice = volume_delta_slice(v);
    const double inverse_m = 1 / p->magnification, inverse_d = 1 / s->source_detector;
    const double inverse_cell = 1 / s->delta_channel;
    const double centre = s->channel_offset * inverse_cell + 0.5 * (double)(s->channels - 1);
    /* slice coordinate of z = 0, less half a slice: edge of slice 0 lies at -width * bottom */
    const double bottom = 0.5 * (double)v->slices - (v->slice_offset - g->z_shift) / delta_slice;
    const double row_centre = s->row_offset / s->delta_row + 0.5 * (double)(s->rows - 1);
    double position[BATCH], x[BATCH], y[BATCH];
    float width[BATCH], height[BATCH];
    for (int q = 0; q < b->n; q++) {
        x[q] = g->cos * b->x[q] - g->sin * b->y[q] - g->x;
        y[q] = g->sin * b->x[q] + g->cos * b->y[q] - g->y;
    }
    if (s->curved)
        for (int q = 0; q < b->n; q++)
            position[q] = s->source_detector * atan2(x[q], s->source_iso - y[q]);
    for (int q = 0; q < b->n; q++) {
        double gain = 1 / (inverse_m - y[q] * inverse_d);
        double tangent = s->curved ? x[q] / (s->source_iso - y[q]) : gain * x[q] * inverse_d;
        double cosine = 1 / sqrt(1 + tangent * tangent), sine = tangent * cosine;
        double along = fabs(g->cos * cosine + g->sin * sine) * delta;
        double across = fabs(g->sin * cosine - g->cos * sine) * p->shadow_row;
        double footprint = along > across ? along : across;
        double u = s->curved ? position[q] : gain * x[q];
        position[q] = u * inverse_cell + centre;
        width[q] = (float)(gain * footprint * inverse_cell * (s->curved ? 1 : 1 / cosine));
        height[q] = (float)(delta * delta_row / footprint * g->stretch);
        double rows = gain * delta_slice / s->delta_row * g->upright;
        out->width[q] = rows;
        out->slices_per_row[q] = 1 / rows;
        out->edge[q] = row_centre - rows * bottom + g->rise * y[q];
        out->slope[q] = gain * inverse_d;
    }
    out->spread = g->spread;
    footprint_weigh(p, b->n, position, width, height, power, out);
}

static void footprint_compute(const struct projector *p, int64_t view, const struct pixel_batch *b,
                              int power, struct footprints *out)
{
    if (p->scan.beam == BEAM_PARALLEL)
        footprint_parallel(p, &p->views[view], b, power, out);
    else
        footprint_cone(p, &p->views[view], b, power, out);
}

const struct footprint_kernels ISA_NAME(footprint_kernels) = {footprint_compute};
