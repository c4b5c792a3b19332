/* The rule of the verdict; docs/internals/triage.md says it in words. */
#include <math.h>

#include "profiler/triage/verdict/candidate.h"

static const struct bounds none = {(double)NAN, (double)NAN};

static double double_clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/* 0 at 1, 1 at `full` and above. */
static double on_log(double x, double full)
{
    return x > 0 ? double_clamp(log(x) / log(full), 0, 1) : 0;
}

static void find_alternatives(const struct inputs *in, struct candidate *c)
{
    const struct weights *w = in->weights;
    const struct primitive *p = c->primitive;
    const double units = primitive_units(p, in->size), threads = fmax(1, in->machine.threads);
    const struct bounds cpu = {w->cpu_watts_low * threads, w->cpu_watts_high * threads};
    const struct bounds gpu = {w->gpu_watts_low, w->gpu_watts_high};
    const struct bounds one = {units, units};
    const double s = c->evidence.seconds;

    c->measured =
        (struct alternative){"what was measured here", none, in->machine.is_gpu ? gpu : cpu};
    if (s > 0)
        c->measured.seconds = bounds_of(s, s);
    c->cpu = (struct alternative){"this CPU with good software",
                                  bounds_over(one, bounds_times(p->cpu_rate, threads)), cpu};
    c->gpu = (struct alternative){"a data-centre GPU (an H200, derived)",
                                  bounds_over(one, p->gpu_rate),
                                  {w->reference_gpu_watts, w->reference_gpu_watts}};
    /* From data that are there to data that the host has to send and fetch, as narrow as to a card.
     */
    if (!p->streams)
        c->gpu.seconds.high += 2 * fpga_element_bytes(p, in->size, w) *
                               primitive_moved(p, in->size) / (w->gpu_link_gb_s * 1e9);
    if (!w->use_reference_gpu)
        c->gpu.seconds = none;
}

static struct bounds joules_of(const struct alternative *a)
{
    return bounds_of(a->seconds.low * a->watts.low, a->seconds.high * a->watts.high);
}

/* The quickest and the leanest that the power budget allows. */
static void find_rivals(const struct weights *w, int is_gpu, struct candidate *c)
{
    const struct alternative *all[] = {&c->measured, &c->cpu, &c->gpu};
    c->rival = c->lean = NULL;
    for (int i = 0; i < 3; i++) {
        const struct alternative *a = all[i];
        /* A measured GPU counts before a derived one. */
        if (a == &c->gpu && is_gpu && c->measured.seconds.low > 0)
            continue;
        if (!(a->seconds.low > 0) ||
            (w->power_budget_watts > 0 && a->watts.low > w->power_budget_watts))
            continue;
        if (!c->rival || bounds_middle(a->seconds) < bounds_middle(c->rival->seconds))
            c->rival = a;
        if (!c->lean || bounds_middle(joules_of(a)) < bounds_middle(joules_of(c->lean)))
            c->lean = a;
    }
}

static void candidate_score(const struct weights *w, const struct assumptions *s,
                            const struct candidate *c, const struct estimate *e, struct score *out)
{
    static const double pattern[] = {1, 1, 0.4, 0.2};
    const struct bounds speed =
        bounds_times(bounds_over(c->rival->seconds, e->seconds), 1 / s->software);
    const struct bounds energy =
        bounds_times(bounds_over(joules_of(c->lean), e->joules), 1 / s->software);
    const double share = c->ceiling ? fmin(1, c->ceiling->share * s->share) : 0;
    const double link = e->seconds_link.high > 0 && !c->primitive->streams
                            ? bounds_middle(c->rival->seconds) / s->software / e->seconds_link.high
                            : 10;
    out->share = w->score_share * double_clamp(share / 0.5, 0, 1);
    out->speed = w->score_speed * on_log(bounds_middle(speed), 20);
    out->energy = w->score_energy * on_log(bounds_middle(energy), 10);
    out->pattern = c->primitive->dependency == DEPENDS_FEEDBACK
                       ? 0
                       : w->score_pattern * pattern[c->access.pattern];
    out->feed = w->score_feed * on_log(link, 10);
    out->total = out->share + out->speed + out->energy + out->pattern + out->feed;
}

