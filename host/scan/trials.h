/* The rotation centre of a scan by the method that was asked for, and a picture of trials. */
#ifndef TP_SCAN_TRIALS_H
#define TP_SCAN_TRIALS_H

#include "host/scan/projections.h"
#include "host/scan/reconstruct.h"

/* Of joined halves it follows from the overlap. *score is NAN where the method has none. */
enum err scan_find_center(const struct scan_request *r, const struct projections *p, double *center,
                          double *score);

/* A montage of nine slices of the middle row, the axis moved by -8 to 8 channels. */
enum err scan_center_picture(const struct scan_request *r, const struct projections *p,
                             double center);

#endif
