/* Rays that were measured twice, in a scan that is to be reconstructed. */
#ifndef TP_SCAN_RAYS_H
#define TP_SCAN_RAYS_H

#include "host/scan/reconstruct.h"

/* Before the sinogram goes anywhere: it times the weights, and wider by zeros where half of the
 * object lies beside the detector (the model's channels and their offset follow). */
enum err scan_weigh_rays(struct scan_context *c);

#endif
