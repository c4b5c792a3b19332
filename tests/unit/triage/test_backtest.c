/* links: tp_triage */
/* The model against designs that were published, within a factor of 2; docs/internals/triage.md
 * holds the table that this prints. Where a paper gives lanes and clock, the model's card is cut to
 * them and fill is 1; where it gives the device, the model finds the lanes. */
#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "profiler/triage/model/fpga.h"
#include "profiler/triage/verdict/candidate.h"
#include "tests/unit/check.h"

static const struct bounds none = {(double)NAN, (double)NAN};

/* On-chip RAM, LUTs and memory that are no limit beside the lanes. */
static struct card board(double lanes, double clock)
{
    return (struct card){.id = "published",
                         .name = "",
                         .dsp = 1e9,
                         .products = 1,
                         .lut = 1e9,
                         .ram_blocks = lanes,
                         .ram_kib = 1e6,
                         .memory_gb_s = {1e3, 1e3},
                         .memory_gib = 8,
                         .banks = 2,
                         .link_gb_s = 1,
                         .clock_mhz = {clock, clock},
                         .watts = 30,
                         .price = {1e3, 1e4}};
}

static struct bounds rate_of(const struct primitive *p, const struct card *card,
                             const struct weights *w)
{
    const struct assumptions s = assumptions_none();
    struct access_pair a;
    if (access_pair_measure(p->trace, &a))
        return none;
    return bounds_times(fpga_estimate(p, &a, card, 512, w, &s).rate, 1e-9);
}

/* GUPS of lanes that were published. */
static struct bounds with_lanes(const char *primitive, double lanes, double mhz,
                                const struct weights *w)
{
    struct weights full = *w;
    struct primitive p = *primitive_named(primitive);
    const struct card card = board(lanes, mhz);
    full.fill_irregular = full.usable_ram = 1;
    p.work.ports = 2; /* a dual-port RAM each: that many lanes */
    return rate_of(&p, &card, &full);
}

static struct bounds coric_one(const struct weights *w)
{
    return with_lanes("parallel_back_project", 1, 50, w);
}

static struct bounds coric_four(const struct weights *w)
{
    return with_lanes("parallel_back_project", 4, 50, w);
}

/* Cells under a voxel of 1.56 x 1.56 x 0.625 mm on a detector of 1.02 x 1.10 mm, magnified 1.75
 * times: across, its shadow is 4 / pi sides wide over all angles; an edge adds a cell. */
static double columns(void)
{
    return 1.5625 * 1.754 / 1.0239 * 4 / M_PI + 1;
}

static double rows(void)
{
    return 0.625 * 1.754 / 1.0964 + 1;
}

static struct bounds kim_cells(const struct weights *w)
{
    return bounds_times(with_lanes("cone_forward_project", 55, 200, w), 1 / (columns() * rows()));
}

static struct bounds kim_columns(const struct weights *w)
{
    return bounds_times(with_lanes("cone_forward_project", 75, 200, w), 1 / columns());
}

/* Stratix II EP2S180: 384 products of 18 bits, 143,520 ALUTs, 768 M4K; 75 to 150 MHz assumed. */
static struct bounds xu(const struct weights *w)
{
    struct card card = board(768, 0);
    card.dsp = 96;
    card.products = 4;
    card.lut = 143520;
    card.clock_mhz = bounds_of(75, 150);
    return rate_of(primitive_named("parallel_back_project"), &card, w);
}

/* Cone beams as the textbook has them, where the primitive shares coordinates and weight along a
 * column: homogeneous coordinates by 3 sums, their reciprocal by table and slope (1), both
 * coordinates (2), the weight squared and applied (2), 4 cells (3). */
#define PROJECTIVE_PRODUCTS 8
#define PROJECTIVE_SUMS     12

/* XC2V6000: 144 products of 18 bits, 67,584 LUTs, 144 RAMs; 66 to 133 MHz, 32 bits of PCI at 33 MHz
 * and samples of 2 bytes assumed. The volume of 256^3 goes over it with the views of 512^2. */
static struct bounds stsepankou(double views, const struct weights *w)
{
    const double updates = 256.0 * 256 * 256 * views,
                 bytes = 2 * (views * 512.0 * 512 + 256.0 * 256 * 256);
    struct primitive p = *primitive_named("cone_back_project");
    p.work.products = PROJECTIVE_PRODUCTS;
    p.work.sums = PROJECTIVE_SUMS;
    struct card card = board(144, 0);
    card.dsp = 144;
    card.lut = 67584;
    card.clock_mhz = bounds_of(66, 133);
    const struct bounds rate = rate_of(&p, &card, w);
    const double fast = updates / rate.high * 1e-9, slow = updates / rate.low * 1e-9;
    return bounds_of(updates * 1e-9 / (slow + bytes / (0.133e9 * w->link_low)),
                     updates * 1e-9 / fmax(fast, bytes / (0.133e9 * w->link_high)));
}

