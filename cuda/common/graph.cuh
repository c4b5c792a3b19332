/* Launches recorded as a CUDA graph, and started again as one. What is recorded may depend on its
 * job and nothing else; the kernels read from device memory what changes from launch to launch. */
#ifndef TP_CUDA_COMMON_GRAPH_CUH
#define TP_CUDA_COMMON_GRAPH_CUH

#include "cuda/common/device.cuh"

struct graph {
    cudaGraphExec_t exec;
    struct work work; /* that one launch declares */
};

typedef enum err graph_body(struct cuda_backend *be, const void *job);

/* Drivers before CUDA 12.3 load no kernel while a stream records. Where a recording fails for that,
 * the straight launches that follow it load all of them, and the next one succeeds. */
#define GRAPH_TRIES 2

/* Launches the body's work: from the graph, which the first call records, or straight where *tries
 * is 0, which as many recordings in a row make it that fail. */
enum err graph_run(struct cuda_backend *be, struct graph *g, int *tries, graph_body *body,
                   const void *job);
void graph_free(struct graph *g);

#endif
