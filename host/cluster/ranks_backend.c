/* The operations that see beyond one rank: sums, the rows that two ranks share, and the slices
 * beside a border. The others are the machine's own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/memory.h"
#include "host/cluster/ranks_backend.h"

/* The slices of one border, as a volume of three: the other rank's, and the two (or one) of this
 * rank next to it, in their order in space. */
struct border {
    int other;         /* rank, -1: none */
    float *thin;       /* (pixels, 3), mem_alloc */
    int64_t mine, far; /* this rank's slices in its own volume: at the border, and beside it */
    int theirs;        /* place of the other rank's slice in `thin`; the border's own is 1 */
};

struct ranks_backend {
    struct backend_ops ops;          /* first: be->ops leads here */
    const struct backend_ops *inner; /* what `be` had */
    struct cluster *c;
    const struct shares *shares;    /* borrowed */
    const struct ct_model *m;       /* borrowed */
    struct index_range rows, owned; /* of this rank; owned within rows */
    int overlaps;                   /* any two ranks share rows */
    struct buffer projected;        /* A delta of all ranks, rows fastest; where they overlap */
    const void *projected_of;       /* the delta that it belongs to, NULL: to none */
    float *sent, *received;         /* rows of one pair of ranks; mem_alloc */
    struct border below, above;
    int neighbours_known;
    float *line_out, *line_in;             /* a number per pixel */
    float *thin_gradient, *thin_curvature; /* (pixels of a subset, 3) */
};

static struct ranks_backend *of(const struct backend *be)
{
    return (struct ranks_backend *)(uintptr_t)be->ops;
}

static enum err sum_up(struct ranks_backend *r, struct vcd_sums *s)
{
    double values[] = {s->linear, s->quadratic};
    TRY(cluster_sum(r->c, values, 2));
    *s = (struct vcd_sums){values[0], values[1]};
    return ERR_OK;
}

static struct index_range common(struct index_range a, struct index_range b)
{
    const int64_t first = a.first > b.first ? a.first : b.first;
    const int64_t a_end = a.first + a.count, b_end = b.first + b.count;
    const int64_t end = a_end < b_end ? a_end : b_end;
    return (struct index_range){first, end > first ? end - first : 0};
}

static struct index_range rows_of(const struct ranks_backend *r, int rank)
{
    return r->shares->rows[rank];
}

/* Lines of rows: (views, channels) of them. */
static int64_t lines(const struct ranks_backend *r)
{
    return r->m->scan.views * r->m->scan.channels;
}

static size_t bytes_of(const struct ranks_backend *r, struct index_range rows)
{
    return (size_t)(lines(r) * rows.count) * sizeof(float);
}

static void take_rows(const struct ranks_backend *r, struct index_range rows, const float *d,
                      float *out)
{
    const float *from = d + rows.first - r->rows.first;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < lines(r); i++)
        memcpy(out + i * rows.count, from + i * r->rows.count, (size_t)rows.count * sizeof *out);
}

/* Adds to the rows that are there, or takes their place. */
static void put_rows(const struct ranks_backend *r, struct index_range rows, int add,
                     const float *in, float *d)
{
    float *to = d + rows.first - r->rows.first;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < lines(r); i++)
        for (int64_t k = 0; k < rows.count; k++)
            to[i * r->rows.count + k] =
                in[i * rows.count + k] + (add ? to[i * r->rows.count + k] : 0);
}

/* One step of the exchange: rows `out` of d to rank `to`, rows `in` from rank `from`. */
static enum err step(struct ranks_backend *r, int to, struct index_range out, int from,
                     struct index_range in, int add, float *d)
{
    if (!out.count && !in.count)
        return ERR_OK;
    if (out.count)
        take_rows(r, out, d, r->sent);
    TRY(cluster_exchange(r->c, out.count ? to : -1, r->sent, bytes_of(r, out), in.count ? from : -1,
                         r->received, bytes_of(r, in)));
    if (in.count)
        put_rows(r, in, add, r->received, d);
    return ERR_OK;
}

/* A reduce-scatter: each row is summed by the rank that owns it, in one order; then it goes back to
 * those who hold it, who all have the same bits. */
static enum err reduce(struct ranks_backend *r, float *d)
{
    const int me = r->c->place.rank, size = r->c->place.size;
    for (int back = 0; back < 2; back++)
        for (int distance = 1; distance < size; distance++) {
            const int to = (me + distance) % size, from = (me + size - distance) % size;
            const struct index_range out =
                back ? common(r->owned, rows_of(r, to)) : common(r->rows, r->shares->owned[to]);
            const struct index_range in =
                back ? common(r->rows, r->shares->owned[from]) : common(r->owned, rows_of(r, from));
            TRY(step(r, to, out, from, in, !back, d));
        }
    return ERR_OK;
}

