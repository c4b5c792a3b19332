/* How thick slabs are: memory in closed form, before anything is allocated. */
#include <stdio.h>

#include "host/recon/slabs/slab_job.h"

const char *const recon_op_names[] = {
    [RECON_FORWARD] = "forward projection",
    [RECON_BACK] = "back projection",
    [RECON_HESSIAN] = "Hessian diagonal",
    [RECON_FILTER] = "ramp filter",
    [RECON_DIRECT] = "direct_recon",
    [RECON_MEDIAN] = "median filter",
    [RECON_MBIR] = "mbir_recon",
};

static int64_t bytes_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct piece_sizes piece_sizes_of(const struct slab_job *j)
{
    struct piece_sizes s = {0};
    for (int64_t i = 0; i < piece_count(j); i++) {
        struct piece p;
        piece_at(j, i, &p);
        const int64_t in = box_count(&p.in);
        s.in = bytes_max(s.in, in);
        s.out = bytes_max(s.out, j->op == RECON_MEDIAN ? in : box_count(&p.out));
        s.views = bytes_max(s.views, p.problem.scan.views);
        s.rows = bytes_max(s.rows, p.problem.scan.rows);
        s.slices = bytes_max(s.slices, p.problem.volume.slices);
        s.uploaded += in;
    }
    return s;
}

struct call_memory slab_calls_memory(const struct slab_job *j, enum recon_op op, struct scan s,
                                     struct volume v)
{
    static const struct {
        int count;
        enum backend_call call[3];
    } rows[] = {
        [RECON_FORWARD] = {1, {CALL_FORWARD}},
        [RECON_BACK] = {1, {CALL_BACK}},
        [RECON_HESSIAN] = {1, {CALL_BACK}},
        [RECON_FILTER] = {1, {CALL_FILTER}},
        [RECON_DIRECT] = {3, {CALL_BACK, CALL_FILTER, CALL_SLICES}},
        [RECON_MEDIAN] = {1, {CALL_MEDIAN}},
        [RECON_MBIR] = {3, {CALL_FORWARD, CALL_BACK, CALL_FILTER}},
    };
    struct call_memory all = {0, 0};
    for (int i = 0; i < rows[op].count; i++) {
        const struct call_memory m =
            j->be->ops->streams->memory(j->be, rows[op].call[i], &s, &v, j->pixels.count);
        all.kept += m.kept;
        all.shared = m.shared > all.shared ? m.shared : all.shared;
    }
    return all;
}

/* Bytes of the device while the job runs as it is cut now. */
static size_t bytes_now(const struct slab_job *j)
{
    const struct piece_sizes sizes = piece_sizes_of(j);
    const struct slab_pipeline stream = {.in_bytes = (size_t)sizes.in * sizeof(float),
                                         .out_bytes = (size_t)sizes.out * sizeof(float),
                                         .depth = j->depth,
                                         .sums = j->op != RECON_FORWARD && j->views.count > 1};
    struct scan s = j->m.scan;
    struct volume v = j->m.volume;
    s.views = sizes.views;
    s.rows = sizes.rows;
    v.slices = sizes.slices;
    if (!sizes.rows || !sizes.slices) /* nothing is seen: nothing is called */
        return pipeline_bytes(&stream);
    const struct call_memory calls = slab_calls_memory(j, j->op, s, v);
    return pipeline_bytes(&stream) + calls.kept + calls.shared;
}

static void slab_job_cut(struct slab_job *j, int64_t thickness)
{
    struct slabs *const r = &j->results;
    /* Two views are filtered together, and round together. */
    if (j->op == RECON_FILTER && thickness > 1 && thickness < r->length)
        thickness -= thickness % 2;
    r->thickness = thickness;
    r->count = (r->length + thickness - 1) / thickness;
}

static size_t slab_job_bytes(const void *context, int64_t thickness)
{
    struct slab_job j = *(const struct slab_job *)context;
    slab_job_cut(&j, thickness);
    return bytes_now(&j);
}

/* The thickest results for these blocks of views; 0: none fits. */
static int64_t slab_job_thickest(const struct slab_job *j, size_t room)
{
    struct slabs found;
    if (slab_job_bytes(j, 1) > room ||
        slabs_plan("", "", j->results.length, slab_job_bytes, j, room, &found))
        return 0;
    /* An even cut moves the borders of slabs, and with them the cells that they need. */
    while (found.thickness > 1 && slab_job_bytes(j, found.thickness) > room)
        found.thickness--;
    return found.thickness;
}

/* Fewer views at a time make results thicker, so that less is sent twice; halves are tried, and
 * taken for a fifth less. */
static int slab_job_choose(struct slab_job *j, size_t room)
{
    struct slabs best_views = {0};
    int64_t best = 0, best_sent = 0;
    const int64_t all = j->views.length;
    for (int64_t views = all; views > 0 || all == 0; views /= 2) {
        if (all)
            j->views = (struct slabs){all, views, (all + views - 1) / views};
        const int64_t thickness = slab_job_thickest(j, room);
        if (thickness) {
            slab_job_cut(j, thickness);
            const int64_t sent = piece_sizes_of(j).uploaded;
            if (!best || (double)sent < 0.8 * (double)best_sent) {
                best = thickness;
                best_sent = sent;
                best_views = j->views;
            }
        }
        if (!all)
            break;
    }
    if (!best)
        return 0;
    j->views = best_views;
    slab_job_cut(j, best);
    return 1;
}

enum err slab_job_plan(struct slab_job *j, size_t room)
{
    for (j->depth = 2; j->depth > 0; j->depth--)
        if (slab_job_choose(j, room))
            return ERR_OK;
    j->depth = 1;
    if (j->views.length)
        j->views = (struct slabs){j->views.length, 1, j->views.length};
    char what[80];
    snprintf(what, sizeof what, "the thinnest slab of %s", recon_op_names[j->op]);
    return j->be->ops->streams->refuse(j->be, what, slab_job_bytes(j, 1), "use `backend=cpu`");
}

enum err out_of_core_plan(struct backend *be, enum recon_op op, const struct ct_model *m,
                          int has_input, size_t room, struct out_of_core_plan *out)
{
    struct slab_job j;
    TRY(slab_job_create(be, op, m, has_input, &j));
    const enum err e = slab_job_plan(&j, room);
    if (!e)
        *out = (struct out_of_core_plan){j.results.thickness, j.views.thickness, j.results.count,
                                         piece_count(&j),     j.depth,           bytes_now(&j)};
    slab_job_free(&j);
    return e;
}
