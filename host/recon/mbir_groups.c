/* MBIR of parallel beams whose arrays are larger than the device. They stay in host memory; groups
 * of slices pass through the device in every iteration and take all its steps there. A group has a
 * slice of each neighbour with it as it is by then, for the prior, which stays as it is (block
 * Gauss-Seidel): each group descends the same cost, with line searches of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/streams.h"
#include "base/memory.h"
#include "host/recon/mbir.h"
#include "host/recon/mbir_large.h"
#include "host/recon/slabs/slab.h"

#define HALO 1

struct groups {
    struct vcd t; /* pixels and schedule: of all slices; the rest: of the group at hand */
    const struct ct_model *whole;
    struct ct_model model; /* of that group: t.m */
    struct slabs plan;
    struct slab at;
    int64_t length;                  /* slices that t.projector is made for; 0: there is none */
    struct buffer x, target;         /* on the device, of that group */
    const float *y, *w, *prox;       /* host, whole; w, prox: NULL where there is none */
    float *image;                    /* the same */
    float *error, *hessian, *packed; /* mem_alloc: e, rows fastest, and H whole; one group */
};

/* ---- how many groups ---- */

struct sizes {
    struct backend *be;
    const struct ct_model *m;
    int64_t pixels;
    int weights, prox, compat_06;
};

static size_t group_bytes(const void *context, int64_t thickness)
{
    const struct sizes *s = context;
    const struct backend_streams *streams = s->be->ops->streams;
    static const enum backend_call calls[] = {CALL_FORWARD, CALL_BACK, CALL_SUMS};
    const int64_t all = s->m->volume.slices, wide = thickness + 2 * HALO;
    const struct index_range slices = {0, wide < all ? wide : all};
    const struct ct_model m =
        tile_model(s->m, (struct index_range){0, s->m->scan.views}, slices, slices);
    const size_t volumes = (size_t)(1 + s->prox) * (size_t)volume_voxels(&m.volume) * sizeof(float);
    size_t kept = 0, shared = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct call_memory c =
            streams->memory(s->be, calls[i], &m.scan, &m.volume, s->pixels);
        kept += c.kept;
        shared = c.shared > shared ? c.shared : shared;
    }
    return vcd_bytes(&m, s->pixels, 1 + s->weights, s->compat_06) + volumes + kept + shared;
}

static enum err groups_plan(const struct sizes *s, size_t room, struct slabs *out)
{
    const size_t least = group_bytes(s, 1);
    if (least > room)
        return s->be->ops->streams->refuse(s->be, "mbir_recon of one slice at a time", least,
                                           "use `backend=cpu`");
    return slabs_plan("mbir_recon", "on the device", s->m->volume.slices, group_bytes, s, room,
                      out);
}

enum err mbir_groups_plan(struct backend *be, const struct ct_model *m, int64_t pixels, size_t room,
                          struct mbir_groups_plan *out)
{
    const struct sizes s = {.be = be, .m = m, .pixels = pixels, .weights = 1, .prox = 1};
    TRY(groups_plan(&s, room, &out->groups));
    out->bytes = group_bytes(&s, out->groups.thickness);
    return ERR_OK;
}

/* ---- parts of whole arrays ---- */

static struct box group_slices(const struct groups *g, int64_t first, int64_t count)
{
    const struct volume *v = &g->whole->volume;
    return (struct box){{v->rows, v->cols, v->slices},
                        {{0, v->rows}, {0, v->cols}, {first, count}}};
}

/* Returns the rows of a sinogram with detector rows fastest, and as given. */
static struct box group_rows(const struct groups *g, int64_t first, int64_t count)
{
    const struct scan *s = &g->whole->scan;
    return (struct box){{s->views, s->channels, s->rows},
                        {{0, s->views}, {0, s->channels}, {first, count}}};
}

static struct box given_rows_of(const struct groups *g)
{
    const struct scan *s = &g->whole->scan;
    return (struct box){{s->views, s->rows, s->channels},
                        {{0, s->views}, {g->at.from, g->at.length}, {0, s->channels}}};
}

#define CHUNK ((int64_t)1 << 18)

static void box_pack_parallel(const struct box *b, const float *array, float *out)
{
    const int64_t n = box_count(b);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i += CHUNK)
        box_pack(b, array, i, n - i < CHUNK ? n - i : CHUNK, out + i);
}

