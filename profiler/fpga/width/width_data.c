/* Makes the slices that primitives are simulated on. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "host/scan/projections.h"
#include "profiler/fpga/width/width_data.h"

enum err width_case_phantom(int n, struct width_case *c)
{
    struct ct_model m;
    struct ellipsoid e[PHANTOM_MAX];
    double *y = NULL, *angles = NULL;
    float *values = NULL;
    ct_model_init(&m);
    m.scan.views = m.scan.channels = n;
    m.scan.rows = 1;
    m.scan.angles = angles_even(0, M_PI, n);
    enum err err = m.scan.angles ? ct_model_resolve(&m) : FAIL(ERR_MEMORY, "no memory left");
    if (err)
        goto out;
    y = calloc((size_t)n * (size_t)n, sizeof *y);
    values = calloc((size_t)n * (size_t)n, sizeof *values);
    angles = calloc((size_t)n, sizeof *angles);
    if (!y || !values || !angles) {
        err = FAIL(ERR_MEMORY, "no memory left for a phantom of %d channels", n);
        goto out;
    }
    phantom_project(e, phantom_ellipsoids(PHANTOM_TWO_ELLIPSOIDS, &m.volume, e), &m.scan, values);
    noise_add(values, (int64_t)n * n, 0.01, 42);
    for (int i = 0; i < n * n; i++)
        y[i] = (double)values[i];
    for (int v = 0; v < n; v++)
        angles[v] = (double)m.scan.angles[v];
    err = width_case_create(c, "two ellipsoids", n, n, angles, 0.5 * (n - 1), y);
out:
    ct_model_free(&m);
    free(y);
    free(values);
    free(angles);
    return err;
}

/* Its channels added up in bins: line integrals in units of a bin. */
static enum err bin_scan(const struct projections *p, double axis, int n, struct width_case *c)
{
    const int64_t bin = (p->channels + n - 1) / n;
    double *y = calloc((size_t)n * (size_t)n, sizeof *y), *angles = calloc((size_t)n, sizeof *y);
    enum err e = y && angles ? ERR_OK : FAIL(ERR_MEMORY, "no memory left for a row of the scan");
    for (int v = 0; !e && v < n; v++) {
        const int64_t view = v * p->views / n;
        const float *row = p->sinogram + view * p->rows * p->channels;
        angles[v] = (double)p->angles[view];
        for (int64_t k = 0; k < n * bin; k++) /* the last channel goes on to the edge of the bins */
            y[v * n + k / bin] += (double)row[k < p->channels ? k : p->channels - 1] / (double)bin;
    }
    if (!e)
        e = width_case_create(c, "scan", n, n, angles, (axis + 0.5) / (double)bin - 0.5, y);
    free(y);
    free(angles);
    return e;
}

enum err width_case_scan(const char *path, double axis, int n, struct width_case *c)
{
    struct projections p = {0};
    double score;
    TRY(projections_read(&(struct exchange_source){.path = path}, 0, 1, &p));
    enum err e = ERR_OK;
    if (axis < 0)
        e = find_center(&p, &axis, &score);
    if (!e && (p.channels < n || p.views < n))
        e = FAIL(ERR_INPUT,
                 "%s: %" PRId64 " views of %" PRId64 " channels: `size=%d` needs as many of both",
                 path, p.views, p.channels, n);
    if (!e)
        e = bin_scan(&p, axis, n, c);
    projections_free(&p);
    return e;
}
