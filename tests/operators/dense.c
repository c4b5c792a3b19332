/* The dense matrix as a back end: each operation by its definition, each call able to fail. */
#include "tests/operators/dense.h"
#include "tests/unit/check.h"

double dense_matrix[DENSE_SAMPLES][DENSE_VOXELS];
int dense_live_buffers, dense_live_projectors, dense_fail_at = -1;

#define SECRET ((uintptr_t)1 << 62) /* no address has this bit alone */

float *dense_open(const struct buffer *b)
{
    return (float *)((uintptr_t)b->ptr ^ SECRET);
}

static int64_t floats(const struct buffer *b)
{
    return (int64_t)(b->bytes / sizeof(float));
}

/* Every call goes through here: number dense_fail_at of them fails. */
static enum err call(void)
{
    return dense_fail_at >= 0 && dense_fail_at-- == 0 ? FAIL(ERR_FAILED, "made to fail") : ERR_OK;
}

static enum err d_alloc(struct backend *be, const char *what, size_t bytes, struct buffer *out)
{
    (void)be, (void)what;
    TRY(call());
    char *p = malloc(bytes ? bytes : 1);
    memset(p, 0xff, bytes); /* NaN: whatever is used before it is set shows */
    *out = (struct buffer){PLACE_DEVICE, 1, bytes, (void *)((uintptr_t)p ^ SECRET)};
    dense_live_buffers++;
    return ERR_OK;
}

static void d_release(struct backend *be, struct buffer *b)
{
    (void)be;
    if (b->owned) {
        free(dense_open(b));
        dense_live_buffers--;
    }
    *b = (struct buffer){0};
}

static enum err d_download(struct backend *be, const struct buffer *b, void *host, size_t bytes)
{
    (void)be;
    TRY(call());
    memcpy(host, dense_open(b), bytes);
    return ERR_OK;
}

static enum err d_zero(struct backend *be, struct buffer *b)
{
    (void)be;
    memset(dense_open(b), 0, b->bytes);
    return call();
}

static enum err d_copy(struct backend *be, const struct buffer *from, struct buffer *to)
{
    (void)be;
    memcpy(dense_open(to), dense_open(from), from->bytes);
    return call();
}

static enum err d_projector(struct backend *be, const struct scan *s, const struct volume *v,
                            struct projector **out)
{
    (void)be, (void)s, (void)v;
    TRY(call());
    *out = (struct projector *)SECRET;
    dense_live_projectors++;
    return ERR_OK;
}

static void d_projector_free(struct backend *be, struct projector *p)
{
    (void)be;
    dense_live_projectors -= p != NULL;
}

/* Returns the place of sample s of users' order. */
static int64_t place(enum sino_order order, int64_t s)
{
    int64_t v = s / (DENSE_ROWS * DENSE_CHANNELS), r = s / DENSE_CHANNELS % DENSE_ROWS,
            c = s % DENSE_CHANNELS;
    return order == SINO_CHANNELS_FASTEST ? s : (v * DENSE_CHANNELS + c) * DENSE_ROWS + r;
}

static int64_t voxel(const struct pixel_set *p, int64_t q, int64_t k)
{
    return (p->indices ? p->indices[q] : q) * DENSE_SLICES + k;
}

static int64_t stored(const struct pixel_set *p, int64_t q, int64_t k)
{
    return p->packed ? q * DENSE_SLICES + k : voxel(p, q, k);
}

/* A x of listed pixels at sample s. */
static double project(const struct pixel_set *pixels, const struct buffer *x, int64_t s)
{
    double sum = 0;
    for (int64_t q = 0; q < pixels->count; q++)
        for (int64_t k = 0; k < DENSE_SLICES; k++)
            sum +=
                dense_matrix[s][voxel(pixels, q, k)] * (double)dense_open(x)[stored(pixels, q, k)];
    return sum;
}

static enum err d_forward(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                          const struct buffer *x, struct sinogram y)
{
    (void)be, (void)p;
    for (int64_t s = 0; s < DENSE_SAMPLES; s++)
        dense_open(y.data)[place(y.order, s)] = (float)project(pixels, x, s);
    return call();
}

