/* From files to verdicts: reads the inputs, judges every primitive that was measured, sorts them by
 * verdict, sums them up in a headline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/triage/model/primitive.h"
#include "profiler/triage/triage.h"

static enum err triage_load(const char *timing, const char *profile, const struct triage_options *o,
                            struct triage *t)
{
    FAIL_IF(!timing && !profile, ERR_INPUT, "neither times nor a profile to judge by");
    t->weights = weights_default();
    if (o->weights)
        TRY(weights_read(o->weights, &t->weights));
    TRY(cards_choose(o->cards, t->cards, &t->cards_count));
    if (timing)
        TRY(timing_read(timing, &t->timing, &t->notes));
    if (profile)
        TRY(profile_read(profile, &t->profile));
    if (o->sass)
        TRY(sass_read(o->sass, &t->sass));
    FAIL_IF(
        !timing && o->size <= 0, ERR_USAGE,
        "this is a recording, which does not say how large the volume was. If the program calls "
        "tomoprof's operations, add `size=N` (the edge of the volume). If it calls none of "
        "tomoprof's operations, there is nothing to judge: `tomoprof run` measures them.");
    return ERR_OK;
}

static enum err choose_size(const struct triage_options *o, struct triage *t)
{
    double size = o->size > 0 ? o->size : timing_largest(&t->timing);
    int rows = 0;
    for (int i = 0; i < t->timing.rows_count; i++)
        rows += t->timing.rows[i].size == size;
    FAIL_IF(t->timing.rows_count && !rows, ERR_USAGE, "`size=%g`: no operation was measured at it",
            size);
    t->inputs.size = size;
    return ERR_OK;
}

static void know_machine(struct triage *t)
{
    struct triage_machine *m = &t->inputs.machine;
    static const struct timing_environment unknown = {.threads = 0};
    const struct timing_environment *e = t->timing.file ? &t->timing.file->environment : &unknown;
    const char *device = e->devices_count ? e->devices[0] : NULL;
    const int known = e->threads >= 1 && e->threads < 100000;
    m->is_gpu =
        e->backend ? !strcmp(e->backend, "cuda") : t->profile && t->profile->totals.kernel_s > 0;
    m->threads = known ? (int)e->threads : 1;
    if (!known && !m->is_gpu)
        notes_add(&t->notes, "the number of threads is not known: 1 was assumed");
    m->name = device ? device : e->cpu ? e->cpu : "unknown machine";
    if (!device && t->profile && t->profile->devices_count && t->profile->devices[0].name)
        m->name = t->profile->devices[0].name;
    m->ridge = t->timing.gflops / t->timing.gbytes_per_s;
}

static void note_confidence(struct triage *t)
{
    if (!t->profile)
        notes_add(&t->notes,
                  "no profile.json: shares of composite operations come from single rows, "
                  "transfers and gaps are not known");
    if (!t->timing.rows_count)
        notes_add(&t->notes,
                  "no timing.json: times are those of a profile, sizes and growth are not known");
    if (t->timing.rows_count && !t->workloads.count)
        notes_add(&t->notes,
                  "no reconstruction was measured at %g: the whole, of which a share could be "
                  "taken, is unknown",
                  t->inputs.size);
}

static int by_verdict(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;
    if (x->verdict != y->verdict)
        return (int)y->verdict - (int)x->verdict;
    const int order = (x->score.total < y->score.total) - (x->score.total > y->score.total);
    return order ? order : (x > y) - (x < y); /* equal ones as the pool has them */
}

/* Something of the suite was measured, even if nothing that has a model. */
static int knows_any(const struct triage *t)
{
    const struct timing_row *r;
    for (int i = 0; (r = not_judged(&t->timing, t->inputs.size, i)); i++)
        if (unmodelled_named(r->operation))
            return 1;
    return 0;
}