/* d = A x of all ranks, on the rows of this one. */
static enum err project(struct backend *be, struct projector *p, const struct pixel_set *pixels,
                        const struct buffer *x)
{
    struct ranks_backend *r = of(be);
    const struct sinogram y = {&r->projected, SINO_ROWS_FASTEST};
    r->projected_of = NULL;
    TRY(r->inner->forward(be, p, pixels, x, y));
    TRY(reduce(r, r->projected.ptr));
    r->projected_of = x->ptr;
    return ERR_OK;
}

/* Sums over the rows that this rank owns. */
static void owned_dots(struct backend *be, const float *w, const float *e, const float *d,
                       struct vcd_sums *sums)
{
    const struct ranks_backend *r = of(be);
    const int64_t n = r->rows.count, first = r->owned.first - r->rows.first;
    double linear = 0, quadratic = 0;
    for (int64_t i = 0; i < lines(r); i++)
        for (int64_t k = i * n + first; k < i * n + first + r->owned.count; k++) {
            const double weighted = (w ? (double)w[k] : 1) * (double)d[k];
            linear += weighted * (double)e[k];
            quadratic += weighted * (double)d[k];
        }
    const double samples = (double)lines(r) * (double)r->owned.count;
    const double bytes = (w ? 12 : 8) * samples;
    backend_declare(be, (w ? 5 : 4) * samples, bytes, bytes);
    *sums = (struct vcd_sums){linear, quadratic};
}

static enum err weighted_dots(struct backend *be, const struct buffer *w, const struct buffer *e,
                              const struct buffer *d, struct vcd_sums *sums)
{
    struct ranks_backend *r = of(be);
    owned_dots(be, w ? w->ptr : NULL, e->ptr, d->ptr, sums);
    return sum_up(r, sums);
}

static enum err forward_dots(struct backend *be, struct projector *p,
                             const struct pixel_set *pixels, const struct buffer *x,
                             const struct buffer *e, const struct buffer *w, struct vcd_sums *sums)
{
    struct ranks_backend *r = of(be);
    if (r->overlaps) {
        TRY(project(be, p, pixels, x));
        owned_dots(be, w ? w->ptr : NULL, e->ptr, r->projected.ptr, sums);
    } else {
        TRY(r->inner->forward_dots(be, p, pixels, x, e, w, sums));
    }
    return sum_up(r, sums);
}

/* e -= alpha A delta; the projection that forward_dots made serves where delta is still the same.
 */
static enum err update_back(struct backend *be, struct projector *p, const struct vcd_move *move,
                            struct buffer *e, const struct buffer *w,
                            const struct pixel_set *pixels, struct buffer *x)
{
    struct ranks_backend *r = of(be);
    if (!r->overlaps || !move)
        return r->inner->update_back(be, p, move, e, w, pixels, x);
    if (r->projected_of != move->delta->ptr)
        TRY(project(be, p, &move->pixels, move->delta));
    float *error = e->ptr;
    const float *d = r->projected.ptr, alpha = (float)move->alpha;
    const int64_t n = (int64_t)(e->bytes / sizeof *error);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        error[i] -= alpha * d[i];
    r->projected_of = NULL;
    backend_declare(be, 2 * (double)n, 12 * (double)n, 12 * (double)n);
    return r->inner->update_back(be, p, NULL, e, w, pixels, x);
}

static enum err clip_positive(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, const struct buffer *x, double alpha,
                              struct buffer *dP)
{
    of(be)->projected_of = NULL;
    return of(be)->inner->clip_positive(be, v, pixels, x, alpha, dP);
}

static enum err scale(struct backend *be, double alpha, struct buffer *x)
{
    of(be)->projected_of = NULL;
    return of(be)->inner->scale(be, alpha, x);
}

static enum err vcd_direction(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, double sigma_y, const float *damping,
                              const struct buffer *hessian, const struct buffer *gP,
                              const struct buffer *hP, struct buffer *dP, struct vcd_sums *sums)
{
    struct ranks_backend *r = of(be);
    TRY(r->inner->vcd_direction(be, v, pixels, sigma_y, damping, hessian, gP, hP, dP, sums));
    return sum_up(r, sums);
}