static double read_sample(struct sinogram y, int64_t s)
{
    return y.data ? (double)dense_open(y.data)[place(y.order, s)] : 1;
}

static enum err d_back(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                       struct sinogram y, struct sinogram w, int power, struct buffer *x)
{
    (void)be, (void)p;
    for (int64_t q = 0; q < pixels->count; q++)
        for (int64_t k = 0; k < DENSE_SLICES; k++) {
            double sum = 0;
            for (int64_t s = 0; s < DENSE_SAMPLES; s++)
                sum += pow(dense_matrix[s][voxel(pixels, q, k)], power) * read_sample(y, s) *
                       read_sample(w, s);
            dense_open(x)[stored(pixels, q, k)] = (float)sum;
        }
    return call();
}

static enum err d_filter(struct backend *be, const struct scan *s, double scale,
                         const struct buffer *y, struct buffer *out)
{
    (void)be, (void)s;
    for (int64_t i = 0; i < DENSE_SAMPLES; i++)
        dense_open(out)[i] = (float)(scale * (double)dense_open(y)[i]);
    return call();
}

/* A quadratic prior, (x - 0.1)^2 / (2 sigma_x^2): the cost has one minimum. */
static enum err d_prior(struct backend *be, const struct volume *v, const struct prior *prior,
                        const struct pixel_set *pixels, const struct buffer *x, struct buffer *g,
                        struct buffer *h)
{
    (void)be, (void)v;
    double weight = 1 / (prior->regularisation->sigma_x * prior->regularisation->sigma_x);
    for (int64_t q = 0; q < pixels->count; q++)
        for (int64_t k = 0; k < DENSE_SLICES; k++) {
            double value = (double)dense_open(x)[voxel(pixels, q, k)];
            dense_open(g)[q * DENSE_SLICES + k] = (float)(weight * (value - 0.1));
            dense_open(h)[q * DENSE_SLICES + k] = (float)weight;
        }
    return call();
}

static enum err d_direction(struct backend *be, const struct volume *v,
                            const struct pixel_set *pixels, double sigma_y, const float *damping,
                            const struct buffer *hessian, const struct buffer *g,
                            const struct buffer *h, struct buffer *d, struct vcd_sums *sums)
{
    (void)be, (void)v;
    assert_null(damping); /* a parallel scan */
    double weight = 1 / (sigma_y * sigma_y);
    *sums = (struct vcd_sums){0};
    for (int64_t q = 0; q < pixels->count; q++)
        for (int64_t k = 0; k < DENSE_SLICES; k++) {
            int64_t i = q * DENSE_SLICES + k;
            double own = (double)dense_open(g)[i], curve = (double)dense_open(h)[i];
            double data = weight * (double)dense_open(hessian)[voxel(pixels, q, k)];
            double step = -(own - weight * (double)dense_open(d)[i]) / (curve + data);
            dense_open(d)[i] = (float)step;
            sums->linear += own * step;
            sums->quadratic += curve * step * step;
        }
    return call();
}

static enum err d_dots(struct backend *be, const struct buffer *w, const struct buffer *e,
                       const struct buffer *d, struct vcd_sums *sums)
{
    (void)be;
    *sums = (struct vcd_sums){0};
    for (int64_t i = 0; i < floats(d); i++) {
        double wd = (w ? (double)dense_open(w)[i] : 1) * (double)dense_open(d)[i];
        sums->linear += wd * (double)dense_open(e)[i];
        sums->quadratic += wd * (double)dense_open(d)[i];
    }
    return call();
}

static enum err d_forward_dots(struct backend *be, struct projector *p,
                               const struct pixel_set *pixels, const struct buffer *x,
                               const struct buffer *e, const struct buffer *w,
                               struct vcd_sums *sums)
{
    (void)be, (void)p;
    *sums = (struct vcd_sums){0};
    for (int64_t s = 0; s < DENSE_SAMPLES; s++) {
        const int64_t at = place(SINO_ROWS_FASTEST, s);
        double d = project(pixels, x, s), wd = (w ? (double)dense_open(w)[at] : 1) * d;
        sums->linear += wd * (double)dense_open(e)[at];
        sums->quadratic += wd * d;
    }
    return call();
}

