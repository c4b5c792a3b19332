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

/* Launches the body's work: from the graph, which the first call records, or straight where *usable
 * is 0, which a recording that fails makes it. */
enum err graph_run(struct cuda_backend *be, struct graph *g, int *usable, graph_body *body,
                   const void *job);
void graph_free(struct graph *g);

#endif
