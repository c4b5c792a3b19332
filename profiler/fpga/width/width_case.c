/* The data of a case, and for each primitive the reconstruction that it is simulated in; a table of
 * the primitives with the stages that they have. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/geom/ct_model.h"
#include "host/geom/phantom.h"
#include "host/scan/projections.h"
#include "profiler/fpga/width/width_case.h"

void width_case_destroy(struct width_case *c)
{
    double **all[] = {&c->sinogram, &c->fan_sinogram, &c->picture, &c->below,
                      &c->above,    &c->counts,       &c->white,   &c->dark};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(*all[i]);
    twin_destroy(&c->parallel);
    twin_destroy(&c->fan);
    *c = (struct width_case){0};
}

void width_result_destroy(struct width_result *r)
{
    free(r->own);
    free(r->picture);
    *r = (struct width_result){0};
}

static enum err case_allocate(struct width_case *c)
{
    const size_t samples = (size_t)c->views * (size_t)c->n, pixels = (size_t)c->n * (size_t)c->n;
    const struct {
        double **array;
        size_t length;
    } rows[] = {{&c->sinogram, samples}, {&c->fan_sinogram, samples}, {&c->counts, samples},
                {&c->picture, pixels},   {&c->below, pixels},         {&c->above, pixels},
                {&c->white, samples},    {&c->dark, samples}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        FAIL_IF(!(*rows[i].array = calloc(rows[i].length, sizeof(double))), ERR_MEMORY,
                "no memory left for a slice of %d x %d", c->n, c->n);
    return ERR_OK;
}

/* Filtered back projection; `filter` and `back` round where they are not NULL. */
static enum err twin_reconstruct(const struct twin *t, struct formats *filter, struct formats *back,
                                 const double *y, double *filtered, double *x)
{
    struct formats wide = formats_wide();
    TRY(twin_filter(t, filter ? filter : &wide, y, filtered));
    if (back)
        TRY(twin_back(t, back, 1, filtered, x));
    else
        twin_exact_back(t, filtered, x);
    for (int i = 0; i < t->n * t->n; i++)
        x[i] *= M_PI / t->views;
    return ERR_OK;
}

/* Flat field of a beam that falls off by a fifth, in 16-bit counts; dark level with a pattern. */
static void case_make_counts(struct width_case *c)
{
    for (int k = 0; k < c->n; k++) {
        const double off = 2 * (k - 0.5 * c->n) / c->n;
        c->white[k] = round(50000 * (1 - 0.2 * off * off));
        c->dark[k] = 100 + k % 7;
    }
    for (int i = 0; i < c->views * c->n; i++) {
        const int k = i % c->n;
        c->counts[i] =
            c->dark[k] + fmax(1, round((c->white[k] - c->dark[k]) * exp(-c->sinogram[i])));
    }
}

static void picture_move(int n, const double *x, int by, double *out)
{
    for (int i = 0; i < n * n; i++) {
        const int col = i % n + by;
        out[i] = x[i - i % n + (col < 0 ? 0 : col >= n ? n - 1 : col)];
    }
}

static enum err case_fill(struct width_case *c)
{
    double *filtered = calloc((size_t)c->views * (size_t)c->n, sizeof *filtered);
    FAIL_IF(!filtered, ERR_MEMORY, "no memory left for %d views", c->views);
    enum err e = twin_reconstruct(&c->parallel, NULL, NULL, c->sinogram, filtered, c->picture);
    free(filtered);
    TRY(e);
    twin_exact_forward(&c->fan, c->picture, c->fan_sinogram);
    case_make_counts(c);
    picture_move(c->n, c->picture, -1, c->below);
    picture_move(c->n, c->picture, 1, c->above);
    return ERR_OK;
}

