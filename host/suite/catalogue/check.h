/* Checks of the suite's results against something that was not computed by the operation itself.
 * They cost far less than the operation, so they run on the first result at every size. */
#ifndef TP_SUITE_CATALOGUE_CHECK_H
#define TP_SUITE_CATALOGUE_CHECK_H

#include "host/suite/catalogue/state.h"

enum err check_forward(struct run_state *s); /* exact line integrals of the phantom */
enum err check_back(struct run_state *s);
enum err check_back_voxel(struct run_state *s); /* <A'y, phantom> = <y, exact line integrals> */
enum err check_hessian(struct run_state *s);    /* squared norm of one column of A */
enum err check_filter(struct run_state *s);     /* one row convolved in float64 */
enum err check_recon(struct run_state *s);      /* scale and correlation against the phantom */
enum err check_explains(struct run_state *s);   /* its projection is like the sinogram */
enum err check_median(struct run_state *s);     /* 27 sorted values at some hundred voxels */
enum err check_partition(struct run_state *s);  /* every pixel there, rows ascending */

enum err check_sparse_forward(struct run_state *s); /* <A x, r> = <x, A' r> over the subset */
enum err check_sparse_back(struct run_state *s);    /* the same, and 0 elsewhere */
enum err check_rays(struct run_state *s);           /* opposite rays count once together */
enum err check_stripes(struct run_state *s); /* nearer to the exact line integrals than before */
enum err check_weights(struct run_state *s); /* the formula in float64 */
enum err check_mar(struct run_state *s);     /* two branches, cut at one value */
enum err check_denoise(struct run_state *s); /* the cost is lower than the input's */
enum err check_tiled(struct run_state *s);   /* every pixel there, rows as long as needed */

/* Device memory that the check of an operation takes beside its arrays. */
double check_device_bytes(const struct run_state *s);

#endif
