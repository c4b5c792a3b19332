/* Work that does not fit into memory at once, in slabs along one axis: how thick they may be, and
 * where each lies. Pure functions of sizes. */
#ifndef TP_RECON_SLABS_SLAB_H
#define TP_RECON_SLABS_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Slabs of equal thickness along an axis of `length`; the last one may be thinner. */
struct slabs {
    int64_t length, thickness, count;
};

/* Bytes that are held while slabs of this thickness (>= 1) are worked on; must not shrink as they
 * grow. */
typedef size_t slab_bytes(const void *context, int64_t thickness);

/* As few slabs as fit into `available` bytes, of nearly equal thickness. ERR_MEMORY with both
 * numbers and `where` ("of memory") when the thinnest does not fit. No slab for a length of 0. */
enum err slabs_plan(const char *what, const char *where, int64_t length, slab_bytes *bytes,
                    const void *context, size_t available, struct slabs *out);

/* Results [first, first + count) need [from, from + length) of the input: `halo` more on both
 * sides, cut off at the ends of the axis. */
struct slab {
    int64_t first, count, from, length;
};
struct slab slab_at(const struct slabs *plan, int64_t index, int64_t halo);

#endif
