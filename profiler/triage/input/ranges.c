/* The phases that the reconstructions mark (base/mark): which primitive each of them is. */
#include <math.h>
#include <string.h>

#include "profiler/triage/input/timing.h"

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
