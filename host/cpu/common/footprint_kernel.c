/* Footprints of pixels on detector channels: operators.md's tau(W, t), the overlap of a unit cell
 * with a box of width W. Positions in float64 (a channel coordinate near 1000 has an error of 6e-5
 * in float32); the fraction inside a cell and the weights in float32. */
#include <math.h>
#include <string.h>

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
    const double rows = delta_slice / s->delta_row * g->upright, slices = 1 / rows;
    const double area = delta * delta_row * g->stretch;
    double position[BATCH], x[BATCH], y[BATCH], gain[BATCH], tangent[BATCH], root[BATCH];
    float width[BATCH], height[BATCH];
    for (int q = 0; q < b->n; q++) {
        x[q] = g->cos * b->x[q] - g->sin * b->y[q] - g->x;
        y[q] = g->sin * b->x[q] + g->cos * b->y[q] - g->y;
        const double distance = inverse_m - y[q] * inverse_d; /* over that of the detector */
        gain[q] = 1 / distance;
        out->width[q] = gain[q] * rows;
        out->slices_per_row[q] = distance * slices;
        out->edge[q] = row_centre - gain[q] * rows * bottom + g->rise * y[q];
        out->slope[q] = gain[q] * inverse_d;
        tangent[q] = gain[q] * x[q] * inverse_d;
        position[q] = gain[q] * x[q] * inverse_cell + centre;
    }
    for (int q = 0; s->curved && q < b->n; q++) {
        tangent[q] = x[q] / (s->source_iso - y[q]);
        position[q] =
            s->source_detector * atan2(x[q], s->source_iso - y[q]) * inverse_cell + centre;
    }
    for (int q = 0; q < b->n; q++) {
        /* footprint across the ray = widest * cosine, cosine = 1 / root */
        const double along = fabs(g->cos + g->sin * tangent[q]) * delta;
        const double across = fabs(g->sin - g->cos * tangent[q]) * p->shadow_row;
        const double widest = along > across ? along : across;
        root[q] = sqrt(1 + tangent[q] * tangent[q]);
        width[q] = (float)(gain[q] * widest * inverse_cell);
        height[q] = (float)(area * root[q] / widest);
    }
    for (int q = 0; s->curved && q < b->n; q++)
        width[q] /= (float)root[q];
    out->spread = g->spread;
    memcpy(out->breadth, width, (size_t)b->n * sizeof *width);
    memcpy(out->height, height, (size_t)b->n * sizeof *height);
    footprint_weigh(p, b->n, position, width, height, power, out);
}

/* Without the divisions and the root of footprint_cone: 1/distance is that of `like`, which lies
 * within 1e-5, after a Newton step. */
static void footprint_turned(const struct projector *p, int64_t view, const struct pixel_batch *b,
                             int power, const struct footprints *like, struct footprints *out)
{
    const struct scan *s = &p->scan;
    const struct view_geometry *g = &p->views[view];
    const double inverse_m = 1 / p->magnification, inverse_d = 1 / s->source_detector;
    const double inverse_cell = 1 / s->delta_channel;
    const double centre = s->channel_offset * inverse_cell + 0.5 * (double)(s->channels - 1);
    const double slices = s->delta_row / volume_delta_slice(&p->volume);
    double position[BATCH];
    for (int q = 0; q < b->n; q++) {
        const double x = g->cos * b->x[q] - g->sin * b->y[q];
        const double y = g->sin * b->x[q] + g->cos * b->y[q];
        const double gain = like->width[q] * slices;
        position[q] = gain * (2 - gain * (inverse_m - y * inverse_d)) * x * inverse_cell + centre;
    }
    footprint_weigh(p, b->n, position, like->breadth, like->height, power, out);
}

static void footprint_compute(const struct projector *p, int64_t view, const struct pixel_batch *b,
                              int power, struct footprints *out)
{
    if (p->scan.beam == BEAM_PARALLEL)
        footprint_parallel(p, &p->views[view], b, power, out);
    else
        footprint_cone(p, &p->views[view], b, power, out);
}

const struct footprint_kernels ISA_NAME(footprint_kernels) = {footprint_compute, footprint_turned};
