/* What a run of the suite covers: operations x sizes. */
#ifndef TP_SUITE_RUN_PLAN_H
#define TP_SUITE_RUN_PLAN_H

#include <stdint.h>

#include "base/err.h"
#include "host/suite/catalogue/catalogue.h"

#define PLAN_OPS     192 /* more than a menu holds */
#define PLAN_SIZES   64
#define PLAN_THREADS 16

/* Smallest and largest edge N. Below 4 a detector has no channel inside the region of
 * reconstruction; 16384^3 is 16 TiB. */
#define SIZE_MIN      4
#define SIZE_MAX_EDGE 16384
#define THREADS_MAX   4096

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

/* What a command offers. */
struct menu {
    const struct operation *(*at)(int index); /* NULL past the end */
    const char *list;                         /* the call that prints it */
    const char *sizes;                        /* default */
};
/* The names that have `part` in them, joined by commas; 0: none. */
int operations_with(const char *part, const char *const *names, int n, char out[200]);

extern const struct menu suite_menu, bench_menu;

/* Of a group: its operations alone, apart ones too, and its sizes where `sizes` is NULL. */
enum err plan_parse_group(const struct menu *menu, const char *group, const char *ops,
                          const char *sizes, int large, struct run_plan *out);

/* Comma lists; NULL means the default (all operations of the menu that are not apart, its sizes). A
 * name may hold * and ? as in a shell. ERR_USAGE names the item that is wrong and the nearest right
 * one. */
enum err plan_parse(const struct menu *menu, const char *ops, const char *sizes,
                    struct run_plan *out);

/* Numbers of threads: ascending, no repeats, at most PLAN_THREADS. NULL means 1 and `all`. */
enum err plan_parse_threads(const char *list, int all, int64_t out[PLAN_THREADS], int *count);

#endif
