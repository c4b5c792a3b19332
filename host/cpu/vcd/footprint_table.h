/* Footprints of one subset of VCD in all views, parallel beams. */
#ifndef TP_CPU_VCD_FOOTPRINT_TABLE_H
#define TP_CPU_VCD_FOOTPRINT_TABLE_H

#include "host/cpu/vcd/subset_kernel.h"

struct footprint_table {
    int64_t channels, pixels, stride; /* stride: entries of a view, at most */
    int fixed;
    struct sparse_entry *entries; /* [views][stride] */
};

/* Threads that find footprints: scratch of `each` floats per thread, at least 2 x pixels and
 * channels + 2, each rounded up to 16, and batches of the subset's pixels. */
struct footprint_team {
    int threads;
    size_t each;
    float *scratch;
    struct pixel_batch *batches;
};

/* Sum of A over the two channels of any footprint (two taps hold every one whole). */
double footprint_whole(const struct projector *p);

/* Returns the table without its entries. */
struct footprint_table footprint_table_of(const struct projector *p, int64_t pixels);
size_t footprint_table_floats(const struct projector *p, int64_t pixels);
void footprint_table_fill(const struct projector *p, const int32_t *indices,
                          const struct footprint_team *team, struct footprint_table *t);
struct sparse_view footprint_table_at(const struct footprint_table *t, int64_t view);

#endif
