/* Estimates what a card makes of a primitive: lanes that fit, rate, time, energy. */
#include <math.h>
#include <stddef.h>

#include "profiler/triage/model/width_needed.h"
#include "profiler/triage/model/fpga.h"

struct assumptions assumptions_none(void)
{
#define X(name, meaning) .name = 1,
    return (struct assumptions){ASSUMPTIONS(X)};
#undef X
}

static int is_regular(const struct access_pair *a)
{
    return a->pattern == PATTERN_STREAM || a->pattern == PATTERN_WINDOW;
}

/* Share of lanes x clock that does work. */
static struct bounds busy_share(const struct access_pair *a, const struct weights *w)
{
    if (is_regular(a))
        return bounds_of(w->regular_low, w->regular_high);
    if (a->pattern == PATTERN_GATHER)
        return bounds_times(bounds_of(w->gather_low, w->gather_high), w->fill_irregular);
    return bounds_times(bounds_of(w->scatter_low, w->scatter_high), w->fill_irregular);
}

/* Never below the weight: what comes from a detector has 16 bits, whatever the quality needs. */
double fpga_element_bytes(const struct primitive *p, double size, const struct weights *w)
{
    const struct width_needed *n = width_needed(p->name);
    return n ? fmax(w->element_bytes, ceil(width_bits_at(n, STAGE_SAMPLE, size) / 8.0))
             : w->element_bytes;
}

/* The scarcest of the card's blocks; names it. */
static double lanes_that_fit(const struct primitive *p, const struct lane *each,
                             const struct card *card, const struct weights *w, const char **bound)
{
    const struct {
        double have, each;
        const char *name;
    } limits[] = {
        {card->dsp * w->usable_dsp, each->dsp, "DSP blocks"},
        {card->lut * w->usable_lut, each->lut, "LUTs"},
        {card->ram_blocks * 2 * w->usable_ram, each->ports, "ports of on-chip RAM"},
    };
    double lanes = p->most_lanes > 0 ? p->most_lanes : (double)INFINITY;
    *bound = "serial work";
    for (int i = 0; i < 3; i++) {
        double n = limits[i].each > 0 ? floor(limits[i].have / limits[i].each) : (double)INFINITY;
        if (n < lanes) {
            lanes = n;
            *bound = limits[i].name;
        }
    }
    return lanes;
}

/* Units per second at one end: lanes, clock and stalls, or memory. */
static double rate_at(double lanes_rate, double bytes_per_unit, double gb_s, int *memory_bound)
{
    double memory = bytes_per_unit > 0 ? gb_s * 1e9 / bytes_per_unit : (double)INFINITY;
    *memory_bound = memory < lanes_rate;
    return fmin(memory, lanes_rate);
}

static void size_buffers(const struct primitive *p, const struct access_pair *a, double size,
                         const struct weights *w, struct estimate *e)
{
    const double window = access_window_at(a, size);
    e->on_chip_kib = window * fpga_element_bytes(p, size, w) / 1024;
    double have = e->card->ram_kib * w->usable_ram;
    e->passes = fmax(1, ceil(e->on_chip_kib / have));
    e->line_buffer_kib = is_regular(a) ? e->on_chip_kib : (double)NAN;
}

static void rate_card(const struct primitive *p, const struct access_pair *a, double size,
                      const struct weights *w, const struct assumptions *s, struct estimate *e)
{
    const struct card *card = e->card;
    const struct bounds busy = busy_share(a, w);
    const double units = primitive_units(p, size);
    const double bytes =
        primitive_traffic(p, size, e->passes) / units * fpga_element_bytes(p, size, w);
    const double low = fmin(1, busy.low * s->stalls), high = fmin(1, busy.high * s->stalls);
    int bound;
    e->lane = lane_of(p, card, size, !is_regular(a));
    e->lanes = floor(lanes_that_fit(p, &e->lane, card, w, &e->bound) * s->lanes);
    const double hz = 1e6 * s->clock * e->lanes;
    e->rate.low = rate_at(hz * card->clock_mhz.low * low, bytes,
                          card->memory_gb_s.low * w->memory_low * s->memory, &bound);
    e->rate.high = rate_at(hz * card->clock_mhz.high * high, bytes,
                           card->memory_gb_s.high * w->memory_high * s->memory, &bound);
    if (bound)
        e->bound = "memory of the card";
    e->intensity = p->flops / bytes;
    e->banks = ceil(e->rate.high * bytes / (card->memory_gb_s.high * 1e9) * card->banks);
}