static enum err d_update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                              struct buffer *e, const struct buffer *w,
                              const struct pixel_set *pixels, struct buffer *x)
{
    for (int64_t s = 0; move && s < DENSE_SAMPLES; s++)
        dense_open(e)[place(SINO_ROWS_FASTEST, s)] -=
            (float)(move->alpha * project(&move->pixels, move->delta, s));
    return d_back(be, p, pixels, (struct sinogram){e, SINO_ROWS_FASTEST},
                  (struct sinogram){(struct buffer *)w, SINO_ROWS_FASTEST}, 1, x);
}

static enum err d_clip(struct backend *be, const struct volume *v, const struct pixel_set *pixels,
                       const struct buffer *x, double alpha, struct buffer *d)
{
    (void)be, (void)v;
    for (int64_t q = 0; q < pixels->count; q++)
        for (int64_t k = 0; k < DENSE_SLICES; k++) {
            double least = -(double)dense_open(x)[voxel(pixels, q, k)] / alpha;
            float *step = &dense_open(d)[q * DENSE_SLICES + k];
            *step = (float)fmax((double)*step, least);
        }
    return call();
}

static enum err d_add(struct backend *be, const struct volume *v, const struct pixel_set *pixels,
                      double alpha, const struct buffer *d, struct buffer *x, double *moved)
{
    (void)be, (void)v;
    *moved = 0;
    for (int64_t q = 0; q < pixels->count; q++)
        for (int64_t k = 0; k < DENSE_SLICES; k++) {
            double step = alpha * (double)dense_open(d)[q * DENSE_SLICES + k];
            dense_open(x)[voxel(pixels, q, k)] += (float)step;
            *moved += fabs(step);
        }
    return call();
}

static enum err d_scale(struct backend *be, double alpha, struct buffer *x)
{
    (void)be;
    for (int64_t i = 0; i < floats(x); i++)
        dense_open(x)[i] *= (float)alpha;
    return call();
}

static enum err d_sum_abs(struct backend *be, const struct buffer *x, double *out)
{
    (void)be;
    *out = 0;
    for (int64_t i = 0; i < floats(x); i++)
        *out += fabs((double)dense_open(x)[i]);
    return call();
}

static enum err d_reorder(struct backend *be, const struct scan *s, struct sinogram in,
                          struct sinogram out)
{
    (void)be, (void)s;
    for (int64_t i = 0; i < DENSE_SAMPLES; i++)
        dense_open(out.data)[place(out.order, i)] = dense_open(in.data)[place(in.order, i)];
    return call();
}

static enum err d_fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                              double *min, double *max)
{
    (void)be;
    *sum = *l2 = 0;
    *min = INFINITY;
    *max = -INFINITY;
    for (int64_t i = 0; i < floats(b); i++) {
        double a = (double)dense_open(b)[i];
        *sum += a;
        *min = fmin(*min, a);
        *max = fmax(*max, a);
    }
    return call();
}

const struct backend_ops dense_backend = {
    .name = "dense",
    .alloc = d_alloc,
    .release = d_release,
    .download = d_download,
    .zero = d_zero,
    .copy = d_copy,
    .projector_create = d_projector,
    .projector_free = d_projector_free,
    .forward = d_forward,
    .back = d_back,
    .ramp_filter = d_filter,
    .prior_terms = d_prior,
    .vcd_direction = d_direction,
    .weighted_dots = d_dots,
    .forward_dots = d_forward_dots,
    .update_back = d_update_back,
    .clip_positive = d_clip,
    .add_cylinders = d_add,
    .scale = d_scale,
    .sum_abs = d_sum_abs,
    .sino_reorder = d_reorder,
    .fingerprint = d_fingerprint,
};