static struct bounds stsepankou_fdk(const struct weights *w)
{
    return stsepankou(120, w);
}

static struct bounds stsepankou_step(const struct weights *w)
{
    return stsepankou(60, w);
}

/* Models an Arria 10 GX 1150 with two banks of DDR4. The same coordinates in float32: 11
 * multiply-adds, a division of 10 blocks, 7 to interpolate and add: 28 blocks a lane. */
static struct bounds arria(const struct weights *w)
{
    const struct card card = {.id = "arria10",
                              .dsp = 1518,
                              .products = 1,
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
    struct primitive p = *primitive_named("cone_back_project");
    p.work.products = 28;
    return rate_of(&p, &card, w);
}

/* The first version fetches each of 4 pixels by a burst of 64 bytes. */
static struct bounds diakite(const struct weights *w)
{
    return bounds_over(arria(w),
                       bounds_of(34.1 * w->memory_low / 256, 34.1 * w->memory_high / 256));
}

/* Coordinates (12 bytes) and complex image (8 in, 8 out) of each update through one interface of 32
 * bits at 1.25 GHz. */
static struct bounds sar(const struct weights *w)
{
    return bounds_of(5.0 / 28 * w->link_low, 5.0 / 28 * w->link_high);
}

/* Ceiling of XC7VX690T: 3600 blocks at 220 MHz, 4 products an update. */
static struct bounds mlem(const struct weights *w)
{
    (void)w;
    return bounds_of(3600 * 0.22 / 4, 3600 * 0.22 / 4);
}

#define NO_RATE                                                                                    \
    "no rate in what could be read; the model's GUPS are there to be compared with the paper"
#define STSEPANKOU                                                                                 \
    "the device's blocks; 8 products a lane, as coordinates of each voxel take; 66 to 133 MHz "    \
    "and "                                                                                         \
    "PCI assumed"
static const struct {
    const char *design, *device, *unit;
    double published;
    struct bounds (*model)(const struct weights *w);
    const char *how, *source, *outside;
} designs[] = {
    {"Coric, Leeser et al. 2002: parallel back projection, 1 lane", "Virtex-E", "GUPS",
     512.0 * 512 * 1024 / 5.4e9, coric_one, "lane and clock (50 MHz) as published",
     "slides of the FPGA'02 paper: 5.4 s for 512 x 512 pixels from 1024 views", NULL},
    {"Coric, Leeser et al. 2002: 4 lanes", "Virtex-E", "GUPS", 512.0 * 512 * 1024 / 1.3e9,
     coric_four, "lanes and clock (50 MHz) as published", "the same: 1.3 s", NULL},
    {"Kim, Fessler, Zhang, TSP 2012: separable-footprint forward projector, 55 lanes", "Virtex-5",
     "GUPS", 0.9258, kim_cells,
     "lanes and clock (200 MHz) as published; a lane is a detector cell of 8.8 a voxel, from usual "
     "clinical geometry",
     "abstract: 925.8 million voxel projections/s", NULL},
    {"Kim, Zhang, Fessler 2011: separable-footprint forward projector, 75 lanes", "Virtex-5",
     "GUPS", 320.0 * 320 * 61 * 3625 / 6.3 * 1e-9, kim_columns,
     "lanes as published; 200 MHz and a lane for a column of cells (4.4 a voxel) assumed: with a "
     "cell "
     "a lane, as in the row above, the same authors' two rates exclude each other",
     "abstract: 320 x 320 x 61 voxels, 3625 views in 6.3 s", NULL},
    {"Xu, Subramanian, Alessio, Hauck 2009, 2010: parallel back projection in C",
     "Stratix II EP2S180 (XD1000)", "GUPS", 512.0 * 512 * 512 / 0.038e9, xu,
     "the device's blocks; 75 to 150 MHz assumed",
     "press release: 38 ms for 512 x 512 pixels from 512 views; device of the board recalled",
     NULL},
    {"Stsepankou et al., FPT 2004: cone-beam filtered back projection", "Virtex-II 6000", "GUPS",
     256.0 * 256 * 256 * 120 / 9e9, stsepankou_fdk, STSEPANKOU,
     "abstract: 256^3 voxels from 120 views of 512 x 512 in 9 s, filter and host included", NULL},
    {"Stsepankou et al., NSS 2004: its back projection in SIRT and OSEM", "Virtex-II 6000", "GUPS",
     256.0 * 256 * 256 * 60 / 6e9, stsepankou_step, STSEPANKOU,
     "abstract: 256^3 voxels from 60 views of 512 x 512 in 6 s a step", NULL},
    {"Diakite, Gac, Martelli 2020: OpenCL pipeline of 3D back projection, over its own first "
     "version",
     "Arria 10", "x", 23, diakite,
     "28 blocks a lane counted; first version: a burst of 64 bytes for each of 4 pixels",
     "abstract", NULL},
    {"JPL: SAR back projection on AI engines", "Versal VCK190", "GUPS",
     425.0 * 602 * 602 / 0.85 * 1e-9, sar,
     "engines driven one cluster at a time, so the stream decides: 5 GB/s, 28 bytes an update "
     "assumed. "
     "Tests the formula of the link, not the fabric",
     "design document: 0.85 s for 425 x 602 pixels from 600 pulses", NULL},
    {"Martelli, Gac et al. 2017, 2018", "Arria 10, DE1-SoC", "GUPS", (double)NAN, arria,
     "as the pipeline of 2020", "abstracts", NO_RATE},
    {"Diakite et al. FPL 2021", "Arria 10", "GUPS", (double)NAN, arria, "as the pipeline of 2020",
     "abstract", NO_RATE "; \"comparable to an embedded GPU\" is none"},
    {"Diakite, Gac 2023", "two Intel FPGAs", "GUPS", (double)NAN, arria,
     "as the pipeline of 2020, the smaller device", "abstract", NO_RATE},
    {"MLEM on VC709", "Virtex-7", "GUPS", (double)NAN, mlem,
     "ceiling of the device: 3600 blocks at the published 220 MHz, 4 products an update",
     "abstract",
     "288 times 12 cores whose rate is not given. Good software does 1.5 to 2.5 GUPS a "
     "thread, so that this would be 5,200 to 8,600 GUPS; the device's products alone allow the 198 "
     "of "
     "the model: the software compared was at least 26 times slower than good one"},
    {"Birk et al. 2012, 3D ultrasound", "Virtex-6", "x", (double)NAN, NULL, "not modelled",
     "abstract",
     "6 to 8 times a GPU of 2010 at equal power, for synthetic aperture focusing, which is "
     "none of the primitives; no rate and no power in what could be read"},
};
#define DESIGNS (int)(sizeof designs / sizeof *designs)

static char *page;

/* `row` as a line of docs/internals/triage.md. */
static void check_row(const char *row)
{
    char line[1024];
    print_message("%s\n", row);
    assert_true(snprintf(line, sizeof line, "\n%s\n", row) < (int)sizeof line);
    if (!strstr(page, line))
        fail_msg("docs/internals/triage.md lacks this row");
}

static void model_is_within_a_factor_of_2_of_published_designs(void **state)
{
    const struct weights w = weights_default();
    int compared = 0;
    char row[1000];
    (void)state;
    for (int i = 0; i < DESIGNS; i++) {
        if (designs[i].outside)
            continue;
        const struct bounds modelled = designs[i].model(&w);
        const double factor = bounds_middle(modelled) / designs[i].published;
        snprintf(row, sizeof row, "| %s | %s | %s %s | %s | %s | %s | %s |", designs[i].design,
                 designs[i].device, quantity_number(designs[i].published), designs[i].unit,
                 quantity_plain_bounds(modelled), quantity_number(factor), designs[i].how,
                 designs[i].source);
        check_row(row);
        assert_false(modelled.low > modelled.high);
        assert_true(factor > 0.5 && factor < 2);
        compared++;
    }
    assert_int_equal(compared, 9);
}

static void designs_without_a_rate_have_a_reason(void **state)
{
    const struct weights w = weights_default();
    char row[1000];
    (void)state;
    for (int i = 0; i < DESIGNS; i++) {
        assert_true(isfinite(designs[i].published) == !designs[i].outside);
        if (!designs[i].outside)
            continue;
        const struct bounds modelled = designs[i].model ? designs[i].model(&w) : none;
        assert_false(modelled.low > modelled.high);
        snprintf(row, sizeof row, "| %s | %s | %s%s%s | %s | %s | %s |", designs[i].design,
                 designs[i].device, quantity_plain_bounds(modelled), designs[i].model ? " " : "",
                 designs[i].model ? designs[i].unit : "", designs[i].how, designs[i].outside,
                 designs[i].source);
        check_row(row);
    }
}

int main(void)
{
    size_t bytes;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_is_within_a_factor_of_2_of_published_designs),
        cmocka_unit_test(designs_without_a_rate_have_a_reason),
    };
    if (file_read_all(TP_DATA "/../../docs/internals/triage.md", 1 << 20, &page, &bytes))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(page);
    return failed;
}
