/* MBIR of cone beams whose arrays are larger than the device. The volume, its Hessian and what a
 * subset needs stay there; the error sinogram and the weights lie in host memory and pass through
 * in blocks of views, twice for each subset, while the block before is computed with. The steps are
 * those of the whole: sums over blocks differ from it in their rounding alone. */
#include <stdlib.h>
#include <string.h>

#include "host/backend/streams.h"
#include "base/memory.h"
#include "host/recon/mbir.h"
#include "host/recon/mbir_large.h"
#include "host/recon/slabs/out_of_core.h"
#include "host/recon/slabs/slab.h"

#define SLOTS 2

/* Room for one block on the device, and who waits for whom. */
struct slot {
    struct buffer error, weights;
    struct fence *full, *done, *empty; /* sent; computed with; received */
};

struct streamed {
    struct vcd t;
    struct slabs blocks;    /* of views */
    float *error, *weights; /* host, rows fastest; NULL: ones */
    int pinned[2];
    struct buffer x, target, part; /* device; part: a block's share of a back projection */
    struct slot slot[SLOTS];
};

/* ---- how many blocks, and whether it pays ---- */

struct block_sizes {
    struct backend *be;
    const struct ct_model *m;
    int64_t pixels;
    int weights, prox, compat_06;
};

static struct ct_model block_model(const struct ct_model *m, int64_t first, int64_t views)
{
    return tile_model(m, (struct index_range){first, views}, (struct index_range){0, m->scan.rows},
                      (struct index_range){0, m->volume.slices});
}

static size_t model_volume_bytes(const struct ct_model *m)
{
    return (size_t)volume_voxels(&m->volume) * sizeof(float);
}

static size_t longest_bytes(const struct ct_model *m, int64_t pixels, int compat_06)
{
    return (size_t)(schedule_longest(pixels, compat_06) * m->volume.slices) * sizeof(float);
}

static size_t view_block_bytes(const void *context, int64_t views)
{
    const struct block_sizes *s = context;
    static const enum backend_call calls[] = {CALL_FORWARD, CALL_BACK, CALL_SUMS};
    const struct ct_model m = block_model(s->m, 0, views);
    size_t kept = 0, shared = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct call_memory c =
            s->be->ops->streams->memory(s->be, calls[i], &m.scan, &m.volume, s->pixels);
        kept += c.kept;
        shared = c.shared > shared ? c.shared : shared;
    }
    return vcd_bytes(&m, s->pixels, SLOTS * (1 + s->weights), s->compat_06) +
           longest_bytes(&m, s->pixels, s->compat_06) +
           (size_t)(1 + s->prox) * model_volume_bytes(&m) + kept + shared;
}

static enum err blocks_plan(const struct block_sizes *s, size_t room, struct slabs *out)
{
    const size_t least = view_block_bytes(s, 1);
    if (least > room)
        return s->be->ops->streams->refuse(s->be, "mbir_recon of one view at a time", least,
                                           "use a smaller size or `backend=cpu`");
    return slabs_plan("mbir_recon", "on the device", s->m->scan.views, view_block_bytes, s, room,
                      out);
}

/* The model's rates. Link: PCI Express 3.0 with 16 lanes, pinned memory, 12 GB/s each way. Device:
 * half of the lowest ceiling that docs/internals/cuda.md derives. CPU: 2.0 s for an iteration at
 * 256^3 and 128 views by two threads (docs/internals/performance.md). Each copy and the launches
 * beside it: 0.1 ms. None is measured on a GPU. */
#define LINK_BYTES_PER_S     12e9
#define DEVICE_UPDATES_PER_S 300e9
#define THREAD_UPDATES_PER_S 0.42e9
#define COPY_SECONDS         1e-4
#define SUBSETS              128
#define PROJECTIONS          3 /* of a subset on the device: two forward, one back */

static double double_max(double a, double b)
{
    return a > b ? a : b;
}

enum err mbir_streamed_plan(struct backend *be, const struct ct_model *m, int64_t pixels,
                            size_t room, int threads, struct mbir_streamed_plan *out)
{
    const struct block_sizes s = {.be = be, .m = m, .pixels = pixels, .weights = 1, .prox = 1};
    const double sinogram = (double)scan_samples(&m->scan) * sizeof(float);
    const double updates = (double)pixels * (double)m->volume.slices * (double)m->scan.views;
    TRY(blocks_plan(&s, room, &out->blocks));
    out->bytes = view_block_bytes(&s, out->blocks.thickness);
    /* e and w come twice a subset; e goes back once, beside them. */
    const double copies = SUBSETS * (2 * 2 * sinogram / LINK_BYTES_PER_S +
                                     2 * (double)out->blocks.count * COPY_SECONDS);
    out->seconds = double_max(copies, PROJECTIONS * updates / DEVICE_UPDATES_PER_S);
    out->seconds_on_cpu = updates / (THREAD_UPDATES_PER_S * threads);
    return ERR_OK;
}

