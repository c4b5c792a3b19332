/* triage.md: a page of verdicts, a page per candidate, an appendix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/page/markup.h"
#include "profiler/triage/model/primitive.h"
#include "profiler/triage/verdict/candidate.h"
#include "profiler/triage/triage.h"

static void put_list(FILE *out, const char *title, char *const *text, int count)
{
    if (count)
        fprintf(out, "\n**%s**\n\n", title);
    for (int i = 0; i < count; i++) {
        fputs("- ", out);
        markdown_text(out, text[i]);
        fputc('\n', out);
    }
}

/* Each part begins a page when it is printed. */
#define PAGE "\n<div style=\"page-break-before: always\"></div>\n\n"

static void write_verdicts(const struct triage *t, FILE *out)
{
    const struct triage_machine *m = &t->inputs.machine;
    fputs("# FPGA triage\n\n**", out);
    markdown_text(out, t->headline);
    fprintf(out, "**\n\nVolume %g^3, %g views of %g x %g. Measured on ", t->inputs.size,
            t->inputs.size / 2, t->inputs.size, t->inputs.size);
    markdown_text(out, m->name);
    fprintf(out, "%s. Evidence: %s%s%s. Numbers of cards are modelled, not measured.\n",
            m->is_gpu ? " (GPU)" : "", t->timing.rows_count ? "timing.json" : "",
            t->timing.rows_count && t->profile ? ", " : "", t->profile ? "profile.json" : "");
    markdown_table(
        out, " | operation | verdict | score | share | of | ceiling | best card | speedup to here "
             "| over the best alternative | energy | confidence");
    for (int i = 0; i < t->candidates_count; i++) {
        const struct candidate *c = t->candidates[i];
        fprintf(out, "| %d | %s | **%s** | %.0f | %s%s | %s%s | %s | %s | %s | %s | %s | %s |\n",
                i + 1, c->primitive->name, verdict_name(c->verdict), c->score.total,
                c->ceiling ? quantity_number(100 * c->ceiling->share) : "-", c->ceiling ? " %" : "",
                c->ceiling ? c->ceiling->workload : "-",
                c->ceiling && c->ceiling->follows ? " and itself" : "",
                c->ceiling ? quantity_number(c->ceiling->value) : "-",
                c->best ? c->best->card->id : "-", quantity_plain_bounds(c->speedup),
                quantity_plain_bounds(c->speedup_rival), quantity_plain_bounds(c->energy),
                confidence_name(c->confidence));
    }
    fputs("\nshare: of the reconstruction where it is largest. ceiling: what the whole could gain "
          "if it took no time. speedup, energy: what it takes there over what the card takes; "
          "below 1 the card is worse.\n\n**In a sentence**\n\n",
          out);
    for (int i = 0; i < t->candidates_count; i++) {
        const struct candidate *c = t->candidates[i];
        fprintf(out, "- %s, ", c->primitive->name);
        markdown_text(out, c->rule);
        fputc('\n', out);
    }
    fputs("\nOne page for each follows.\n\n![speedups over the best alternative, and "
          "rooflines](triage.svg)\n",
          out);
    if (t->notes.count)
        put_list(out, "About the input", t->notes.text, t->notes.count);
}

static void markdown_write_not_judged(const struct triage *t, FILE *out)
{
    const struct timing_row *r;
    if (not_judged(&t->timing, t->inputs.size, 0)) {
        fputs("\n### Without a verdict\n", out);
        markdown_table(out, "operation | seconds | operations | bytes | access | counted by | why");
    }
    for (int i = 0; (r = not_judged(&t->timing, t->inputs.size, i)); i++) {
        const struct unmodelled *u = unmodelled_named(r->operation);
        const int counted = u && u->flops && r->flops > 0;
        fputs("| ", out);
        markdown_text(out, r->operation);
        fprintf(out, " | %s", quantity_number(r->seconds));
        fprintf(out, " | %s", counted ? quantity_number(r->flops) : "-");
        fprintf(out, " | %s | %s | %s | %s |\n", r->bytes > 0 ? quantity_number(r->bytes) : "-",
                u ? u->access : "-", counted ? u->flops : "-",
                u ? u->reason : "triage does not know this operation");
    }
}