enum err width_case_create(struct width_case *c, const char *name, int n, int views,
                           const double *angles, double centre, const double *sinogram)
{
    *c = (struct width_case){.name = name, .n = n, .views = views};
    FAIL_IF(n < 8 || views < 4 || n > 1024 || views > 4096, ERR_INPUT,
            "%s: %d views of %d channels: number widths are simulated on 8 to 1024 channels and 4 "
            "to 4096 views",
            name, views, n);
    double *full = calloc((size_t)views, sizeof *full);
    enum err e = full ? case_allocate(c)
                      : FAIL(ERR_MEMORY, "no memory left for the angles of %d views", views);
    for (int v = 0; !e && v < views; v++)
        full[v] = 2 * M_PI * v / views;
    if (!e)
        e = twin_create(&c->parallel, n, views, 0, angles, centre);
    if (!e)
        e = twin_create(&c->fan, n, views, 1, full, 0.5 * (n - 1));
    free(full);
    if (!e) {
        memcpy(c->sinogram, sinogram, (size_t)views * (size_t)n * sizeof *sinogram);
        e = case_fill(c);
    }
    if (e)
        width_case_destroy(c);
    return e;
}

static const struct twin *case_beam(const struct width_case *c, const struct width_primitive *p)
{
    return p->fan ? &c->fan : &c->parallel;
}

static const double *line_integrals(const struct width_case *c, const struct width_primitive *p)
{
    return p->fan ? c->fan_sinogram : c->sinogram;
}

/* Room for a result of views x n samples and its picture. */
static enum err make_room(const struct width_case *c, struct width_result *out)
{
    out->own_length = c->views * c->n;
    out->picture_length = c->n * c->n;
    const int longest =
        out->own_length > out->picture_length ? out->own_length : out->picture_length;
    out->own = calloc((size_t)longest, sizeof(double));
    out->picture = calloc((size_t)out->picture_length, sizeof(double));
    FAIL_IF(!out->own || !out->picture, ERR_MEMORY, "no memory left for a result of %d values",
            longest);
    return ERR_OK;
}

/* The picture is the result. */
static enum err own_picture(struct width_result *out)
{
    out->own_length = out->picture_length;
    memcpy(out->own, out->picture, (size_t)out->picture_length * sizeof(double));
    return ERR_OK;
}

static enum err picture_of(const struct twin *t, const double *y, double *x)
{
    double *filtered = calloc((size_t)t->views * (size_t)t->n, sizeof *filtered);
    FAIL_IF(!filtered, ERR_MEMORY, "no memory left for %d views", t->views);
    enum err e = twin_reconstruct(t, NULL, NULL, y, filtered, x);
    free(filtered);
    return e;
}

static enum err width_run_forward(const struct width_case *c, const struct width_primitive *p,
                                  struct formats *f, struct width_result *out)
{
    TRY(twin_forward(case_beam(c, p), f, c->picture, out->own));
    return picture_of(case_beam(c, p), out->own, out->picture);
}

static enum err width_run_back(const struct width_case *c, const struct width_primitive *p,
                               struct formats *f, struct width_result *out)
{
    TRY(twin_reconstruct(case_beam(c, p), NULL, f, line_integrals(c, p), out->own, out->picture));
    return own_picture(out);
}

static enum err width_run_hessian(const struct width_case *c, const struct width_primitive *p,
                                  struct formats *f, struct width_result *out)
{
    for (int i = 0; i < out->own_length; i++)
        out->own[i] = 1;
    TRY(twin_back(case_beam(c, p), f, 2, out->own, out->picture));
    return own_picture(out);
}

static enum err width_run_filter(const struct width_case *c, const struct width_primitive *p,
                                 struct formats *f, struct width_result *out)
{
    return twin_reconstruct(case_beam(c, p), f, NULL, line_integrals(c, p), out->own, out->picture);
}

static enum err width_run_flat_log(const struct width_case *c, const struct width_primitive *p,
                                   struct formats *f, struct width_result *out)
{
    TRY(twin_flat_log(case_beam(c, p), f, c->counts, c->white, c->dark, out->own));
    return picture_of(case_beam(c, p), out->own, out->picture);
}

static enum err width_run_median(const struct width_case *c, const struct width_primitive *p,
                                 struct formats *f, struct width_result *out)
{
    (void)p;
    const double *const slices[3] = {c->below, c->picture, c->above};
    TRY(twin_median(c->n, f, slices, out->picture));
    return own_picture(out);
}