static void box_unpack_parallel(const struct box *b, const float *in, float *array)
{
    const int64_t n = box_count(b);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i += CHUNK)
        box_unpack(b, in + i, i, n - i < CHUNK ? n - i : CHUNK, array);
}

static enum err group_send(struct groups *g, const struct box *b, const float *array,
                           struct buffer *to)
{
    if (array)
        box_pack_parallel(b, array, g->packed);
    return g->t.be->ops->upload(g->t.be, g->packed, (size_t)box_count(b) * sizeof(float), to);
}

/* The group's part, its halo left out, out of `from` into the whole array. */
static enum err group_fetch(struct groups *g, const struct buffer *from, struct box b, float *array)
{
    const int64_t wide = g->at.length, own = g->at.count, lead = g->at.first - g->at.from;
    const int64_t lines = b.size[0] * b.size[1];
    TRY(g->t.be->ops->download(g->t.be, from, g->packed, from->bytes));
    for (int64_t i = 0; i < lines && own < wide; i++)
        memmove(g->packed + i * own, g->packed + i * wide + lead, (size_t)own * sizeof(float));
    b.part[2] = (struct index_range){g->at.first, own};
    box_unpack_parallel(&b, g->packed, array);
    return ERR_OK;
}

/* The slices, or rows, that the packed part has from its neighbours, between two values. */
static void clamp_halo(struct groups *g, int64_t lines, float least, float most)
{
    const int64_t wide = g->at.length, lead = g->at.first - g->at.from;
    const int64_t end = lead + g->at.count;
    for (int64_t i = 0; i < lines && g->at.count < wide; i++)
        for (int64_t k = 0; k < wide; k++)
            if (k < lead || k >= end)
                g->packed[i * wide + k] = fminf(fmaxf(g->packed[i * wide + k], least), most);
}

/* ---- a group on the device ---- */

static void group_leave(struct groups *g)
{
    struct vcd *t = &g->t;
    struct buffer *const arrays[] = {&g->x,         &g->target,   &t->error,
                                     &t->weights,   &t->hessian,  &t->gradient,
                                     &t->curvature, &t->delta[0], &t->delta[1]};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        t->be->ops->release(t->be, arrays[i]);
}

/* A projector of parallel beams serves every group with so many slices. */
static enum err hold_projector(struct groups *g)
{
    struct vcd *t = &g->t;
    if (g->length == g->at.length)
        return ERR_OK;
    t->be->ops->projector_free(t->be, t->projector);
    t->projector = NULL;
    g->length = 0;
    TRY(t->be->ops->projector_create(t->be, &g->model.scan, &g->model.volume, &t->projector));
    g->length = g->at.length;
    return ERR_OK;
}

/* (views, rows, channels) of the host into an array with rows fastest. */
static enum err send_sinogram(struct groups *g, const char *what, const float *array,
                              struct buffer *to)
{
    struct vcd *t = &g->t;
    const struct backend_ops *ops = t->be->ops;
    const struct box b = given_rows_of(g);
    struct buffer given = {0};
    enum err e = group_send(g, &b, array, &given);
    if (!e)
        e = ops->alloc(t->be, what, given.bytes, to);
    if (!e)
        e = ops->sino_reorder(t->be, &g->model.scan,
                              (struct sinogram){&given, SINO_CHANNELS_FASTEST},
                              (struct sinogram){to, SINO_ROWS_FASTEST});
    ops->release(t->be, &given);
    return e;
}

static enum err group_enter(struct groups *g, int64_t index, int64_t halo)
{
    struct vcd *t = &g->t;
    g->at = slab_at(&g->plan, index, halo);
    const struct index_range slices = {g->at.from, g->at.length};
    g->model = tile_model(g->whole, (struct index_range){0, g->whole->scan.views}, slices, slices);
    t->pending = 0;
    t->moves = 0;
    TRY(hold_projector(g));
    return t->options->weights ? send_sinogram(g, "weights", g->w, &t->weights) : ERR_OK;
}

/* e = y and x of the group, without a halo. */
static enum err enter_first(struct groups *g, int64_t index)
{
    TRY(group_enter(g, index, 0));
    TRY(send_sinogram(g, "error sinogram", g->y, &g->t.error));
    const struct box part = group_slices(g, g->at.from, g->at.length);
    return group_send(g, &part, g->image, &g->x);
}

