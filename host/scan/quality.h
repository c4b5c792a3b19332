/* A volume beside a reference. */
#ifndef TP_SCAN_QUALITY_H
#define TP_SCAN_QUALITY_H

#include "base/err.h"
#include "host/recon/common/similarity.h"

/* Grey PNG: the middle slice, that of the reference, and their difference, grey where it is 0. */
enum err quality_picture(const char *path, const struct volume *v, const float *x,
                         const float *reference);

#endif
