/* The outermost CUDA call in progress on a thread. */
#ifndef TP_CAPTURE_RECORDERS_CUDA_CALL_STATE_H
#define TP_CAPTURE_RECORDERS_CUDA_CALL_STATE_H

#include "profiler/capture/recorders/cuda/cuda.h"

struct cuda_api_call {
    int depth;
    uintptr_t frame; /* the stack grows down: a call entered above this cannot be inside it */
    uint64_t start, stack, name, symbol, bytes;
    uint32_t api_class, context, flags, correlations;
    uint32_t correlation[4];
};
extern __thread struct cuda_api_call cuda_call_now __attribute__((visibility("hidden")));

/* Names that launches had, by their ids. */
void cuda_learn_symbol(uint64_t id);
int cuda_symbol_known(uint64_t id);

uint64_t cuda_call_stack(void); /* of the call in progress on this thread, 0 none */
void cuda_call_captured(void);  /* it went into a graph instead of being executed */
int cuda_call_depth(void);

#endif
