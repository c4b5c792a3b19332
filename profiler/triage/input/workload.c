/* Takes reconstructions apart: which primitives one is made of, how often it calls each, and what
 * share of its time each has. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/triage/input/timing.h"

/* The phases that the reconstructions mark (base/mark): which primitive each of them is. */

enum phase_kind { FORWARD, BACK, HESSIAN, FILTER, PRIOR, PARTITION, KINDS };

/* Phases that do not contain each other, so that they add up. One that is two: half each. */
static const struct phase {
    const char *name;
    enum phase_kind first, second;
} phases[] = {
    {"error sinogram", FORWARD, FORWARD},  {"forward projection and sums", FORWARD, FORWARD},
    {"sinogram update", FORWARD, FORWARD}, {"sinogram update and back projection", FORWARD, BACK},
    {"back projection", BACK, BACK},       {"ramp filter", FILTER, FILTER},
    {"Hessian", HESSIAN, HESSIAN},         {"prior", PRIOR, PRIOR},
    {"direction", PRIOR, PRIOR},           {"positivity", PRIOR, PRIOR},
    {"recon update", PRIOR, PRIOR},        {"stats", PRIOR, PRIOR},
    {"partitions", PARTITION, PARTITION},
};
#define PHASES (int)(sizeof phases / sizeof *phases)

static const char *const primitive_of[2][KINDS] = {
    {"parallel_forward_project", "parallel_back_project", "parallel_hessian_diagonal",
     "parallel_fbp_filter", "mbir_prior_and_updates", "gen_pixel_partition"},
    {"cone_forward_project", "cone_back_project", "cone_hessian_diagonal", "cone_fdk_filter",
     "mbir_prior_and_updates", "gen_pixel_partition"},
};

/* Seconds of the ranges called `name` in one process, -1 when its track was thinned out. An entry
 * of a whole track that counts more than one event is a range with what ended together with it: its
 * length is the outer one's, and the inner one has no entry of its own. */
static double range_seconds(const struct model *m, int32_t process, const char *name)
{
    double sum = 0;
    for (int i = 0; i < m->timeline_count; i++) {
        const struct model_track *t = &m->timeline[i];
        if (!t->kind || strcmp(t->kind, "range") != 0 || t->process != process)
            continue;
        for (int k = 0; k < t->events_count; k++) {
            const struct model_event *e = &t->events[k];
            if (e->what < 0 || e->what >= m->ranges_count || !m->ranges[e->what].name ||
                strcmp(m->ranges[e->what].name, name) != 0)
                continue;
            if (t->resolution_ns != 0)
                return -1;
            sum += 1e-9 * (double)e->length;
        }
    }
    return sum;
}

static int32_t range_process(const struct model *m, const char *operation, double *whole)
{
    int32_t best = -1;
    *whole = 0;
    for (int32_t p = 0; p < m->processes_count; p++) {
        double s = range_seconds(m, p, operation);
        if (s > *whole) {
            *whole = s;
            best = p;
        }
    }
    return best;
}

static void primitive_credit(double seconds[], int primitives, const char *name, double s)
{
    for (int p = 0; p < primitives && primitive_at(p); p++)
        if (!strcmp(primitive_at(p)->name, name))
            seconds[p] += s;
}

/* The back projection of a direct reconstruction ends with it, or with the "initial image" around
 * it, and then has no entry: it is what the filter leaves of that. */
static double hidden_back(const struct model *m, int32_t process, double whole, int iterative)
{
    const double around = iterative ? range_seconds(m, process, "initial image") : whole;
    if (around <= 0 || range_seconds(m, process, "back projection") > 0)
        return 0;
    return fmax(0, around - range_seconds(m, process, "ramp filter"));
}

int ranges_seconds(const struct model *m, const char *operation, double *whole, double seconds[],
                   int primitives)
{
    const int32_t process = range_process(m, operation, whole);
    const char *const *names = primitive_of[!strncmp(operation, "cone", 4)];
    if (process < 0)
        return 0;
    for (int i = 0; i < primitives; i++)
        seconds[i] = 0;
    double sum = hidden_back(m, process, *whole, strstr(operation, "mbir") != NULL);
    primitive_credit(seconds, primitives, names[BACK], sum);
    for (int i = 0; i < PHASES; i++) {
        double s = range_seconds(m, process, phases[i].name);
        if (s < 0)
            return 0;
        primitive_credit(seconds, primitives, names[phases[i].first], s / 2);
        primitive_credit(seconds, primitives, names[phases[i].second], s / 2);
        sum += s;
    }
    /* Phases beside the operation (its own check projects too) would make more than the whole. */
    return sum > 0 && sum <= *whole * 1.001;
}

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

static int workload_is_composite(const char *operation)
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
