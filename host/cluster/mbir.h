/* MBIR by several ranks: each with its slices. */
#ifndef TP_CLUSTER_MBIR_H
#define TP_CLUSTER_MBIR_H

#include "host/cluster/cluster.h"
#include "host/cluster/parts.h"
#include "host/scan/reconstruct.h"

/* Before anything is read: ERR_USAGE with the reason where ranks cannot share this one, ERR_MEMORY
 * where a rank's part does not fit. Sets the bytes that a rank holds. */
enum err cluster_mbir_check(struct cluster *c, struct scan_context *s);
/* Reads, reconstructs and adds each rank's slices to `p`. */
enum err cluster_mbir_run(struct cluster *c, struct scan_context *s, const struct parts *p,
                          int *silent);

#endif
