/* The geometries on which every back end is checked. To add a case, add a row to cases.c. */
#ifndef TP_TESTS_OPERATORS_CASES_H
#define TP_TESTS_OPERATORS_CASES_H

#include "base/err.h"
#include "host/geom/ct_model.h"

/* Lengths in ALU, angles in radians. What is left out (0) is automatic or MBIRJAX's default:
 * pitches and aspects 1, offsets 0, ellipse mask. */
struct test_case {
    const char *name;
    enum beam beam;
    int64_t views, rows, channels;
    double source_detector, source_iso;
    double start, extent; /* angles start + extent * k / views; extent 0 = pi (parallel), 2 pi */
    double delta_row, delta_channel, row_offset, channel_offset;
    double z_first, z_last; /* helical shift of the first and the last view */
    int curved;
    double shift;     /* translation: at most, along x, y and z, in a pattern */
    double elevation; /* multi-axis: of the views in turn +, - and half of it */
    int level;        /* multi-axis: all elevations 0 */
    int64_t shape[3]; /* recon_shape */
    double delta, row_aspect, slice_aspect, slice_offset;
    int unmasked;
    int clips; /* MBIRJAX's vertical tap windows cut off entries: A' is not the transpose of A */
    int mbir;  /* large enough for an iterative reconstruction, small enough for its twin */
};

extern const struct test_case cases[];
extern const int case_count;

/* The resolved model of a case; free with ct_model_free. */
enum err case_model(const struct test_case *c, struct ct_model *m);

/* n numbers, uniform in [low, high), the same ones for a seed on every machine. */
void fill_uniform(uint64_t seed, double low, double high, float *out, int64_t n);

#endif
