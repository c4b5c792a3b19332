/* Shared by the operator tests: every back end of this build, the operators of one back end as
 * functions from host arrays to host arrays, and the worst case of a comparison. */
#ifndef TP_TESTS_OPERATORS_HARNESS_H
#define TP_TESTS_OPERATORS_HARNESS_H

#include "host/backend/registry.h"
#include "tests/operators/cases.h"
#include "tests/unit/check.h"

/* tests/data: of the environment, or where it was when the tests were built. */
#define DATA_FOLDER (getenv("TP_DATA") ? getenv("TP_DATA") : TP_DATA)

/* For cmocka_run_group_tests: registers the back ends. */
int harness_setup(void **state);
void harness_register(void); /* backends.c; tests/device has another */
/* Name of back end `index` that works here; NULL past the last. */
const char *harness_backend(int index);

/* A case on one back end. The operators below fail the running test when the back end fails. */
struct rig {
    const char *name; /* "cpu cone_even" */
    char label[64];
    struct ct_model model;
    struct backend *be;
    struct projector *projector;
    int32_t *inside; /* pixels of the region of reconstruction */
    int64_t inside_count, pixels, voxels, samples;
};
void rig_open(struct rig *r, const char *backend, int threads, const struct test_case *c);
void rig_close(struct rig *r);

/* Returns 1 if TOMOPROF_TEST_CASES=name,name asks for the case, or is not set. */
int case_wanted(const char *name);
int cases_wanted(void); /* how many of the table's */

/* Every case on every back end, with one thread: the cases are small, and test_determinism shows
 * that more change nothing. */
void for_each_case(void (*check)(struct rig *r, const struct test_case *c, void *context),
                   void *context);

/* Calls of one operator; results are malloc'ed. x holds volume arrays or packed cylinders. */
struct pixel_set rig_inside(const struct rig *r);
/* The columns of these pixels alone, one after the other: a packed list, which goes pixel by pixel. */
float *rig_packed(const struct rig *r, const float *x);
float *rig_forward(struct rig *r, struct pixel_set pixels, const float *x, enum sino_order order);
/* y, w NULL = ones. `before` (volume or packed) is what x holds on entry; NULL = zeros. */
float *rig_back(struct rig *r, struct pixel_set pixels, const float *y, const float *w,
                enum sino_order order, int power, const float *before);
/* Cones that turn, on back ends that have it. */
float *rig_back_voxel(struct rig *r, struct pixel_set pixels, const float *y, enum sino_order order,
                      const float *before);

/* Uploads n floats into a buffer of the back end's own; pulls n floats out and releases it. */
struct buffer rig_push(struct rig *r, const float *host, int64_t n);
float *rig_pull(struct rig *r, struct buffer *b, int64_t n);

/* malloc'ed arrays that fail the test when memory ends. */
float *floats(int64_t n);
float *random_floats(uint64_t seed, double low, double high, int64_t n);
double *doubles(int64_t n);
double *widen(const float *a, int64_t n);

/* |a - b| / |b| over n; |a| where b is all zero. */
double relative_l2(const float *a, const double *b, int64_t n);
double dot(const float *a, const float *b, int64_t n);
double dot64(const double *a, const double *b, int64_t n);

/* The largest of many numbers and where it arose. Numbers above `limit` (and NaN) are printed as
 * they come. */
struct worst {
    const char *what;
    double limit, value;
    char where[64];
    int seen, failed;
};
void worst_note(struct worst *w, const char *where, double value);
/* Prints the worst; fails the test when any was above the limit, or none was seen. */
void worst_check(const struct worst *w);

#endif
