/* A back end for tests of host/recon: a dense random matrix instead of a geometry, float64 inside,
 * and buffers whose pointers crash when anybody else follows them (they say PLACE_DEVICE). Its
 * prior is (x - 0.1)^2 / (2 sigma_x^2), so that the cost of MBIR has one minimum. */
#ifndef TP_TESTS_OPERATORS_DENSE_H
#define TP_TESTS_OPERATORS_DENSE_H

#include "host/backend/backend.h"

enum { DENSE_VIEWS = 7, DENSE_ROWS = 2, DENSE_CHANNELS = 6 };
enum { DENSE_HEIGHT = 5, DENSE_WIDTH = 6, DENSE_SLICES = 2 };
enum {
    DENSE_SAMPLES = DENSE_VIEWS * DENSE_ROWS * DENSE_CHANNELS,
    DENSE_VOXELS = DENSE_HEIGHT * DENSE_WIDTH * DENSE_SLICES
};

extern const struct backend_ops dense_backend;
/* The entries, samples in users' order; uniform random numbers put there by the test. */
extern double dense_matrix[DENSE_SAMPLES][DENSE_VOXELS];
/* Counts of live objects. */
extern int dense_live_buffers, dense_live_projectors;
/* >= 0: that call of the back end from now on fails. */
extern int dense_fail_at;

/* Returns the numbers of a buffer. */
float *dense_open(const struct buffer *b);

#endif