static void write_pipelines(const struct triage *t, FILE *out)
{
    fprintf(out,
            PAGE
            "## In the stream from the detector\n\nFlat field, logarithm, filter and median as "
            "one dataflow between detector and host. The detector sends %s samples/s (weight "
            "detector_gb_s); as many lanes of each stage stand side by side as it asks for.\n",
            quantity(t->pipelines[0].detector_samples_per_s, ""));
    markdown_table(out, "card | lanes | samples/s | buffers KiB | RAM | DSP | LUT | keeps up");
    for (int i = 0; i < t->cards_count; i++) {
        const struct pipeline *p = &t->pipelines[i];
        fprintf(out, "| %s | %s | %s | %s | %s %% | %s %% | %s %% | %s%s |\n", p->card->name,
                quantity_number(p->lanes), quantity_bounds(p->samples_per_s, ""),
                quantity_number(p->line_buffer_kib), quantity_number(100 * p->ram_share),
                quantity_number(100 * p->dsp_share), quantity_number(100 * p->lut_share),
                !p->fits      ? "no: it does not fit in "
                : p->keeps_up ? "yes, even at the pessimistic end"
                              : "no: its lanes come up against ",
                p->fits && p->keeps_up ? "" : p->bound);
    }
}

static void write_estimates(const struct candidate *c, FILE *out)
{
    markdown_table(out,
                   "card | lanes | units/s on the card | a call | of it the link | W | a call | "
                   "on chip KiB | tiles | II | bound by");
    for (int i = 0; i < c->estimates_count; i++) {
        const struct estimate *e = &c->estimates[i];
        if (!(e->lanes >= 1)) {
            fprintf(out, "| %s | 0 | - | - | - | - | - | - | - | - | not one lane fits |\n",
                    e->card->name);
            continue;
        }
        fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", e->card->name,
                quantity_number(e->lanes), quantity_bounds(e->rate, ""),
                quantity_bounds(e->seconds, "s"), quantity_bounds(e->seconds_link, "s"),
                quantity_plain_bounds(e->watts), quantity_bounds(e->joules, "J"),
                quantity_number(e->on_chip_kib), quantity_number(e->passes),
                quantity_number(e->initiation_interval), e->bound);
    }
}

/* Counted where the run has counts; else the reason, once. */
static void write_work(const struct triage *t, const struct candidate *c, FILE *out)
{
    const struct evidence *e = &c->evidence;
    fprintf(out, "| operations; bytes a call (analytic) | %s; %s |\n", quantity(e->flops, ""),
            quantity(e->bytes, "B"));
    if (e->counters_reason)
        fprintf(out, "| counted by the processor | not: %s |\n", e->counters_reason);
    else
        fprintf(out, "| counted by the processor | %s; %s |\n", quantity(e->flops_counted, ""),
                quantity(e->bytes_counted, "B"));
    fprintf(out, "| operations per byte (ridge here); GFLOP/s; GB/s | %s (%s); %s; %s |\n",
            quantity_number(e->intensity), quantity_number(t->inputs.machine.ridge),
            quantity_number(e->gflops), quantity_number(e->gbytes_per_s));
    if (!e->mix) {
        fprintf(out, "| machine code of its GPU kernel | -: %s |\n", e->mix_reason);
        return;
    }
    const struct sass_mix *m = &e->mix->loop;
    const double all = sass_total(m);
    fputs("| machine code of its GPU kernel | ", out);
    markdown_text(out, e->mix->kernel);
    fprintf(
        out,
        " (%s): of %s instructions of the inner loop %s %% float32, %s %% float64, %s %% integer, "
        "%s loads, %s stores, %s of shared memory; %s operations",
        e->mix_source, quantity_number(all), quantity_number(100 * m->float32 / all),
        quantity_number(100 * m->float64 / all), quantity_number(100 * m->integer / all),
        quantity_number(m->loads), quantity_number(m->stores), quantity_number(m->shared),
        quantity_number(m->flops));
    if (e->mix_units > 0)
        fprintf(out, ", %s a %s (analytic: %s)", quantity_number(m->flops / e->mix_units),
                unit_name(c->primitive->unit), quantity_number(c->primitive->flops));
    fputs(" |\n", out);
}

static void write_transfers(const struct candidate *c, FILE *out)
{
    const struct evidence *e = &c->evidence;
    fprintf(out,
            "| over the link, one way | %s MB (measured: %s); %s GB/s to keep up with the time "
            "here |\n",
            quantity_number(4e-6 * primitive_moved(c->primitive, e->size)),
            quantity_number(1e-6 * e->transfer_measured),
            quantity_number(4e-9 * primitive_moved(c->primitive, e->size) / e->seconds));
}

