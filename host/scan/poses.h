/* A table of what moved in each view: the views are sampled anew as an ideal scanner would have
 * taken them, so that every method and back end takes them. */
#ifndef TP_SCAN_POSES_H
#define TP_SCAN_POSES_H

#include "host/base/err.h"
#include "host/geom/scan.h"

/* Columns of the table, (views, POSE_COLUMNS). Lengths in ALU, on the detector or at the source. */
enum {
    POSE_ROTATION,       /* of the detector in its plane, degrees, from channels towards rows */
    POSE_CHANNEL_SHIFT,  /* of the detector, along its channels before the rotation */
    POSE_ROW_SHIFT,      /* along its rows */
    POSE_SOURCE_CHANNEL, /* of the source, along the channels: cone beams */
    POSE_SOURCE_ROW,     /* along the rows */
    POSE_COLUMNS
};

/* Reads the table (.npy), then replaces *sinogram (mem_alloc) by what it should have been. A moved
 * source becomes another angle and another helical shift of the view: model->scan changes. */
enum err scan_apply_poses(const char *path, struct ct_model *model, float **sinogram);

#endif