static enum err enter_iteration(struct groups *g, int64_t index)
{
    TRY(group_enter(g, index, HALO));
    const struct box slices = group_slices(g, g->at.from, g->at.length);
    const struct box rows = group_rows(g, g->at.from, g->at.length);
    const int64_t pixels = volume_pixels(&g->whole->volume);
    box_pack_parallel(&rows, g->error, g->packed);
    clamp_halo(g, rows.size[0] * rows.size[1], 0, 0); /* counts in no sum */
    TRY(group_send(g, &rows, NULL, &g->t.error));
    box_pack_parallel(&slices, g->hessian, g->packed);
    clamp_halo(g, pixels, INFINITY, INFINITY); /* steps -g/(h + H/sigma_y^2) of length 0 */
    TRY(group_send(g, &slices, NULL, &g->t.hessian));
    box_pack_parallel(&slices, g->image, g->packed);
    if (g->t.r.positivity) /* a step to 0 is its own group's */
        clamp_halo(g, pixels, 0, INFINITY);
    TRY(group_send(g, &slices, NULL, &g->x));
    if (g->prox)
        TRY(group_send(g, &slices, g->prox, &g->target));
    g->t.target = g->prox ? &g->target : NULL;
    return vcd_allocate_steps(&g->t);
}

/* ---- the reconstruction ---- */

static enum err first_sums(struct groups *g, int64_t index, struct vcd_sums *all)
{
    struct vcd *t = &g->t;
    const struct pixel_set inside = {t->pixels, t->count, 0};
    struct vcd_sums sums;
    TRY(enter_first(g, index));
    TRY(t->be->ops->forward_dots(t->be, t->projector, &inside, &g->x, &t->error, vcd_weights(t),
                                 &sums));
    all->linear += sums.linear;
    all->quadratic += sums.quadratic;
    return ERR_OK;
}

static enum err first_error(struct groups *g, int64_t index)
{
    struct vcd *t = &g->t;
    const struct backend_ops *ops = t->be->ops;
    const struct pixel_set all = {NULL, volume_pixels(&g->whole->volume), 0};
    const struct sinogram ones = {NULL, SINO_ROWS_FASTEST};
    const struct sinogram weights = {(struct buffer *)vcd_weights(t), SINO_ROWS_FASTEST};
    TRY(enter_first(g, index));
    t->move = (struct vcd_move){{t->pixels, t->count, 0}, &g->x, 1};
    t->pending = 1;
    TRY(ops->alloc(t->be, "prior gradient", sizeof(float), &t->gradient)); /* of no pixel */
    TRY(vcd_take_move(t));
    TRY(group_fetch(g, &t->error, group_rows(g, 0, 0), g->error));
    TRY(ops->alloc(t->be, "Hessian diagonal", g->x.bytes, &t->hessian));
    TRY(ops->back(t->be, t->projector, &all, ones, weights, 2, &t->hessian));
    return group_fetch(g, &t->hessian, group_slices(g, 0, 0), g->hessian);
}

static void scale_image(struct groups *g, double scale)
{
    const int64_t n = volume_voxels(&g->whole->volume);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        g->image[i] = (float)scale * g->image[i];
}

static enum err groups_first_image(struct groups *g, const struct buffer *y, struct buffer *x)
{
    const struct buffer *const initial = g->t.options->initial;
    if (!initial)
        return direct_recon(g->t.be, g->whole, y, NULL, x);
    memcpy(x->ptr, initial->ptr, x->bytes);
    return ERR_OK;
}

static enum err groups_start(struct groups *g, const struct buffer *y, struct buffer *x,
                             double *scale)
{
    struct vcd_sums sums = {0};
    enum err e = ERR_OK;
    *scale = 1;
    TRY(schedule_start(&g->t.schedule, g->t.count, g->t.options->initial != NULL));
    PHASE("initial image", groups_first_image(g, y, x));
    mark_push("error sinogram and Hessian", 0);
    for (int64_t i = 0; i < g->plan.count && !g->t.options->initial && !e; i++) {
        e = first_sums(g, i, &sums);
        group_leave(g);
    }
    if (sums.quadratic > 0) {
        *scale = sums.linear / sums.quadratic;
        scale_image(g, *scale);
    }
    for (int64_t i = 0; i < g->plan.count && !e; i++) {
        e = first_error(g, i);
        group_leave(g);
    }
    mark_pop();
    return e;
}

