/* The slices beside a rank's slab, which the prior of MBIR looks at. */
#ifndef TP_CLUSTER_BORDERS_H
#define TP_CLUSTER_BORDERS_H

#include "host/backend/backend.h"
#include "host/cluster/cluster.h"
#include "host/geom/ct_model.h"

struct borders;
/* Keeps the operations that `be` has now. m: the part of this rank; borrowed. */
enum err borders_open(struct backend *be, struct cluster *c, const struct ct_model *m,
                      struct borders **out);
void borders_close(struct borders *o);
/* After x changed at these pixels (NULL: at all of `count`): the neighbours' numbers there. */
enum err borders_swap(struct borders *o, const struct buffer *x, const int32_t *pixels,
                      int64_t count);
/* The prior's terms at the border slices, which the machine took for the volume's last, made right
 * in gP and hP. */
enum err borders_terms(struct borders *o, const struct prior *prior, const struct pixel_set *pixels,
                       struct buffer *gP, struct buffer *hP);

#endif
