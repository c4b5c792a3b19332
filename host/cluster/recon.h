/* Reconstructions by several ranks, or by one that can take up again what it left. */
#ifndef TP_CLUSTER_RECON_H
#define TP_CLUSTER_RECON_H

#include "host/cluster/cluster.h"
#include "host/recon/slabs/slab.h"
#include "host/scan/reconstruct.h"
#include "host/store/format/volume.h"

/* Instead of scan_recon_read and scan_recon_run, after scan_recon_open; every
 * rank reads what its slices need. Direct methods: slabs of slices, shared out in turn, each
 * written when it is complete; to resume keeps those of an earlier call. MBIR: one slab per rank
 * (ranks_backend.h). The volume appears under its name at the end.
 *
 * Parallel beams by direct methods give the bits of one rank, all others the same to 1e-6. */
enum err cluster_recon_plan(struct cluster *c, struct scan_context *s);
enum err cluster_recon_run(struct cluster *c, struct scan_context *s, int *silent);

/* A volume in the making, OUT.parts: the file at its full size, and a mark for each slab that is
 * complete in it. What a crash leaves is the start of the next call. */

struct parts {
    struct scan_context *scan; /* borrowed */
    char folder[4096], file[4096 + 16];
    struct volume_parts volume;
};

/* Describes the request, without the files: a line for each setting, into text. */
#define PARTS_TEXT 8192
void parts_describe(const struct scan_context *c, char text[PARTS_TEXT]);

/* Names alone. ERR_USAGE for .nii.gz. */
enum err parts_of(struct scan_context *c, struct parts *out);
/* By one rank: makes the folder for the context's slabs; to resume, takes one that the same call
 * left, and its slabs into the context. ERR_INPUT where another call left it. */
enum err parts_begin(const struct parts *p);
int parts_has(const struct parts *p, int64_t slab);
/* The slab is on the disk when it is marked. */
enum err parts_add(const struct parts *p, struct slab s, const float *x);
enum err parts_mark(const struct parts *p, int64_t slab);
/* By one rank: nothing of it is to be taken up again. */
void parts_drop(const struct parts *p);
/* By one rank, when all slabs are there: the picture of the middle slice, or the comparison with a
 * reference; then the file appears under its name and the folder goes. */
enum err parts_finish(const struct parts *p);

/* MBIR by several ranks: each with its slices. */

/* Before anything is read: ERR_USAGE with the reason where ranks cannot share this one, ERR_MEMORY
 * where a rank's part does not fit. Sets the bytes that a rank holds. */
enum err cluster_mbir_check(struct cluster *c, struct scan_context *s);
/* Reads, reconstructs and adds each rank's slices to `p`. */
enum err cluster_mbir_run(struct cluster *c, struct scan_context *s, const struct parts *p,
                          int *silent);

#endif