static double mean_square(const double *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum / n;
}

/* 30 dB of signal to noise; the prior's scale is a fifth of the object's root mean square. */
static enum err width_run_update(const struct width_case *c, const struct width_primitive *p,
                                 struct formats *f, struct width_result *out)
{
    const struct twin_prior prior = {.sigma_y = pow(10, -30 / 20.0) *
                                                sqrt(mean_square(c->sinogram, c->views * c->n)),
                                     .sigma_x = 0.2 * sqrt(mean_square(c->picture, c->n * c->n)),
                                     .q = 1.2,
                                     .rounds = 3};
    memcpy(out->picture, c->picture, (size_t)out->picture_length * sizeof(double));
    TRY(twin_update(case_beam(c, p), f, &prior, c->sinogram, out->picture));
    return own_picture(out);
}

#define PROJECTOR                                                                                  \
    {                                                                                              \
        1, 1, 1, 1, 1                                                                              \
    }
#define ADDING                                                                                     \
    {                                                                                              \
        1, 0, 1, 1, 1                                                                              \
    }
/* clang-format off */
static const struct width_primitive primitives[] = {
    {"parallel_forward_project", "filtered back projection of the views", PROJECTOR, {0, 1, 0, 0, 1}, 0, width_run_forward},
    {"parallel_back_project", "back projection of filtered views", PROJECTOR, {0, 1, 0, 0, 1}, 0, width_run_back},
    {"parallel_hessian_diagonal", "itself", PROJECTOR, {0, 1, 0, 0, 1}, 0, width_run_hessian},
    {"parallel_fbp_filter", "back projection of the filtered views", ADDING, {0, 0, 2, 1, 1}, 0, width_run_filter},
    {"cone_forward_project", "filtered back projection of the views", PROJECTOR, {0, 1, 0, 0, 1}, 1, width_run_forward},
    {"cone_back_project", "back projection of filtered views", PROJECTOR, {0, 1, 0, 0, 1}, 1, width_run_back},
    {"cone_hessian_diagonal", "itself", PROJECTOR, {0, 1, 0, 0, 1}, 1, width_run_hessian},
    {"cone_fdk_filter", "back projection of the filtered views", ADDING, {0, 0, 2, 1, 1}, 1, width_run_filter},
    {"mbir_prior_and_updates", "3 rounds of MBIR over 4 pixel subsets", ADDING, {0}, 0, width_run_update},
    {"median_filter3d", "itself", {1}, {0}, 0, width_run_median},
    {"flat_field_and_log", "filtered back projection of the line integrals", ADDING, {0}, 0, width_run_flat_log},
};
/* clang-format on */
#define PRIMITIVES (int)(sizeof primitives / sizeof *primitives)

const struct width_primitive *width_primitive_at(int i)
{
    return i >= 0 && i < PRIMITIVES ? &primitives[i] : NULL;
}

const struct width_primitive *width_primitive_named(const char *name)
{
    for (int i = 0; name && i < PRIMITIVES; i++)
        if (!strcmp(primitives[i].name, name))
            return &primitives[i];
    return NULL;
}

enum err width_run(const struct width_case *c, const struct width_primitive *p, struct formats *f,
                   struct width_result *out)
{
    *out = (struct width_result){0};
    enum err e = make_room(c, out);
    if (!e)
        e = p->run(c, p, f, out);
    if (e)
        width_result_destroy(out);
    return e;
}

int width_range(double peak)
{
    return peak > 0 ? ilogb(peak) + 1 : 0;
}

struct formats width_formats(const struct width_primitive *p, const struct formats *peaks,
                             const int bits[WIDTH_STAGES])
{
    struct formats f = formats_wide();
    for (int s = 0; s < WIDTH_STAGES; s++)
        if (p->stages[s] && bits[s])
            f.of[s] = number_fixed(bits[s], width_range(peaks->peak[s]));
    return f;
}

/* Makes the slices that primitives are simulated on. */

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
