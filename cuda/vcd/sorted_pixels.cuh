/* The pixels of a partition's subsets sorted for every view (bins.cu), kept over the passes that
 * use them. The back end owns them, as bytes of its memory plan; they go with their projector, and
 * when an allocation would fail otherwise. */
#ifndef TP_CUDA_VCD_SORTED_PIXELS_CUH
#define TP_CUDA_VCD_SORTED_PIXELS_CUH

#include "cuda/common/projection.cuh"

/* In device memory, subset after subset. */
struct sorted {
    const int32_t *indices;        /* [subsets][length] */
    struct cached_bins first;      /* of the first subset; list NULL: there was no room */
    int64_t list_step, first_step; /* from one subset to the next */
};

/* In use, which keeps it from being given back, until sorted_done. */
enum err sorted_get(struct cuda_backend *be, const struct projector *p,
                    const struct vcd_iteration *s, struct sorted *out);
void sorted_done(struct cuda_backend *be);
extern const struct device_cache sorted_pixels_cache;

#endif
