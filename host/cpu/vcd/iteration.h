/* An iteration of VCD: what its steps and its passes over the error sinogram share. */
#ifndef TP_CPU_VCD_ITERATION_H
#define TP_CPU_VCD_ITERATION_H

#include "host/backend/course.h"

struct iteration;

struct iteration_passes {
    /* Takes the last move (NULL: none) out of e; then d = A' w e of the subset's pixels (NULL:
     * none). */
    enum err (*update_back)(struct iteration *it, const struct vcd_move *last,
                            const struct pixel_set *pixels, struct buffer *d);
    /* *quadratic = <w A d, A d>. */
    enum err (*norm)(struct iteration *it, const struct pixel_set *pixels, const struct buffer *d,
                     double *quadratic);
    void (*close)(struct iteration *it);
};

/* `odd`: this subset is the second, fourth, ... of the iteration. */
struct iteration {
    struct backend *be;
    struct projector *p;
    const struct vcd_iteration *s;
    const struct iteration_passes *passes;
    int odd;
};

static inline int iteration_stopped(const struct iteration *it)
{
    return backend_stopped(it->be) || (it->s->stop && *it->s->stop);
}

/* strips.c: parallel beams. On return e and w lie in strips, until `close`. */
int strips_fit(const struct projector *p, const struct vcd_iteration *s);
enum err strips_open(const struct iteration *it, struct iteration **out);

/* orbit_passes.c: cone beams. *out is left where subsets are not whole orbits. */
enum err orbit_passes_open(const struct iteration *it, struct iteration **out);

/* error_sinogram.c: any beam. */
extern const struct iteration_passes whole_passes;

#endif
