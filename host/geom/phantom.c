/* Ellipsoid phantoms: sampled at voxel centres, and their exact line integrals through every
 * detector cell. */
#include <math.h>
#include <string.h>

#include "host/geom/phantom.h"

/* In units of half the volume's extent. Body and insert have the proportions of a tooth in a jar: a
 * mean attenuation with one dense part off the axis, so that no symmetry hides an error of sign.
 * `value` is the line integral through the body's longer axis, about 1.2 (transmission exp(-1.2) =
 * 0.3). */
static const struct ellipsoid two_ellipsoids[] = {
    {0, 0, 0, .69, .92, .90, 0, 1},
    {.25, -.30, .10, .13, .20, .25, .5, 2},
};

/* MBIRJAX's low dynamic range Shepp-Logan phantom. Its x runs along rows and y along columns: here
 * they are swapped (x <-> y, a <-> b, phi -> -phi). */
#define DEGREE (M_PI / 180)
static const struct ellipsoid shepp_logan[] = {
    {0, 0, 0, .92, .69, .90, 0, 1},
    {.0184, 0, 0, .874, .6624, .88, 0, -.8},
    {0, .22, 0, .16, .41, .21, -108 * DEGREE, -.2},
    {0, -.22, 0, .11, .31, .22, -72 * DEGREE, -.2},
    {.35, 0, 0, .25, .21, .50, 0, .1},
    {.1, 0, 0, .046, .046, .046, 0, .1},
    {-.1, 0, 0, .046, .046, .046, 0, .1},
    {-.605, -.08, 0, .023, .046, .02, 0, .1},
    {-.605, 0, 0, .023, .023, .02, 0, .1},
};

/* Half the distance between the first and the last voxel centre, as numpy.linspace(-1, 1, n) has
 * it; half a voxel where there is only one. */
static double half_extent(int64_t n, double pitch)
{
    return (n > 1 ? (double)(n - 1) : 1) * pitch / 2;
}

/* Stretches a tilted ellipse by (sx, sy): it stays an ellipse, with other axes and another tilt.
 * Its matrix is Q = R diag(1/a^2, 1/b^2) R', stretched Q_ij / (s_i s_j), and the new axes are its
 * eigenvectors. */
static void ellipsoid_stretch(struct ellipsoid *e, double sx, double sy)
{
    double c = cos(e->phi), s = sin(e->phi), pa = 1 / (e->a * e->a), pb = 1 / (e->b * e->b);
    double xx = (c * c * pa + s * s * pb) / (sx * sx);
    double yy = (s * s * pa + c * c * pb) / (sy * sy);
    double xy = c * s * (pa - pb) / (sx * sy);
    double mean = (xx + yy) / 2, spread = hypot((xx - yy) / 2, xy);
    e->phi = spread > 0 ? atan2(xy, (xx - yy) / 2) / 2 : 0;
    e->a = 1 / sqrt(mean + spread); /* the larger eigenvalue belongs to direction phi */
    e->b = 1 / sqrt(mean - spread);
}

int phantom_ellipsoids(enum phantom kind, const struct volume *v, struct ellipsoid out[PHANTOM_MAX])
{
    int suite = kind == PHANTOM_TWO_ELLIPSOIDS;
    int n = suite ? (int)(sizeof two_ellipsoids / sizeof *two_ellipsoids)
                  : (int)(sizeof shepp_logan / sizeof *shepp_logan);
    memcpy(out, suite ? two_ellipsoids : shepp_logan, (size_t)n * sizeof *out);
    double sx = half_extent(v->cols, v->delta), sy = half_extent(v->rows, volume_delta_row(v));
    double sz = half_extent(v->slices, volume_delta_slice(v));
    for (int i = 0; i < n; i++) {
        struct ellipsoid *e = &out[i];
        ellipsoid_stretch(e, sx, sy);
        e->x *= sx;
        e->y *= sy;
        e->z = e->z * sz + v->slice_offset;
        e->c *= sz;
        if (suite)
            e->value *= 1.2 / (2 * .92 * fmax(sx, sy));
    }
    return n;
}

