/* Our declarations of CUPTI's and NVTX's interfaces against NVIDIA's headers, where the build found
 * them. */
#include <stdio.h>

#ifndef TP_CUPTI_HEADERS
int main(void)
{
    printf("skipped: no headers of CUPTI and NVTX on this machine\n");
    return 77;
}
#else
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>

/* After those: both declare InitializeInjectionNvtx2's parts, under different names. */
#include "profiler/capture/recorders/cuda/cuda.h"
#include "profiler/capture/recorders/cuda/cupti_records.h"
#include "profiler/capture/recorders/cuda/cupti_records_graph.h"
#include "profiler/capture/recorders/nvtx/nvtx.h"

static int failed, done;

static void same(const char *what, size_t ours, size_t theirs)
{
    done++;
    if (ours == theirs)
        return;
    failed++;
    printf("FAILED: %s: ours %zu, NVIDIA's %zu\n", what, ours, theirs);
}

#define FIELD(our, field, their, its)                                                              \
    same(#our "." #field, offsetof(struct our, field), offsetof(their, its));                      \
    same("size of " #our "." #field, sizeof(((struct our *)0)->field), sizeof(((their *)0)->its))
#define VALUE(our, their) same(#our, (size_t)(our), (size_t)(their))

static void kernels(void)
{
#define K(field, its)     FIELD(cupti_kernel, field, CUpti_ActivityKernel10, its)
    K(registers, registersPerThread);
    K(start, start);
    K(end, end);
    K(device, deviceId);
    K(context, contextId);
    K(stream, streamId);
    same("grid", offsetof(struct cupti_kernel, grid), offsetof(CUpti_ActivityKernel10, gridX));
    same("block", offsetof(struct cupti_kernel, block), offsetof(CUpti_ActivityKernel10, blockX));
    same("cluster", offsetof(struct cupti_kernel, cluster),
         offsetof(CUpti_ActivityKernel10, clusterX));
    K(static_shared, staticSharedMemory);
    K(dynamic_shared, dynamicSharedMemory);
    K(local_total, localMemoryTotal);
    K(correlation, correlationId);
    K(name, name);
    K(queued, queued);
    K(submitted, submitted);
    K(launch_type, launchType);
    K(shared_executed, sharedMemoryExecuted);
    K(graph_node, graphNodeId);
    K(graph, graphId);
    K(local_total_64, localMemoryTotal_v2);
}

static void copies(void)
{
#define C(field, its)     FIELD(cupti_memcpy, field, CUpti_ActivityMemcpy6, its)
    C(copy_kind, copyKind);
    C(from, srcKind);
    C(to, dstKind);
    C(flags, flags);
    C(bytes, bytes);
    C(start, start);
    C(end, end);
    C(device, deviceId);
    C(stream, streamId);
    C(correlation, correlationId);
    C(runtime_correlation, runtimeCorrelationId);
    C(graph_node, graphNodeId);
    C(graph, graphId);
    C(copies, copyCount);
#define P(field, its)     FIELD(cupti_memcpy_peer, field, CUpti_ActivityMemcpyPtoP4, its)
    P(bytes, bytes);
    P(end, end);
    P(to_device, dstDeviceId);
    P(correlation, correlationId);
    P(graph_node, graphNodeId);
    P(graph, graphId);
#define S(field, its)     FIELD(cupti_memset, field, CUpti_ActivityMemset4, its)
    S(bytes, bytes);
    S(start, start);
    S(end, end);
    S(correlation, correlationId);
    S(memory_kind, memoryKind);
    S(graph_node, graphNodeId);
    S(graph, graphId);
}

static void memories(void)
{
#define M(field, its)     FIELD(cupti_memory, field, CUpti_ActivityMemory4, its)
    M(operation, memoryOperationType);
    M(memory_kind, memoryKind);
    M(correlation, correlationId);
    M(address, address);
    M(bytes, bytes);
    M(timestamp, timestamp);
    M(device, deviceId);
    M(stream, streamId);
    M(pool_type, memoryPoolConfig.memoryPoolType);
    M(pool, memoryPoolConfig.address);
    M(pool_size, memoryPoolConfig.pool.size);
    M(pool_used, memoryPoolConfig.utilizedSize);
#define O(field, its)     FIELD(cupti_memory_pool, field, CUpti_ActivityMemoryPool3, its)
    O(operation, memoryPoolOperationType);
    O(correlation, correlationId);
    O(device, deviceId);
    O(address, address);
    O(size, size);
    O(timestamp, timestamp);
    O(used, utilizedSize);
#define U(field, its)     FIELD(cupti_unified_memory, field, CUpti_ActivityUnifiedMemoryCounter3, its)
    U(counter, counterKind);
    U(value, value);
    U(start, start);
    U(address, address);
    U(from, srcId);
    U(to, dstId);
    U(process, processId);
}

static void objects(void)
{
#define D(field, its)     FIELD(cupti_device, field, CUpti_ActivityDevice5, its)
    D(bandwidth, globalMemoryBandwidth);
    D(memory, globalMemorySize);
    D(warp, numThreadsPerWarp);
    D(clock, coreClockRate);
    D(multiprocessors, numMultiprocessors);
    D(warps_per_sm, maxWarpsPerMultiprocessor);
    D(blocks_per_sm, maxBlocksPerMultiprocessor);
    D(shared_per_sm, maxSharedMemoryPerMultiprocessor);
    D(registers_per_sm, maxRegistersPerMultiprocessor);
    D(shared_per_block, maxSharedMemoryPerBlock);
    D(major, computeCapabilityMajor);
    D(minor, computeCapabilityMinor);
    D(id, id);
    D(uuid, uuid);
    D(name, name);
    FIELD(cupti_context, id, CUpti_ActivityContext3, contextId);
    FIELD(cupti_context, device, CUpti_ActivityContext3, deviceId);
    FIELD(cupti_context, null_stream, CUpti_ActivityContext3, nullStreamId);
    FIELD(cupti_stream, id, CUpti_ActivityStream, streamId);
    FIELD(cupti_stream, priority, CUpti_ActivityStream, priority);
    FIELD(cupti_sync, type, CUpti_ActivitySynchronization2, type);
    FIELD(cupti_sync, start, CUpti_ActivitySynchronization2, start);
    FIELD(cupti_sync, correlation, CUpti_ActivitySynchronization2, correlationId);
    FIELD(cupti_sync, stream, CUpti_ActivitySynchronization2, streamId);
    FIELD(cupti_overhead, overhead, CUpti_ActivityOverhead3, overheadKind);
    FIELD(cupti_overhead, start, CUpti_ActivityOverhead3, start);
    FIELD(cupti_overhead, correlation, CUpti_ActivityOverhead3, correlationId);
    FIELD(cupti_overhead, data, CUpti_ActivityOverhead3, overheadData);
    VALUE(CUPTI_COMMAND_BUFFER_FULL, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);
    FIELD(cupti_jit, entry, CUpti_ActivityJit2, jitEntryType);
    FIELD(cupti_jit, operation, CUpti_ActivityJit2, jitOperationType);
    FIELD(cupti_jit, start, CUpti_ActivityJit2, start);
    FIELD(cupti_jit, correlation, CUpti_ActivityJit2, correlationId);
}

static void abi_graphs(void)
{
#define G(field, its)     FIELD(cupti_graph_run, field, CUpti_ActivityGraphTrace2, its)
    G(correlation, correlationId);
    G(start, start);
    G(end, end);
    G(device, deviceId);
    G(graph, graphId);
    G(context, contextId);
    G(stream, streamId);
#define L(field, its)     FIELD(cupti_device_graph_run, field, CUpti_ActivityDeviceGraphTrace, its)
    L(device, deviceId);
    L(start, start);
    L(end, end);
    L(graph, graphId);
    L(launcher, launcherGraphId);
    L(context, contextId);
    L(stream, streamId);
#define B(field, its)     FIELD(cupti_decompress, field, CUpti_ActivityMemDecompress, its)
    B(device, deviceId);
    B(context, contextId);
    B(stream, streamId);
    B(correlation, correlationId);
    B(operations, numberOfOperations);
    B(bytes, sourceBytes);
    B(start, start);
    B(end, end);
    VALUE(CUPTI_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    VALUE(CUPTI_DEVICE_GRAPH, CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE);
    VALUE(CUPTI_DECOMPRESS, CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS);
}

static void sampling_facts(void)
{
#define R(field, its)     FIELD(cupti_stall, field, CUpti_PCSamplingStallReason, its)
    R(reason, pcSamplingStallReasonIndex);
    R(samples, samples);
#define I(field, its)     FIELD(cupti_pc, field, CUpti_PCSamplingPCData, its)
    I(bytes, size);
    I(crc, cubinCrc);
    I(offset, pcOffset);
    I(index, functionIndex);
    I(function, functionName);
    I(stalls, stallReasonCount);
    I(stall, stallReason);
    I(correlation, correlationId);
#define E(field, its)     FIELD(cupti_pc_data, field, CUpti_PCSamplingData, its)
    E(bytes, size);
    E(room, collectNumPcs);
    E(samples, totalSamples);
    E(dropped, droppedSamples);
    E(count, totalNumPcs);
    E(remaining, remainingNumPcs);
    E(range, rangeId);
    E(pc, pPcData);
    E(others, nonUsrKernelsTotalSamples);
    E(full, hardwareBufferFull);
#define A(field, its)     FIELD(cupti_sampling_attribute, field, CUpti_PCSamplingConfigurationInfo, its)
    A(type, attributeType);
    A(status, attributeStatus);
    A(data, attributeData);
    A(number, attributeData.collectionModeData);
    A(size, attributeData.hardwareBufferSizeData);
    A(reasons, attributeData.stallReasonData);
    A(reasons.count, attributeData.stallReasonData.stallReasonCount);
    A(reasons.index, attributeData.stallReasonData.pStallReasonIndex);
    A(buffer, attributeData.samplingDataBufferData);
    VALUE(sizeof(struct cupti_stall), sizeof(CUpti_PCSamplingStallReason));
    VALUE(sizeof(struct cupti_pc), sizeof(CUpti_PCSamplingPCData));
    VALUE(sizeof(struct cupti_pc_data), sizeof(CUpti_PCSamplingData));
    VALUE(sizeof(struct cupti_sampling_attribute), sizeof(CUpti_PCSamplingConfigurationInfo));
    VALUE(sizeof(struct cupti_sampling_call), CUpti_PCSamplingEnableParamsSize);
    VALUE(sizeof(struct cupti_sampling_call), CUpti_PCSamplingDisableParamsSize);
    VALUE(sizeof(struct cupti_sampling_get), CUpti_PCSamplingGetDataParamsSize);
    VALUE(sizeof(struct cupti_sampling_count), CUpti_PCSamplingGetNumStallReasonsParamsSize);
    VALUE(sizeof(struct cupti_sampling_reasons), CUpti_PCSamplingGetStallReasonsParamsSize);
    VALUE(sizeof(struct cupti_sampling_configure), CUpti_PCSamplingConfigurationInfoParamsSize);
    VALUE(offsetof(struct cupti_sampling_configure, attribute),
          offsetof(CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo));
    VALUE(offsetof(struct cupti_sampling_reasons, index),
          offsetof(CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex));
    VALUE(offsetof(struct cupti_sampling_reasons, name),
          offsetof(CUpti_PCSamplingGetStallReasonsParams, stallReasons));
    VALUE(CUPTI_REASON_BYTES, CUPTI_STALL_REASON_STRING_SIZE);
    VALUE(CUPTI_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
    VALUE(CUPTI_PARSED, CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED);
#define T(ours, its)      VALUE(CUPTI_SAMPLING_##ours, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##its)
    T(REASONS, STALL_REASON);
    T(SCRATCH, SCRATCH_BUFFER_SIZE);
    T(HARDWARE, HARDWARE_BUFFER_SIZE);
    T(MODE, COLLECTION_MODE);
    T(START_STOP, ENABLE_START_STOP_CONTROL);
    T(FORMAT, OUTPUT_DATA_FORMAT);
    T(BUFFER, SAMPLING_DATA_BUFFER);
    VALUE(CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    VALUE(CUPTI_CONTEXT_DESTROYED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
}

static void callbacks(void)
{
    FIELD(cupti_call, site, CUpti_CallbackData, callbackSite);
    FIELD(cupti_call, function, CUpti_CallbackData, functionName);
    FIELD(cupti_call, parameters, CUpti_CallbackData, functionParams);
    FIELD(cupti_call, result, CUpti_CallbackData, functionReturnValue);
    FIELD(cupti_call, symbol, CUpti_CallbackData, symbolName);
    FIELD(cupti_call, context_id, CUpti_CallbackData, contextUid);
    FIELD(cupti_call, correlation, CUpti_CallbackData, correlationId);
    FIELD(cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
    FIELD(cupti_module, id, CUpti_ModuleResourceData, moduleId);
    FIELD(cupti_module, bytes, CUpti_ModuleResourceData, cubinSize);
    FIELD(cupti_module, cubin, CUpti_ModuleResourceData, pCubin);
    FIELD(cupti_graph, graph, CUpti_GraphData, graph);
    FIELD(cupti_graph, node, CUpti_GraphData, node);
    FIELD(cupti_graph, original_node, CUpti_GraphData, originalNode);
    FIELD(cupti_state, result, CUpti_StateData, notification.result);
    FIELD(cupti_state, message, CUpti_StateData, notification.message);
    FIELD(cupti_subscriber, old_name, CUpti_SubscriberParams, oldSubscriberName);
    FIELD(cupti_subscriber, old_name_bytes, CUpti_SubscriberParams, oldSubscriberSize);
    VALUE(sizeof(struct cupti_subscriber), CUpti_SubscriberParams_STRUCT_SIZE);
    VALUE(sizeof(struct cupti_memory_counter), sizeof(CUpti_ActivityUnifiedMemoryCounterConfig));
    VALUE(CUPTI_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
    VALUE(CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
    VALUE(CUPTI_MODULE_UNLOAD, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    VALUE(CUPTI_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
    VALUE(CUPTI_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
    VALUE(CUPTI_STATE, CUPTI_CB_DOMAIN_STATE);
    VALUE(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    VALUE(CUPTI_MAX_LIMIT, CUPTI_ERROR_MAX_LIMIT_REACHED);
    VALUE(CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    VALUE(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
    VALUE(CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
    VALUE(CUPTI_UNIFIED_MEMORY, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    VALUE(CUPTI_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
    VALUE(CUPTI_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    VALUE(CUPTI_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
    VALUE(CUPTI_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
    VALUE(CUPTI_JIT, CUPTI_ACTIVITY_KIND_JIT);
}

/* Sizes among the parameters of calls, from the tables of rules.c. */
static void parameters(void)
{
#define BYTES(name, field)                                                                         \
    same(#name, cuda_rule(#name) ? cuda_rule(#name)->bytes : 0, offsetof(name##_params, field))
#define TIMES(name, field) same(#name, cuda_rule(#name)->times, offsetof(name##_params, field))
    BYTES(cudaMemcpy_v3020, count);
    BYTES(cudaMemcpyAsync_v3020, count);
    BYTES(cudaMemcpyToSymbol_v3020, count);
    BYTES(cudaMemcpyToArray_v3020, count);
    BYTES(cudaMemcpyArrayToArray_v3020, count);
    BYTES(cudaMemcpy2D_v3020, width);
    TIMES(cudaMemcpy2D_v3020, height);
    BYTES(cudaMemcpy2DToArray_v3020, width);
    TIMES(cudaMemcpy2DToArray_v3020, height);
    BYTES(cudaMemcpy2DFromArray_v3020, width);
    BYTES(cudaMemcpy2DArrayToArray_v3020, width);
    BYTES(cudaMemcpyPeer_v4000, count);
    BYTES(cudaMemset_v3020, count);
    BYTES(cudaMemset2D_v3020, width);
    TIMES(cudaMemset2D_v3020, height);
    BYTES(cudaMalloc_v3020, size);
    BYTES(cudaMallocPitch_v3020, width);
    BYTES(cudaMallocAsync_v11020, size);
    BYTES(cudaMallocManaged_v6000, size);
    BYTES(cudaHostAlloc_v3020, size);
    BYTES(cudaHostRegister_v4000, size);
    BYTES(cuMemcpy, ByteCount);
    BYTES(cuMemcpyHtoD_v2, ByteCount);
    BYTES(cuMemcpyDtoHAsync_v2, ByteCount);
    BYTES(cuMemcpyAtoH_v2, ByteCount);
    BYTES(cuMemcpyHtoA_v2, ByteCount);
    BYTES(cuMemcpyDtoA_v2, ByteCount);
    BYTES(cuMemcpyAtoA_v2, ByteCount);
    BYTES(cuMemcpyPeer, ByteCount);
    BYTES(cuMemsetD8_v2, N);
    BYTES(cuMemsetD32_v2, N);
    BYTES(cuMemsetD2D32_v2, Width);
    TIMES(cuMemsetD2D32_v2, Height);
    BYTES(cuMemAlloc_v2, bytesize);
    BYTES(cuMemAllocPitch_v2, WidthInBytes);
    BYTES(cuMemHostAlloc, bytesize);
    BYTES(cuMemHostRegister_v2, bytesize);
    BYTES(cuMemAllocManaged, bytesize);
    BYTES(cuMemAllocAsync, bytesize);
    BYTES(cuMemCreate, size);
}

static void nvtx(void)
{
    FIELD(nvtx_event, version, nvtxEventAttributes_t, version);
    FIELD(nvtx_event, category, nvtxEventAttributes_t, category);
    FIELD(nvtx_event, color_type, nvtxEventAttributes_t, colorType);
    FIELD(nvtx_event, color, nvtxEventAttributes_t, color);
    FIELD(nvtx_event, payload_type, nvtxEventAttributes_t, payloadType);
    FIELD(nvtx_event, payload, nvtxEventAttributes_t, payload);
    FIELD(nvtx_event, message_type, nvtxEventAttributes_t, messageType);
    FIELD(nvtx_event, message, nvtxEventAttributes_t, message);
    VALUE(sizeof(struct nvtx_event), sizeof(nvtxEventAttributes_t));
    FIELD(nvtx_sync, message_type, nvtxSyncUserAttributes_t, messageType);
    FIELD(nvtx_sync, message, nvtxSyncUserAttributes_t, message);
    VALUE(NVTX_CORE, NVTX_CB_MODULE_CORE);
    VALUE(NVTX_CORE2, NVTX_CB_MODULE_CORE2);
    VALUE(NVTX_CUDA, NVTX_CB_MODULE_CUDA);
    VALUE(NVTX_CUDART, NVTX_CB_MODULE_CUDART);
    VALUE(NVTX_SYNC, NVTX_CB_MODULE_SYNC);
    VALUE(NVTX_CALLBACKS, NVTX_ETID_CALLBACKS);
    VALUE(11, NVTX_CBID_CORE_RangePop);
    VALUE(5, NVTX_CBID_CORE2_DomainRangePop);
    VALUE(13, NVTX_CBID_CORE2_DomainCreateW);
    VALUE(NVTX_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
}

int main(void)
{
    kernels();
    copies();
    memories();
    objects();
    abi_graphs();
    sampling_facts();
    callbacks();
    parameters();
    nvtx();
    printf("%d facts, %d wrong\n", done, failed);
    return failed || !done;
}
#endif
