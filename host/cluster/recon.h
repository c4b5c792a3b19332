/* Reconstructions by several ranks, or by one that can take up again what it left. */
#ifndef TP_CLUSTER_RECON_H
#define TP_CLUSTER_RECON_H

#include "host/cluster/cluster.h"
#include "host/cluster/parts.h"
#include "host/scan/reconstruct.h"

/* Instead of scan_recon_read and scan_recon_run, after scan_recon_open; every
 * rank reads what its slices need. Direct methods: slabs of slices, shared out in turn, each
 * written when it is complete; to resume keeps those of an earlier call. MBIR: one slab per rank
 * (ranks_backend.h). The volume appears under its name at the end.
 *
 * Parallel beams by direct methods give the bits of one rank, all others the same to 1e-6. */
enum err cluster_recon_plan(struct cluster *c, struct scan_context *s);
enum err cluster_recon_run(struct cluster *c, struct scan_context *s, int *silent);

/* MBIR by several ranks: each with its slices. */

/* Before anything is read: ERR_USAGE with the reason where ranks cannot share this one, ERR_MEMORY
 * where a rank's part does not fit. Sets the bytes that a rank holds. */
enum err cluster_mbir_check(struct cluster *c, struct scan_context *s);
/* Reads, reconstructs and adds each rank's slices to `p`. */
enum err cluster_mbir_run(struct cluster *c, struct scan_context *s, const struct parts *p,
                          int *silent);

#endif
