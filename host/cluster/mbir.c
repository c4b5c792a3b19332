/* A rank's part of MBIR: its rows read, the automatic values of the whole scan, its slices. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/cluster/recon.h"
#include "host/cluster/ranks_backend.h"
#include "host/recon/recon.h"
#include "host/scan/compute.h"
#include "host/scan/input.h"
#include "host/scan/steps.h"

#define VIEWS 20 /* about so many are looked at for automatic values */

struct part {
    struct cluster *c;
    struct scan_context *s;
    struct shares shares;
    struct ct_model m; /* of this rank; borrows angles */
    float *y, *w, *x;  /* mem_alloc */
    struct ranks_backend *ranks;
};

static struct ct_model model_of(const struct ct_model *m, const struct shares *s, int rank)
{
    return tile_model(m, (struct index_range){0, m->scan.views}, s->rows[rank], s->slices[rank]);
}

enum err cluster_mbir_check(struct cluster *c, struct scan_context *s)
{
    const struct ct_model *m = &s->model;
    const int64_t most = m->volume.slices / 2;
    struct shares shares;
    FAIL_IF(c->place.size > 1 && most < c->place.size, ERR_USAGE,
            "%" PRId64 " slices are too few for mbir by %d processes: start %" PRId64 " at most",
            m->volume.slices, c->place.size, most < 1 ? (int64_t)1 : most);
    size_t whole, volume;
    TRY(scan_recon_sizes(m, &whole, &volume));
    s->slabs = (struct slabs){m->volume.slices, m->volume.slices, 1};
    TRY(shares_of(m, c->place.size, &shares));
    const struct ct_model mine = model_of(m, &shares, c->place.rank);
    const int overlap = m->scan.beam == BEAM_CONE && c->place.size > 1;
    shares_free(&shares);
    const size_t y = (size_t)scan_samples(&mine.scan) * sizeof(float);
    const size_t x = (size_t)volume_voxels(&mine.volume) * sizeof(float);
    const size_t sinograms =
        (size_t)(1 + (s->request->weights != SCAN_EQUAL) + (s->request->rings != 0) + 3 * overlap);
    s->bytes = sinograms * y + x + mbir_scratch_bytes(&mine) +
               14 * (size_t)volume_pixels(&mine.volume) * sizeof(float);
    if (scan_views_whole(s->request))
        s->bytes += whole;
    if (s->request->weights == SCAN_METAL) /* found in a volume of all slices */
        s->bytes += 4 * whole + 2 * volume;
    return mem_require("this reconstruction by all processes of this machine",
                       s->bytes * (size_t)c->place.local_size, "start fewer, or on more machines");
}

/* Rows that this rank owns, of every stride-th view, packed. */
static int64_t pack_owned(const struct part *p, const float *array, int64_t stride, float *out)
{
    const struct scan *s = &p->m.scan;
    const int rank = p->c->place.rank;
    const struct index_range own = p->shares.owned[rank];
    const int64_t n = own.count * s->channels, skip = own.first - p->shares.rows[rank].first;
    int64_t views = 0;
    for (int64_t v = 0; v < s->views; v += stride, views++)
        memcpy(out + views * n, array + (v * s->rows + skip) * s->channels,
               (size_t)n * sizeof *out);
    return views * n;
}

/* (views, own rows, channels) into the rows' place among all of `rows`. */
static void place_owned(struct index_range own, int64_t views, int64_t rows, int64_t channels,
                        const float *packed, float *all)
{
    const int64_t n = own.count * channels;
    for (int64_t v = 0; v < views; v++)
        memcpy(all + (v * rows + own.first) * channels, packed + v * n, (size_t)n * sizeof *all);
}

/* The views that automatic values look at, whole, on the first rank: (views, rows, channels) into
 * *all, NULL on the others; mem_alloc. */