static enum err sum_abs(struct backend *be, const struct buffer *x, double *out)
{
    TRY(of(be)->inner->sum_abs(be, x, out));
    return cluster_sum(of(be)->c, out, 1);
}

/* Of a sinogram as users hold it. */
static enum err fingerprint(struct backend *be, const struct buffer *b, double *sum, double *l2,
                            double *min, double *max)
{
    struct ranks_backend *r = of(be);
    const struct scan *s = &r->m->scan;
    const int64_t first = r->owned.first - r->rows.first;
    double sums[2] = {0, 0};
    *min = (double)INFINITY;
    *max = -(double)INFINITY;
    for (int64_t v = 0; v < s->views; v++) {
        const float *y = (const float *)b->ptr + (v * s->rows + first) * s->channels;
        for (int64_t i = 0; i < r->owned.count * s->channels; i++) {
            sums[0] += (double)y[i];
            sums[1] += (double)y[i] * (double)y[i];
            *min = fmin(*min, (double)y[i]);
            *max = fmax(*max, (double)y[i]);
        }
    }
    TRY(cluster_sum(r->c, sums, 2));
    TRY(cluster_least(r->c, min, 1));
    TRY(cluster_greatest(r->c, max, 1));
    *sum = sums[0];
    *l2 = sqrt(sums[1]);
    return ERR_OK;
}

/* One number of each pixel to the other rank, and its numbers here. */
static enum err swap_lines(struct ranks_backend *r, struct border *b, const float *x,
                           const int32_t *pixels, int64_t count)
{
    const int64_t slices = r->m->volume.slices;
    const size_t bytes = (size_t)count * sizeof(float);
    if (b->other < 0)
        return ERR_OK;
    for (int64_t i = 0; i < count; i++) {
        const int64_t p = pixels ? pixels[i] : i;
        r->line_out[i] = x[p * slices + b->mine];
        b->thin[p * 3 + 1] = r->line_out[i];
        b->thin[p * 3 + 2 - b->theirs] = x[p * slices + b->far];
    }
    TRY(cluster_exchange(r->c, b->other, r->line_out, bytes, b->other, r->line_in, bytes));
    for (int64_t i = 0; i < count; i++)
        b->thin[(pixels ? pixels[i] : i) * 3 + b->theirs] = r->line_in[i];
    return ERR_OK;
}

static enum err swap_borders(struct ranks_backend *r, const float *x, const int32_t *pixels,
                             int64_t count)
{
    /* ranks of even numbers begin above: everybody's partner is there */
    struct border *first = r->c->place.rank % 2 ? &r->below : &r->above;
    struct border *second = r->c->place.rank % 2 ? &r->above : &r->below;
    TRY(swap_lines(r, first, x, pixels, count));
    return swap_lines(r, second, x, pixels, count);
}

static enum err add_cylinders(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, double alpha, const struct buffer *dP,
                              struct buffer *x, double *moved)
{
    struct ranks_backend *r = of(be);
    TRY(r->inner->add_cylinders(be, v, pixels, alpha, dP, x, moved));
    TRY(swap_borders(r, x->ptr, pixels->indices, pixels->count));
    return cluster_sum(r->c, moved, 1);
}

/* The terms at the border's slice, which the machine took for the volume's last. */
static enum err border_terms(struct backend *be, const struct border *b, const struct prior *prior,
                             const struct pixel_set *pixels, struct buffer *gP, struct buffer *hP)
{
    struct ranks_backend *r = of(be);
    struct volume v = r->m->volume;
    const int64_t slices = v.slices;
    const size_t packed = (size_t)pixels->count * 3 * sizeof(float);
    if (b->other < 0)
        return ERR_OK;
    v.slices = 3;
    const struct buffer x = {PLACE_HOST, 0, (size_t)volume_voxels(&v) * sizeof(float), b->thin};
    struct buffer g = {PLACE_HOST, 0, packed, r->thin_gradient};
    struct buffer h = {PLACE_HOST, 0, packed, r->thin_curvature};
    TRY(r->inner->prior_terms(be, &v, prior, pixels, &x, &g, &h));
    for (int64_t q = 0; q < pixels->count; q++) {
        ((float *)gP->ptr)[q * slices + b->mine] = r->thin_gradient[q * 3 + 1];
        ((float *)hP->ptr)[q * slices + b->mine] = r->thin_curvature[q * 3 + 1];
    }
    return ERR_OK;
}