/* Judges every primitive that has any evidence. */
static enum err judge_all(struct triage *t)
{
    for (int i = 0; primitive_at(i); i++) {
        struct candidate *c = &t->pool[t->candidates_count];
        TRY(candidate_make(&t->inputs, primitive_at(i), c));
        if (c->evidence.seconds > 0 || c->evidence.host_s > 0 || c->evidence.device_s > 0)
            t->candidates[t->candidates_count++] = c;
        else
            candidate_free(c);
    }
    FAIL_IF(
        !t->candidates_count && !knows_any(t), ERR_INPUT,
        "%s none of tomoprof's operations, which triage judges: `tomoprof run --list` names them, "
        "`tomoprof run` measures and judges them",
        t->timing.rows_count ? "timing.json holds" : "the program of this recording called");
    qsort(t->candidates, (size_t)t->candidates_count, sizeof(struct candidate *), by_verdict);
    return ERR_OK;
}

static void write_headline(struct triage *t)
{
    int n[4] = {0};
    for (int i = 0; i < t->candidates_count; i++)
        n[t->candidates[i]->verdict]++;
    const struct candidate *c = t->candidates[0];
    const char *plural = t->candidates_count == 1 ? "" : "s";
    int judged = 0;
    for (int i = 0; i < t->candidates_count; i++)
        judged += t->candidates[i]->best != NULL;
    if (!t->candidates_count)
        snprintf(t->headline, sizeof t->headline,
                 "No verdict: none of the operations that were measured at %g has a model of a "
                 "card. Their work is listed.",
                 t->inputs.size);
    else if (!judged)
        snprintf(t->headline, sizeof t->headline,
                 "No FPGA fits: of %d cards, none holds one of the %d operation%s within the power "
                 "budget of %g W (0: no budget).",
                 t->cards_count, t->candidates_count, plural, t->weights.power_budget_watts);
    else if (c->verdict < VERDICT_MEDIUM)
        snprintf(
            t->headline, sizeof t->headline,
            "None of %d operation%s would benefit from an FPGA card here: this machine or a GPU is "
            "better, or the gain is too small. The nearest is %s (%s).",
            t->candidates_count, plural, c->primitive->name, verdict_name(c->verdict));
    else
        snprintf(
            t->headline, sizeof t->headline,
            "%s is the first candidate (%s, %.2g to %.2g times the best alternative on the %s); "
            "of %d operation%s %d are HIGH, %d MEDIUM, %d LOW, %d NO.",
            c->primitive->name, verdict_name(c->verdict), c->speedup_rival.low,
            c->speedup_rival.high, c->best->card->name, t->candidates_count, plural,
            n[VERDICT_HIGH], n[VERDICT_MEDIUM], n[VERDICT_LOW], n[VERDICT_NO]);
}

static enum err triage_build(const char *timing, const char *profile,
                             const struct triage_options *o, struct triage *t)
{
    TRY(triage_load(timing, profile, o, t));
    TRY(choose_size(o, t));
    know_machine(t);
    workloads_find(&t->timing, t->profile, t->inputs.size, &t->workloads, &t->notes);
    t->inputs.timing = &t->timing;
    t->inputs.workloads = &t->workloads;
    t->inputs.profile = t->profile;
    t->inputs.sass = t->sass.count ? &t->sass : NULL;
    t->inputs.cards = t->cards;
    t->inputs.cards_count = t->cards_count;
    t->inputs.weights = &t->weights;
    TRY(judge_all(t));
    note_confidence(t);
    write_headline(t);
    for (int i = 0; i < t->cards_count; i++)
        TRY(pipeline_make(t->cards[i], t->inputs.size, &t->weights, &t->pipelines[i]));
    return ERR_OK;
}

enum err triage_make(const char *timing, const char *profile, const struct triage_options *o,
                     struct triage **out)
{
    struct triage *t = calloc(1, sizeof *t);
    FAIL_IF(!t, ERR_MEMORY, "no memory for the triage");
    t->version = o->version;
    enum err e = triage_build(timing, profile, o, t);
    if (e) {
        triage_destroy(t);
        return e;
    }
    *out = t;
    return ERR_OK;
}

void triage_destroy(struct triage *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->candidates_count; i++)
        candidate_free(t->candidates[i]);
    timing_free(&t->timing);
    model_destroy(t->profile);
    sass_free(&t->sass);
    notes_free(&t->notes);
    free(t);
}
