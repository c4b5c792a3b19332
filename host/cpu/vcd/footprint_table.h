/* Footprints of one subset of VCD in all views, parallel beams. */
#ifndef TP_CPU_VCD_FOOTPRINT_TABLE_H
#define TP_CPU_VCD_FOOTPRINT_TABLE_H

#include "host/cpu/vcd/subset_kernel.h"

struct feet_table {
    int64_t channels, pixels, stride; /* stride: entries of a view, at most */
    int fixed;
    struct sparse_entry *entries; /* [views][stride] */
};

/* Who finds them: scratch of `each` >= feet_scratch_floats() floats per thread, and batches of the
 * subset's pixels. */
struct feet_team {
    int threads;
    size_t each;
    float *scratch;
    struct pixel_batch *batches;
};

/* Sum of A over the two channels of any footprint (two taps hold every one whole). */
double feet_whole(const struct projector *p);

/* Without its entries. */
struct feet_table feet_table_of(const struct projector *p, int64_t pixels);
size_t feet_table_floats(const struct projector *p, int64_t pixels);
size_t feet_scratch_floats(const struct projector *p, int64_t pixels);
void feet_find(const struct projector *p, const int32_t *indices, const struct feet_team *team,
               struct feet_table *t);
struct sparse_view feet_at(const struct feet_table *t, int64_t view);

#endif
