/* Sentences: why the verdict, what to measure next, which assumption would turn it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "profiler/triage/verdict/candidate.h"
#include "profiler/triage/model/width_needed.h"

static void list_add_sentence(char **list, int *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void list_add_sentence(char **list, int *count, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (*count < REASONS_MOST && vasprintf(&list[*count], format, arguments) >= 0)
        ++*count;
    va_end(arguments);
}
#define REASON(...) list_add_sentence(c->reasons, &c->reasons_count, __VA_ARGS__)
#define NEXT(...)   list_add_sentence(c->next, &c->next_count, __VA_ARGS__)

static void explain_weight(const struct inputs *in, struct candidate *c)
{
    const struct amdahl_ceiling *k = c->ceiling;
    if (!k) {
        REASON("No reconstruction that was measured is known to contain it, so what it could gain "
               "is not known.");
        return;
    }
    if (!(k->value > 0))
        REASON("By itself it takes as long as all of %s: its Amdahl ceiling cannot be told.",
               k->workload);
    else
        REASON("It is %.3g %% of %s%s at %g^3: with this part infinitely fast the whole would be "
               "%.3g times faster, no more.",
               100 * k->share, k->workload, k->follows ? " and itself, which follows," : "",
               in->size, k->value);
    if (k->share < in->weights->least_share)
        REASON("That is below %.3g %%: not worth a card.", 100 * in->weights->least_share);
}

static void explain_software(const struct inputs *in, struct candidate *c)
{
    const struct alternative *own = in->machine.is_gpu ? &c->gpu : &c->cpu;
    if (!(c->measured.seconds.low > 0) || !(own->seconds.high > 0))
        return;
    double gap = c->measured.seconds.low / own->seconds.high;
    if (gap >= in->weights->software_gap)
        REASON("Software first: it takes %s here, and %s on %s, %.0f times less: most of what a "
               "card seems to gain, better software gains.",
               quantity(c->measured.seconds.low, "s"), quantity_bounds(own->seconds, "s"),
               own->name, gap);
}

static void explain_speed(struct candidate *c)
{
    const struct estimate *e = c->best;
    const struct bounds s = c->speedup_rival, j = c->energy;
    REASON("A call takes %s on the %s, bound by %s: %s times as fast as %s (%s).",
           quantity_bounds(e->seconds, "s"), e->card->name, e->bound, quantity_plain_bounds(s),
           c->rival->name, quantity_bounds(c->rival->seconds, "s"));
    REASON("In energy it is %s times as lean as %s.", quantity_plain_bounds(j), c->lean->name);
    if (e->seconds_link.low > e->seconds_card.low && !c->primitive->streams)
        REASON("With the data on the card a call would take %s: getting them there takes %s each "
               "way.",
               quantity_bounds(e->seconds_card, "s"), quantity_bounds(e->seconds_link, "s"));
    if (e->memory_share > 1)
        REASON("Volume and sinogram are %.2g times the card's memory: they pass in pieces, each "
               "over the link.",
               e->memory_share);
    if (c->primitive->streams)
        REASON("Its samples pass on the way from the detector to the host anyway, so the link is "
               "not counted.");
}

static void explain_pattern(struct candidate *c)
{
    const struct access *a = &c->access.large;
    const struct estimate *e = c->best;
    REASON("Its accesses are a %s: %.0f %% follow each other, %.2g bits of surprise in where the "
           "next step begins; 95 %% of the reuses need %.4g KiB on chip at this size (%s).",
           pattern_name(c->access.pattern), 100 * a->unit_share, a->jump_entropy, e->on_chip_kib,
           e->passes > 1 ? "more than the card has: cut into tiles" : "fits");
    if (c->primitive->dependency == DEPENDS_FEEDBACK)
        REASON("Each step needs the result of the one before: a pipeline would stand empty between "
               "them.");
    if (c->primitive->dependency == DEPENDS_SUM)
        REASON("Lanes add to the same cells: banks or private copies are needed, which the ports "
               "of on-chip RAM pay for.");
}

static void explain_width(const struct inputs *in, struct candidate *c)
{
    const struct width_needed *n = width_needed(c->primitive->name);
    char bits[160] = "";
    for (int i = 0; n && i < WIDTH_STAGES; i++) {
        const int b = width_bits_at(n, (enum width_stage)i, in->size);
        size_t at = strlen(bits);
        if (b)
            snprintf(bits + at, sizeof bits - at, "%s%s %d", at ? ", " : "",
                     width_stage_name((enum width_stage)i), b);
    }
    if (*bits)
        REASON("Simulated in fixed point it needs these bits for an error of %g: %s.", WIDTH_RMSE,
               bits);
}

/* Explains the model's omissions, and whether they could matter. */
static void explain_engines(struct candidate *c)
{
    for (int i = 0; i < c->estimates_count; i++) {
        const struct estimate *e = &c->estimates[i];
        if (!(e->engines_rate > 0) || c->primitive->dependency == DEPENDS_FEEDBACK)
            continue;
        const int slower = e->engines_seconds >= bounds_middle(c->rival->seconds);
        REASON("The %.0f AI engines of the %s are not modelled. At their peak they could add %s/s "
               "to the fabric's %s/s: a call would take %s at least, %s.",
               e->card->engines, e->card->name,
               quantity(e->engines_rate, unit_name(c->primitive->unit)),
               quantity(e->rate.high, unit_name(c->primitive->unit)),
               quantity(e->engines_seconds, "s"),
               slower ? "still more than the best alternative, so they cannot turn the verdict"
                      : "less than the best alternative: its figures here are a lower bound");
    }
}

