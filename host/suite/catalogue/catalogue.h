/* The operations that tomoprof profiles and that `tomoprof apply` runs: one row each. Adding an
 * operation touches one row and its functions. */
#ifndef TP_SUITE_CATALOGUE_CATALOGUE_H
#define TP_SUITE_CATALOGUE_CATALOGUE_H

#include "host/backend/backend.h"
#include "host/suite/catalogue/state.h"

struct ellipsoid;

enum {
    TAKES_WEIGHTS = 1,
    TAKES_ITERATIONS = 2, /* and --stop-threshold */
    TAKES_SEED = 4,
    TAKES_SUBSETS = 8,
    TAKES_INIT = 16,
    TAKES_PROX = 32,
    TAKES_COMPAT = 64
};

/* Memory that an operation needs beside its input and output: a second sinogram (only where the
 * input must survive), or what mbir_scratch_bytes says. */
enum scratch { SCRATCH_NONE, SCRATCH_SINOGRAM, SCRATCH_MBIR };

/* Rows of translation and multi-axis scans are not in every run, and no phantom comes back from
 * their views alone: what a reconstruction leaves of the sinogram is checked. */
#define APART_parallel    0
#define APART_cone        0
#define APART_translation 1
#define APART_multiaxis   1
#define CHECK_parallel    check_recon
#define CHECK_cone        check_recon
#define CHECK_translation check_explains
#define CHECK_multiaxis   check_explains

/* Shares of a result that several processes make (host/cluster/crew.h). */
enum share {
    SHARE_NONE,    /* nothing: the first makes all of it */
    SHARE_ROWS,    /* some detector rows */
    SHARE_FORWARD, /* the same; of cone beams some views */
    SHARE_SLICES,  /* some slices, from the detector rows under them */
    SHARE_GROUPS,  /* the same in groups of 16, which are computed side by side */
    SHARE_PLANES,  /* some rows of a volume, and one more on either side to look at */
    SHARE_MBIR     /* some slices, with sums of all processes */
};

struct operation {
    const char *name;     /* public: timing.json and the command line */
    const char *geometry; /* "parallel", "cone", "translation", "multiaxis", or "any" */
    const char *group;    /* projection, filter, reconstruction, utility, prepare, volume, storage,
                             demos, benchmark */
    const char *access_pattern; /* stream, gather, scatter, stencil, random, mixed */
    const char *help;
    enum array input, output;
    enum scratch scratch;
    enum share share;
    int takes; /* TAKES_ bits: what `tomoprof apply` accepts beside the input */
    enum err (*prepare)(struct run_state *s); /* makes the suite's input; NULL: it has none */
    enum err (*run)(struct run_state *s);     /* the timed part: no transfer, no check */
    enum err (*check)(struct run_state *s);   /* ERR_FAILED with a sentence: the result is wrong */
    struct work (*work)(struct run_state *s); /* declared since the last call */
    enum err (*ready)(struct run_state *s);   /* before the first run, not timed (optional) */
    /* Voxel-view updates of one run; NULL where the unit makes no sense. */
    enum err (*updates)(const struct run_state *s, double *out);
    void (*set_up)(struct ct_model *m,
                   int64_t size); /* changes the published set-up; NULL: nothing */
    double first_angle,
        turn; /* radians that its views begin at and cover; 0: the published set-up */
    /* The suite's object, where it is not the two ellipsoids; returns how many there are. */
    int (*phantom)(const struct run_state *s, struct ellipsoid *out);
    /* Timed by the iteration: the first run is this iteration (from 1) of one call of run. 0: each
     * run is a call. */
    int first_iteration;
    /* Group volume: makes s->step from the model's volume and the settings. */
    enum err (*step)(struct run_state *s);
    const char *settings; /* that it takes, with blanks between them; NULL: none */
    /* Reads of stores: chunks that are touched, and bytes decoded, or fetched, for each one wanted. */
    enum err (*touch)(struct run_state *s, double *chunks, double *amplification);
    void (*finish)(struct run_state *s); /* gives back what prepare made; NULL: nothing */
    int apart;                           /* not in a run that names neither it nor its group */
};

/* Rows of one theme, in a file of their own. */
struct operation_rows {
    const struct operation *rows;
    int count;
};
extern const struct operation_rows published_operations, storage_operations, demo_operations;

/* Row `index` of the catalogue, NULL past the end. */
const struct operation *operation_at(int index);
/* The row of exactly that name, NULL when there is none. */
const struct operation *operation_named(const char *name);

/* Maps an operation to that of host/recon; 0: nothing that has arrays on a device. */
int operation_recon(const struct operation *op, enum recon_op *out);

/* Bytes that one process of the suite needs: arrays and scratch, the program, the reference of the check. */
double operation_bytes(const struct operation *op, const struct ct_model *m);

/* Writes folder/OPERATION.json {"operation", "size", "slice", "rmse", "low", "high", "difference",
 * "bar", "psnr", "ssim"}; OPERATION-slice.png, -row.png and -column.png through the middle ([low,
 * high] from black to white, with scale bars); OPERATION-difference.png of the slice (grey: equal;
 * -difference to difference). Pictures are thinned to at most 256 pixels a side; those of an
 * earlier, smaller size are replaced. Nothing for operations that reconstruct nothing. */
enum err preview_write(struct run_state *s, int64_t size, const char *folder);

#endif
