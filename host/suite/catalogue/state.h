/* An operation works on this: model, arrays, options, results. */
#ifndef TP_SUITE_CATALOGUE_STATE_H
#define TP_SUITE_CATALOGUE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "host/backend/backend.h"
#include "host/recon/denoise.h"
#include "host/recon/partition.h"
#include "host/recon/recon.h"

struct operation;
struct storage;

/* volume (R, C, S) and sinogram (V, Mr, Nc) are float32, partition (subsets, length) int32. */
enum array {
    ARRAY_NONE,
    ARRAY_VOLUME,
    ARRAY_SINOGRAM,
    ARRAY_PARTITION,
    ARRAY_STEP, /* the result of s->step */
    ARRAY_VIEW, /* memory that the operation maps */
    ARRAY_FILE  /* none: a file is written */
};

/* An array on the host (mem_alloc; NULL when only the back end has one) and the same for the back
 * end. Empty: buffer.ptr is NULL. */
struct array_pair {
    float *host;
    struct buffer buffer;
};

/* Operations on files hold this between prepare and finish. */
#define VOLUME_PATH 4200
struct volume_file {
    char folder[VOLUME_PATH - 32];
    int has_folder, opened, fd;
    int64_t bytes;
    void *map[2]; /* of this run and of the one before */
};

/* Zeroed, then op, be and the model are set, then the arrays by state_prepare (the suite's phantom)
 * or by `tomoprof apply` (files); freed by state_free. */
struct run_state {
    const struct operation *op;
    struct backend *be;    /* not owned */
    int large;             /* arrays stay in host memory and pass the device in slabs */
    struct ct_model model; /* owned; operations of geometry "any" use its volume sizes only */
    struct array_pair in, weights, initial, prox, out; /* prox: what prox_map stays near */
    struct array_pair scratch;      /* of direct reconstruction; empty: `in` is overwritten */
    struct mbir_options mbir;       /* its weights and initial come from the above */
    struct mbir_report report;      /* of the latest mbir_recon */
    uint64_t seed;                  /* of the noise and of the partition's generator */
    int64_t subsets;                /* of gen_pixel_partition */
    struct partition partition;     /* its result; of sparse operations its first subset */
    struct denoise_report denoised; /* of the latest qggmrf_denoise */
    struct volume_step step;        /* of group volume: filled by op->step */
    struct prepare_step prepare;    /* of group prepare: filled by op->step */
    struct array_pair frames;       /* of correct_flat_field: dark, flat fields before and after */
    double center;                  /* of find_center_: the latest result */
    const char *const *settings;    /* KEY=VALUE, for op->step */
    int settings_count;
    struct volume_file file;
    struct storage *storage; /* of group storage: its stores */
};

/* The published set-up at edge N: N/2 views, N x N detector of pitch 1, volume N^3; parallel over
 * [0, pi), cone over [0, 2 pi) with source-detector 4N and source-iso 2N. "any" gets the parallel
 * one. */
enum err model_for_size(const struct operation *op, int64_t size, struct ct_model *m);

/* Sets the shape of an array of this model; all 0 for ARRAY_NONE, ARRAY_PARTITION and ARRAY_FILE.
 * Of ARRAY_STEP the volume's, before s->step says more. */
void ct_model_shape(const struct ct_model *m, enum array array, int64_t shape[3]);

/* Bytes of the latest result, and of what it was made from. */
double state_bytes_out(const struct run_state *s);
double state_bytes_in(const struct run_state *s);
/* gen_pixel_partition and the sparse operations use this many in the published set-up. */
#define SUITE_SUBSETS 4

/* Prepares input, scratch and output of the suite: two-ellipsoid phantom, 1 % noise, one MBIR
 * iteration at threshold 0, 4 subsets. */
enum err state_prepare(struct run_state *s);

/* Decides where the arrays will be (recon_place), `extra` bytes more or less than those of
 * operation_run_bytes; ERR_MEMORY with the numbers when they can be nowhere. */
enum err state_place(struct run_state *s, int has_weights, double extra);

/* An uninitialised host array, to be filled and given to the back end by state_upload. */
enum err state_host_array(struct array_pair *a, const char *what, const int64_t shape[3]);
enum err state_upload(struct run_state *s, struct array_pair *a, const int64_t shape[3]);
/* Allocates s->scratch; nothing in slabs, which never overwrite the input. */
enum err state_allocate_scratch(struct run_state *s);
/* Allocates s->out. Nothing for partitions, which bring their own. */
enum err state_allocate_output(struct run_state *s);
void state_free(struct run_state *s);

/* float64 sum, l2 norm, minimum and maximum of the latest result. */
struct fingerprint {
    double sum, l2, min, max;
};
enum err state_fingerprint(struct run_state *s, struct fingerprint *out);
/* "sum": .., "l2": .., "min": .., "max": .. inside an object that is open. */
struct jsonw;
void fingerprint_write(struct jsonw *w, const struct fingerprint *f);

/* The latest float32 result on the host. *copy is a block to mem_free afterwards, or NULL where the
 * back end works in host memory. */
enum err state_result(struct run_state *s, const float **data, float **copy);

/* Returns the work that launchers declared since the last call; of a partition, every index written once, and a
 * shuffle that reads and writes two of them in the nearest cache. */
struct work work_declared(struct run_state *s);
struct work work_partition(struct run_state *s);
/* The buffer of an optional array, NULL where it was not given. */
const struct buffer *given_buffer(const struct array_pair *a);

#endif
