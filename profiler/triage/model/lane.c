/* Counts what a lane takes: DSP blocks for products, LUTs for sums, comparisons and switches. */
#include <math.h>

#include "profiler/triage/model/lane.h"
#include "profiler/triage/model/width_needed.h"

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
