/* From what was added up to the model. */
#ifndef TP_ANALYZE_BUILD_BUILD_H
#define TP_ANALYZE_BUILD_BUILD_H

#include "profiler/analyze/state/image.h"

/* A META fact of an image. */
enum err build_fact(struct run *r, struct image *im, const char *key, const char *value);
enum err build_process(struct run *r, struct image *im); /* its row, sets im->index */
enum err build_image(struct image *im);                  /* its end: threads, losses, costs */
enum err build_model(struct run *r);                     /* the end of all */
void build_free(struct run *r);                          /* the run; its model unless taken */

/* Parts of build_model, in this order. */
enum err build_totals(struct run *r);
enum err build_files(struct run *r);
enum err build_stacks(struct run *r);
enum err build_gpu(struct run *r);
enum err build_kernels(struct run *r); /* of build_gpu */
enum err build_timeline(struct run *r);
enum err build_memory(struct run *r);
enum err build_quality(struct run *r);
enum err source_texts(struct run *r); /* texts of lines */

struct model_cpu cpu_of(const struct run *r, const struct costs *s);

static inline double seconds(double ns)
{
    return ns * 1e-9;
}
static inline double megabytes(double bytes)
{
    return bytes / 1048576;
}

#endif
