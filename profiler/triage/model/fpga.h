/* Models a primitive on an FPGA card: lanes from its blocks, rate from lanes, clock and memory,
 * time from rate, link and dependent steps. Ranges, never points. */
#ifndef TP_TRIAGE_MODEL_FPGA_H
#define TP_TRIAGE_MODEL_FPGA_H

#include "profiler/triage/model/primitive.h"
#include "profiler/triage/model/weights.h"

struct lane {
    double dsp, lut, ports;
};

/* For slices of size^2, with the widths that the sweep found. `irregular`: cells are looked up in
 * banks, not shifted past. */
struct lane lane_of(const struct primitive *p, const struct card *card, double size, int irregular);

/* Factors on what is not certain; all 1 unless sensitivity is being asked. */
#define ASSUMPTIONS(X)                                                                             \
    X(clock, "clock of the design")                                                                \
    X(lanes, "lanes that fit")                                                                     \
    X(memory, "bandwidth of the card's memory")                                                    \
    X(link, "rate of the link")                                                                    \
    X(stalls, "share of cycles without a stall")                                                   \
    X(card_watts, "power of the card")                                                             \
    X(software, "rate of the best alternative")                                                    \
    X(share, "share of the reconstruction")
struct assumptions {
#define X(name, meaning) double name;
    ASSUMPTIONS(X)
#undef X
};
struct assumptions assumptions_none(void);

struct estimate {
    const struct card *card;
    struct lane lane;           /* what one takes */
    double lanes;               /* that fit */
    double intensity;           /* operations per byte of the card's memory */
    const char *bound;          /* what holds the rate back at its optimistic end */
    struct bounds rate;         /* units/s with the data on the card */
    struct bounds seconds_card; /* a call with the data on the card, dependent steps included */
    struct bounds seconds_link; /* what the link needs */
    struct bounds seconds;      /* a call as it would be used: fed by the host, or in the stream */
    struct bounds watts, joules;
    double initiation_interval; /* cycles between units of one lane; above 1 with feedback */
    double on_chip_kib;         /* that 95 % of the reuses need; elements of fpga_element_bytes */
    double passes;              /* tiles in which that has to be cut to fit */
    double line_buffer_kib;     /* on-chip rows or planes of streams and windows, else NAN */
    double
        memory_share; /* of the card's memory that volume and sinogram fill; above 1: in pieces */
    double banks;     /* of the card's memory that must be addressed at once */
    /* Vector processors beside the fabric are not part of the above. NAN: the card has none. */
    double engines_rate;    /* units/s that they could do at their peak */
    double engines_seconds; /* the least that a call would take with them and the fabric */
};

/* Estimates one call at edge `size`. */
struct estimate fpga_estimate(const struct primitive *p, const struct access_pair *a,
                              const struct card *card, double size, const struct weights *w,
                              const struct assumptions *s);

/* Returns the bytes of a sample or voxel in the card's memory and on the link: by its measured bits
 * where there are.
 */
double fpga_element_bytes(const struct primitive *p, double size, const struct weights *w);

#define STAGES 4

struct pipeline {
    const struct card *card;
    const char *stages[STAGES];
    struct lane each[STAGES]; /* what a lane of it takes */
    double size, lanes;       /* lanes of each stage, side by side */
    struct bounds samples_per_s;
    double detector_samples_per_s;
    double line_buffer_kib, ram_share, dsp_share, lut_share;
    int fits, keeps_up; /* at the pessimistic end */
    const char *bound;  /* what does not fit, or what the lanes come up against */
};
enum err pipeline_make(const struct card *card, double size, const struct weights *w,
                       struct pipeline *out);

#endif
