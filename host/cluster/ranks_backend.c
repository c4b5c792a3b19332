/* The operations that see beyond one rank: sums, the rows that two ranks share, and the slices
 * beside a border. The others are the machine's own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/cluster/ranks_backend.h"

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
    struct wire shared;             /* rows of one pair of ranks; where they overlap */
    float *counted;                 /* per row of this rank: 1 where it is owned, else 0 */
    struct borders *borders;
    int neighbours_known;
    const volatile int *stop; /* borrowed, or NULL */
};

static struct ranks_backend *ranks_of(const struct backend *be)
{
    return (struct ranks_backend *)(uintptr_t)be->ops;
}

/* A rank that is to stop takes all others with it, at the same step. */
static enum err sum_up(struct ranks_backend *r, struct vcd_sums *s)
{
    double values[] = {s->linear, s->quadratic, r->stop && *r->stop};
    TRY(cluster_sum(r->c, values, 3));
    FAIL_IF(values[2] > 0, ERR_INTERRUPTED, "interrupted");
    *s = (struct vcd_sums){values[0], values[1]};
    return ERR_OK;
}

static struct index_range range_common(struct index_range a, struct index_range b)
{
    const int64_t first = a.first > b.first ? a.first : b.first;
    const int64_t a_end = a.first + a.count, b_end = b.first + b.count;
    const int64_t end = a_end < b_end ? a_end : b_end;
    return (struct index_range){first, end > first ? end - first : 0};
}

static struct index_range rank_rows(const struct ranks_backend *r, int rank)
{
    return r->shares->rows[rank];
}

/* Returns the lines of rows: (views, channels) of them. */
static int64_t row_lines(const struct ranks_backend *r)
{
    return r->m->scan.views * r->m->scan.channels;
}

/* Rows of d, packed: out of it, into it or added to it. */
static enum err move_rows(struct backend *be, enum slices_way how, struct index_range rows,
                          struct buffer *packed)
{
    struct ranks_backend *r = ranks_of(be);
    const struct slices_move some = {how, r->rows.count, rows.first - r->rows.first, rows.count};
    const struct pixel_set all = {NULL, row_lines(r), 1};
    return r->inner->move_slices(be, &some, &all, &r->projected, packed);
}

/* Does one step of the exchange: sends rows `out` to rank `to`, receives rows `in` from rank
 * `from`. */
static enum err exchange_step(struct backend *be, int to, struct index_range out, int from,
                              struct index_range in, enum slices_way how)
{
    struct ranks_backend *r = ranks_of(be);
    if (!out.count && !in.count)
        return ERR_OK;
    if (out.count)
        TRY(move_rows(be, SLICES_TAKE, out, &r->shared.out));
    TRY(wire_exchange(&r->shared, to, row_lines(r) * out.count, from, row_lines(r) * in.count));
    return in.count ? move_rows(be, how, in, &r->shared.in) : ERR_OK;
}

/* A reduce-scatter: each row is summed by the rank that owns it, in one order; then it goes back to
 * those who hold it, who all have the same bits. */
static enum err ranks_reduce(struct backend *be)
{
    const struct ranks_backend *r = ranks_of(be);
    const int me = r->c->place.rank, size = r->c->place.size;
    for (int back = 0; back < 2; back++)
        for (int distance = 1; distance < size; distance++) {
            const int to = (me + distance) % size, from = (me + size - distance) % size;
            const struct index_range out = back ? range_common(r->owned, rank_rows(r, to))
                                                : range_common(r->rows, r->shares->owned[to]);
            const struct index_range in = back ? range_common(r->rows, r->shares->owned[from])
                                               : range_common(r->owned, rank_rows(r, from));
            TRY(exchange_step(be, to, out, from, in, back ? SLICES_PUT : SLICES_ADD));
        }
    return ERR_OK;
}

