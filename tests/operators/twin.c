/* Projection, filter and median in float64, one plain loop nest each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/operators/twin.h"

/* The formulas call these i0, j0, k0, m0, n0, Delta_y, Delta_z, M, r and r_b. */
struct setup {
    int tilted, shifted; /* multi-axis, translation */
    const struct scan *s;
    const struct volume *v;
    double i0, j0, k0, m0, n0, dx, dy, dz, M;
    int r, r_b;
};

static int half_window(double cells)
{
    return (int)ceil(ceil(cells) / 2);
}

/* Sets one window for both directions, from the largest of each edge over all views. */
static void set_tilted(struct setup *t)
{
    const double across = fmax(t->dx, t->dy);
    double most_cos = 0, most_sin = 0;
    for (int64_t view = 0; view < t->s->views; view++) {
        most_cos = fmax(most_cos, cos((double)t->s->moves[view].elevation));
        most_sin = fmax(most_sin, fabs(sin((double)t->s->moves[view].elevation)));
    }
    const int up = half_window(fmax(most_cos * t->dz, most_sin * across) / t->s->delta_row);
    t->r = half_window(across / t->s->delta_channel);
    t->r = up > t->r ? up : t->r;
}

static struct setup setup_of(const struct ct_model *m)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    struct setup t = {.s = s, .v = v};
    t.i0 = (double)(v->rows - 1) / 2;
    t.j0 = (double)(v->cols - 1) / 2;
    t.k0 = (double)(v->slices - 1) / 2;
    t.m0 = (double)(s->rows - 1) / 2;
    t.n0 = (double)(s->channels - 1) / 2;
    t.dx = v->delta;
    t.dy = v->row_aspect * v->delta;
    t.dz = v->slice_aspect * v->delta;
    t.M = 1;
    if (s->beam == BEAM_PARALLEL) {
        t.r = half_window(fmax(t.dx, t.dy) / s->delta_channel);
        return t;
    }
    t.tilted = scan_is_multiaxis(s);
    t.shifted = scan_is_translation(s);
    if (t.tilted) {
        set_tilted(&t);
        return t;
    }
    double D = s->source_detector, d = s->source_iso, M_max = 1, M_min = 1;
    if (t.shifted) {
        double farthest = -INFINITY, widest = fmax(t.dx, t.dz);
        for (int64_t view = 0; view < s->views; view++)
            farthest = fmax(farthest, (double)s->moves[view].y);
        t.M = D / d;
        M_max = D / (d - 0.5 * (double)v->rows * t.dy - farthest);
        t.r = t.r_b = half_window(widest * M_max / fmin(s->delta_row, s->delta_channel));
        return t;
    }
    if (!isinf(D)) {
        double rho = 0.5 * fmax((double)v->cols * t.dx, (double)v->rows * t.dy);
        t.M = D / d;
        M_max = D / (d - rho);
        M_min = D / (d + rho);
    }
    double cell = fmin(s->delta_row, s->delta_channel);
    t.r = half_window(fmax(fmax(t.dx, t.dy), t.dz) * M_max / cell);
    t.r_b = half_window(cell / (M_min * fmin(fmin(t.dx, t.dy), t.dz)));
    return t;
}

/* Overlap of a unit cell with a box of width W whose centre is t away. */
static double tau(double W, double t)
{
    return fmax(0, fmin((W + 1) / 2 - fabs(t), fmin(1, W)));
}

/* A pixel in one view: where it falls on the channels, how wide it is there (in channels), the
 * length of a ray through it, and its magnification. */
struct shadow {
    double n_p, W, length, g;
    double up, rise, rows; /* rows for 1 of z, beside it, and rows that a voxel covers */
};