static enum err prior_terms(struct backend *be, const struct volume *v, const struct prior *prior,
                            const struct pixel_set *pixels, const struct buffer *x,
                            struct buffer *gP, struct buffer *hP)
{
    struct ranks_backend *r = of(be);
    TRY(r->inner->prior_terms(be, v, prior, pixels, x, gP, hP));
    if (prior->prox_target)
        return ERR_OK;
    if (!r->neighbours_known) /* the first image is whole now; add_cylinders follows it */
        TRY(swap_borders(r, x->ptr, NULL, volume_pixels(v)));
    r->neighbours_known = 1;
    TRY(border_terms(be, &r->below, prior, pixels, gP, hP));
    return border_terms(be, &r->above, prior, pixels, gP, hP);
}

static enum err floats(const char *what, int64_t count, float **out)
{
    void *p;
    TRY(mem_alloc_zero(what, (size_t)count * sizeof **out, &p));
    *out = p;
    return ERR_OK;
}

static int64_t largest_overlap(const struct ranks_backend *r)
{
    int64_t most = 0;
    for (int other = 0; other < r->c->place.size; other++) {
        const int64_t out = common(r->rows, r->shares->owned[other]).count;
        const int64_t in = common(r->owned, rows_of(r, other)).count;
        const int64_t n = other == r->c->place.rank ? 0 : out > in ? out : in;
        most = most > n ? most : n;
    }
    return most;
}

static int any_overlap(const struct shares *s, int size)
{
    for (int i = 0; i + 1 < size; i++)
        if (common(s->rows[i], s->rows[i + 1]).count)
            return 1;
    return 0;
}

static enum err allocate(struct backend *be, struct ranks_backend *r)
{
    const struct volume *v = &r->m->volume;
    const int64_t pixels = volume_pixels(v), samples = scan_samples(&r->m->scan);
    TRY(floats("slices of the rank below", 3 * pixels, &r->below.thin));
    TRY(floats("slices of the rank above", 3 * pixels, &r->above.thin));
    TRY(floats("a slice to send", pixels, &r->line_out));
    TRY(floats("a slice to receive", pixels, &r->line_in));
    TRY(floats("prior gradient at a border", 3 * pixels, &r->thin_gradient));
    TRY(floats("prior curvature at a border", 3 * pixels, &r->thin_curvature));
    if (!r->overlaps)
        return ERR_OK;
    const int64_t shared = lines(r) * largest_overlap(r);
    TRY(floats("rows to send", shared, &r->sent));
    TRY(floats("rows to receive", shared, &r->received));
    return r->inner->alloc(be, "projections of all ranks", (size_t)samples * sizeof(float),
                           &r->projected);
}

enum err ranks_backend_open(struct backend *be, struct cluster *c, const struct shares *shares,
                            const struct ct_model *m, struct ranks_backend **out)
{
    const int rank = c->place.rank, size = c->place.size;
    const int64_t last = m->volume.slices - 1;
    struct ranks_backend *r = *out = calloc(1, sizeof *r);
    FAIL_IF(!r, ERR_MEMORY, "no memory for a rank");
    r->inner = be->ops;
    r->ops = *be->ops;
    r->c = c;
    r->shares = shares;
    r->m = m;
    r->rows = shares->rows[rank];
    r->owned = shares->owned[rank];
    r->overlaps = any_overlap(shares, size);
    r->below = (struct border){.other = rank - 1, .mine = 0, .far = last > 0, .theirs = 0};
    r->above = (struct border){.other = rank + 1 < size ? rank + 1 : -1,
                               .mine = last,
                               .far = last > 0 ? last - 1 : 0,
                               .theirs = 2};
    r->ops.vcd_iteration = NULL;
    r->ops.vcd_iteration_fits = NULL;
    r->ops.weighted_dots = weighted_dots;
    r->ops.forward_dots = forward_dots;
    r->ops.update_back = update_back;
    r->ops.clip_positive = clip_positive;
    r->ops.scale = scale;
    r->ops.vcd_direction = vcd_direction;
    r->ops.sum_abs = sum_abs;
    r->ops.fingerprint = fingerprint;
    r->ops.add_cylinders = add_cylinders;
    r->ops.prior_terms = prior_terms;
    be->ops = &r->ops;
    return allocate(be, r);
}

void ranks_backend_close(struct backend *be, struct ranks_backend *r)
{
    if (!r)
        return;
    be->ops = r->inner;
    be->ops->release(be, &r->projected);
    float *const arrays[] = {r->below.thin, r->above.thin, r->line_out,      r->line_in,
                             r->sent,       r->received,   r->thin_gradient, r->thin_curvature};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        mem_free(arrays[i]);
    free(r);
}
