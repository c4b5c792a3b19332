/* FPGA cards: what the model needs to know of them, with where it is from. */
#ifndef TP_TRIAGE_MODEL_CARD_H
#define TP_TRIAGE_MODEL_CARD_H

#include "base/err.h"

struct bounds {
    double low, high; /* both NAN: unknown */
};

struct bounds bounds_of(double low, double high);
struct bounds bounds_over(struct bounds a, struct bounds b); /* the widest quotient */
struct bounds bounds_times(struct bounds a, double k);
double bounds_middle(struct bounds b); /* geometric */

struct card {
    const char *id, *name;
    double dsp, products; /* blocks; products of 18 bits in one */
    double lut;
    double ram_blocks; /* with two ports each */
    double ram_kib;
    struct bounds memory_gb_s; /* 1e9 bytes/s, peak; a range where sources differ */
    double memory_gib;
    int banks;                  /* that must be addressed at once to reach it */
    double link_gb_s;           /* to the host, one direction, peak */
    struct bounds clock_mhz;    /* that designs reach */
    double engines;             /* vector processors beside the fabric; 0 none */
    double watts;               /* board */
    struct bounds price;        /* currency units, class only */
    const char *source, *doubt; /* doubt: NULL, or which of these is not sure and why */
};

/* Chosen ones of "u55c,v80" into out[0..*count), NULL: all. ERR_USAGE lists the names. */
#define CARDS_MOST 16
enum err cards_choose(const char *names, const struct card *out[CARDS_MOST], int *count);

#endif
