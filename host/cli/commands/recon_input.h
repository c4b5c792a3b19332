/* What `tomoprof recon` reconstructs: a Data Exchange scan, or a sinogram with its geometry file.
 */
#ifndef TP_CLI_COMMANDS_RECON_INPUT_H
#define TP_CLI_COMMANDS_RECON_INPUT_H

#include <stddef.h>

#include "host/base/err.h"
#include "host/geom/scan.h"

struct recon_request {
    const char *in;       /* .npy, or HDF5 */
    const char *geometry; /* NULL: parallel, from the scan itself */
    const char *rows;     /* "A:B" of detector rows, B excluded, or NULL for all */
    const double *center; /* 0-based channel of the rotation axis; NULL: found */
};

struct recon_input {
    struct model model;
    float *sinogram; /* (views, rows, channels), mem_alloc */
    int64_t row_first, repaired;
    double center, score; /* score is NAN where the centre was given or the geometry file says it */
};

/* Reads headers only: the model's sizes without its angles where they come from the scan, to judge
 * the memory. */
enum err recon_input_plan(const struct recon_request *r, struct recon_input *out);
/* Then the rest: data, corrections, centre. */
enum err recon_input_read(const struct recon_request *r, struct recon_input *out);

/* For work in slabs, instead of recon_input_read: what is there to know but the data. The centre is
 * found on the middle 32 rows. */
enum err recon_input_prepare(const struct recon_request *r, struct recon_input *out);
/* Then rows [first, first + count) of the model's: (views, count, channels), mem_alloc. */
enum err recon_input_rows(const struct recon_request *r, const struct recon_input *in,
                          int64_t first, int64_t count, float **sinogram);
/* Rows that are read on either side beyond those: defects are filled from their neighbours. */
int64_t recon_input_halo(const struct recon_request *r);

void recon_input_free(struct recon_input *i);

#endif
