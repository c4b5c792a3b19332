/* How many bits each stage of a primitive needs on an FPGA. Measured by simulating the primitive
 * with rounded stages against itself in float64 (width_sweep.h); the result at the default quality
 * is kept as a table, so that asking costs nothing. docs/internals/triage-width.md has the
 * formulas. */
#ifndef TP_TRIAGE_MODEL_WIDTH_NEEDED_H
#define TP_TRIAGE_MODEL_WIDTH_NEEDED_H

enum width_stage {
    STAGE_SAMPLE,      /* what is read from memory or the detector */
    STAGE_COORDINATE,  /* position on the detector, in channels */
    STAGE_COEFFICIENT, /* weight, tap, table entry */
    STAGE_PRODUCT,
    STAGE_SUM, /* accumulator and result */
    WIDTH_STAGES
};
const char *width_stage_name(enum width_stage stage);

/* The stated quality: of the reconstruction that the primitive leads to, against float64. */
#define WIDTH_RMSE 1e-3 /* root mean square error over the range of the float64 picture */
#define WIDTH_SSIM 0.999
#define WIDTH_SIZE 64 /* edge of the slice, views and channels of the sweep */

struct width_needed {
    const char *primitive;    /* name of primitive.h */
    int bits[WIDTH_STAGES];   /* fixed point, with the sign; 0: the primitive has no such stage */
    int growth[WIDTH_STAGES]; /* bits more per doubling of the size; measured at 32, 64, 128 */
    const char *fp16, *bf16;  /* at WIDTH_SIZE. "all": every stage may be it; "not sums": with
                                 float32 sums; "no" */
    int block; /* smallest block-float sample that keeps the quality, 0: none tried */
};

/* NULL: not analysed. At WIDTH_SIZE; see width_bits_at for others. */
const struct width_needed *width_needed(const char *primitive);
/* Bits of a stage for slices of size^2; 0 where it lacks the stage. */
int width_bits_at(const struct width_needed *w, enum width_stage stage, double size);

#endif
