/* Takes reconstructions apart: which primitives one is made of, how often it calls each, and what
 * share of its time each has. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/triage/input/timing.h"

/* Calls of one reconstruction with 1 iteration, the published set-up. VCD: the first image is
 * filtered and back projected, its error projected, one Hessian; an iteration projects forward for
 * its sums and again to take the move out of the error, and back once. */
struct recipe {
    const char *operation;
    const char *rest; /* what the remainder is, NULL: not known */
    struct {
        const char *primitive;
        double calls;
    } parts[6];
};
/* clang-format off */
#define VCD(beam, filter) \
    {#beam "_mbir_recon", "mbir_prior_and_updates", \
     {{#beam "_forward_project", 3}, {#beam "_back_project", 2}, {#beam "_hessian_diagonal", 1}, {#beam "_" #filter, 1}, {"gen_pixel_partition", 11}}}
#define DIRECT(operation, beam, filter) \
    {operation, NULL, {{#beam "_back_project", 1}, {#beam "_" #filter, 1}}}
static const struct recipe recipes[] = {
    VCD(parallel, fbp_filter),
    VCD(cone, fdk_filter),
    DIRECT("parallel_fbp_recon", parallel, fbp_filter),
    DIRECT("cone_fdk_recon", cone, fdk_filter),
    DIRECT("parallel_direct_recon", parallel, fbp_filter),
    DIRECT("cone_direct_recon", cone, fdk_filter),
};
/* clang-format on */
#define RECIPES (int)(sizeof recipes / sizeof *recipes)

int workload_is_composite(const char *operation)
{
    for (int i = 0; i < RECIPES; i++)
        if (!strcmp(recipes[i].operation, operation))
            return 1;
    return 0;
}

const struct timing_row *not_judged(const struct timing *t, double size, int i)
{
    for (int k = 0; k < t->rows_count; k++) {
        const struct timing_row *r = &t->rows[k];
        if (r->size == size && r->seconds > 0 && !primitive_named(r->operation) &&
            !workload_is_composite(r->operation) && i-- == 0)
            return r;
    }
    return NULL;
}

static int primitive_index(const struct primitive *p)
{
    int i = 0;
    while (primitive_at(i) && primitive_at(i) != p)
        i++;
    return i;
}

static void add_part(struct workload *w, const char *primitive, double calls, double seconds,
                     const char *source)
{
    const double share = seconds / w->seconds;
    w->parts[w->count++] = (struct workload_part){primitive_named(primitive), calls, seconds, share,
                                                  share > 1 ? 1 : share,      source};
}

static void from_ranges(const struct recipe *r, const double seconds[], double whole,
                        struct workload *w)
{
    double left = whole;
    for (int i = 0; i < 6 && r->parts[i].primitive; i++) {
        double s = seconds[primitive_index(primitive_named(r->parts[i].primitive))];
        /* The traced pass is slower than the timed one: its shares are what counts. */
        add_part(w, r->parts[i].primitive, r->parts[i].calls, s / whole * w->seconds, "range");
        left -= s;
    }
    if (r->rest) {
        double s = seconds[primitive_index(primitive_named(r->rest))];
        add_part(w, r->rest, (double)NAN, s / whole * w->seconds, "range");
        left -= s;
    }
    add_part(w, NULL, (double)NAN, fmax(left, 0) / whole * w->seconds, "remainder");
}

/* A part that runs once in the whole takes there what it takes alone, within a factor of three;
 * parts below a tenth of the whole need not. */
static void workload_compare(struct workload *w, const struct timing *t, struct notes *notes)
{
    for (int i = 0; i < w->count; i++) {
        const struct workload_part *p = &w->parts[i];
        const struct timing_row *row =
            p->primitive && p->calls == 1 ? timing_find(t, p->primitive->name, w->size) : NULL;
        if (!row || fmax(p->seconds, row->seconds) < 0.1 * w->seconds ||
            (p->seconds < 3 * row->seconds && row->seconds < 3 * p->seconds))
            continue;
        w->disagrees = 1;
        notes_add(notes,
                  "%s is %.3g s of %s at %g by the traced pass and took %.3g s alone: the machine "
                  "was busy or the runs were few, measure again",
                  p->primitive->name, p->seconds, w->operation, w->size, row->seconds);
    }
}

/* Rows that together take longer than the whole are cut to fit; `uncut` keeps what they said. */
static void make_fit(struct workload *w, double sum, struct notes *notes)
{
    notes_add(
        notes,
        "%s at %g takes %.3g s, its parts measured alone %.3g s: their shares were cut to fit",
        w->operation, w->size, w->seconds, sum);
    for (int i = 0; i < w->count; i++) {
        w->parts[i].seconds *= w->seconds / sum;
        w->parts[i].share = w->parts[i].seconds / w->seconds;
    }
}

static void from_rows(const struct recipe *r, const struct timing *t, struct workload *w,
                      struct notes *notes)
{
    double sum = 0;
    int missing = 0;
    for (int i = 0; i < 6 && r->parts[i].primitive; i++) {
        const struct timing_row *row = timing_find(t, r->parts[i].primitive, w->size);
        missing += !row;
        double s = row ? row->seconds * r->parts[i].calls : (double)NAN;
        add_part(w, r->parts[i].primitive, r->parts[i].calls, s, row ? "row" : "unknown");
        sum += row ? s : 0;
    }
    if (sum > w->seconds)
        make_fit(w, sum, notes);
    double left = fmax(0, w->seconds - sum);
    if (missing)
        notes_add(notes,
                  "%s at %g: %d of its parts have no row of their own: %.0f %% of its time is not "
                  "credited",
                  w->operation, w->size, missing, 100 * left / w->seconds);
    /* The remainder is the rest only when nothing else can hide in it. */
    if (r->rest)
        add_part(w, r->rest, (double)NAN, missing || left <= 0 ? (double)NAN : left,
                 missing || left <= 0 ? "unknown" : "remainder");
    if (missing || !r->rest)
        add_part(w, NULL, (double)NAN, left, missing ? "unknown" : "remainder");
}

void workloads_find(const struct timing *t, const struct model *profile, double size,
                    struct workloads *out, struct notes *notes)
{
    *out = (struct workloads){0};
    for (int i = 0; i < RECIPES; i++) {
        double whole, seconds[64];
        const struct timing_row *row = timing_find(t, recipes[i].operation, size);
        if (!row)
            continue;
        struct workload *w = &out->item[out->count++];
        w->operation = recipes[i].operation;
        w->size = size;
        w->seconds = row->seconds;
        if (profile && ranges_seconds(profile, w->operation, &whole, seconds, 64)) {
            from_ranges(&recipes[i], seconds, whole, w);
            workload_compare(w, t, notes);
            out->from_ranges++;
        } else {
            from_rows(&recipes[i], t, w, notes);
        }
    }
}

int workload_has(const struct workload *w, const struct primitive *p)
{
    for (int i = 0; i < w->count; i++)
        if (w->parts[i].primitive == p)
            return 1;
    return 0;
}

double workload_share(const struct workload *w, const struct primitive *p, const struct timing *t)
{
    for (int i = 0; i < w->count; i++)
        if (w->parts[i].primitive == p)
            return w->parts[i].uncut;
    const struct timing_row *row = timing_find(t, p->name, w->size);
    if (strcmp(p->name, "median_filter3d") != 0 || !row)
        return (double)NAN;
    return row->seconds / (w->seconds + row->seconds); /* it follows the reconstruction */
}
