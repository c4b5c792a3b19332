/* A scan and a volume made ready for projection: table of views, number of taps, vertical fan of
 * cone beams. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/cpu/common/projection.h"
#include "host/cpu/projection/project.h"
#include "host/geom/moves.h"

static double largest_shift(const struct scan *s, int sign)
{
    double most = 0;
    for (int64_t i = 0; s->z_shifts && i < s->views; i++) {
        double shift = sign * (double)s->z_shifts[i];
        most = i == 0 || shift > most ? shift : most;
    }
    return most;
}

/* Largest magnification of any pixel: the Hessian visits the corners that the mask leaves out. */
static double projector_largest_gain(const struct projector *p)
{
    struct volume unmasked = p->volume;
    double least, most;
    unmasked.ror = ROR_NONE;
    magnification_range(&p->scan, &unmasked, &least, &most);
    return most;
}

/* Taps that hold every footprint, W + 1 cells wide, or the whole window where that is smaller. */
static int projector_count_taps(const struct projector *p)
{
    const struct scan *s = &p->scan;
    const double widest = fmax(p->volume.delta, p->shadow_row) / s->delta_channel;
    double stretch = 1; /* magnification, and on a flat detector 1/cos of the fan angle */
    if (s->beam == BEAM_CONE) {
        const double gain = projector_largest_gain(p);
        const double tangent = gain / p->magnification - 1; /* = gain * reach / D */
        stretch = gain * (s->curved || s->moves ? 1 : sqrt(1 + tangent * tangent));
    }
    return (int)fmin(ceil(widest * stretch - 1e-9) + 1, 2.0 * p->windows.back + 1);
}

/* Polynomial of n <= 4 coefficients through sqrt(1 + q) at the Chebyshev nodes of [0, most], as
 * monomials by divided differences. */
static void fit_root(double most, int n, double poly[4])
{
    double q[4], f[4];
    for (int i = 0; i < n; i++) {
        q[i] = 0.5 * most * (1 + cos(M_PI * (i + 0.5) / n));
        f[i] = sqrt(1 + q[i]);
    }
    for (int d = 1; d < n; d++)
        for (int i = n - 1; i >= d; i--)
            f[i] = (f[i] - f[i - 1]) / (q[i] - q[i - d]);
    memset(poly, 0, 4 * sizeof *poly);
    for (int i = n - 1; i >= 0; i--) {
        for (int d = n - 1; d > 0; d--)
            poly[d] = poly[d - 1] - q[i] * poly[d];
        poly[0] = f[i] - q[i] * poly[0];
    }
}

static double root_error(double most, const double poly[4])
{
    double worst = 0;
    for (int i = 0; i <= 200; i++) {
        double q = most * i / 200, root = sqrt(1 + q);
        double error = fabs((poly[0] + q * (poly[1] + q * (poly[2] + q * poly[3]))) / root - 1);
        worst = error > worst ? error : worst; /* GCC 12 for aarch64 fails on fmax in a loop */
    }
    return worst;
}

static enum err set_vertical(struct projector *p, double up, double down)
{
    const struct volume *v = &p->volume;
    const double dz = volume_delta_slice(v), middle = 0.5 * (double)(v->slices - 1);
    double highest = middle * dz + fmax(v->slice_offset + down, up - v->slice_offset);
    double tangent = projector_largest_gain(p) * highest / p->scan.source_detector;
    double most = fmax(tangent * tangent, 1e-6);
    p->cosine = COSINE_EXACT;
    for (int n = 4; n >= 3; n--) {
        double poly[4];
        fit_root(most, n, poly);
        if (!(root_error(most, poly) < 3e-8))
            break;
        p->cosine = n == 4 ? COSINE_CUBIC : COSINE_QUADRATIC;
        memcpy(p->cos_poly, poly, sizeof poly);
    }

    int64_t padded = (v->slices + 15) / 16 * 16, tables = p->z_stride ? p->scan.views : 1;
    p->z_stride = p->z_stride ? padded : 0;
    void *table;
    TRY(mem_alloc_zero("slice heights", (size_t)(padded * tables) * sizeof(float), &table));
    p->z_squared = table;
    for (int64_t i = 0; i < tables; i++)
        for (int64_t k = 0; k < v->slices; k++) {
            double z = dz * ((double)k - middle) + v->slice_offset - p->views[i].z_shift;
            p->z_squared[i * padded + k] = (float)(z * z);
        }
    return ERR_OK;
}

static struct view_geometry view_geometry_of(const struct scan *s, const struct volume *v,
                                             int64_t view)
{
    struct view_geometry g = {.cos = cos((double)s->angles[view]),
                              .sin = sin((double)s->angles[view]),
                              .z_shift = s->z_shifts ? (double)s->z_shifts[view] : 0,
                              .upright = 1,
                              .stretch = 1};
    if (!s->moves)
        return g;
    const double elevation = (double)s->moves[view].elevation;
    g.x = (double)s->moves[view].x;
    g.y = (double)s->moves[view].y;
    if (!scan_is_multiaxis(s))
        return g;
    const double under = moves_rows_per_voxel(s, v, view);
    g.upright = cos(elevation);
    g.rise = sin(elevation) / s->delta_row;
    g.stretch = volume_delta_slice(v) / s->delta_row / under;
    g.spread = 0.5 * (under - moves_rows_per_slice(s, v, view));
    return g;
}

enum err cpu_projector_create(struct backend *be, const struct scan *s, const struct volume *v,
                              struct projector **out)
{
    (void)be;
    struct projector *p = calloc(1, sizeof *p);
    FAIL_IF(!p, ERR_MEMORY, "no memory for a projector");
    enum err e = ERR_OK;
    p->scan = *s;
    p->scan.angles = p->scan.z_shifts = NULL;
    p->volume = *v;
    p->shadow_row = scan_is_translation(s) ? 0 : volume_delta_row(v);
    p->magnification = scan_magnification(s);
    p->views = calloc((size_t)s->views, sizeof *p->views);
    if (!p->views) {
        e = FAIL(ERR_MEMORY, "no memory for the table of %lld views", (long long)s->views);
        goto out;
    }
    for (int64_t i = 0; i < s->views; i++)
        p->views[i] = view_geometry_of(s, v, i);
    p->windows = tap_windows(s, v);
    p->taps = projector_count_taps(p);
    p->columns = s->channels + 2 * p->taps;
    if (s->beam == BEAM_CONE) {
        p->z_stride = s->z_shifts != NULL;
        e = set_vertical(p, largest_shift(s, 1), largest_shift(s, -1));
    }
    p->scan.moves = NULL;
out:
    if (e != ERR_OK)
        cpu_projector_free(be, p);
    else
        *out = p;
    return e;
}

void cpu_projector_free(struct backend *be, struct projector *p)
{
    (void)be;
    if (!p)
        return;
    mem_free(p->z_squared);
    free(p->views);
    free(p);
}