static const char *on_chip(const struct candidate *c, double size)
{
    return quantity_number(access_window_at(&c->access, size) * 4 / 1024);
}

static void markdown_write_evidence(const struct triage *t, const struct candidate *c, FILE *out)
{
    const struct evidence *e = &c->evidence;
    const struct access *a = &c->access.large;
    markdown_table(out, "evidence | ");
    fprintf(out,
            "| time of a call (%s); of that on the GPU | %s; %s |\n"
            "| in all of the profile: time of the host, of the GPU | %s; %s |\n"
            "| calls in a reconstruction | %s |\n"
            "| share of one call of everything measured | %s %% |\n| growth with N | %s%s |\n",
            e->source, quantity(e->seconds, "s"), quantity(e->gpu_s, "s"), quantity(e->host_s, "s"),
            quantity(e->device_s, "s"), quantity_number(e->calls),
            quantity_number(100 * e->run_share), isfinite(e->exponent) ? "N^" : "",
            isfinite(e->exponent) ? quantity_number(e->exponent)
            : e->exponent_reason  ? e->exponent_reason
                                  : "-");
    write_work(t, c, out);
    fprintf(out,
            "| access pattern, measured at %d^3 | %s: %s %% unit strides, %s bits of stride, %s "
            "bits of jump, %s %% reused |\n"
            "| on chip for 95 %% of reuses | %s elements at %d^3, growing as N^%s: %s, %s, %s, %s "
            "KiB of "
            "float32 at 128, 256, 512, 1024 |\n"
            "| loop | trip counts vary by %s %%; branches %s |\n",
            a->size, pattern_name(c->access.pattern), quantity_number(100 * a->unit_share),
            quantity_number(a->entropy), quantity_number(a->jump_entropy),
            quantity_number(100 * a->reuse_share), quantity_number(a->window), a->size,
            quantity_number(c->access.window_growth), on_chip(c, 128), on_chip(c, 256),
            on_chip(c, 512), on_chip(c, 1024), quantity_number(100 * a->trip_cv),
            c->primitive->branches);
    write_transfers(c, out);
}

static void markdown_write_candidate(const struct triage *t, const struct candidate *c, FILE *out)
{
    fprintf(out, PAGE "## %s: %s\n", c->primitive->name, verdict_name(c->verdict));
    put_list(out, "Why", c->reasons, c->reasons_count);
    fprintf(out,
            "\nSpeedup to what was measured %s, to this CPU %s, to a GPU %s; energy ratio %s; ",
            quantity_plain_bounds(c->speedup), quantity_plain_bounds(c->speedup_cpu),
            quantity_plain_bounds(c->speedup_gpu), quantity_plain_bounds(c->energy));
    if (isfinite(c->break_even.low))
        fprintf(out, "pays from %s calls a day on%s. ",
                isfinite(c->break_even.high) ? quantity_bounds(c->break_even, "")
                                             : quantity(c->break_even.low, ""),
                isfinite(c->break_even.high) ? "" : " at best, never at the pessimistic end");
    else
        fputs("never pays: the calls that would fit in a day save too little. ", out);
    fprintf(out, "Confidence %s.\n", confidence_name(c->confidence));
    if (c->flips_count)
        put_list(out, "What would turn the verdict", c->flips, c->flips_count);
    else
        fputs("\nNo single assumption, halved or doubled, turns this verdict.\n", out);
    put_list(out, "What to measure next", c->next, c->next_count);
    markdown_write_evidence(t, c, out);
    write_estimates(c, out);
}

static void write_workloads(const struct triage *t, FILE *out)
{
    fputs("\n## Where the time of the reconstructions goes\n", out);
    markdown_table(out, "reconstruction | time | part | calls | share | from");
    for (int i = 0; i < t->workloads.count; i++) {
        const struct workload *w = &t->workloads.item[i];
        for (int k = 0; k < w->count; k++) {
            const struct workload_part *p = &w->parts[k];
            fprintf(out, "| %s | %s | %s | %s | %s %% | %s |\n", w->operation,
                    quantity(w->seconds, "s"), p->primitive ? p->primitive->name : "not credited",
                    quantity_number(p->calls), quantity_number(100 * p->share), p->source);
        }
    }
}

