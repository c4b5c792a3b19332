/* Records launches as a CUDA graph and starts it; where the driver refuses graphs, launches one by
 * one. */
#include "cuda/common/graph.cuh"
#include "cuda/common/services.cuh"

/* The body's launches into g->exec; the text of what failed in *why. Nothing is executed, so
 * nothing is declared. */
static cudaError_t graph_record(struct cuda_backend *be, struct graph *g, graph_body *body,
                                const void *job)
{
    const struct work before = be->base.declared;
    cudaGraph_t recorded = NULL;
    be->base.declared = work{};
    cudaError_t code = cudaStreamBeginCapture(be->stream, cudaStreamCaptureModeThreadLocal);
    if (code == cudaSuccess) {
        const enum err e = body(be, job);
        code = cudaStreamEndCapture(be->stream, &recorded);
        if (e && code == cudaSuccess)
            code = cudaErrorStreamCaptureInvalidated;
    }
    if (code == cudaSuccess)
        code = cudaGraphInstantiate(&g->exec, recorded, 0);
    if (recorded)
        let_pass(cudaGraphDestroy(recorded));
    g->work = be->base.declared;
    be->base.declared = before;
    return code;
}

enum err graph_run(struct cuda_backend *be, struct graph *g, int *tries, graph_body *body,
                   const void *job)
{
    if (!g->exec && *tries) {
        const cudaError_t code = graph_record(be, g, body, job);
        if (code == cudaSuccess) {
            *tries = GRAPH_TRIES;
        } else {
            cudaGetLastError();
            graph_free(g);
            if (--*tries == 0)
                services->log_line(
                    LOG_WARN, "CUDA graphs cannot be used (%s): kernels are launched one by one",
                    cudaGetErrorString(code));
        }
    }
    if (!g->exec)
        return body(be, job);
    TRY_CUDA(cudaGraphLaunch(g->exec, be->stream), "starting a graph");
    backend_declare(&be->base, g->work.flops, g->work.bytes_min, g->work.bytes_ideal_cache);
    return ERR_OK;
}

void graph_free(struct graph *g)
{
    if (g->exec)
        let_pass(cudaGraphExecDestroy(g->exec));
    *g = graph{};
}
