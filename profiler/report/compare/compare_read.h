/* What compare needs of one run. */
#ifndef TP_REPORT_COMPARE_COMPARE_READ_H
#define TP_REPORT_COMPARE_COMPARE_READ_H

#include "base/timing/timing.h"
#include "profiler/analyze/model/model.h"

struct compare_times { /* warm, untraced, successful runs of one operation and size */
    char *name;
    int size, count;
    double *seconds;
};

struct compare_side {
    char *path;
    struct timing_file *timing; /* NULL: none */
    struct model *profile;      /* NULL: none */
    struct compare_times *times;
    int times_count;
};

enum err compare_side_read(const char *path, struct compare_side *out);
void compare_side_free(struct compare_side *s);
/* "environment.KEY" of timing.json, which must be there, as JSON, malloc'ed; NULL: unknown */
char *compare_environment(const struct compare_side *s, const char *key);

#endif
