/* Makes a candidate: access pattern, evidence, Amdahl ceilings, verdict, confidence, sentences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/triage/verdict/candidate.h"

static void find_ceilings(const struct inputs *in, struct candidate *c)
{
    for (int i = 0; i < in->workloads->count; i++) {
        const struct workload *w = &in->workloads->item[i];
        const double share = workload_share(w, c->primitive, in->timing);
        if (!(share > 0))
            continue;
        struct amdahl_ceiling *k = &c->ceilings[c->ceilings_count++];
        *k = (struct amdahl_ceiling){w->operation, share, share < 1 ? 1 / (1 - share) : (double)NAN,
                                     !workload_has(w, c->primitive)};
        if (!c->ceiling || share > c->ceiling->share)
            c->ceiling = k;
    }
}

/* Times that scatter, or do not agree with each other. */
static int is_doubtful(const struct inputs *in, const struct candidate *c)
{
    for (int i = 0; i < in->workloads->count && c->ceiling; i++)
        if (in->workloads->item[i].disagrees &&
            !strcmp(in->workloads->item[i].operation, c->ceiling->workload))
            return 1;
    return c->evidence.cv > 0.3;
}

/* Points for each kind of evidence; low without a time or a reconstruction around it. */
static enum confidence confidence_of(const struct inputs *in, const struct candidate *c)
{
    const struct evidence *e = &c->evidence;
    int points = (e->sizes >= 3) + (e->runs >= 2) + (in->profile != NULL) +
                 (in->workloads->from_ranges > 0) + (!strcmp(e->source, "row"));
    if (!(e->seconds > 0) || !c->ceiling || !strcmp(e->source, "profile"))
        return CONFIDENCE_LOW;
    return points >= 4 && !is_doubtful(in, c) ? CONFIDENCE_HIGH
           : points >= 2                      ? CONFIDENCE_MEDIUM
                                              : CONFIDENCE_LOW;
}

enum err candidate_make(const struct inputs *in, const struct primitive *p, struct candidate *c)
{
    const struct assumptions as_they_are = assumptions_none();
    *c = (struct candidate){.primitive = p};
    TRY(access_pair_measure(p->trace, &c->access));
    candidate_evidence(in, c);
    find_ceilings(in, c);
    candidate_judge(in, &as_they_are, c);
    c->confidence = confidence_of(in, c);
    candidate_explain(in, c);
    return ERR_OK;
}

static void free_all(char **text, int *count)
{
    for (int i = 0; i < *count; i++)
        free(text[i]);
    *count = 0;
}

void candidate_free(struct candidate *c)
{
    free_all(c->reasons, &c->reasons_count);
    free_all(c->next, &c->next_count);
    free_all(c->flips, &c->flips_count);
}