/* ---- blocks on their way ---- */

enum what { UPDATE, DOTS, RESIDUAL };

/* A pass over all views. */
struct pass {
    enum what what;
    const struct vcd_move *move;    /* UPDATE */
    const struct pixel_set *pixels; /* UPDATE, DOTS */
    struct buffer *back;            /* UPDATE */
    const struct buffer *x;         /* DOTS */
    struct vcd_sums sums;           /* DOTS, RESIDUAL */
};

static struct slot *slot_of(struct streamed *s, int64_t block)
{
    return &s->slot[block % SLOTS];
}

/* The part of a block: the whole array's views lie one behind the other. */
static float *view_block_part(const struct streamed *s, float *whole, int64_t block)
{
    const struct scan *scan = &s->t.m->scan;
    return whole + slab_at(&s->blocks, block, 0).first * scan->rows * scan->channels;
}

static size_t bytes_of(const struct streamed *s, int64_t block)
{
    const struct scan *scan = &s->t.m->scan;
    return (size_t)(slab_at(&s->blocks, block, 0).count * scan->rows * scan->channels) *
           sizeof(float);
}

static enum err send_block(struct streamed *s, int64_t block)
{
    struct backend *be = s->t.be;
    const struct backend_streams *streams = be->ops->streams;
    struct slot *slot = slot_of(s, block);
    const size_t bytes = bytes_of(s, block);
    TRY(streams->fence_hold(be, slot->empty, STREAM_UPLOAD));
    TRY(streams->send(be, view_block_part(s, s->error, block), bytes, &slot->error, 0));
    if (s->weights)
        TRY(streams->send(be, view_block_part(s, s->weights, block), bytes, &slot->weights, 0));
    return streams->fence_set(be, slot->full, STREAM_UPLOAD);
}

/* The part of a buffer that a block takes: the last one may be shorter. */
static struct buffer buffer_filled(const struct buffer *b, size_t bytes)
{
    struct buffer part = *b;
    part.owned = 0;
    part.bytes = bytes;
    return part;
}

static enum err update_block(struct streamed *s, const struct pass *p, struct projector *projector,
                             int64_t block, struct buffer *error, const struct buffer *weights)
{
    struct backend *be = s->t.be;
    const size_t bytes = p->back->bytes;
    struct buffer part = buffer_filled(&s->part, bytes);
    struct buffer *const to = block && p->pixels->count ? &part : p->back;
    TRY(be->ops->update_back(be, projector, p->move, error, weights, p->pixels, to));
    return to == &part ? be->ops->streams->add(be, (int64_t)(bytes / sizeof(float)), &part, p->back)
                       : ERR_OK;
}

static enum err compute_block(struct streamed *s, struct pass *p, int64_t block)
{
    struct backend *be = s->t.be;
    const struct slab views = slab_at(&s->blocks, block, 0);
    const struct ct_model m = block_model(s->t.m, views.first, views.count);
    struct slot *slot = slot_of(s, block);
    struct buffer e = buffer_filled(&slot->error, bytes_of(s, block));
    const struct buffer some = buffer_filled(&slot->weights, e.bytes),
                        *w = s->weights ? &some : NULL;
    struct vcd_sums sums = {0};
    struct projector *projector = NULL;
    enum err err = be->ops->streams->fence_hold(be, slot->full, STREAM_COMPUTE);
    if (!err && p->what != RESIDUAL)
        err = be->ops->projector_create(be, &m.scan, &m.volume, &projector);
    if (!err && p->what == UPDATE)
        err = update_block(s, p, projector, block, &e, w);
    if (!err && p->what == DOTS)
        err = be->ops->forward_dots(be, projector, p->pixels, p->x, &e, w, &sums);
    if (!err && p->what == RESIDUAL)
        err = be->ops->weighted_dots(be, w, &e, &e, &sums);
    be->ops->projector_free(be, projector);
    p->sums.linear += sums.linear;
    p->sums.quadratic += sums.quadratic;
    return err;
}