/* Writes how the lanes follow from the operations of a unit and their use of the best card. */
static void write_lanes(const struct triage *t, FILE *out)
{
    fputs("\n### What a lane takes\n", out);
    markdown_table(
        out,
        "operation | unit | products | sums | min, max | ports of RAM | on | DSP blocks | LUTs");
    for (int i = 0; i < t->candidates_count; i++) {
        const struct candidate *c = t->candidates[i];
        const struct unit_work *k = &c->primitive->work;
        if (c->best)
            fprintf(out, "| %s | %s | %g | %g | %g | %g | %s | %s | %s |\n", c->primitive->name,
                    unit_name(c->primitive->unit), k->products, k->sums, k->compares, k->ports,
                    c->best->card->id, quantity_number(c->best->lane.dsp),
                    quantity_number(c->best->lane.lut));
    }
}

static void write_rule(const struct weights *w, FILE *out)
{
    fprintf(
        out,
        "\n### The rule\n\nNO: in the middle of the ranges the best alternative is faster (speedup "
        "below %g) and the energy ratio below %g; or the share is below %g %%; or the score below "
        "%g. HIGH: from %g points, a speedup of %g at the pessimistic end, %g %% of a "
        "reconstruction, and no step that waits for the one before. MEDIUM: from %g points, a "
        "speedup of %g at the optimistic end, no such step. LOW: else.\n",
        w->no_below_speedup, w->no_below_energy, 100 * w->least_share, w->low_from, w->high_from,
        w->high_least_speedup, 100 * w->high_least_share, w->medium_from, w->medium_least_speedup);
}

static void write_appendix(const struct triage *t, FILE *out)
{
    fputs(
        PAGE
        "## Appendix: how it is computed\n\n"
        "    lane     = a DSP block a product (two of 18 bits in Intel's), a LUT a bit of sum, two "
        "a "
        "bit of min and max, 100 LUTs of control a stage;\n"
        "               what looks up anywhere: 23 log2(lanes) LUTs a port\n"
        "    lanes    = min over DSP, LUT, RAM ports of (what the card has x usable share / what a "
        "lane takes)\n"
        "    rate     = min(lanes x clock x busy share, memory bandwidth x share / bytes a unit)\n"
        "    seconds  = units / rate + dependent steps x round trip; low: link hidden under it, "
        "high: added both ways\n"
        "    ceiling  = 1 / (1 - share of the reconstruction)\n"
        "    score    = points for share, speed, energy (logarithmic), pattern, feed; the weights "
        "are below\n"
        "    break-even = (card + engineering) / ((machine time + energy saved a call) x days of "
        "use)\n\n"
        "docs/internals/triage.md has the reasons.\n",
        out);
    write_rule(&t->weights, out);
    write_lanes(t, out);
    fputs("\n### Cards\n", out);
    markdown_table(
        out,
        "card | DSP | LUT | RAM KiB | memory GB/s | link GB/s | MHz | W | price | source; doubt");
    for (int i = 0; i < t->cards_count; i++) {
        const struct card *card = t->cards[i];
        fprintf(out, "| %s (%s) | %s | %s | %s | %s | %s | %s | %s | %s | %s; %s |\n", card->name,
                card->id, quantity_number(card->dsp), quantity_number(card->lut),
                quantity_number(card->ram_kib), quantity_plain_bounds(card->memory_gb_s),
                quantity_number(card->link_gb_s), quantity_plain_bounds(card->clock_mhz),
                quantity_number(card->watts), quantity_plain_bounds(card->price), card->source,
                card->doubt ? card->doubt : "none");
    }
    fputs("\n### Weights\n", out);
    markdown_table(out, "name | value | meaning");
    for (int i = 0; i < weights_count(); i++)
        fprintf(out, "| %s | %g | %s |\n", weights_row(i)->name, ((const double *)&t->weights)[i],
                weights_row(i)->meaning);
}

enum err triage_write_markdown(const struct triage *t, FILE *out)
{
    write_verdicts(t, out);
    for (int i = 0; i < t->candidates_count; i++)
        markdown_write_candidate(t, t->candidates[i], out);
    write_pipelines(t, out);
    write_workloads(t, out);
    markdown_write_not_judged(t, out);
    write_appendix(t, out);
    FAIL_IF(fflush(out) || ferror(out), ERR_IO, "writing triage.md failed");
    return ERR_OK;
}
