/* Memory in closed form: what a call takes beside its buffers (host/backend/streams.h). */
#ifndef TP_CUDA_MEMORY_PLAN_CUH
#define TP_CUDA_MEMORY_PLAN_CUH

#include "cuda/common/internal.cuh"

extern "C" {
#include "host/backend/streams.h"
}

/* memory_plan.cu */
struct call_memory ledger(const struct backend *be, enum backend_call call, const struct scan *s,
                          const struct volume *v, int64_t pixels);

/* memory.cu */
enum err device_room(struct backend *be, size_t *bytes);
enum err device_refuse(struct backend *be, const char *what, size_t need, const char *advice);

/* streams.cu */
extern const struct backend_lanes cuda_lanes;
enum err lanes_open(struct cuda_backend *be);
void lanes_close(struct cuda_backend *be);

#endif