static enum err part_collect_views(struct part *p, const float *array, int64_t stride, float **all)
{
    const struct scan *s = &p->s->model.scan;
    const int64_t views = (s->views + stride - 1) / stride;
    const size_t whole = (size_t)(views * s->rows * s->channels) * sizeof(float);
    const int first = p->c->place.rank == 0;
    void *packed, *room = NULL;
    *all = NULL;
    TRY(mem_alloc("views for automatic regularisation", whole, &packed));
    enum err e = first ? mem_alloc("views for automatic regularisation", whole, &room) : ERR_OK;
    const int64_t mine = pack_owned(p, array, stride, packed);
    if (!e && first)
        place_owned(p->shares.owned[0], views, s->rows, s->channels, packed, room);
    for (int r = 1; !e && r < p->c->place.size; r++) {
        const struct index_range own = p->shares.owned[r];
        const size_t bytes = (size_t)(views * own.count * s->channels) * sizeof(float);
        if (first)
            e = cluster_exchange(p->c, -1, NULL, 0, r, packed, bytes);
        else if (r == p->c->place.rank)
            e = cluster_exchange(p->c, 0, packed, (size_t)mine * sizeof(float), -1, NULL, 0);
        if (!e && first)
            place_owned(own, views, s->rows, s->channels, packed, room);
    }
    mem_free(packed);
    *all = room;
    return e;
}

/* sigma_* as one rank would find them. */
static enum err part_regularise(struct part *p, int *silent)
{
    struct ct_model looked_at = p->s->model;
    const int64_t views = looked_at.scan.views;
    const int64_t stride = views / (views < VIEWS ? views : VIEWS);
    float *y = NULL, *w = NULL;
    if (!looked_at.regularisation.automatic)
        return ERR_OK;
    enum err e = part_collect_views(p, p->y, stride, &y);
    if (!e && p->w)
        e = part_collect_views(p, p->w, stride, &w);
    looked_at.scan.views =
        (views + stride - 1) / stride; /* fewer than 40: none is left out again */
    if (!e && p->c->place.rank == 0)
        e = auto_regularise(p->s->be, &looked_at, y, w, &p->m.regularisation);
    mem_free(y);
    mem_free(w);
    p->m.regularisation.automatic = 0;
    TRY(cluster_agree(p->c, e, silent));
    TRY(cluster_broadcast(p->c, &p->m.regularisation, sizeof p->m.regularisation, 0));
    FAIL_IF(!(p->m.regularisation.sigma_y > 0 && p->m.regularisation.sigma_x > 0), ERR_INPUT,
            "automatic regularisation found no signal in every %" PRId64
            "th view (sigma_y %g, sigma_x %g): set sigma_y and sigma_x",
            stride, p->m.regularisation.sigma_y, p->m.regularisation.sigma_x);
    return ERR_OK;
}

/* All rows, with what is done to them. */
static enum err part_read_rows(struct part *p, float **y)
{
    TRY(scan_input_rows(p->s, 0, p->s->model.scan.rows, y));
    return scan_remove_rings(p->s, &p->s->model, y);
}

/* Each rank finds the metal in all slices: a message would not come earlier. */
static enum err make_metal_weights(struct part *p)
{
    const struct scan *s = &p->s->model.scan;
    const struct index_range rows = p->shares.rows[p->c->place.rank];
    const struct box part = {{s->views, s->rows, s->channels},
                             {{0, s->views}, rows, {0, s->channels}}};
    float *y = NULL, *all = NULL;
    void *w = NULL;
    enum err e = part_read_rows(p, &y);
    if (!e)
        e = scan_metal_weights(p->s->be, &p->s->model, y, &all);
    if (!e)
        e = mem_alloc("weights", (size_t)box_count(&part) * sizeof(float), &w);
    if (!e)
        box_pack(&part, all, 0, box_count(&part), w);
    p->w = w;
    mem_free(y);
    mem_free(all);
    return e;
}

static enum err make_weights(struct part *p)
{
    void *w;
    const int64_t samples = scan_samples(&p->m.scan);
    TRY(mem_alloc("weights", (size_t)samples * sizeof(float), &w));
    p->w = w;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < samples; i++)
        p->w[i] = expf(-p->y[i]);
    return ERR_OK;
}

