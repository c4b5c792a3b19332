/* The search of the rotation centre, and trial slices around it as a picture. */
#ifndef TP_SCAN_TRIALS_H
#define TP_SCAN_TRIALS_H

#include "host/scan/steps.h"

/* By the method that was asked for; of joined halves from their overlap. */
enum err scan_find_center(const struct scan_context *c, const struct projections *p,
                          double *center);
/* Draws nine slices of the middle row, the axis moved by -8 to 8 channels. */
enum err scan_center_picture(const struct scan_context *c, const struct projections *p,
                             double center);

#endif