static void explain_rule(const struct weights *w, struct candidate *c)
{
    const struct bounds s = c->speedup_rival;
    if (c->verdict == VERDICT_NO && bounds_middle(s) < w->no_below_speedup &&
        bounds_middle(c->energy) < w->no_below_energy)
        REASON("NO: %s is simply better: in the middle of the ranges the card is %.2g times as "
               "fast and %.2g times as lean.",
               c->rival->name, bounds_middle(s), bounds_middle(c->energy));
    else if (c->verdict == VERDICT_NO && c->ceiling && c->ceiling->share < w->least_share)
        REASON("NO: its share of every reconstruction is below %.3g %%.", 100 * w->least_share);
    else if (c->verdict == VERDICT_NO)
        REASON("NO: the score of %.0f is below %.0f.", c->score.total, w->low_from);
    else if (c->verdict == VERDICT_HIGH)
        REASON("HIGH: score %.0f, and %.2g times faster even at the pessimistic end.",
               c->score.total, s.low);
    else if (c->verdict == VERDICT_LOW && c->score.total >= w->medium_from)
        REASON("LOW in spite of a score of %.0f: %s.", c->score.total,
               c->primitive->dependency == DEPENDS_FEEDBACK
                   ? "the feedback stays"
                   : "it is not faster than what there is");
    else if (c->verdict == VERDICT_MEDIUM && c->score.total >= w->high_from)
        REASON("MEDIUM in spite of a score of %.0f: HIGH asks for %.2g times at the pessimistic "
               "end (here %.2g) and %.0f %% of a reconstruction.",
               c->score.total, w->high_least_speedup, s.low, 100 * w->high_least_share);
    else
        REASON(
            "%s: score %.0f of 100 (share %.0f, speed %.0f, energy %.0f, pattern %.0f, feed %.0f).",
            verdict_name(c->verdict), c->score.total, c->score.share, c->score.speed,
            c->score.energy, c->score.pattern, c->score.feed);
}

/* Explains the value of a verdict for the card in money: hours a day that the alternative would be
 * busy. */
static void explain_money(struct candidate *c)
{
    const double calls = c->break_even.low;
    const double hours = calls * bounds_middle(c->rival->seconds) / 3600;
    if (c->verdict < VERDICT_MEDIUM)
        return;
    if (!isfinite(calls))
        REASON(
            "It never pays for card and engineering by the machine time and energy that it saves: "
            "only latency or a power budget would ask for it.");
    else
        REASON("It pays from %s calls a day on at best: %.2g hours a day of %s%s.",
               quantity(calls, ""), hours, c->rival->name,
               hours > 24 ? ", that is of several" : "");
}

static void explain_next(const struct inputs *in, struct candidate *c)
{
    const struct evidence *e = &c->evidence;
    if (!(e->seconds > 0) || !strcmp(e->source, "remainder"))
        NEXT("It has no row of its own: profile the reconstruction so that named ranges give its "
             "time.");
    if (e->cv > 0.3)
        NEXT("Measure on an idle machine, with more runs: the runs scatter by %.0f %%.",
             100 * e->cv);
    if (e->sizes < 3)
        NEXT("Measure at three sizes or more: growth and overhead are not known.");
    if (!in->profile)
        NEXT("Record a traced pass: shares by named range, transfers and gaps would replace "
             "estimates.");
    if (!in->machine.is_gpu)
        NEXT("Measure on the GPU that one would buy instead: its rate here is derived, not "
             "measured.");
    if (c->verdict >= VERDICT_MEDIUM && c->primitive->hls_kernel)
        NEXT("Start from its checked C++ kernel: `tomoprof-fpga hls %s FOLDER` writes it with test "
             "bench and golden vectors.",
             c->primitive->name);
    if (c->verdict >= VERDICT_LOW && !width_needed(c->primitive->name))
        NEXT("Find the bits it needs: the model takes up to 18 of fixed point, %g bytes in memory.",
             in->weights->element_bytes);
    if (c->best && c->best->card->doubt)
        NEXT("Check the card's data: %s.", c->best->card->doubt);
}

/* Each assumption halved and doubled by itself. */
static void find_flips(const struct inputs *in, struct candidate *c)
{
    static const char *const meaning[] = {
#define X(name, text) text,
        ASSUMPTIONS(X)
#undef X
    };
    const int n = (int)(sizeof meaning / sizeof *meaning);
    for (int i = 0; i < 2 * n; i++) {
        struct assumptions s = assumptions_none();
        struct candidate copy = *c;
        ((double *)&s)[i / 2] = i % 2 ? 2 : 0.5;
        enum verdict v = candidate_judge(in, &s, &copy);
        if (v != c->verdict)
            list_add_sentence(c->flips, &c->flips_count, "%s %s: %s instead of %s", meaning[i / 2],
                              i % 2 ? "doubled" : "halved", verdict_name(v),
                              verdict_name(c->verdict));
    }
}

void candidate_explain(const struct inputs *in, struct candidate *c)
{
    explain_weight(in, c);
    if (c->best && c->rival) {
        explain_software(in, c);
        explain_speed(c);
        explain_pattern(c);
        explain_width(in, c);
        explain_engines(c);
        explain_rule(in->weights, c);
        c->rule = c->reasons[c->reasons_count - 1];
        explain_money(c);
    } else {
        REASON("NO: no card that was asked for can hold it, or none is within the power budget.");
        c->rule = c->reasons[c->reasons_count - 1];
    }
    explain_next(in, c);
    find_flips(in, c);
}