/* d = A x of all ranks, on the rows of this one. */
static enum err ranks_project(struct backend *be, struct projector *p,
                              const struct pixel_set *pixels, const struct buffer *x)
{
    struct ranks_backend *r = ranks_of(be);
    const struct sinogram y = {&r->projected, SINO_ROWS_FASTEST};
    r->projected_of = NULL;
    TRY(r->inner->forward(be, p, pixels, x, y));
    TRY(ranks_reduce(be));
    r->projected_of = x->ptr;
    return ERR_OK;
}

/* Sums over the rows that this rank owns. */
static void owned_dots(struct backend *be, const float *w, const float *e, const float *d,
                       struct vcd_sums *sums)
{
    const struct ranks_backend *r = ranks_of(be);
    const int64_t n = r->rows.count, first = r->owned.first - r->rows.first;
    double linear = 0, quadratic = 0;
    for (int64_t i = 0; i < row_lines(r); i++)
        for (int64_t k = i * n + first; k < i * n + first + r->owned.count; k++) {
            const double weighted = (w ? (double)w[k] : 1) * (double)d[k];
            linear += weighted * (double)e[k];
            quadratic += weighted * (double)d[k];
        }
    const double samples = (double)row_lines(r) * (double)r->owned.count;
    const double bytes = (w ? 12 : 8) * samples;
    backend_declare(be, (w ? 5 : 4) * samples, bytes, bytes);
    *sums = (struct vcd_sums){linear, quadratic};
}

/* The same where they lie on a device: 0 for d in the rows of others counts them out. */
static enum err device_dots(struct backend *be, const struct buffer *w, const struct buffer *e,
                            const struct buffer *d, struct vcd_sums *sums)
{
    const struct ranks_backend *r = ranks_of(be);
    const struct volume flat = {.rows = row_lines(r), .cols = 1, .slices = r->rows.count};
    struct buffer own;
    if (r->owned.count == r->rows.count)
        return r->inner->weighted_dots(be, w, e, d, sums);
    TRY(r->inner->alloc(be, "a projection's own rows", d->bytes, &own));
    enum err code = r->inner->copy(be, d, &own);
    if (!code)
        code = r->inner->scale_slices(be, &flat, r->counted, &own);
    if (!code)
        code = r->inner->weighted_dots(be, w, e, &own, sums);
    r->inner->release(be, &own);
    return code;
}

static enum err counted_dots(struct backend *be, const struct buffer *w, const struct buffer *e,
                             const struct buffer *d, struct vcd_sums *sums)
{
    if (d->place != PLACE_HOST)
        TRY(device_dots(be, w, e, d, sums));
    else
        owned_dots(be, w ? w->ptr : NULL, e->ptr, d->ptr, sums);
    return sum_up(ranks_of(be), sums);
}

static enum err ranks_forward_dots(struct backend *be, struct projector *p,
                                   const struct pixel_set *pixels, const struct buffer *x,
                                   const struct buffer *e, const struct buffer *w,
                                   struct vcd_sums *sums)
{
    struct ranks_backend *r = ranks_of(be);
    if (!r->overlaps) {
        TRY(r->inner->forward_dots(be, p, pixels, x, e, w, sums));
        return sum_up(r, sums);
    }
    TRY(ranks_project(be, p, pixels, x));
    return counted_dots(be, w, e, &r->projected, sums);
}