static enum err part_read(struct part *p)
{
    const struct scan_request *r = p->s->request;
    const int rank = p->c->place.rank;
    const struct index_range rows = p->shares.rows[rank];
    void *x;
    TRY(scan_input_rows(p->s, rows.first, rows.count, &p->y));
    TRY(scan_remove_rings(p->s, &p->m, &p->y));
    if (r->weights)
        TRY((r->weights == SCAN_METAL ? make_metal_weights : make_weights)(p));
    TRY(mem_alloc("volume", (size_t)volume_voxels(&p->m.volume) * sizeof(float), &x));
    p->x = x;
    return ERR_OK;
}

static void part_on_iteration(void *context, int64_t done, int64_t total)
{
    (void)context;
    progress("mbir", (double)done, (double)total);
}

/* Arrays that MBIR reads and writes, where the back end computes. */
struct part_arrays {
    struct buffer y, w, x;
};

static enum err part_compute(struct part *p, struct part_arrays *a)
{
    const struct scan_request *r = p->s->request;
    const struct backend_ops *ops = p->s->be->ops;
    const size_t y_bytes = (size_t)scan_samples(&p->m.scan) * sizeof(float);
    const size_t x_bytes = (size_t)volume_voxels(&p->m.volume) * sizeof(float);
    TRY(ops->upload(p->s->be, p->y, y_bytes, &a->y));
    if (p->w)
        TRY(ops->upload(p->s->be, p->w, y_bytes, &a->w));
    TRY(ops->upload(p->s->be, p->x, x_bytes, &a->x));
    const struct mbir_options o = {.max_iterations = r->iterations,
                                   .stop_threshold_percent = r->threshold_percent,
                                   .seed = (uint32_t)r->seed,
                                   .fast = r->fast,
                                   .weights = p->w ? &a->w : NULL,
                                   .samples = scan_samples(&p->s->model.scan),
                                   .on_iteration = part_on_iteration};
    enum err e = ranks_backend_open(p->s->be, p->c, &p->shares, &p->m, r->stop, &p->ranks);
    if (!e)
        e = mbir_recon(p->s->be, &p->m, &a->y, &o, &a->x, &p->s->result->report);
    ranks_backend_close(p->s->be, p->ranks);
    p->s->result->stopped =
        e == ERR_INTERRUPTED; /* of all ranks: the volume is whole after every step */
    if (e && e != ERR_INTERRUPTED)
        return e;
    return ops->download(p->s->be, &a->x, p->x, x_bytes);
}

static enum err part_iterate(struct part *p)
{
    struct part_arrays a = {.x = {.ptr = NULL}};
    const enum err e = part_compute(p, &a);
    struct buffer *const all[] = {&a.y, &a.w, &a.x};
    for (int i = 0; i < 3; i++)
        p->s->be->ops->release(p->s->be, all[i]);
    progress_end();
    return e;
}

/* Files come last: nothing that fails before leaves any, nor does what fails in them. */
static enum err write_part(struct part *p, const struct parts *to, int *silent)
{
    const int first = p->c->place.rank == 0;
    const struct index_range slices = p->shares.slices[p->c->place.rank];
    const struct slab s = {.first = slices.first, .count = slices.count};
    enum err e = first ? parts_begin(to) : ERR_OK;
    e = cluster_agree(p->c, e, silent);
    if (!e)
        e = cluster_agree(p->c, parts_add(to, s, p->x), silent);
    if (e && first)
        parts_drop(to);
    return e;
}

static enum err part_run(struct part *p, const struct parts *to, int *silent)
{
    TRY(cluster_agree(p->c, part_read(p), silent));
    TRY(part_regularise(p, silent));
    TRY(part_iterate(p));
    return write_part(p, to, silent);
}

enum err cluster_mbir_run(struct cluster *c, struct scan_context *s, const struct parts *to,
                          int *silent)
{
    struct part p = {.c = c, .s = s};
    TRY(shares_of(&s->model, c->place.size, &p.shares));
    p.m = model_of(&s->model, &p.shares, c->place.rank);
    enum err e = part_run(&p, to, silent);
    mem_free(p.y);
    mem_free(p.w);
    mem_free(p.x);
    shares_free(&p.shares);
    return e;
}