/* Adds e's value to the slices of one cylinder at (x, y). */
static void fill_cylinder(const struct ellipsoid *e, const struct volume *v, double x, double y,
                          float *cylinder)
{
    double c = cos(e->phi), s = sin(e->phi), dx = x - e->x, dy = y - e->y;
    double p = (c * dx + s * dy) / e->a, q = (c * dy - s * dx) / e->b;
    double inside = p * p + q * q;
    if (inside > 1)
        return;
    double k0 = (double)(v->slices - 1) / 2, dz = volume_delta_slice(v);
    for (int64_t k = 0; k < v->slices; k++) {
        double r = (dz * ((double)k - k0) + v->slice_offset - e->z) / e->c;
        if (inside + r * r <= 1)
            cylinder[k] += (float)e->value;
    }
}

void phantom_fill_row(const struct ellipsoid *e, int n, const struct volume *v, int64_t row,
                      float *out)
{
    double i0 = (double)(v->rows - 1) / 2, j0 = (double)(v->cols - 1) / 2;
    memset(out, 0, (size_t)(v->cols * v->slices) * sizeof *out);
    for (int64_t j = 0; j < v->cols; j++) {
        double x = v->delta * ((double)j - j0), y = volume_delta_row(v) * ((double)row - i0);
        for (int m = 0; m < n; m++)
            fill_cylinder(&e[m], v, x, y, out + j * v->slices);
    }
}

void phantom_fill(const struct ellipsoid *e, int n, const struct volume *v, float *out)
{
    for (int64_t i = 0; i < v->rows; i++)
        phantom_fill_row(e, n, v, i, out + i * v->cols * v->slices);
}

/* origin + t * direction in the frame of the object. */
struct ray {
    double origin[3], direction[3];
};

/* Computes the ray of detector cell (u, v) in the frame of the detector, y towards the source. The
 * direction of a cone ray is per unit of distance from the source along y; curved detectors measure
 * u along the arc. */
static struct ray detector_ray(const struct scan *s, double u, double v)
{
    if (s->beam == BEAM_PARALLEL || isinf(s->source_detector))
        return (struct ray){{u, 0, v}, {0, -1, 0}};
    double angle = u / s->source_detector;
    double sideways = s->curved ? (fabs(angle) < M_PI / 2 ? tan(angle) : HUGE_VAL) : angle;
    return (struct ray){{0, s->source_iso, 0}, {sideways, -1, v / s->source_detector}};
}

/* Rotates the detector frame back by theta: x~ = c x + s y, y~ = c y - s x. */
static void rotate_xy(double p[3], double c, double s)
{
    double x = c * p[0] + s * p[1], y = c * p[1] - s * p[0];
    p[0] = x;
    p[1] = y;
}

/* Turns a parallel ray about the channels by the view's elevation, or moves a cone as the object is
 * moved the other way. */
static void move_ray(const struct scan *s, int64_t view, struct ray *r)
{
    if (!s->moves)
        return;
    const struct view_move *m = &s->moves[view];
    r->origin[0] += (double)m->x;
    r->origin[1] += (double)m->y;
    if (!scan_is_multiaxis(s))
        return;
    const double c = cos((double)m->elevation), e = sin((double)m->elevation), v = r->origin[2];
    r->origin[1] = v * e;
    r->origin[2] = v * c;
    r->direction[1] = -c;
    r->direction[2] = e;
}

/* Length of the ray inside e, in the frame where e is the unit ball: 2 sqrt(1 - distance^2) over
 * the speed of the ray there. The distance is taken at the nearest point, which keeps its digits
 * when the source is far. */
