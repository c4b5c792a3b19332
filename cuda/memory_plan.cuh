/* Memory in closed form: what a call takes beside its buffers (host/backend/streams.h). */
#ifndef TP_CUDA_MEMORY_PLAN_CUH
#define TP_CUDA_MEMORY_PLAN_CUH

#include "cuda/common/device.cuh"

extern "C" {
#include "host/backend/streams.h"
}

struct call_memory memory_of_call(const struct backend *be, enum backend_call call,
                                  const struct scan *s, const struct volume *v, int64_t pixels);

#endif
