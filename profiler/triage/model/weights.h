/* Every number of the verdict that is a choice and not a measurement: one table, which --weights
 * FILE (a JSON object of the same names) overrides. A pair NAME_low, NAME_high is a range. */
#ifndef TP_TRIAGE_MODEL_WEIGHTS_H
#define TP_TRIAGE_MODEL_WEIGHTS_H

#include "base/err.h"

/* name, default, least allowed, most allowed, meaning */
/* clang-format off */
#define WEIGHTS(X) \
    X(score_share, 25, 0, 100, "points for the share of a reconstruction, full from half of it on") \
    X(score_speed, 30, 0, 100, "points for the speedup over the best alternative, full from 20 on") \
    X(score_energy, 20, 0, 100, "points for the energy ratio to the leanest alternative, full from 10 on") \
    X(score_pattern, 15, 0, 100, "points for stream and window; 0.4 of it for gather, 0.2 for scatter, 0 with feedback") \
    X(score_feed, 10, 0, 100, "points for a link that could feed it 10 times faster than the best alternative computes") \
    X(high_from, 60, 0, 100, "least score of HIGH") \
    X(medium_from, 40, 0, 100, "least score of MEDIUM") \
    X(low_from, 15, 0, 100, "least score of LOW; below: NO") \
    X(high_least_speedup, 2, 0, 1e3, "HIGH needs this speedup at the pessimistic end") \
    X(high_least_share, 0.1, 0, 1, "HIGH needs this share of a reconstruction") \
    X(medium_least_speedup, 1.5, 0, 1e3, "MEDIUM needs this speedup at the optimistic end") \
    X(no_below_speedup, 1, 0, 1e3, "NO when the middle of the speedup over the best alternative is below this") \
    X(no_below_energy, 1.5, 0, 1e3, "... and the middle of the energy ratio below this") \
    X(least_share, 0.01, 0, 1, "NO below this share of every reconstruction") \
    X(use_reference_gpu, 1, 0, 1, "1: a data-centre GPU that one could buy instead is an alternative; 0: only what was measured and this CPU") \
    X(reference_gpu_watts, 700, 1, 1e4, "board power of the reference GPU (H200)") \
    X(gpu_link_gb_s, 55, 0.1, 1e3, "rate at which the host feeds the reference GPU: PCIe 5 x16") \
    X(power_budget_watts, 0, 0, 1e5, "0: none; alternatives and cards above it are out") \
    X(cpu_watts_low, 6, 0.1, 1e3, "per thread of this CPU") \
    X(cpu_watts_high, 15, 0.1, 1e3, "") \
    X(gpu_watts_low, 200, 1, 1e4, "of a measured GPU, under load") \
    X(gpu_watts_high, 700, 1, 1e4, "") \
    X(element_bytes, 2, 1, 8, "of a fixed-point sample or voxel in memory of the card and on the link, at least") \
    X(usable_dsp, 0.8, 0.05, 1, "share of DSP blocks that a design can fill and still route") \
    X(usable_lut, 0.6, 0.05, 1, "share of LUTs") \
    X(usable_ram, 0.8, 0.05, 1, "share of block RAM") \
    X(memory_low, 0.5, 0.05, 1, "share of peak bandwidth of the card's memory that designs reach") \
    X(memory_high, 0.85, 0.05, 1, "") \
    X(link_low, 0.65, 0.05, 1, "share of the link's rate, one direction") \
    X(link_high, 0.9, 0.05, 1, "") \
    X(regular_low, 0.7, 0.01, 1, "share of lanes x clock of streams and windows that remains after stalls") \
    X(regular_high, 0.95, 0.01, 1, "") \
    X(fill_irregular, 0.25, 0.01, 1, "share of the lanes of gather and scatter that routing and clock leave of a full card") \
    X(gather_low, 0.63, 0.01, 1, "share of their cycles without a stall: 1 - 1/e, where as many lanes as banks look up at random without queues; 1 with queues") \
    X(gather_high, 1, 0.01, 1, "") \
    X(scatter_low, 0.32, 0.01, 1, "likewise where cells are added to: half of it where a sum waits for the one before in its cell; 1 with queues and forwarding") \
    X(scatter_high, 1, 0.01, 1, "") \
    X(feedback_us, 20, 0.1, 1e4, "round trip of one dependent step: drain, sum, decide, start again") \
    X(card_power_low, 0.5, 0.1, 1, "share of a card's board power under load") \
    X(card_power_high, 1, 0.1, 1, "") \
    X(engineer_months_low, 4, 0, 1e3, "to design, verify and integrate one kernel") \
    X(engineer_months_high, 12, 0, 1e3, "") \
    X(engineer_month_price, 12000, 0, 1e6, "currency units") \
    X(years, 3, 0.1, 30, "of use") \
    X(node_hour_low, 0.5, 0, 1e3, "price of an hour of the machine that is freed") \
    X(node_hour_high, 3, 0, 1e3, "") \
    X(kwh_price, 0.25, 0, 100, "") \
    X(software_gap, 10, 1, 1e6, "a row slower than this times what software reaches on the same class of machine: software first") \
    X(detector_gb_s, 1.25, 0.001, 1e3, "rate of the detector, for the pipeline: 10 Gbit/s")
/* clang-format on */

struct weights {
#define X(name, value, least, most, meaning) double name;
    WEIGHTS(X)
#undef X
};

struct weight_row {
    const char *name, *meaning;
    double value, least, most;
};

struct weights weights_default(void);
/* ERR_INPUT with the name when a key is unknown, a value out of range, or a low above its high. */
enum err weights_read(const char *path, struct weights *w);
int weights_count(void);
const struct weight_row *weights_row(int i);

#endif
