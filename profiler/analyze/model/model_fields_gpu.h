/* The part of profile.json that is about GPUs, row by row: model_fields.h, which includes it. */
#ifndef TP_ANALYZE_MODEL_MODEL_FIELDS_GPU_H
#define TP_ANALYZE_MODEL_MODEL_FIELDS_GPU_H

/* clang-format off */

#define MODEL_DEVICE_FIELDS(X)                                                                     \
    X(TEXT, _, name, "of the GPU")                                                                 \
    X(TEXT, _, uuid, "hex")                                                                        \
    X(TEXT, _, sm, "compute capability, as 9.0")                                                   \
    X(INT, _, multiprocessors, "streaming multiprocessors")                                        \
    X(REAL, _, clock_mhz, "of the multiprocessors, maximum")                                       \
    X(REAL, _, memory_clock_mhz, "maximum")                                                        \
    X(INT, _, bus_bits, "memory bus")                                                              \
    X(REAL, _, memory_gb_s, "peak bandwidth, 1e9 bytes/s")                                         \
    X(INT, _, memory_bytes, "device memory")                                                       \
    X(INT, _, threads_per_sm, "limit")                                                             \
    X(INT, _, blocks_per_sm, "limit")                                                              \
    X(INT, _, registers_per_sm, "limit")                                                           \
    X(INT, _, shared_per_sm, "limit, bytes")                                                       \
    X(REAL, _, busy_s, "union of its kernels, copies and memsets")                                 \
    X(REAL, _, sum_s, "sum of them: above busy_s where they overlap")                              \
    X(REAL, _, idle_s, "gaps between its first and last operation")                                \
    X(REAL, _, share_of_wall, "busy_s / meta.wall_s")                                              \
    X(REAL, _, peak_mb, "most device memory held through traced calls")                            \
    X(REAL, _, busy_mhz, "mean clock of the multiprocessors while it worked; null: NVML not there")\
    X(REAL, _, least_mhz, "likewise, lowest")                                                      \
    X(REAL, _, limited_share, "of these samples, in which something limited the clock")            \
    X(TEXT, _, limited_by, "heat, the power cap, a setting; null: nothing")

#define MODEL_VARIANT_FIELDS(X)                                                                    \
    X(COUNTS, _, grid, "x y z")                                                                    \
    X(COUNTS, _, block, "x y z")                                                                   \
    X(COUNTS, _, cluster, "x y z")                                                                 \
    X(INT, _, registers, "per thread")                                                             \
    X(INT, _, static_shared, "bytes")                                                              \
    X(INT, _, dynamic_shared, "bytes")                                                             \
    X(INT, _, carveout_bytes, "of a multiprocessor's memory, that the driver gave to shared memory")\
    X(INT, _, local_bytes, "local memory in all")                                                  \
    X(REAL, _, occupancy, "theoretical: resident warps / warps that fit on a multiprocessor")      \
    X(TEXT, _, limiter, "of the occupancy: warps, blocks, registers, shared")                      \
    X(REAL, _, waves, "blocks / blocks that fit on the device at once")                            \
    X(ONE, model_stat, time, "")
#define MODEL_KERNEL_FIELDS(X)                                                                     \
    X(TEXT, _, name, "readable")                                                                   \
    X(TEXT, _, mangled, "")                                                                        \
    X(TEXT, _, file, "where its code begins; key of files")                                        \
    X(INT, _, line, "")                                                                            \
    X(ONE, model_stat, time, "on the device")                                                      \
    X(REAL, _, share_of_kernel_time, "total / totals.kernel_s")                                    \
    X(REAL, _, share_of_wall, "total / meta.wall_s; above 1 where kernels overlap")                \
    X(REAL, _, api_s, "host time of the launching calls")                                          \
    X(REAL, _, queue_s, "sum of the times from the end of the call to the kernel's start")         \
    X(REAL, _, queue_delay_s, "mean of a launch, from the command buffer to the start; null: not told")\
    X(REAL, _, submit_delay_s, "its part until the buffer was submitted to the device")            \
    X(REAL, _, dram_read_bytes, "counted by Nsight Compute, as the next four; else null")          \
    X(REAL, _, dram_write_bytes, "")                                                               \
    X(REAL, _, compute_share, "of the multiprocessors' peak, mean over its device time")           \
    X(REAL, _, memory_share, "of the memory system's peak, likewise")                              \
    X(REAL, _, occupancy_achieved, "resident warps / warps that fit, likewise")                    \
    X(LIST, model_variant, variants, "by launch configuration, at most 16, by time")               \
    X(INT, _, variants_left_out, "")                                                               \
    X(LIST, model_place, launched_at, "lines, value in s; at most 16")
#define MODEL_TRANSFER_FIELDS(X)                                                                   \
    X(TEXT, _, direction, "h2d d2h d2d p2p h2h decompress other")                                             \
    X(TEXT, _, from, "pageable pinned device array managed unknown")                               \
    X(TEXT, _, to, "likewise")                                                                     \
    X(FLAG, _, asynchronous, "by the call")                                                        \
    X(INT, _, bytes, "")                                                                           \
    X(REAL, _, gb_s, "bytes / total_s / 1e9")                                                      \
    X(ONE, model_stat, time, "on the device")
#define MODEL_FLOW_FIELDS(X)                                                                       \
    X(INDEX, _, thread, "in threads: it called")                                                   \
    X(INT, _, called, "ns since the first process began: start of the call")                       \
    X(TEXT, _, kind, "of the device's track: kernel copy set")                                     \
    X(INDEX, _, device, "in devices")                                                              \
    X(INT, _, context, "")                                                                         \
    X(INT, _, stream, "")                                                                          \
    X(INT, _, began, "likewise: start of the operation")
#define MODEL_SET_FIELDS(X)                                                                        \
    X(TEXT, _, memory, "kind")                                                                     \
    X(INT, _, bytes, "")                                                                           \
    X(ONE, model_stat, time, "on the device")
#define MODEL_API_FIELDS(X)                                                                        \
    X(TEXT, _, name, "CUDA call")                                                                  \
    X(TEXT, _, api_class, "launch copy set memory sync graph module other")                        \
    X(INT, _, errors, "calls that failed")                                                         \
    X(REAL, _, share_of_api, "total / totals.api_s")                                               \
    X(REAL, _, share_of_wall, "total / meta.wall_s; above 1 where threads overlap")                \
    X(ONE, model_stat, time, "on the host")
#define MODEL_GAP_FIELDS(X)                                                                        \
    X(INDEX, _, device, "in devices")                                                              \
    X(REAL, _, start_s, "since the first process's start")                                         \
    X(REAL, _, length_s, "no operation ran on the device")                                         \
    X(LIST, model_place, lines, "of the host meanwhile, value in s; at most 5")
#define MODEL_SUM_FIELDS(X)                                                                        \
    X(TEXT, _, kind, "")                                                                           \
    X(INT, _, n, "")                                                                               \
    X(INT, _, value, "bytes or events, by kind")                                                   \
    X(REAL, _, s, "")
#define MODEL_GPU_TOTAL_FIELDS(X)                                                                  \
    X(LIST, model_gap, gaps, "the longest 50")                                                     \
    X(LIST, model_sum, overhead, "of driver and CUPTI, by kind")                                   \
    X(LIST, model_sum, unified_memory, "events by kind")                                           \
    X(LIST, model_sum, syncs, "synchronisations by type")

/* clang-format on */

#endif