/* e of a block goes back where the pass changed it. */
static enum err leave_block(struct streamed *s, const struct pass *p, int64_t block)
{
    struct backend *be = s->t.be;
    const struct backend_streams *streams = be->ops->streams;
    struct slot *slot = slot_of(s, block);
    if (p->what != UPDATE || !p->move)
        return streams->fence_set(be, slot->empty, STREAM_COMPUTE);
    TRY(streams->fence_set(be, slot->done, STREAM_COMPUTE));
    TRY(streams->fence_hold(be, slot->done, STREAM_DOWNLOAD));
    TRY(streams->fence_await(
        be, slot->full)); /* read before it is written to; the next is on its way */
    TRY(streams->receive(be, &slot->error, 0, bytes_of(s, block),
                         view_block_part(s, s->error, block)));
    return streams->fence_set(be, slot->empty, STREAM_DOWNLOAD);
}

/* The next block is on its way while one is computed with. */
static enum err run_pass(struct streamed *s, struct pass *p)
{
    enum err e = send_block(s, 0);
    for (int64_t b = 0; b < s->blocks.count && !e; b++) {
        if (b + 1 < s->blocks.count)
            e = send_block(s, b + 1);
        if (!e)
            e = compute_block(s, p, b);
        if (!e)
            e = leave_block(s, p, b);
    }
    return e;
}

static enum err streamed_update_back(void *context, const struct vcd_move *move,
                                     const struct pixel_set *pixels, struct buffer *x)
{
    struct pass p = {.what = UPDATE, .move = move, .pixels = pixels, .back = x};
    return run_pass(context, &p);
}

static enum err streamed_forward_dots(void *context, const struct pixel_set *pixels,
                                      const struct buffer *x, struct vcd_sums *sums)
{
    struct pass p = {.what = DOTS, .pixels = pixels, .x = x};
    TRY(run_pass(context, &p));
    *sums = p.sums;
    return ERR_OK;
}

/* ---- the reconstruction ---- */

/* (views, rows, channels) as given, with rows fastest. */
static void sinogram_rows_fastest(const struct scan *s, const float *from, float *to)
{
    const int64_t rows = s->rows, channels = s->channels;
#pragma omp parallel for schedule(static)
    for (int64_t line = 0; line < s->views * channels; line++) {
        const float *in = from + line / channels * rows * channels + line % channels;
        for (int64_t row = 0; row < rows; row++)
            to[line * rows + row] = in[row * channels];
    }
}

static enum err hold_sinogram(struct streamed *s, const char *what, const struct buffer *given,
                              float **array, int *pinned)
{
    void *p;
    TRY(mem_alloc_pages(what, given->bytes, &p));
    *array = p;
    sinogram_rows_fastest(&s->t.m->scan, given->ptr, *array);
    TRY(s->t.be->ops->streams->pin(s->t.be, p, given->bytes));
    *pinned = 1;
    return ERR_OK;
}

static enum err send_hessian(struct streamed *s)
{
    struct backend *be = s->t.be;
    const struct buffer *w = s->t.options->weights;
    const size_t bytes = model_volume_bytes(s->t.m);
    void *hessian;
    TRY(mem_alloc("Hessian diagonal", bytes, &hessian));
    enum err e = out_of_core_run(be, RECON_HESSIAN, s->t.m, w ? w->ptr : NULL, hessian);
    if (!e)
        e = be->ops->upload(be, hessian, bytes, &s->t.hessian);
    mem_free(hessian);
    return e;
}

static enum err streamed_first_image(struct streamed *s, const struct buffer *y,
                                     struct buffer *image)
{
    const struct buffer *const initial = s->t.options->initial;
    if (!initial)
        return direct_recon(s->t.be, s->t.m, y, NULL, image);
    memcpy(image->ptr, initial->ptr, image->bytes);
    return ERR_OK;
}

static enum err hold_device(struct streamed *s, const struct buffer *image)
{
    struct vcd *t = &s->t;
    const struct backend_ops *ops = t->be->ops;
    const struct buffer *prox = t->options->prox_target;
    const size_t block = bytes_of(s, 0);
    TRY(ops->upload(t->be, image->ptr, image->bytes, &s->x));
    if (prox)
        TRY(ops->upload(t->be, prox->ptr, prox->bytes, &s->target));
    t->target = prox ? &s->target : NULL;
    TRY(vcd_allocate_steps(t));
    TRY(ops->alloc(t->be, "a block's update", longest_bytes(t->m, t->count, t->options->compat_06),
                   &s->part));
    for (struct slot *slot = s->slot; slot < s->slot + SLOTS; slot++) {
        TRY(ops->alloc(t->be, "a block of the error sinogram", block, &slot->error));
        if (s->weights)
            TRY(ops->alloc(t->be, "a block of the weights", block, &slot->weights));
        struct fence **const fences[] = {&slot->full, &slot->done, &slot->empty};
        for (int i = 0; i < 3; i++)
            TRY(ops->streams->fence_create(t->be, fences[i]));
    }
    return ERR_OK;
}