/* An AI engine multiplies and adds 32 pairs of 16 bits a cycle and loads twice, from one address
 * each (AM009; VC1902: 1.25 GHz). */
static double engines_peak(const struct primitive *p, const struct card *card, int irregular)
{
    const struct unit_work *k = &p->work;
    const double each = fmin(32 / (fmax(k->products, k->sums) + k->compares),
                             irregular ? 2 / k->ports : (double)INFINITY);
    return card->engines > 0 ? card->engines * 1.25e9 * each : (double)NAN;
}

/* Both together, memory and link at their best. */
static void add_engines(const struct primitive *p, const struct access_pair *a, double size,
                        const struct weights *w, struct estimate *e)
{
    const double units = primitive_units(p, size);
    const double bytes = primitive_traffic(p, size, 1) * fpga_element_bytes(p, size, w);
    const double memory = bytes / (e->card->memory_gb_s.high * 1e9 * w->memory_high);
    e->engines_rate = engines_peak(p, e->card, !is_regular(a));
    e->engines_seconds = fmax(units / (e->rate.high + e->engines_rate), memory);
    if (!p->streams && isfinite(e->engines_rate))
        e->engines_seconds = fmax(e->engines_seconds, e->seconds_link.low);
    if (!isfinite(e->engines_rate))
        e->engines_seconds = (double)NAN;
}

struct estimate fpga_estimate(const struct primitive *p, const struct access_pair *a,
                              const struct card *card, double size, const struct weights *w,
                              const struct assumptions *s)
{
    struct estimate e = {.card = card};
    size_buffers(p, a, size, w, &e);
    rate_card(p, a, size, w, s, &e);
    const double units = primitive_units(p, size);
    e.memory_share =
        1.5 * size * size * size * fpga_element_bytes(p, size, w) / (card->memory_gib * 0x1p30);
    const double wait = p->dependency == DEPENDS_FEEDBACK ? p->steps * w->feedback_us * 1e-6 : 0;
    e.seconds_card = bounds_of(units / e.rate.high + wait, units / e.rate.low + 4 * wait);
    e.initiation_interval =
        e.lanes > 0 ? e.seconds_card.low * card->clock_mhz.high * 1e6 * s->clock * e.lanes / units
                    : (double)NAN;
    const double link = primitive_moved(p, size) * fpga_element_bytes(p, size, w) /
                        (card->link_gb_s * 1e9 * s->link);
    e.seconds_link = bounds_of(link / w->link_high, link / w->link_low);
    /* Both directions at once and under the computation, or one after the other. */
    e.seconds = e.seconds_card;
    if (!p->streams) {
        e.seconds.low = fmax(e.seconds_card.low, e.seconds_link.low);
        e.seconds.high = e.seconds_card.high + 2 * e.seconds_link.high;
    }
    if (!p->streams && e.seconds_link.low > e.seconds_card.low)
        e.bound = "link to the host";
    else if (wait > 0.5 * e.seconds_card.low)
        e.bound = "dependent steps";
    e.watts = bounds_of(card->watts * w->card_power_low * s->card_watts,
                        card->watts * w->card_power_high * s->card_watts);
    /* A design that is fast because it does not stall takes more power: the ends go crosswise. */
    const double fast = e.seconds.low * e.watts.high, slow = e.seconds.high * e.watts.low;
    e.joules = bounds_of(fmin(fast, slow), fmax(fast, slow));
    add_engines(p, a, size, w, &e);
    return e;
}

/* An adder is a carry chain of a LUT a bit; a minimum or maximum compares and selects, 2 a bit
 * (yosys takes 1.7 to 2.0 of them: tests/fpga/resources.json, with which
 * tests/fpga/test_resources.py compares). What looks up anywhere passes a network of log2(lanes)
 * stages between lanes and banks; a LUT holds two switches of a bit: 30 bits there (data and
 * address), 16 back. Control of a stage: counter, valid, enable. */
