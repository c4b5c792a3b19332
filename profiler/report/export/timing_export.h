/* Times of the suite in the formats of monitoring and of CI. */
#ifndef TP_REPORT_EXPORT_TIMING_EXPORT_H
#define TP_REPORT_EXPORT_TIMING_EXPORT_H

#include <stdio.h>

#include "base/timing/timing.h"

struct timing_exporter {
    const char *name, *suffix, *summary;
    void (*write)(const struct timing_file *t, FILE *out); /* errors stay in the stream */
};
extern const struct timing_exporter *const timing_exporters[]; /* ends with NULL */
const struct timing_exporter *timing_exporter_find(const char *name);

enum err timing_export_file(const struct timing_file *t, const struct timing_exporter *x,
                            const char *path);

#endif
