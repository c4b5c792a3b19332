/* Samples inside kernels: which lines of device code took a kernel's time, and why its warps did
 * not go on there. */
#ifndef TP_ANALYZE_GPU_INSIDE_H
#define TP_ANALYZE_GPU_INSIDE_H

#include "profiler/analyze/gpu/gpu.h"
#include "profiler/analyze/symbols/cubin.h"

enum err inside_samples(struct image *im, void *state, const struct trace_item *item);
/* At the end of an image: its instructions in this device code, named by its hash, to lines. */
enum err inside_resolve(struct image *im, struct gpu *g, const struct cubin *c, uint64_t hash);
/* ... those whose code was not saved, or has no lines, to their kernels. */
enum err inside_rest(struct image *im, struct gpu *g);
/* Finds or makes the row of a place in a kernel: its frames as recorded, innermost first. NULL: no
 * room is left. */
enum err inside_of(struct run *r, uint32_t kernel, const struct cubin_frame *frames, int count,
                   struct inside_place **out);
/* Rows of the model, and the lines' shares of their kernels' time. After the kernels'. */
enum err inside_build(struct run *r);

#endif
