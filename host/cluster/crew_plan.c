/* Cuts an operation's arrays for ranks, so that each makes its part of the result by itself. */
#include "host/cluster/crew_state.h"

#define TOGETHER 16 /* slices that Fourier reconstruction computes side by side */

static int is_cone(const struct ct_model *m)
{
    return m->scan.beam == BEAM_CONE;
}

static const char *axis_of(const struct operation *op, const struct ct_model *m)
{
    switch (op->share) {
    case SHARE_ROWS:
        return "detector rows";
    case SHARE_FORWARD:
        return is_cone(m) ? "views" : "slices";
    case SHARE_PLANES:
        return "rows of the volume";
    case SHARE_NONE:
        return NULL;
    default:
        return "slices";
    }
}

const char *crew_plan_axis(const struct operation *op, const struct ct_model *m, int size,
                           const char **why)
{
    *why = "";
    if (op->share == SHARE_NONE)
        *why = "no way to share it is built";
    else if (op->share == SHARE_MBIR && m->volume.slices < 2 * (int64_t)size)
        *why = "each process needs two slices";
    return **why ? NULL : axis_of(op, m);
}

static struct index_range all_of(int64_t n)
{
    return (struct index_range){0, n};
}

/* As equal as they go, in whole units. */
static struct index_range share_of(int64_t length, int64_t unit, int size, int rank)
{
    const int64_t units = (length + unit - 1) / unit;
    const int64_t first = units * rank / size * unit, end = units * (rank + 1) / size * unit;
    return (struct index_range){first, (end < length ? end : length) - first};
}

struct crew_ranges {
    struct index_range views, rows, planes, slices;
};

/* Rows under slices; the Hessian knows no region of reconstruction. */
static struct index_range plan_rows_under(const struct operation *op, const struct ct_model *m,
                                          struct index_range slices)
{
    struct ct_model seen = *m;
    enum recon_op recon;
    const int known = operation_recon(op, &recon);
    if (known && recon == RECON_HESSIAN)
        seen.volume.ror = ROR_NONE;
    if (known && recon == RECON_DIRECT && m->scan.z_shifts) /* views that see a slice are counted */
        return all_of(m->scan.rows);
    struct index_range rows = tile_rows(&seen, all_of(m->scan.views), slices);
    if (!rows.count) /* slices beside the detector: any row is right */
        rows = (struct index_range){0, 1};
    return rows;
}

static enum err mbir_ranges(const struct ct_model *m, int size, int rank, struct crew_ranges *r)
{
    struct shares shares;
    TRY(shares_of(m, size, &shares));
    r->slices = shares.slices[rank];
    r->rows = shares.rows[rank];
    shares_free(&shares);
    return ERR_OK;
}

static enum err plan_choose(const struct operation *op, const struct ct_model *m, int size,
                            int rank, struct crew_ranges *r, struct index_range *range)
{
    const int64_t unit = op->share == SHARE_GROUPS ? TOGETHER : 1;
    const int by_rows = op->share == SHARE_ROWS || (op->share == SHARE_FORWARD && !is_cone(m));
    *r = (struct crew_ranges){all_of(m->scan.views), all_of(m->scan.rows), all_of(m->volume.rows),
                              all_of(m->volume.slices)};
    if (op->share == SHARE_MBIR)
        TRY(mbir_ranges(m, size, rank, r));
    else if (op->share == SHARE_PLANES)
        r->planes = share_of(m->volume.rows, 1, size, rank);
    else if (by_rows)
        r->rows = share_of(m->scan.rows, 1, size, rank);
    else if (op->share == SHARE_FORWARD)
        r->views = share_of(m->scan.views, 1, size, rank);
    else
        r->slices = share_of(m->volume.slices, unit, size, rank);
    if (by_rows && !is_cone(m))
        r->slices = r->rows;
    else if (op->share == SHARE_SLICES || op->share == SHARE_GROUPS)
        r->rows = plan_rows_under(op, m, r->slices);
    *range = op->share == SHARE_PLANES    ? r->planes
             : by_rows                    ? r->rows
             : op->share == SHARE_FORWARD ? r->views
                                          : r->slices;
    return ERR_OK;
}

/* Adds one plane on either side, as far as there is one. */
static struct index_range with_neighbours(struct index_range r, int64_t length)
{
    const int64_t first = r.first > 0 ? r.first - 1 : 0;
    const int64_t end = r.first + r.count < length ? r.first + r.count + 1 : length;
    return (struct index_range){first, end - first};
}

enum err crew_plan_part(const struct operation *op, const struct ct_model *m, int size, int rank,
                        struct crew_part *out)
{
    const struct scan *s = &m->scan;
    const struct volume *v = &m->volume;
    struct crew_ranges r;
    *out = (struct crew_part){.m = *m};
    TRY(plan_choose(op, m, size, rank, &r, &out->range));
    struct index_range read = r.planes;
    if (op->share == SHARE_PLANES && r.planes.count)
        read = with_neighbours(r.planes, v->rows);
    if (out->range.count)
        out->m = tile_model(m, r.views, r.rows, r.slices);
    out->m.volume.rows = read.count;
    out->skip = (r.planes.first - read.first) * v->cols * v->slices;
    out->sinogram =
        (struct box){{s->views, s->rows, s->channels}, {r.views, r.rows, all_of(s->channels)}};
    out->volume = (struct box){{v->rows, v->cols, v->slices}, {read, all_of(v->cols), r.slices}};
    out->out = out->sinogram;
    if (op->output == ARRAY_VOLUME) {
        out->out = out->volume;
        out->out.part[0] = r.planes;
    }
    return ERR_OK;
}
