/* Streams of a device beside the one that computes (host/backend/streams.h). */
#ifndef TP_CUDA_STREAMS_CUH
#define TP_CUDA_STREAMS_CUH

#include "cuda/common/device.cuh"
#include "host/backend/streams.h"

extern "C" {
}

extern const struct backend_streams cuda_streams;
enum err streams_open(struct cuda_backend *be);
void streams_close(struct cuda_backend *be);

/* Memory in closed form: what a call takes beside its buffers (host/backend/streams.h). */

extern "C" {
}

struct call_memory memory_of_call(const struct backend *be, enum backend_call call,
                                  const struct scan *s, const struct volume *v, int64_t pixels);

#endif
