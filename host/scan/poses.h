/* A table of what moved in each view: the views are sampled anew as an ideal scanner would have
 * taken them, so that every method and back end takes them. */
#ifndef TP_SCAN_POSES_H
#define TP_SCAN_POSES_H

#include "base/err.h"
#include "host/geom/scan.h"

/* Columns of the table, (views, POSE_COLUMNS) or, without tilts, (views, POSE_PITCH). Lengths in
 * ALU, on the detector or at the source; angles in degrees. The detector turns about the point
 * where the ideal central ray meets it, shifted: in its plane, then by pitch, then by yaw. */
enum {
    POSE_ROTATION,       /* of the detector in its plane, from channels towards rows */
    POSE_CHANNEL_SHIFT,  /* of the detector, along its channels before the rotation */
    POSE_ROW_SHIFT,      /* along its rows */
    POSE_SOURCE_CHANNEL, /* of the source, along the channels: cone beams */
    POSE_SOURCE_ROW,     /* along the rows */
    POSE_PITCH,          /* about the ideal channels: the last rows lean away from the source */
    POSE_YAW,            /* about the ideal rows: the last channels lean away from it */
    POSE_COLUMNS
};

/* Reads the table (.npy), then replaces *sinogram (mem_alloc) by what it should have been. A moved
 * source becomes another angle and another helical shift of the view: model->scan changes. */
enum err scan_apply_poses(const char *path, struct ct_model *model, float **sinogram);

#endif
