/* A back end whose sums are those of all ranks: MBIR written against backend.h runs on every rank
 * with its slices and detector rows, and takes the steps that one rank would take. */
#ifndef TP_CLUSTER_RANKS_BACKEND_H
#define TP_CLUSTER_RANKS_BACKEND_H

#include "host/backend/backend.h"
#include "host/cluster/cluster.h"
#include "host/geom/ct_model.h"
#include "host/recon/slabs/slab.h"

/* Numbers of a back end on their way between two ranks. MPI is given the memory that they lie in:
 * the host's, or a GPU's where the MPI library says that it reads it; else they are staged. */

struct wire {
    struct backend *be;
    struct cluster *c;
    struct buffer out, in;     /* where the numbers are: fill out before, read in after */
    float *host_out, *host_in; /* copies of both, where they are staged; mem_alloc */
};

/* Makes room for this many numbers each way. Close it also where open failed. */
enum err wire_open(struct backend *be, struct cluster *c, const char *what, int64_t numbers,
                   struct wire *w);
void wire_close(struct wire *w);

/* The first `sent` numbers of `out` to rank `to`, and `received` into `in` from rank `from`; 0:
 * nothing that way. */
enum err wire_exchange(struct wire *w, int to, int64_t sent, int from, int64_t received);

/* Rank r holds slices[r] and, of the error sinogram, rows[r], which overlap for cone beams;
 * owned[r] is the part of rows[r] that counts in sums, each row once. */
struct shares {
    struct index_range *slices, *rows, *owned; /* [size] */
};

/* Parallel to the slices in order, as equal as they go. Free with shares_free. */
enum err shares_of(const struct ct_model *m, int size, struct shares *out);
void shares_free(struct shares *s);

struct ranks_backend;
/* Changes `be` until ranks_backend_close: for one reconstruction of
 * `m`, the part of this rank. Where *stop (or NULL) is not 0 on any rank, a sum ends with
 * ERR_INTERRUPTED on all. */
enum err ranks_backend_open(struct backend *be, struct cluster *c, const struct shares *shares,
                            const struct ct_model *m, const volatile int *stop,
                            struct ranks_backend **out);
void ranks_backend_close(struct backend *be, struct ranks_backend *r);

/* The slices beside a rank's slab, which the prior of MBIR looks at. */

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
