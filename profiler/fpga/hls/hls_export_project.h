/* The projectors' part of an HLS export. */
#ifndef TP_FPGA_HLS_HLS_EXPORT_PROJECT_H
#define TP_FPGA_HLS_HLS_EXPORT_PROJECT_H

#include <stdio.h>

#include "profiler/fpga/hls/hls_export.h"

struct hls_export {
    const struct width_primitive *p;
    const struct width_case *c;
    struct formats formats; /* rounded, as simulated */
    struct width_result exact, rounded;
};

void project_tables(const struct hls_export *h, FILE *out);
void project_inputs(const struct hls_export *h, FILE *out);
/* The projection alone, without what makes a picture of it. */
enum err project_run(const struct hls_export *h, struct formats *f, struct width_result *out);

#endif