static double ellipsoid_chord(const struct ellipsoid *e, const struct ray *r)
{
    double o[3] = {r->origin[0] - e->x, r->origin[1] - e->y, r->origin[2] - e->z}, d[3];
    memcpy(d, r->direction, sizeof d);
    double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    double c = cos(e->phi), s = sin(e->phi);
    rotate_xy(o, c, s);
    rotate_xy(d, c, s);
    const double axes[3] = {e->a, e->b, e->c};
    double dd = 0, od = 0, squared_distance = 0;
    for (int i = 0; i < 3; i++) {
        o[i] /= axes[i];
        d[i] /= axes[i];
        dd += d[i] * d[i];
        od += o[i] * d[i];
    }
    for (int i = 0; i < 3; i++) {
        double nearest = o[i] - od / dd * d[i];
        squared_distance += nearest * nearest;
    }
    return squared_distance < 1 ? 2 * sqrt((1 - squared_distance) / dd) * length : 0;
}

void phantom_project_view(const struct ellipsoid *e, int n, const struct scan *s, int64_t view,
                          float *out)
{
    double m0 = (double)(s->rows - 1) / 2, n0 = (double)(s->channels - 1) / 2;
    /* Parallel beams see slice m at row m whatever the row offset. */
    double row_offset = s->beam == BEAM_CONE ? s->row_offset : 0;
    double c = cos((double)s->angles[view]), sn = sin((double)s->angles[view]);
    double shift = s->beam == BEAM_CONE && s->z_shifts ? (double)s->z_shifts[view] : 0;
    for (int64_t m = 0; m < s->rows; m++)
        for (int64_t ch = 0; ch < s->channels; ch++) {
            struct ray r = detector_ray(s, ((double)ch - n0) * s->delta_channel - s->channel_offset,
                                        ((double)m - m0) * s->delta_row - row_offset);
            double sum = 0;
            move_ray(s, view, &r);
            rotate_xy(r.origin, c, sn);
            rotate_xy(r.direction, c, sn);
            r.origin[2] += shift;
            for (int i = 0; isfinite(r.direction[0]) && i < n; i++)
                sum += e[i].value * ellipsoid_chord(&e[i], &r);
            *out++ = (float)sum;
        }
}

void phantom_project(const struct ellipsoid *e, int n, const struct scan *s, float *out)
{
    for (int64_t view = 0; view < s->views; view++)
        phantom_project_view(e, n, s, view, out + view * s->rows * s->channels);
}

/* Reproducible Gaussian noise: xoshiro256** and Box-Muller, the same numbers on every machine. */

/* xoshiro256** (Blackman and Vigna, 2018), its state filled by splitmix64. */
static uint64_t bits_rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static void xoshiro_seed(uint64_t s[4], uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t z = seed;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        s[i] = z ^ z >> 31;
    }
}

static uint64_t xoshiro_next(uint64_t s[4])
{
    uint64_t result = bits_rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = bits_rotate(s[3], 45);
    return result;
}

/* Uniform in (0, 1]: never 0, of which the logarithm is taken. */
static double noise_uniform(struct noise *r)
{
    return (double)((xoshiro_next(r->state) >> 11) + 1) * 0x1p-53;
}

struct noise noise_begin(const float *y, int64_t n, double relative, uint64_t seed)
{
    struct noise r;
    float largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(y[i]));
    r.sigma = relative * (double)largest;
    xoshiro_seed(r.state, seed);
    return r;
}

void noise_next(struct noise *r, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i += 2) { /* Box-Muller makes two at a time */
        double radius = r->sigma * sqrt(-2 * log(noise_uniform(r))),
               phase = 2 * M_PI * noise_uniform(r);
        y[i] = (float)((double)y[i] + radius * cos(phase));
        if (i + 1 < n)
            y[i + 1] = (float)((double)y[i + 1] + radius * sin(phase));
    }
}

void noise_add(float *y, int64_t n, double relative, uint64_t seed)
{
    struct noise r = noise_begin(y, n, relative, seed);
    noise_next(&r, y, n);
}