/* e -= alpha d. On a device add_cylinders does it: lines of rows are cylinders to it. */
static enum err ranks_subtract(struct backend *be, double alpha, const struct buffer *d,
                               struct buffer *e)
{
    const struct ranks_backend *r = ranks_of(be);
    float *error = e->ptr;
    const float *step = d->ptr, factor = (float)alpha;
    const int64_t n = (int64_t)(e->bytes / sizeof *error);
    if (e->place != PLACE_HOST) {
        const struct volume flat = {.rows = row_lines(r), .cols = 1, .slices = r->rows.count};
        const struct pixel_set all = {NULL, row_lines(r), 1};
        double moved;
        return r->inner->add_cylinders(be, &flat, &all, -alpha, d, e, &moved);
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        error[i] -= factor * step[i];
    backend_declare(be, 2 * (double)n, 12 * (double)n, 12 * (double)n);
    return ERR_OK;
}

/* e -= alpha A delta; the projection that ranks_forward_dots made serves where delta is still the same.
 */
static enum err ranks_update_back(struct backend *be, struct projector *p,
                                  const struct vcd_move *move, struct buffer *e,
                                  const struct buffer *w, const struct pixel_set *pixels,
                                  struct buffer *x)
{
    struct ranks_backend *r = ranks_of(be);
    if (!r->overlaps || !move)
        return r->inner->update_back(be, p, move, e, w, pixels, x);
    if (r->projected_of != move->delta->ptr)
        TRY(ranks_project(be, p, &move->pixels, move->delta));
    TRY(ranks_subtract(be, move->alpha, &r->projected, e));
    r->projected_of = NULL;
    return r->inner->update_back(be, p, NULL, e, w, pixels, x);
}

static enum err clip_positive(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, const struct buffer *x, double alpha,
                              struct buffer *dP)
{
    ranks_of(be)->projected_of = NULL;
    return ranks_of(be)->inner->clip_positive(be, v, pixels, x, alpha, dP);
}

static enum err ranks_scale(struct backend *be, double alpha, struct buffer *x)
{
    ranks_of(be)->projected_of = NULL;
    return ranks_of(be)->inner->scale(be, alpha, x);
}

static enum err ranks_direction(struct backend *be, const struct volume *v,
                                const struct pixel_set *pixels, double sigma_y,
                                const float *damping, const struct buffer *hessian,
                                const struct buffer *gP, const struct buffer *hP, struct buffer *dP,
                                struct vcd_sums *sums)
{
    struct ranks_backend *r = ranks_of(be);
    TRY(r->inner->vcd_direction(be, v, pixels, sigma_y, damping, hessian, gP, hP, dP, sums));
    return sum_up(r, sums);
}

static enum err sum_abs(struct backend *be, const struct buffer *x, double *out)
{
    TRY(ranks_of(be)->inner->sum_abs(be, x, out));
    return cluster_sum(ranks_of(be)->c, out, 1);
}

/* A buffer's own memory where it is the host's, else a copy. */
static enum err host_take(struct backend *be, const struct buffer *b, float **out)
{
    void *copy;
    *out = b->ptr;
    if (b->place == PLACE_HOST)
        return ERR_OK;
    TRY(mem_alloc("a host copy of a sinogram", b->bytes, &copy));
    const enum err e = be->ops->download(be, b, copy, b->bytes);
    *out = e ? NULL : copy;
    if (e)
        mem_free(copy);
    return e;
}

/* Computes the fingerprint of a sinogram in the users' order. */
static enum err ranks_fingerprint(struct backend *be, const struct buffer *b, double *sum,
                                  double *l2, double *min, double *max)
{
    struct ranks_backend *r = ranks_of(be);
    const struct scan *s = &r->m->scan;
    const int64_t first = r->owned.first - r->rows.first;
    double sums[2] = {0, 0};
    float *all;
    TRY(host_take(be, b, &all));
    *min = (double)INFINITY;
    *max = -(double)INFINITY;
    for (int64_t v = 0; v < s->views; v++) {
        const float *y = all + (v * s->rows + first) * s->channels;
        for (int64_t i = 0; i < r->owned.count * s->channels; i++) {
            sums[0] += (double)y[i];
            sums[1] += (double)y[i] * (double)y[i];
            *min = fmin(*min, (double)y[i]);
            *max = fmax(*max, (double)y[i]);
        }
    }
    if (b->place != PLACE_HOST)
        mem_free(all);
    TRY(cluster_sum(r->c, sums, 2));
    TRY(cluster_least(r->c, min, 1));
    TRY(cluster_greatest(r->c, max, 1));
    *sum = sums[0];
    *l2 = sqrt(sums[1]);
    return ERR_OK;
}

static enum err add_cylinders(struct backend *be, const struct volume *v,
                              const struct pixel_set *pixels, double alpha, const struct buffer *dP,
                              struct buffer *x, double *moved)
{
    struct ranks_backend *r = ranks_of(be);
    TRY(r->inner->add_cylinders(be, v, pixels, alpha, dP, x, moved));
    TRY(borders_swap(r->borders, x, pixels->indices, pixels->count));
    return cluster_sum(r->c, moved, 1);
}

static enum err prior_terms(struct backend *be, const struct volume *v, const struct prior *prior,
                            const struct pixel_set *pixels, const struct buffer *x,
                            struct buffer *gP, struct buffer *hP)
{
    struct ranks_backend *r = ranks_of(be);
    TRY(r->inner->prior_terms(be, v, prior, pixels, x, gP, hP));
    if (prior->prox_target)
        return ERR_OK;
    if (!r->neighbours_known) /* the first image is whole now; add_cylinders follows it */
        TRY(borders_swap(r->borders, x, NULL, volume_pixels(v)));
    r->neighbours_known = 1;
    return borders_terms(r->borders, prior, pixels, gP, hP);
}

static int64_t largest_overlap(const struct ranks_backend *r)
{
    int64_t most = 0;
    for (int other = 0; other < r->c->place.size; other++) {
        const int64_t out = range_common(r->rows, r->shares->owned[other]).count;
        const int64_t in = range_common(r->owned, rank_rows(r, other)).count;
        const int64_t n = other == r->c->place.rank ? 0 : out > in ? out : in;
        most = most > n ? most : n;
    }
    return most;
}

static int any_overlap(const struct shares *s, int size)
{
    for (int i = 0; i + 1 < size; i++)
        if (range_common(s->rows[i], s->rows[i + 1]).count)
            return 1;
    return 0;
}

static enum err ranks_allocate(struct backend *be, struct ranks_backend *r)
{
    const int64_t samples = scan_samples(&r->m->scan);
    if (!r->overlaps)
        return ERR_OK;
    r->counted = calloc((size_t)r->rows.count, sizeof *r->counted);
    FAIL_IF(!r->counted, ERR_MEMORY, "no memory for a rank");
    for (int64_t k = 0; k < r->owned.count; k++)
        r->counted[r->owned.first - r->rows.first + k] = 1;
    TRY(wire_open(be, r->c, "rows of other processes", row_lines(r) * largest_overlap(r),
                  &r->shared));
    return r->inner->alloc(be, "projections of all ranks", (size_t)samples * sizeof(float),
                           &r->projected);
}

enum err ranks_backend_open(struct backend *be, struct cluster *c, const struct shares *shares,
                            const struct ct_model *m, const volatile int *stop,
                            struct ranks_backend **out)
{
    const int rank = c->place.rank, size = c->place.size;
    struct ranks_backend *r = *out = calloc(1, sizeof *r);
    FAIL_IF(!r, ERR_MEMORY, "no memory for a rank");
    r->inner = be->ops;
    r->ops = *be->ops;
    r->c = c;
    r->shares = shares;
    r->m = m;
    r->stop = stop;
    r->rows = shares->rows[rank];
    r->owned = shares->owned[rank];
    r->overlaps = any_overlap(shares, size);
    TRY(borders_open(be, c, m, &r->borders));
    r->ops.vcd_iteration = NULL;
    r->ops.vcd_iteration_fits = NULL;
    r->ops.weighted_dots = counted_dots;
    r->ops.forward_dots = ranks_forward_dots;
    r->ops.update_back = ranks_update_back;
    r->ops.clip_positive = clip_positive;
    r->ops.scale = ranks_scale;
    r->ops.vcd_direction = ranks_direction;
    r->ops.sum_abs = sum_abs;
    r->ops.fingerprint = ranks_fingerprint;
    r->ops.add_cylinders = add_cylinders;
    r->ops.prior_terms = prior_terms;
    be->ops = &r->ops;
    return ranks_allocate(be, r);
}

void ranks_backend_close(struct backend *be, struct ranks_backend *r)
{
    if (!r)
        return;
    be->ops = r->inner;
    be->ops->release(be, &r->projected);
    borders_close(r->borders);
    wire_close(&r->shared);
    free(r->counted);
    free(r);
}
