/* Plans a run of the suite: operations x sizes. */
#ifndef TP_SUITE_RUN_PLAN_H
#define TP_SUITE_RUN_PLAN_H

#include <stdint.h>

#include "base/err.h"
#include "host/suite/catalogue/catalogue.h"

#define PLAN_OPS   192 /* more than the catalogue holds */
#define PLAN_SIZES 64

/* Smallest and largest edge N. Below 4 a detector has no channel inside the region of
 * reconstruction; 16384^3 is 16 TiB. */
#define SIZE_MIN      4
#define SIZE_MAX_EDGE 16384

struct run_plan {
    const struct operation *ops[PLAN_OPS]; /* in the order of the catalogue, no repeats */
    int op_count;
    int64_t sizes[PLAN_SIZES];     /* edges: ascending, no repeats; then those of other shapes */
    int64_t shapes[PLAN_SIZES][3]; /* 0: a cube; else the size is the edge of as many voxels */
    int size_count;
};

/* "256" or "512x512x30" into `out`. */
#define SHAPE_TEXT 40
void shape_text(int64_t size, const int64_t shape[3], char out[SHAPE_TEXT]);
/* 512x512x30, each 1 to SIZE_MAX_EDGE; 0: it is none. */
int shape_parse(const char *text, int64_t shape[3]);

/* The names that have `part` in them, joined by commas; 0: none. */
int operations_with(const char *part, const char *const *names, int n, char out[200]);

/* Parses comma lists of operations and sizes; `large` adds 512 and 1024. A name may hold * and ? as
 * in a shell. NULL means the default: the operations that are not apart, or all of the group, and
 * its sizes. ERR_USAGE names the item that is wrong and the nearest right one. */
enum err plan_parse(const char *group, const char *ops, const char *sizes, int large,
                    struct run_plan *out);
/* ERR_USAGE where a KEY=VALUE of the text is one that no operation of the plan takes; NULL: none. */
enum err plan_check_settings(const struct run_plan *p, const char *text);

#endif