static struct shadow shadow_of(const struct setup *t, int64_t view, int64_t pixel)
{
    const struct scan *s = t->s;
    double theta = (double)s->angles[view], D = s->source_detector;
    double row = t->dy * ((double)(pixel / t->v->cols) - t->i0);
    double col = t->dx * ((double)(pixel % t->v->cols) - t->j0);
    double x = cos(theta) * col - sin(theta) * row;
    double y = sin(theta) * col + cos(theta) * row;
    double g = 1, u = x, phi = 0, stretch = 1, up = 1, rise = 0;
    if (s->moves) {
        x -= (double)s->moves[view].x;
        y -= (double)s->moves[view].y;
        u = x;
        up = cos((double)s->moves[view].elevation);
        rise = y * sin((double)s->moves[view].elevation) / s->delta_row;
    }
    if (s->beam == BEAM_CONE) {
        g = 1 / (1 / t->M - y / D);
        u = s->curved ? D * atan2(x, s->source_iso - y) : g * x;
        phi = s->curved ? u / D : atan2(u, D);
        stretch = s->curved ? g : g / cos(phi);
    }
    double f = fmax(fabs(cos(theta - phi)) * t->dx, fabs(sin(theta - phi)) * t->dy);
    double rows = g * t->dz / s->delta_row, length = 1;
    if (t->shifted)
        f = fabs(cos(phi)) * t->dx;
    if (t->tilted) {
        const double edge = fmax(fabs(sin(theta)) * t->dx, fabs(cos(theta)) * t->dy);
        length = rows;
        rows = fmax(rows * up, fabs(sin((double)s->moves[view].elevation)) * edge / s->delta_row);
        length /= rows;
    }
    return (struct shadow){.n_p = (u + s->channel_offset) / s->delta_channel + t->n0,
                           .W = stretch * f / s->delta_channel,
                           .length = length * t->dx * t->dy / f,
                           .g = g,
                           .up = up,
                           .rise = rise,
                           .rows = rows};
}

static double channel_weight(const struct setup *t, const struct shadow *p, int64_t n)
{
    if (n < 0 || n >= t->s->channels)
        return 0;
    return p->length * tau(p->W, p->n_p - (double)n);
}

static double slice_z(const struct setup *t, int64_t view, int64_t k)
{
    double shift = t->s->z_shifts ? (double)t->s->z_shifts[view] : 0;
    return t->dz * ((double)k - t->k0) + t->v->slice_offset - shift;
}

static double row_of(const struct setup *t, const struct shadow *p, int64_t view, int64_t k)
{
    return (p->g * p->up * slice_z(t, view, k) + t->s->row_offset) / t->s->delta_row + t->m0 +
           p->rise;
}

/* How much longer a ray through slice k is than one in the midplane. */
static double tilt(const struct setup *t, const struct shadow *p, int64_t view, int64_t k)
{
    const double slope = p->g * slice_z(t, view, k) / t->s->source_detector;
    return sqrt(1 + slope * slope);
}

/* Returns C[m] of slice k, before its tilt. */
static double row_weight(const struct setup *t, const struct shadow *p, int64_t view, int64_t k,
                         int64_t m)
{
    return tau(p->rows, row_of(t, p, view, k) - (double)m);
}

/* Multi-axis: every slice whose window holds row m. */
static double tilted_sum(const struct setup *t, const struct shadow *p, int64_t view,
                         const double *x, int64_t m)
{
    double sum = 0;
    for (int64_t k = 0; k < t->v->slices; k++)
        if (fabs(rint(row_of(t, p, view, k)) - (double)m) <= t->r)
            sum += row_weight(t, p, view, k, m) * x[k];
    return sum;
}

/* Returns the sum that the cylinder x of a pixel, each slice times its tilt, adds to detector row m
 * of every channel, before channel_weight. */
static double row_sum(const struct setup *t, const struct shadow *p, int64_t view, const double *x,
                      int64_t m)
{
    if (t->s->beam == BEAM_PARALLEL)
        return x[m];
    if (t->tilted)
        return tilted_sum(t, p, view, x, m);
    double v_m = ((double)m - t->m0) * t->s->delta_row - t->s->row_offset;
    double k_m = (v_m / p->g - slice_z(t, view, 0)) / t->dz;
    double sum = 0;
    for (int64_t k = (int64_t)rint(k_m) - t->r_b; k <= (int64_t)rint(k_m) + t->r_b; k++)
        if (k >= 0 && k < t->v->slices)
            sum += row_weight(t, p, view, k, m) * x[k];
    return sum;
}

