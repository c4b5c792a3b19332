/* What a run of the suite covers: operations x sizes. */
#ifndef TP_SUITE_PLAN_H
#define TP_SUITE_PLAN_H

#include <stdint.h>

#include "host/base/err.h"
#include "host/suite/catalogue.h"

#define PLAN_OPS   64 /* more than the catalogue holds */
#define PLAN_SIZES 64

/* Smallest and largest edge N. Below 4 a detector has no channel inside the region of
 * reconstruction; 16384^3 is 16 TiB. */
#define SIZE_MIN      4
#define SIZE_MAX_EDGE 16384

struct plan {
    const struct operation *ops[PLAN_OPS]; /* in the order of the catalogue, no repeats */
    int op_count;
    int64_t sizes[PLAN_SIZES]; /* ascending, no repeats */
    int size_count;
};

/* Comma lists; NULL means the default (all operations; 32,64,128,256). A name may hold * and ? as
 * in a shell. ERR_USAGE names the item that is wrong and the nearest right one. */
enum err plan_parse(const char *ops, const char *sizes, struct plan *out);

#endif