#define WIDE      24 /* bits where the sweep says nothing */
#define SWITCH    ((30 + 16) / 2)
#define CONTROL   100
#define NARROWEST 12 /* sample of a detector */
#define DSP_SHORT 18
#define DSP_LONG  27

static int width_widest(const struct width_needed *n, double size)
{
    int bits = 0;
    for (int i = 0; n && i < WIDTH_STAGES; i++) {
        const int b = width_bits_at(n, (enum width_stage)i, size);
        bits = b > bits ? b : bits;
    }
    return bits > 0 ? (bits > NARROWEST ? bits : NARROWEST) : WIDE;
}

/* A block multiplies 18 by 27 bits; wider operands take one more each. Where a block holds several
 * products, they are of 18 bits. */
static double blocks_per_product(const struct width_needed *n, const struct card *card, double size)
{
    if (!n)
        return 1;
    const int a = width_bits_at(n, STAGE_SAMPLE, size),
              b = width_bits_at(n, STAGE_COEFFICIENT, size);
    if (fmax(a, b) <= DSP_SHORT)
        return 1 / card->products;
    return (fmin(a, b) > DSP_SHORT ? 2 : 1) * (fmax(a, b) > DSP_LONG ? 2 : 1);
}

/* Estimates the switches for the most lanes that blocks and ports would allow. */
static double lane_switches(const struct primitive *p, const struct card *card, double dsp)
{
    const double lanes = fmin(dsp > 0 ? card->dsp / dsp : (double)INFINITY,
                              2 * card->ram_blocks / fmax(1, p->work.ports));
    return SWITCH * log2(fmax(1, p->most_lanes > 0 ? p->most_lanes : lanes)) * p->work.ports;
}

struct lane lane_of(const struct primitive *p, const struct card *card, double size, int irregular)
{
    const struct width_needed *n = width_needed(p->name);
    const struct unit_work *w = &p->work;
    const int bits = width_widest(n, size);
    const double dsp = w->products * blocks_per_product(n, card, size);
    return (struct lane){
        .dsp = dsp,
        .lut = bits * (w->sums + 2 * w->compares) + (irregular ? lane_switches(p, card, dsp) : 0) +
               CONTROL * fmax(1, w->stages),
        .ports = w->ports,
    };
}

static const char *const stages[STAGES] = {"flat_field_and_log", "parallel_fbp_filter",
                                           "median_filter3d", NULL};

enum err pipeline_make(const struct card *card, double size, const struct weights *w,
                       struct pipeline *out)
{
    double dsp = 0, lut = 0;
    *out = (struct pipeline){.card = card, .size = size};
    for (int i = 0; i < STAGES && stages[i]; i++) {
        const struct primitive *p = primitive_named(stages[i]);
        struct access_pair a;
        TRY(access_pair_measure(p->trace, &a));
        out->stages[i] = stages[i];
        out->each[i] = lane_of(p, card, size, 0);
        dsp += out->each[i].dsp;
        lut += out->each[i].lut;
        out->line_buffer_kib += access_window_at(&a, size) * w->element_bytes / 1024;
    }
    const double by_dsp = card->dsp * w->usable_dsp / dsp, by_lut = card->lut * w->usable_lut / lut;
    const double lanes = fmin(by_dsp, by_lut);
    /* As many lanes as the detector asks for at the pessimistic end, and at least one. */
    const double each = card->clock_mhz.low * 1e6 * w->regular_low;
    out->detector_samples_per_s = w->detector_gb_s * 1e9 / w->element_bytes;
    out->lanes = fmax(1, fmin(floor(lanes), ceil(out->detector_samples_per_s / each)));
    out->samples_per_s =
        bounds_of(out->lanes * each, out->lanes * card->clock_mhz.high * 1e6 * w->regular_high);
    out->dsp_share = out->lanes * dsp / card->dsp;
    out->lut_share = out->lanes * lut / card->lut;
    out->ram_share = out->line_buffer_kib / card->ram_kib;
    out->fits = lanes >= 1 && out->ram_share <= w->usable_ram;
    out->keeps_up = out->fits && out->samples_per_s.low >= out->detector_samples_per_s;
    out->bound = out->ram_share > w->usable_ram ? "on-chip RAM"
                 : by_dsp < by_lut              ? "DSP blocks"
                                                : "LUTs";
    return ERR_OK;
}