static enum err visit_group(struct groups *g, int64_t index, const struct partition *part,
                            const int32_t *order, struct vcd_outcome *all)
{
    struct vcd *t = &g->t;
    struct vcd_sums residual;
    struct vcd_totals steps = {0};
    TRY(enter_iteration(g, index));
    TRY(vcd_visit_subsets(t, part, order, &g->x, &steps));
    TRY(vcd_take_move(t));
    TRY(t->be->ops->weighted_dots(t->be, vcd_weights(t), &t->error, &t->error, &residual));
    all->steps.moved += steps.moved;
    all->steps.alpha += steps.alpha / (double)g->plan.count;
    all->residual += residual.linear;
    TRY(group_fetch(g, &t->error, group_rows(g, 0, 0), g->error));
    return group_fetch(g, &g->x, group_slices(g, 0, 0), g->image);
}

static double groups_image_norm(const struct groups *g)
{
    const int64_t n = volume_voxels(&g->whole->volume);
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += fabs((double)g->image[i]);
    return sum;
}

static enum err groups_iterate(void *context, const struct partition *part, const int32_t *order,
                               struct vcd_outcome *all)
{
    struct groups *g = context;
    const volatile int *stop = g->t.options->stop;
    for (int64_t i = 0; i < g->plan.count && !(stop && *stop); i++) {
        mark_push("group", (uint64_t)i + 1);
        const enum err e = visit_group(g, i, part, order, all);
        mark_pop();
        group_leave(g);
        TRY(e);
    }
    all->size = groups_image_norm(g);
    return ERR_OK;
}

static enum err groups_allocate(struct groups *g)
{
    const struct scan *s = &g->whole->scan;
    const struct volume *v = &g->whole->volume;
    const int64_t views = s->views * s->channels, pixels = volume_pixels(v);
    const int64_t wide = g->plan.thickness + 2 * HALO;
    const struct {
        const char *what;
        int64_t count;
        float **array;
    } arrays[] = {{"error sinogram", scan_samples(s), &g->error},
                  {"Hessian diagonal", volume_voxels(v), &g->hessian},
                  {"a group of slices", wide * (views > pixels ? views : pixels), &g->packed}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *p;
        TRY(mem_alloc(arrays[i].what, (size_t)arrays[i].count * sizeof(float), &p));
        *arrays[i].array = p;
    }
    return ERR_OK;
}

static enum err groups_create(struct groups *g, const struct buffer *y)
{
    struct vcd *t = &g->t;
    const struct mbir_options *o = t->options;
    size_t room;
    PHASE("check data", vcd_check_host(t, g->y, g->w));
    PHASE("regularisation", vcd_regularise(t, y));
    TRY(vcd_find_pixels(t));
    PHASE("partitions", schedule_create(t->pixels, t->count, o->seed, o->compat_06, &t->schedule));
    TRY(t->be->ops->streams->room(t->be, &room));
    const struct sizes sizes = {.be = t->be,
                                .m = g->whole,
                                .pixels = t->count,
                                .weights = o->weights != NULL,
                                .prox = g->prox != NULL,
                                .compat_06 = o->compat_06};
    TRY(groups_plan(&sizes, room, &g->plan));
    TRY(groups_allocate(g));
    t->m = &g->model; /* of a group, from here on */
    return ERR_OK;
}

static enum err groups_run(struct groups *g, const struct buffer *y, struct buffer *x,
                           struct mbir_report *report)
{
    TRY(groups_create(g, y));
    TRY(groups_start(g, y, x, &report->initial_scale));
    return vcd_iterations(&g->t, groups_iterate, g, report);
}

enum err mbir_in_groups(struct backend *be, const struct ct_model *m, const struct buffer *y,
                        const struct mbir_options *o, struct buffer *x, struct mbir_report *report)
{
    const struct buffer *const w = o->weights, *const prox = o->prox_target;
    struct mbir_options all = *o;
    all.samples = scan_samples(&m->scan); /* not those of a group */
    struct groups g = {.t = {.be = be, .m = m, .options = &all},
                       .whole = m,
                       .y = y->ptr,
                       .w = w ? w->ptr : NULL,
                       .prox = prox ? prox->ptr : NULL,
                       .image = x->ptr};
    const enum err e = groups_run(&g, y, x, report);
    vcd_free(&g.t);
    mem_free(g.error);
    mem_free(g.hessian);
    mem_free(g.packed);
    return e;
}
