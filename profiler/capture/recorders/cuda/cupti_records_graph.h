/* Activity records of work that is more than one operation, as cupti_records.h has the others: whole
 * CUDA graphs, graphs that a device launched, batches that the decompression engine unpacks. */
#ifndef TP_CAPTURE_RECORDERS_CUDA_CUPTI_RECORDS_GRAPH_H
#define TP_CAPTURE_RECORDERS_CUDA_CUPTI_RECORDS_GRAPH_H

#include <stdint.h>

/* DEVICE_GRAPH cannot be enabled: its records come with GRAPH after the call device_graphs(1). */
enum cupti_graph_kind { CUPTI_GRAPH = 51, CUPTI_DEVICE_GRAPH = 53, CUPTI_DECOMPRESS = 54 };

struct cupti_graph_run { /* from 11.7 */
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};
struct cupti_device_graph_run {
    uint32_t kind, device;
    uint64_t start, end;
    uint32_t graph, launcher, mode, context;
    uint64_t stream;
};
struct cupti_decompress { /* from 12.8; bytes: compressed ones, which are read */
    uint32_t kind, device, context, stream, channel, channel_type, correlation, operations;
    uint64_t bytes;
    void *reserved;
    uint64_t start, end;
};

#endif
