/* Where a paper gives the lanes, the model's device is cut to them and fill is 1; where it gives
 * the device, the model finds the lanes. */
#include <math.h>
#include <stddef.h>

#include "profiler/triage/backtest.h"

/* Virtex class boards: on-chip RAM and memory that are no limit beside the lanes. */
static struct device board(double lanes, double dsp, struct range clock, const struct weights *w)
{
    return (struct device){.id = "published",
                           .name = "",
                           .dsp = lanes * dsp / w->usable_dsp + 0.5,
                           .dsp_per_fma = 5,
                           .lut = 1e9,
                           .ram_blocks = 1e6,
                           .ram_kib = 1e6,
                           .memory_gb_s = {12, 12},
                           .memory_gib = 8,
                           .banks = 2,
                           .link_gb_s = 1,
                           .clock_mhz = clock,
                           .watts = 30,
                           .price = {1e3, 1e4}};
}

static struct range rate_with(const char *primitive, double dsp, const struct device *d,
                              const struct weights *w)
{
    struct primitive p = *primitive_named(primitive);
    const struct assumptions s = assumptions_none();
    struct access_pair a;
    p.dsp = dsp;
    p.fmas = dsp; /* no cheaper in float32 */
    if (access_pair_measure(p.walk, &a))
        return range_of((double)NAN, (double)NAN);
    return range_times(fpga_estimate(&p, &a, d, 256, w, &s).rate, 1e-9);
}

/* Lanes and clock are published or recalled; stalls are the model's. */
static struct range leeser(const struct weights *w)
{
    struct weights full = *w;
    full.fill_irregular = 1;
    const struct device d = board(16, 3, range_of(65, 65), w);
    return rate_with("parallel_back_project", 3, &d, &full);
}

static struct range kim(const struct weights *w)
{
    struct weights full = *w;
    full.fill_irregular = 1;
    const struct device d = board(75, 5, range_of(150, 250), w);
    return rate_with("cone_forward_project", 5, &d, &full);
}

/* Arria 10 GX 1150 with two banks of DDR4. A lane of general projective coordinates in float32: 11
 * multiply-adds, a division of 10 blocks, 7 to interpolate and add. The version that it is compared
 * with fetches each of 4 pixels by a burst of 64 bytes. */
static struct range diakite(const struct weights *w)
{
    const struct device d = {.id = "arria10",
                             .dsp = 1518,
                             .dsp_per_fma = 1,
                             .lut = 2 * 427e3,
                             .ram_blocks = 2713,
                             .ram_kib = 2713 * 2.5,
                             .memory_gb_s = {34.1, 34.1},
                             .memory_gib = 8,
                             .banks = 2,
                             .link_gb_s = 7.9,
                             .clock_mhz = {200, 240},
                             .watts = 40,
                             .price = {3e3, 6e3}};
    const struct range naive = range_of(34.1 * w->memory_low / 256, 34.1 * w->memory_high / 256);
    return range_over(rate_with("cone_back_project", 28, &d, w), naive);
}

/* Coordinates (12 bytes) and complex image (8 in, 8 out) of each update through one interface of 32
 * bits at 1.25 GHz. */
static struct range sar(const struct weights *w)
{
    return range_of(5.0 / 28 * w->link_low, 5.0 / 28 * w->link_high);
}

static const struct {
    const char *design, *device, *unit;
    double published;
    struct range (*model)(const struct weights *w);
    const char *how, *source;
} designs[] = {
    {"Kim, Fessler, Zhang 2012: separable-footprint forward projector, 75 lanes", "Virtex-5",
     "GUPS", 320.0 * 320 * 61 * 3625 / 6.3 * 1e-9, kim,
     "lanes as published, 150 to 250 MHz assumed, scatter stalls",
     "abstract: 320 x 320 x 61 over 3625 views in 6.3 s"},
    {"Leeser, Coric et al. 2005: parallel-beam back projection, 16 lanes", "Virtex-E", "GUPS",
     512.0 * 512 * 1024 / 0.25 * 1e-9, leeser, "lanes and 65 MHz as recalled, gather stalls",
     "abstract: about 100 times a 1 GHz Pentium; 0.25 s for 512 x 512 from 1024 views recalled, "
     "not read again"},
    {"Diakite, Gac, Martelli 2020: OpenCL pipeline of 3D back projection, over its own first "
     "version",
     "Arria 10", "x", 23, diakite,
     "28 DSP a lane assumed; first version: a burst of 64 bytes for each of 4 pixels", "abstract"},
    {"JPL: SAR back projection on AI engines", "Versal VCK190", "GUPS",
     425.0 * 602 * 602 / 0.85 * 1e-9, sar, "one stream of 5 GB/s, 28 bytes an update assumed",
     "design document: 0.85 s for 425 x 602 pixels from 600 pulses"},
    {"Martelli, Gac et al. 2017, 2018", "Arria 10, DE1-SoC", "GUPS", (double)NAN, NULL,
     "no rate in what could be read", "abstracts"},
    {"Diakite et al. FPL 2021", "Arria 10", "GUPS", (double)NAN, NULL,
     "\"comparable to an embedded GPU\" is no number", "abstract"},
    {"Diakite, Gac 2023", "two Intel FPGAs", "GUPS", (double)NAN, NULL, "rates not retrieved",
     "abstract"},
    {"Xu, Hauck, Alessio 2009", "Virtex-4 class", "GUPS", (double)NAN, NULL, "rate not retrieved",
     "thesis, existence only"},
    {"MLEM on VC709", "Virtex-7", "x", (double)NAN, NULL,
     "288 times 12 cores of software whose own rate is not given", "abstract"},
    {"Birk et al., ultrasound", "Virtex-6", "x", (double)NAN, NULL,
     "6 to 8 times a GPU of 2010 at equal power: other operator, other baseline", "abstract"},
};

int backtest_count(void)
{
    return (int)(sizeof designs / sizeof *designs);
}

struct backtest backtest_run(int i, const struct weights *w)
{
    struct backtest b = {designs[i].design,    designs[i].device,          designs[i].unit,
                         designs[i].published, {(double)NAN, (double)NAN}, (double)NAN,
                         designs[i].how,       designs[i].source};
    if (designs[i].model) {
        b.modelled = designs[i].model(w);
        b.factor = range_middle(b.modelled) / b.published;
    }
    return b;
}
