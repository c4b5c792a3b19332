/* Cuts the arrays of an operation into pieces: which part of input and output each one takes. */
#include <stdlib.h>

#include "host/geom/ct_model.h"
#include "host/recon/common/direct_weights.h"
#include "host/recon/slabs/slab_job.h"

static struct index_range range_whole(int64_t n)
{
    return (struct index_range){0, n};
}

static struct box sinogram_box(const struct slab_job *j, struct index_range views,
                               struct index_range rows)
{
    const struct scan *s = &j->m.scan;
    return (struct box){{s->views, s->rows, s->channels}, {views, rows, range_whole(s->channels)}};
}

static struct box volume_box(const struct slab_job *j, struct index_range rows,
                             struct index_range slices)
{
    const struct volume *v = &j->m.volume;
    return (struct box){{v->rows, v->cols, v->slices}, {rows, range_whole(v->cols), slices}};
}

static struct index_range slab_range(const struct slabs *s, int64_t index)
{
    const struct slab slab = slab_at(s, index, 0);
    return (struct index_range){slab.first, slab.count};
}

/* Rows of the detector with the slices over them: all views of a row block are results. */
static void forward_piece(const struct slab_job *j, int64_t i, struct piece *p)
{
    const struct index_range views = slab_range(&j->views, i / j->results.count);
    const struct index_range rows = slab_range(&j->results, i % j->results.count);
    const struct index_range slices = tile_slices(&j->m, views, rows);
    p->in = volume_box(j, range_whole(j->m.volume.rows), slices);
    p->out = sinogram_box(j, views, rows);
    p->first = p->last = 1;
    p->problem = tile_model(&j->m, views, rows, slices);
}

/* Slices with the rows under them, block of views by block of views. */
static void back_piece(const struct slab_job *j, int64_t i, struct piece *p)
{
    const int64_t block = i % j->views.count;
    const struct index_range slices = slab_range(&j->results, i / j->views.count);
    const struct index_range views = slab_range(&j->views, block);
    const struct index_range rows = tile_rows(&j->m, views, slices);
    if (j->has_input)
        p->in = sinogram_box(j, views, rows);
    p->out = volume_box(j, range_whole(j->m.volume.rows), slices);
    p->first = block == 0;
    p->last = block == j->views.count - 1;
    p->problem = tile_model(&j->m, views, rows, slices);
}

static void filter_piece(const struct slab_job *j, int64_t i, struct piece *p)
{
    const struct index_range views = slab_range(&j->results, i), rows = range_whole(j->m.scan.rows);
    p->in = p->out = sinogram_box(j, views, rows);
    p->first = p->last = 1;
    p->problem = tile_model(&j->m, views, rows, range_whole(j->m.volume.slices));
}

/* Rows of the volume, and one more on both sides to look at. */
static void median_piece(const struct slab_job *j, int64_t i, struct piece *p)
{
    const struct volume *v = &j->m.volume;
    const struct slab s = slab_at(&j->results, i, 1);
    p->in = volume_box(j, (struct index_range){s.from, s.length}, range_whole(v->slices));
    p->out = volume_box(j, (struct index_range){s.first, s.count}, range_whole(v->slices));
    p->skip = (s.first - s.from) * v->cols * v->slices;
    p->first = p->last = 1;
    p->problem = j->m;
    p->problem.volume.rows = s.length;
}

int64_t piece_count(const struct slab_job *j)
{
    return j->results.count * (j->views.count ? j->views.count : 1);
}

void piece_at(const struct slab_job *j, int64_t i, struct piece *p)
{
    *p = (struct piece){0};
    switch (j->op) {
    case RECON_FORWARD:
        forward_piece(j, i, p);
        break;
    case RECON_BACK:
    case RECON_HESSIAN:
    case RECON_DIRECT:
        back_piece(j, i, p);
        break;
    case RECON_FILTER:
        filter_piece(j, i, p);
        break;
    case RECON_MEDIAN:
        median_piece(j, i, p);
        break;
    case RECON_MBIR:
        break;
    }
}

void slab_job_free(struct slab_job *j)
{
    free(j->indices);
    free(j->factors);
}

enum err slab_job_create(struct backend *be, enum recon_op op, const struct ct_model *m,
                         int has_input, struct slab_job *out)
{
    struct slab_job j = {.be = be, .op = op, .m = *m, .has_input = has_input};
    const struct volume *v = &j.m.volume;
    const int projects = op != RECON_FILTER && op != RECON_MEDIAN;
    if (op == RECON_HESSIAN)
        j.m.volume.ror = ROR_NONE;
    j.pixels.count = volume_pixels(v);
    if (projects && v->ror != ROR_NONE) {
        TRY(volume_pixels_inside(v, &j.indices, &j.pixels.count));
        j.pixels.indices = j.indices;
    }
    j.results.length = op == RECON_FORWARD  ? m->scan.rows
                       : op == RECON_FILTER ? m->scan.views
                       : op == RECON_MEDIAN ? v->rows
                                            : v->slices;
    j.views.length = projects ? m->scan.views : 0;
    *out = j;
    const enum err e = op == RECON_DIRECT ? direct_slice_factors(m, &out->factors) : ERR_OK;
    if (e)
        slab_job_free(out);
    return e;
}
