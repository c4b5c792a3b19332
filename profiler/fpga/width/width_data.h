/* The slices that primitives are simulated on: the phantom's, and a row of a scan. */
#ifndef TP_FPGA_WIDTH_WIDTH_DATA_H
#define TP_FPGA_WIDTH_WIDTH_DATA_H

#include "profiler/fpga/width/width_case.h"

/* Makes the two-ellipsoid phantom's central slice by its exact line integrals, with 1 % of noise: n
 * channels and views. */
enum err width_case_phantom(int n, struct width_case *c);

/* Row 0 of a Data Exchange scan with its channels averaged in n bins, and n of its views. `axis`:
 * channel of the rotation axis, below 0: found. ERR_INPUT when it has fewer channels or views. */
enum err width_case_scan(const char *path, double axis, int n, struct width_case *c);

#endif
