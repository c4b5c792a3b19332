/* A sinogram without stripes in place of one with them. */
#include "host/base/memory.h"
#include "host/recon/recon.h"
#include "host/scan/rings.h"
#include "profiler/mark/mark.h"

enum err scan_remove_rings(struct backend *be, const struct ct_model *m, float **y)
{
    const size_t bytes = (size_t)scan_samples(&m->scan) * sizeof(float);
    const struct buffer from = {PLACE_HOST, 0, bytes, *y};
    void *clean;
    TRY(mem_alloc("sinogram without rings", bytes, &clean));
    struct buffer to = {PLACE_HOST, 0, bytes, clean};
    mark_push("removal of rings", bytes);
    enum err e = remove_stripes(be, m, STRIPES_MEDIAN, &from, &to);
    mark_pop();
    mem_free(e ? clean : *y);
    if (!e)
        *y = clean;
    return e;
}