static void forward_cylinder(const struct setup *t, int64_t view, int64_t pixel, const double *x,
                             double *tilted, double *sums, double *y)
{
    const int64_t rows = t->s->rows, channels = t->s->channels;
    const struct shadow p = shadow_of(t, view, pixel);
    for (int64_t k = 0; k < t->v->slices; k++)
        tilted[k] = x[k] * (t->s->beam == BEAM_PARALLEL ? 1 : tilt(t, &p, view, k));
    for (int64_t m = 0; m < rows; m++)
        sums[m] = row_sum(t, &p, view, tilted, m);
    int64_t centre = (int64_t)rint(p.n_p);
    for (int64_t n = centre - t->r; n <= centre + t->r; n++) {
        const double weight = channel_weight(t, &p, n);
        for (int64_t m = 0; m < rows && n >= 0 && n < channels; m++)
            y[m * channels + n] += weight * sums[m];
    }
}

void twin_forward(const struct ct_model *model, const int32_t *pixels, int64_t count,
                  const double *x, double *y)
{
    const struct setup t = setup_of(model);
    const int64_t rows = t.s->rows, channels = t.s->channels;
    double *tilted = calloc((size_t)t.v->slices, sizeof *tilted);
    double *sums = calloc((size_t)rows, sizeof *sums);
    memset(y, 0, (size_t)(t.s->views * rows * channels) * sizeof *y);
    for (int64_t view = 0; view < t.s->views; view++)
        for (int64_t q = 0; q < count; q++) {
            int64_t pixel = pixels ? pixels[q] : q;
            forward_cylinder(&t, view, pixel, x + pixel * t.v->slices, tilted, sums,
                             y + view * rows * channels);
        }
    free(tilted);
    free(sums);
}

/* x to the power of 1 or 2. */
static double raised(double x, int power)
{
    return power == 2 ? x * x : x;
}

/* Every row of w y of one view, summed over channels with their weights. */
static void channel_sums(const struct setup *t, const struct shadow *p, const double *y,
                         const double *w, int64_t view, int power, double *column)
{
    const int64_t rows = t->s->rows, channels = t->s->channels, at = view * rows * channels;
    int64_t centre = (int64_t)rint(p->n_p);
    memset(column, 0, (size_t)rows * sizeof *column);
    for (int64_t n = centre - t->r; n <= centre + t->r; n++) {
        const double weight = raised(channel_weight(t, p, n), power);
        for (int64_t m = 0; m < rows && n >= 0 && n < channels; m++) {
            int64_t i = at + m * channels + n;
            column[m] += weight * (y ? y[i] : 1) * (w ? w[i] : 1);
        }
    }
}

static void back_cylinder(const struct setup *t, const struct shadow *p, int64_t view,
                          const double *column, int power, double *x)
{
    const int64_t rows = t->s->rows;
    for (int64_t k = 0; k < t->v->slices; k++) {
        if (t->s->beam == BEAM_PARALLEL) {
            x[k] += column[k];
            continue;
        }
        int64_t centre = (int64_t)rint(row_of(t, p, view, k));
        const double tilted = tilt(t, p, view, k);
        for (int64_t m = centre - t->r; m <= centre + t->r; m++)
            if (m >= 0 && m < rows)
                x[k] += raised(row_weight(t, p, view, k, m) * tilted, power) * column[m];
    }
}

void twin_back(const struct ct_model *model, const int32_t *pixels, int64_t count, const double *y,
               const double *w, int power, double *x)
{
    const struct setup t = setup_of(model);
    const int64_t rows = t.s->rows, slices = t.v->slices;
    double *column = calloc((size_t)rows, sizeof *column);
    for (int64_t q = 0; q < count; q++) {
        int64_t pixel = pixels ? pixels[q] : q;
        memset(x + pixel * slices, 0, (size_t)slices * sizeof *x);
        for (int64_t view = 0; view < t.s->views; view++) {
            const struct shadow p = shadow_of(&t, view, pixel);
            channel_sums(&t, &p, y, w, view, power, column);
            back_cylinder(&t, &p, view, column, power, x + pixel * slices);
        }
    }
    free(column);
}