static enum err streamed_create(struct streamed *s, const struct buffer *y)
{
    struct vcd *t = &s->t;
    const struct mbir_options *o = t->options;
    size_t room;
    PHASE("check data", vcd_check_host(t, y->ptr, o->weights ? o->weights->ptr : NULL));
    PHASE("regularisation", vcd_regularise(t, y));
    TRY(vcd_find_pixels(t));
    PHASE("partitions", schedule_create(t->pixels, t->count, o->seed, o->compat_06, &t->schedule));
    if (!o->compat_06)
        TRY(slice_damping(t->m, &t->damping));
    TRY(t->be->ops->streams->room(t->be, &room));
    const struct block_sizes sizes = {.be = t->be,
                                      .m = t->m,
                                      .pixels = t->count,
                                      .weights = o->weights != NULL,
                                      .prox = o->prox_target != NULL,
                                      .compat_06 = o->compat_06};
    TRY(blocks_plan(&sizes, room, &s->blocks));
    TRY(hold_sinogram(s, "error sinogram", y, &s->error, &s->pinned[0]));
    if (o->weights)
        TRY(hold_sinogram(s, "weights", o->weights, &s->weights, &s->pinned[1]));
    return ERR_OK;
}

static enum err streamed_start(struct streamed *s, const struct buffer *y, struct buffer *image,
                               double *scale)
{
    struct vcd *t = &s->t;
    const struct pixel_set inside = {t->pixels, t->count, 0};
    TRY(schedule_start(&t->schedule, t->count, t->options->initial != NULL));
    PHASE("initial image", streamed_first_image(s, y, image));
    PHASE("Hessian", send_hessian(s));
    TRY(hold_device(s, image));
    PHASE("error sinogram", vcd_fit_scale(t, &inside, &s->x, scale));
    return ERR_OK;
}

static enum err streamed_iterate(void *context, const struct partition *part, const int32_t *order,
                                 struct vcd_outcome *all)
{
    struct streamed *s = context;
    struct vcd *t = &s->t;
    const volatile int *stop = t->options->stop;
    struct pass residual = {.what = RESIDUAL};
    TRY(vcd_visit_subsets(t, part, order, &s->x, &all->steps));
    if (stop && *stop)
        return ERR_OK;
    PHASE("sinogram update", vcd_take_move(t));
    PHASE("stats", run_pass(s, &residual));
    all->residual = residual.sums.linear;
    return t->be->ops->sum_abs(t->be, &s->x, &all->size);
}

static enum err streamed_run(struct streamed *s, const struct buffer *y, struct buffer *image,
                             struct mbir_report *report)
{
    TRY(streamed_create(s, y));
    TRY(streamed_start(s, y, image, &report->initial_scale));
    const enum err e = vcd_iterations(&s->t, streamed_iterate, s, report);
    if (e && e != ERR_INTERRUPTED)
        return e;
    TRY(s->t.be->ops->download(s->t.be, &s->x, image->ptr, image->bytes));
    return e;
}

static void streamed_free(struct streamed *s)
{
    struct backend *be = s->t.be;
    const struct backend_ops *ops = be->ops;
    struct buffer *const arrays[] = {&s->x,
                                     &s->target,
                                     &s->part,
                                     &s->slot[0].error,
                                     &s->slot[0].weights,
                                     &s->slot[1].error,
                                     &s->slot[1].weights};
    ops->streams->finish(be); /* nobody uses the arrays any more */
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        ops->release(be, arrays[i]);
    for (struct slot *slot = s->slot; slot < s->slot + SLOTS; slot++) {
        ops->streams->fence_free(slot->full);
        ops->streams->fence_free(slot->done);
        ops->streams->fence_free(slot->empty);
    }
    float *const host[] = {s->error, s->weights};
    for (int i = 0; i < 2; i++) {
        if (s->pinned[i])
            ops->streams->unpin(be, host[i]);
        mem_free(host[i]);
    }
    vcd_free(&s->t);
}

enum err mbir_streamed(struct backend *be, const struct ct_model *m, const struct buffer *y,
                       const struct mbir_options *o, struct buffer *x, struct mbir_report *report)
{
    struct streamed s = {.t = {.be = be, .m = m, .options = o}};
    const struct vcd_passes passes = {streamed_update_back, streamed_forward_dots, &s};
    s.t.passes = &passes;
    const enum err e = streamed_run(&s, y, x, report);
    streamed_free(&s);
    return e;
}
