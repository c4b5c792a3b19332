/* FBP of scans that do not fit into memory: slabs of slices, each with its own detector rows, read,
 * reconstructed and written one after the other. The same bits as all at once. */
#ifndef TP_CLI_COMMANDS_RECON_SLABS_H
#define TP_CLI_COMMANDS_RECON_SLABS_H

#include "host/backend/backend.h"
#include "host/cli/commands/recon_input.h"
#include "host/recon/slabs/slab.h"

/* One slab where everything fits; else as thick ones as do, of a multiple of 64 slices where that
 * is possible: what the kernels take at a time. */
enum err recon_slabs_plan(const struct recon_request *r, const struct model *m, struct slabs *out);

/* Reconstructs into `path`; `middle` (rows, cols) gets slice slices / 2. ERR_INTERRUPTED, and no
 * file, when *stop becomes non-zero. */
enum err recon_slabs_run(struct backend *be, const struct recon_request *r,
                         const struct recon_input *input, const struct slabs *plan,
                         const char *path, const volatile int *stop, float *middle);

#endif
