/* Shared by the tests of arrays larger than the device: operations of host/recon on the cases of
 * tests/operators, with all arrays on the device or in slabs. */
#ifndef TP_TESTS_DEVICE_PROBLEM_H
#define TP_TESTS_DEVICE_PROBLEM_H

#include "host/recon/slabs/out_of_core.h"
#include "tests/operators/harness.h"

enum { FORWARD, BACK, HESSIAN, WEIGHTED, FILTER, DIRECT, MEDIAN, OPS };
extern const char *const op_names[];
extern const enum recon_op ops_of[OPS];

/* A case and its inputs. */
struct problem {
    const char *name;
    struct ct_model model;
    float *x, *y;
    int64_t voxels, samples;
};
void problem_open(const struct test_case *c, struct problem *p);
void problem_close(struct problem *p);

struct backend *device(size_t limit); /* the limit of --device-memory; 0: none */
int64_t input_length(const struct problem *p, int op);
int64_t output_length(const struct problem *p, int op);

enum err run_resident(struct backend *be, const struct problem *p, int op, float *out);
enum err run_large(struct backend *be, const struct problem *p, int op, float *out);
/* The result with all arrays on the device, malloc'ed. */
float *resident(const struct problem *p, int op);

enum err plan_large(struct backend *be, const struct problem *p, int op, size_t room,
                    struct out_of_core_plan *out);
/* 1: the failure of this call (shim_counts().failed) may pass without a word: what it gives back is
 * gone with the device, or launches go one by one where no graph is to be had. */
int may_pass(const char *call);
/* The least room that can be done with; more where so many pieces would take the emulator long. */
size_t least_room(const struct problem *p, int op);

#endif
