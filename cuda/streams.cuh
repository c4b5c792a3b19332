/* Streams of a device beside the one that computes (host/backend/streams.h). */
#ifndef TP_CUDA_STREAMS_CUH
#define TP_CUDA_STREAMS_CUH

#include "cuda/common/device.cuh"

extern "C" {
#include "host/backend/streams.h"
}

extern const struct backend_streams cuda_streams;
enum err streams_open(struct cuda_backend *be);
void streams_close(struct cuda_backend *be);

#endif