/* Estimates of all cards; the best is that with the highest score. */
static void choose_card(const struct inputs *in, const struct assumptions *s, struct candidate *c)
{
    c->best = NULL;
    c->estimates_count = 0;
    for (int i = 0; i < in->cards_count; i++) {
        const struct card *card = in->cards[i];
        struct score here;
        if (in->weights->power_budget_watts > 0 && card->watts > in->weights->power_budget_watts)
            continue;
        struct estimate *e = &c->estimates[c->estimates_count++];
        *e = fpga_estimate(c->primitive, &c->access, card, in->size, in->weights, s);
        if (!c->rival || !(e->lanes >= 1))
            continue;
        candidate_score(in->weights, s, c, e, &here);
        if (!c->best || here.total > c->score.total ||
            (here.total == c->score.total &&
             bounds_middle(e->seconds) < bounds_middle(c->best->seconds))) {
            c->score = here;
            c->best = e;
        }
    }
}

static struct bounds bounds_against(const struct alternative *a, const struct estimate *e)
{
    return a->seconds.low > 0 ? bounds_over(a->seconds, e->seconds) : none;
}

static void candidate_compare(const struct inputs *in, const struct assumptions *s,
                              struct candidate *c)
{
    const struct estimate *e = c->best;
    c->speedup = bounds_against(&c->measured, e);
    c->speedup_cpu =
        in->machine.is_gpu || !(c->speedup.low > 0) ? bounds_against(&c->cpu, e) : c->speedup;
    c->speedup_gpu =
        in->machine.is_gpu && c->speedup.low > 0 ? c->speedup : bounds_against(&c->gpu, e);
    c->speedup_rival = bounds_times(bounds_against(c->rival, e), 1 / s->software);
    c->energy = bounds_times(bounds_over(joules_of(c->lean), e->joules), 1 / s->software);
}

/* NAN where a day has no room for them. */
static double fit_in_a_day(double calls, double seconds)
{
    return calls * seconds <= 86400 ? calls : (double)NAN;
}

/* Calls a day at which machine time and energy saved pay card and engineering. */
static void find_break_even(const struct inputs *in, struct candidate *c)
{
    const struct weights *w = in->weights;
    const struct estimate *e = c->best;
    const struct alternative *r = c->rival;
    const double days = 365 * w->years, kwh = w->kwh_price / 3.6e6;
    double most = (r->seconds.high - e->seconds.low) / 3600 * w->node_hour_high +
                  (r->seconds.high * r->watts.high - e->joules.low) * kwh;
    double least = (r->seconds.low - e->seconds.high) / 3600 * w->node_hour_low +
                   (r->seconds.low * r->watts.low - e->joules.high) * kwh;
    double cheap = e->card->price.low + w->engineer_months_low * w->engineer_month_price;
    double expensive = e->card->price.high + w->engineer_months_high * w->engineer_month_price;
    c->break_even = bounds_of(
        most > 0 ? fit_in_a_day(cheap / (most * days), e->seconds.low) : (double)NAN,
        least > 0 ? fit_in_a_day(expensive / (least * days), e->seconds.high) : (double)NAN);
}

static enum verdict verdict_rule(const struct weights *w, const struct assumptions *s,
                                 const struct candidate *c)
{
    const double share = c->ceiling ? fmin(1, c->ceiling->share * s->share) : (double)NAN;
    if (!c->best || !c->rival)
        return VERDICT_NO;
    if (bounds_middle(c->speedup_rival) < w->no_below_speedup &&
        bounds_middle(c->energy) < w->no_below_energy)
        return VERDICT_NO;
    if (share < w->least_share || c->score.total < w->low_from)
        return VERDICT_NO;
    if (c->score.total >= w->high_from && c->speedup_rival.low >= w->high_least_speedup &&
        share >= w->high_least_share && c->primitive->dependency != DEPENDS_FEEDBACK)
        return VERDICT_HIGH;
    if (c->score.total >= w->medium_from && c->speedup_rival.high >= w->medium_least_speedup &&
        c->primitive->dependency != DEPENDS_FEEDBACK)
        return VERDICT_MEDIUM;
    return VERDICT_LOW;
}

enum verdict candidate_judge(const struct inputs *in, const struct assumptions *s,
                             struct candidate *c)
{
    find_alternatives(in, c);
    find_rivals(in->weights, in->machine.is_gpu, c);
    c->score = (struct score){0};
    c->speedup = c->speedup_cpu = c->speedup_gpu = c->speedup_rival = none;
    c->energy = c->break_even = none;
    choose_card(in, s, c);
    if (c->best) {
        candidate_compare(in, s, c);
        find_break_even(in, c);
    }
    return c->verdict = verdict_rule(in->weights, s, c);
}

const char *verdict_name(enum verdict v)
{
    static const char *const names[] = {"NO", "LOW", "MEDIUM", "HIGH"};
    return names[v];
}

const char *confidence_name(enum confidence c)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[c];
}