int twin_is_adjoint(const struct ct_model *model, const int32_t *pixels, int64_t count)
{
    const struct setup t = setup_of(model);
    for (int64_t view = 0; t.s->beam == BEAM_CONE && !t.tilted && view < t.s->views; view++)
        for (int64_t q = 0; q < count; q++) {
            const struct shadow p = shadow_of(&t, view, pixels ? pixels[q] : q);
            double W = p.g * t.dz / t.s->delta_row;
            if (W > 2 * t.r || 1 / W > 2 * t.r_b)
                return 0;
        }
    return 1;
}

/* h[n] of the unit-pitch ramp. */
static double ramp(int64_t n)
{
    if (n == 0)
        return 0.25;
    return n % 2 ? -1 / (M_PI * M_PI * (double)n * (double)n) : 0;
}

void twin_filter(const struct ct_model *model, const double *y, double *out)
{
    const struct setup t = setup_of(model);
    const struct scan *s = t.s;
    const int cone = s->beam == BEAM_CONE && !t.tilted;
    double scale = M_PI / (double)s->views / (t.dx * t.dy);
    if (cone)
        scale *= s->delta_row / (t.dz * t.M);
    for (int64_t row = 0; row < s->views * s->rows; row++)
        for (int64_t n = 0; n < s->channels; n++) {
            double sum = 0;
            for (int64_t i = 0; i < s->channels; i++) {
                double u = ((double)i - t.n0) * s->delta_channel - s->channel_offset;
                double v = ((double)(row % s->rows) - t.m0) * s->delta_row - s->row_offset;
                double D = s->source_detector;
                double w = cone && !isinf(D) ? D / sqrt(D * D + u * u + v * v) : 1;
                sum += ramp(n - i) * w * y[row * s->channels + i];
            }
            out[row * s->channels + n] = scale * sum;
        }
}

/* V / number of views in which slice k is in sight on the axis; 0 where there is none. */
static double coverage_factor(const struct setup *t, int64_t k)
{
    const struct scan *s = t->s;
    int64_t seen = 0;
    for (int64_t view = 0; view < s->views; view++)
        seen += fabs(slice_z(t, view, k)) <= (double)s->rows * s->delta_row / (2 * t->M);
    return seen ? (double)s->views / (double)seen : 0;
}

void twin_direct_recon(const struct ct_model *m, const int32_t *pixels, int64_t count,
                       const double *y, double *x)
{
    const struct setup t = setup_of(m);
    double *filtered = calloc((size_t)scan_samples(t.s), sizeof *filtered);
    twin_filter(m, y, filtered);
    memset(x, 0, (size_t)volume_voxels(t.v) * sizeof *x);
    twin_back(m, pixels, count, filtered, NULL, 1, x);
    for (int64_t i = 0; t.s->z_shifts && !t.shifted && i < volume_voxels(t.v); i++)
        x[i] *= coverage_factor(&t, i % t.v->slices);
    free(filtered);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int64_t inside(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

void twin_median(int64_t rows, int64_t cols, int64_t slices, const float *in, float *out)
{
    for (int64_t at = 0; at < rows * cols * slices; at++) {
        int64_t i = at / (cols * slices), j = at / slices % cols, k = at % slices;
        float near[27];
        for (int o = 0; o < 27; o++) {
            int64_t a = inside(i + o / 9 - 1, rows), b = inside(j + o / 3 % 3 - 1, cols);
            near[o] = in[(a * cols + b) * slices + inside(k + o % 3 - 1, slices)];
        }
        qsort(near, 27, sizeof *near, by_value);
        out[at] = near[13];
    }
}
